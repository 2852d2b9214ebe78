-- Checkpoints that the entries which they cover do not prove: what these sum up to, and what the checkpoint says.
with checkpoint as (
    select c.* from night_checkpoint c
     where c.property_id = $1 and c.system_identifier = (select system_identifier from pg_control_system())
), moved as (
    select c.room_type_id, c.stay_date, p.pool, sum(p.sign * e.quantity) as rooms
      from ledger_entry e
     cross join lateral generate_series(0, e.night_until - e.night_from - 1) d
      join checkpoint c on c.room_type_id = e.room_type_id and c.stay_date = e.night_from + d
     cross join lateral (values (e.to_pool, 1), (e.from_pool, -1)) p(pool, sign)
     where e.property_id = $1 and e.quantity > 0 and pg_visible_in_snapshot(e.tx, c.snapshot)
     group by 1, 2, 3
), sums as (
    select room_type_id, stay_date,
           coalesce(-sum(rooms) filter (where pool = 'outside'), 0)::bigint as physical,
           coalesce(sum(rooms) filter (where pool = 'out_of_order'), 0)::bigint as out_of_order,
           coalesce(-sum(rooms) filter (where pool = 'limit'), 0)::bigint as overbooking_limit,
           coalesce(sum(rooms) filter (where pool = 'held'), 0)::bigint as held,
           coalesce(sum(rooms) filter (where pool = 'sold'), 0)::bigint as sold
      from moved group by 1, 2
), both_ as (
    select c.room_type_id, c.stay_date,
           array[coalesce(s.physical, 0), coalesce(s.out_of_order, 0), coalesce(s.overbooking_limit, 0),
                 coalesce(s.held, 0), coalesce(s.sold, 0)]::bigint[] as proven,
           array[c.physical, c.out_of_order, c.overbooking_limit, c.held, c.sold]::bigint[] as present
      from checkpoint c
      left join sums s on s.room_type_id = c.room_type_id and s.stay_date = c.stay_date
)
select b.room_type_id, t.code as room_type, b.stay_date, b.proven, b.present
  from both_ b
  left join room_type t on t.property_id = $1 and t.room_type_id = b.room_type_id
 where b.proven <> b.present
 order by b.stay_date, room_type
