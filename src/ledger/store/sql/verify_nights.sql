-- Nights whose counts the entries do not prove: what the entries sum up to, and what the night says.
with present as (
    select room_type_id, stay_date, physical, out_of_order, overbooking_limit, allotted, held, sold, oversold
      from night where property_id = $1
), both_ as (
    select room_type_id, stay_date,
           array[coalesce(s.physical, 0), coalesce(s.out_of_order, 0), coalesce(s.overbooking_limit, 0),
                 coalesce(s.held, 0), coalesce(s.sold, 0),
                 greatest(0, coalesce(n.held + n.sold + n.allotted + n.out_of_order - n.physical
                                      - n.overbooking_limit, 0))]::bigint[] as proven,
           array[coalesce(n.physical, 0), coalesce(n.out_of_order, 0), coalesce(n.overbooking_limit, 0),
                 coalesce(n.held, 0), coalesce(n.sold, 0), coalesce(n.oversold, 0)]::bigint[] as present
      from ledger_replayed($1, '-infinity', null) s
      full join present n using (room_type_id, stay_date)
)
select b.room_type_id, t.code as room_type, b.stay_date, b.proven, b.present
  from both_ b
  left join room_type t on t.property_id = $1 and t.room_type_id = b.room_type_id
 where b.proven <> b.present
 order by b.stay_date, room_type
