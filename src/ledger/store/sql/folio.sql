-- Reservations of a property by id, archived or not, each with its rooms, its guests and the rooms that they have.
select to_jsonb(r) || jsonb_build_object('rooms', (
           select jsonb_agg(to_jsonb(s) order by s.room_stay_id) from known_room_stay s
            where s.property_id = r.property_id and s.reservation_id = r.reservation_id)) as reservation,
       g.guest, g.room_guests, g.note, g.remarks,
       coalesce((select jsonb_agg(jsonb_build_array(a.room_stay_id, o.code) order by a.room_stay_id, o.code)
                   from room_assignment a join room o using (property_id, room_id)
                  where a.property_id = r.property_id and a.reservation_id = r.reservation_id),
                (select a.assigned from archived_reservation a
                  where a.property_id = r.property_id and a.reservation_id = r.reservation_id), '[]') as assigned,
       ledger_now() as now
  from known_reservation r
  left join known_reservation_guest g using (property_id, reservation_id)
 where r.property_id = $1 and r.reservation_id = any($2)
 order by r.reservation_id
