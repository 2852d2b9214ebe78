-- As verify_nights.sql, from checkpoints: their counts, and the entries that they do not cover on top. Entries are
-- read from the first night of a type on that has no checkpoint or has changed since; what is before stands as it
-- was proved.
with checkpoint as (
    select c.* from night_checkpoint c
     where c.property_id = $1 and c.system_identifier = (select system_identifier from pg_control_system())
), present as (
    select n.room_type_id, n.stay_date, n.physical, n.out_of_order, n.overbooking_limit, n.allotted, n.held, n.sold,
           n.oversold, c.night_version is not distinct from n.version as is_settled
      from night n
      left join checkpoint c on c.room_type_id = n.room_type_id and c.stay_date = n.stay_date
     where n.property_id = $1
), beginning as (
    select t.room_type_id,
           coalesce(min(p.stay_date) filter (where not p.is_settled), max(p.stay_date) + 1, '1900-01-01') as night
      from room_type t
      left join present p on p.room_type_id = t.room_type_id
     where t.property_id = $1
     group by 1
), moved as (
    select e.room_type_id, e.night_from + d as stay_date, p.pool, sum(p.sign * e.quantity) as rooms
      from beginning b
     cross join lateral (select * from ledger_entry e
                          where e.property_id = $1 and e.room_type_id = b.room_type_id
                            and e.night_until > b.night and e.quantity > 0 offset 0) e
     cross join lateral generate_series(greatest(0, b.night - e.night_from), e.night_until - e.night_from - 1) d
      left join checkpoint c on c.room_type_id = e.room_type_id and c.stay_date = e.night_from + d
     cross join lateral (values (e.to_pool, 1), (e.from_pool, -1)) p(pool, sign)
     where c.snapshot is null or not pg_visible_in_snapshot(e.tx, c.snapshot)
     group by 1, 2, 3
), later as (
    select room_type_id, stay_date,
           coalesce(-sum(rooms) filter (where pool = 'outside'), 0)::bigint as physical,
           coalesce(sum(rooms) filter (where pool = 'out_of_order'), 0)::bigint as out_of_order,
           coalesce(-sum(rooms) filter (where pool = 'limit'), 0)::bigint as overbooking_limit,
           coalesce(sum(rooms) filter (where pool = 'held'), 0)::bigint as held,
           coalesce(sum(rooms) filter (where pool = 'sold'), 0)::bigint as sold
      from moved group by 1, 2
), both_ as (
    select room_type_id, stay_date,
           array[coalesce(c.physical, 0) + coalesce(l.physical, 0),
                 coalesce(c.out_of_order, 0) + coalesce(l.out_of_order, 0),
                 coalesce(c.overbooking_limit, 0) + coalesce(l.overbooking_limit, 0),
                 coalesce(c.held, 0) + coalesce(l.held, 0),
                 coalesce(c.sold, 0) + coalesce(l.sold, 0),
                 greatest(0, coalesce(n.held + n.sold + n.allotted + n.out_of_order - n.physical
                                      - n.overbooking_limit, 0))]::bigint[] as proven,
           array[coalesce(n.physical, 0), coalesce(n.out_of_order, 0), coalesce(n.overbooking_limit, 0),
                 coalesce(n.held, 0), coalesce(n.sold, 0), coalesce(n.oversold, 0)]::bigint[] as present
      from present n
      full join checkpoint c using (room_type_id, stay_date)
      full join later l using (room_type_id, stay_date)
)
select b.room_type_id, t.code as room_type, b.stay_date, b.proven, b.present
  from both_ b
  left join room_type t on t.property_id = $1 and t.room_type_id = b.room_type_id
 where b.proven <> b.present
 order by b.stay_date, room_type
