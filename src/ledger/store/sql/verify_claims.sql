-- Nights on which the reservations take other rooms than the night says: held, sold; claimed, present.
with present as (
    select room_type_id, stay_date, held, sold from night where property_id = $1
)
select room_type_id, t.code as room_type, stay_date,
       array[coalesce(c.held, 0), coalesce(c.sold, 0)]::bigint[] as proven,
       array[coalesce(n.held, 0), coalesce(n.sold, 0)]::bigint[] as present
  from ledger_claimed($1, '-infinity') c
  full join present n using (room_type_id, stay_date)
  left join (select room_type_id, code from room_type where property_id = $1) t using (room_type_id)
 where (coalesce(c.held, 0), coalesce(c.sold, 0)) is distinct from (coalesce(n.held, 0), coalesce(n.sold, 0))
 order by stay_date, room_type
