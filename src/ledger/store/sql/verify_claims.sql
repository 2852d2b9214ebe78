-- Nights on which the reservations take other rooms than the night says: held, sold; claimed, present.
with stay as (
    select r.status, s.room_type_id, s.components, s.quantity, s.taken_from, s.taken_until, s.is_given_back
      from reservation r
      join room_stay s using (property_id, reservation_id)
     where r.property_id = $1
    union all
    select r.status, s.room_type_id, s.components, s.quantity, s.taken_from, s.taken_until, s.is_given_back
      from archived_reservation r
      join archived_room_stay s using (property_id, reservation_id)
     where r.property_id = $1
), claimed as (
    select p.room_type_id, s.taken_from + d as stay_date,
           coalesce(sum(s.quantity * p.per_unit) filter (where s.status = 'held'), 0) as held,
           coalesce(sum(s.quantity * p.per_unit) filter (
               where s.status in ('confirmed', 'checked_in', 'completed', 'no_show')), 0) as sold
      from stay s
      cross join lateral (
          select s.room_type_id, 1 where s.components is null
          union all
          select (c ->> 0)::bigint, (c ->> 1)::integer
            from jsonb_array_elements(s.components) c) p(room_type_id, per_unit)
      cross join lateral generate_series(0, s.taken_until - s.taken_from - 1) d
     where not s.is_given_back and p.room_type_id is not null and s.status not in ('cancelled', 'expired')
     group by 1, 2
), present as (
    select room_type_id, stay_date, held, sold from night where property_id = $1
)
select coalesce(c.room_type_id, n.room_type_id) as room_type_id, t.code as room_type, stay_date,
       array[coalesce(c.held, 0), coalesce(c.sold, 0)]::bigint[] as proven,
       array[coalesce(n.held, 0), coalesce(n.sold, 0)]::bigint[] as present
  from claimed c full join present n using (room_type_id, stay_date)
  left join room_type t on t.property_id = $1 and t.room_type_id = coalesce(c.room_type_id, n.room_type_id)
 where (coalesce(c.held, 0), coalesce(c.sold, 0)) is distinct from (coalesce(n.held, 0), coalesce(n.sold, 0))
 order by stay_date, room_type
