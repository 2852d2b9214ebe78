-- Nights on which the reservations take other rooms than the night says: held, sold; claimed, present.
with claimed as (
    select p.room_type_id, s.taken_from + d as stay_date,
           coalesce(sum(s.quantity * p.per_unit) filter (where r.status = 'held'), 0) as held,
           coalesce(sum(s.quantity * p.per_unit) filter (
               where r.status in ('confirmed', 'checked_in', 'completed', 'no_show')), 0) as sold
      from known_reservation r
      join known_room_stay s using (property_id, reservation_id)
      cross join lateral (
          select s.room_type_id, 1 where s.components is null
          union all
          select (c ->> 0)::bigint, (c ->> 1)::integer
            from jsonb_array_elements(s.components) c) p(room_type_id, per_unit)
      cross join lateral generate_series(0, s.taken_until - s.taken_from - 1) d
     where r.property_id = $1 and not s.is_given_back and p.room_type_id is not null
       and r.status not in ('cancelled', 'expired')
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
