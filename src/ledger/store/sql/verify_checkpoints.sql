-- Checkpoints that the entries which they cover do not prove: what these sum up to, and what the checkpoint says.
with checkpoint as (
    select c.* from night_checkpoint c
     where c.property_id = $1 and c.system_identifier = (select system_identifier from pg_control_system())
), both_ as (
    select c.room_type_id, c.stay_date,
           array[coalesce(s.physical, 0), coalesce(s.out_of_order, 0), coalesce(s.overbooking_limit, 0),
                 coalesce(s.held, 0), coalesce(s.sold, 0)]::bigint[] as proven,
           array[c.physical, c.out_of_order, c.overbooking_limit, c.held, c.sold]::bigint[] as present
      from checkpoint c
      left join ledger_replayed($1, '-infinity', true) s
        on s.room_type_id = c.room_type_id and s.stay_date = c.stay_date
)
select b.room_type_id, t.code as room_type, b.stay_date, b.proven, b.present
  from both_ b
  left join room_type t on t.property_id = $1 and t.room_type_id = b.room_type_id
 where b.proven <> b.present
 order by b.stay_date, room_type
