-- Reservations whose last entry is not of their present version, or that took rooms by entries which their
-- rooms do not take, archived ones too: number, present version, last version told, rooms moved in, rooms that it has.
with written as (
    select reservation_id, max(version) as version,
           sum((case when to_pool in ('held', 'sold') then quantity else 0 end
                - case when from_pool in ('held', 'sold') then quantity else 0 end)
               * greatest(0, coalesce(night_until - night_from, 0))) as rooms
      from ledger_entry
     where property_id = $1 and reservation_id is not null
     group by reservation_id
), taken as (
    select s.reservation_id,
           sum(s.quantity * (s.taken_until - s.taken_from)
               * case when s.components is null then 1
                      else (select sum((c ->> 1)::integer) from jsonb_array_elements(s.components) c) end) as rooms
      from known_room_stay s
     where s.property_id = $1 and not s.is_given_back and s.room_type_id is not null
     group by s.reservation_id
)
select r.number, r.version as present_version, coalesce(t.version, 0) as told_version,
       coalesce(t.rooms, 0)::bigint as told_rooms,
       (case when r.status in ('cancelled', 'expired') then 0 else coalesce(k.rooms, 0) end)::bigint as has_rooms
  from known_reservation r
  left join written t using (reservation_id)
  left join taken k using (reservation_id)
 where r.property_id = $1
   and (r.version is distinct from t.version
        or coalesce(t.rooms, 0)
           <> case when r.status in ('cancelled', 'expired') then 0 else coalesce(k.rooms, 0) end)
 order by r.number
