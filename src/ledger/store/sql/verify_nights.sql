-- Nights whose counts the entries do not prove: what the entries sum up to, and what the night says.
with moved as (
    select e.room_type_id, e.night_from + d as stay_date, p.pool, sum(p.sign * e.quantity) as rooms
      from ledger_entry e
      cross join lateral generate_series(0, e.night_until - e.night_from - 1) d
      cross join lateral (values (e.to_pool, 1), (e.from_pool, -1)) p(pool, sign)
     where e.property_id = $1 and e.quantity > 0
     group by 1, 2, 3
), sums as (
    select room_type_id, stay_date,
           coalesce(-sum(rooms) filter (where pool = 'outside'), 0)::bigint as physical,
           coalesce(sum(rooms) filter (where pool = 'out_of_order'), 0)::bigint as out_of_order,
           coalesce(-sum(rooms) filter (where pool = 'limit'), 0)::bigint as overbooking_limit,
           coalesce(sum(rooms) filter (where pool = 'held'), 0)::bigint as held,
           coalesce(sum(rooms) filter (where pool = 'sold'), 0)::bigint as sold
      from moved group by 1, 2
), present as (
    select room_type_id, stay_date, physical, out_of_order, overbooking_limit, allotted, held, sold, oversold
      from night where property_id = $1
)
select coalesce(s.room_type_id, n.room_type_id) as room_type_id, t.code as room_type, stay_date,
       array[coalesce(s.physical, 0), coalesce(s.out_of_order, 0), coalesce(s.overbooking_limit, 0),
             coalesce(s.held, 0), coalesce(s.sold, 0),
             greatest(0, coalesce(n.held + n.sold + n.allotted + n.out_of_order - n.physical
                                  - n.overbooking_limit, 0))]::bigint[] as proven,
       array[coalesce(n.physical, 0), coalesce(n.out_of_order, 0), coalesce(n.overbooking_limit, 0),
             coalesce(n.held, 0), coalesce(n.sold, 0), coalesce(n.oversold, 0)]::bigint[] as present
  from sums s full join present n using (room_type_id, stay_date)
  left join room_type t on t.property_id = $1 and t.room_type_id = coalesce(s.room_type_id, n.room_type_id)
 where (coalesce(s.physical, 0), coalesce(s.out_of_order, 0), coalesce(s.overbooking_limit, 0),
        coalesce(s.held, 0), coalesce(s.sold, 0),
        greatest(0, coalesce(n.held + n.sold + n.allotted + n.out_of_order - n.physical
                             - n.overbooking_limit, 0)))
       is distinct from
       (coalesce(n.physical, 0), coalesce(n.out_of_order, 0), coalesce(n.overbooking_limit, 0),
        coalesce(n.held, 0), coalesce(n.sold, 0), coalesce(n.oversold, 0))
 order by stay_date, room_type
