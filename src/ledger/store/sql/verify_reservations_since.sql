-- As verify_reservations.sql, for those that are not archived: each by its own entries.
select r.number, r.version as present_version, coalesce(w.version, 0) as told_version,
       coalesce(w.rooms, 0)::bigint as told_rooms, k.rooms as has_rooms
  from reservation r
 cross join lateral (
       select max(e.version) as version,
              sum((case when e.to_pool in ('held', 'sold') then e.quantity else 0 end
                   - case when e.from_pool in ('held', 'sold') then e.quantity else 0 end)
                  * greatest(0, coalesce(e.night_until - e.night_from, 0))) as rooms
         from ledger_entry e
        where e.property_id = r.property_id and e.reservation_id = r.reservation_id) w
 cross join lateral (
       select (case when r.status in ('cancelled', 'expired') then 0 else coalesce(sum(
                   s.quantity * (s.taken_until - s.taken_from)
                   * case when s.components is null then 1
                          else (select sum((c ->> 1)::integer) from jsonb_array_elements(s.components) c) end),
                   0) end)::bigint as rooms
         from room_stay s
        where s.property_id = r.property_id and s.reservation_id = r.reservation_id
          and not s.is_given_back and s.room_type_id is not null) k
 where r.property_id = $1 and (r.version is distinct from w.version or coalesce(w.rooms, 0) <> k.rooms)
 order by r.number
