-- As verify_nights.sql, from checkpoints: their counts, and the entries that they do not cover on top. Entries are
-- read from the first night on that has no checkpoint or has changed since; what is before stands as it was proved.
with checkpoint as (
    select c.* from night_checkpoint c
     where c.property_id = $1 and c.system_identifier = (select system_identifier from pg_control_system())
), present as (
    select n.room_type_id, n.stay_date, n.physical, n.out_of_order, n.overbooking_limit, n.allotted, n.held, n.sold,
           n.oversold, c.night_version is not distinct from n.version as is_settled
      from night n
      left join checkpoint c on c.room_type_id = n.room_type_id and c.stay_date = n.stay_date
     where n.property_id = $1
), beginning as materialized (
    select coalesce(min(stay_date) filter (where not is_settled), max(stay_date) + 1, '-infinity') as night
      from present
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
      full join (select l.* from beginning b cross join lateral ledger_replayed($1, b.night, false) l) l
          using (room_type_id, stay_date)
)
select b.room_type_id, t.code as room_type, b.stay_date, b.proven, b.present
  from both_ b
  left join room_type t on t.property_id = $1 and t.room_type_id = b.room_type_id
 where b.proven <> b.present
 order by b.stay_date, room_type
