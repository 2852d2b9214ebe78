-- As verify_claims.sql, for the nights that have no checkpoint or have changed since.
with settled as (
    select n.room_type_id, n.stay_date
      from night n
      join night_checkpoint c on c.property_id = n.property_id and c.room_type_id = n.room_type_id
                             and c.stay_date = n.stay_date and c.night_version = n.version
     where n.property_id = $1 and c.system_identifier = (select system_identifier from pg_control_system())
), present as (
    select n.room_type_id, n.stay_date, n.held, n.sold
      from night n
      left join settled s on s.room_type_id = n.room_type_id and s.stay_date = n.stay_date
     where n.property_id = $1 and s.stay_date is null
), beginning as materialized (
    select coalesce(min(stay_date), (select max(stay_date) + 1 from night where property_id = $1),
                    '-infinity') as night
      from present
), unsettled as (
    select c.*
      from beginning b
     cross join lateral ledger_claimed($1, b.night) c
      left join settled s on s.room_type_id = c.room_type_id and s.stay_date = c.stay_date
     where s.stay_date is null
)
select room_type_id, t.code as room_type, stay_date,
       array[coalesce(c.held, 0), coalesce(c.sold, 0)]::bigint[] as proven,
       array[coalesce(n.held, 0), coalesce(n.sold, 0)]::bigint[] as present
  from unsettled c
  full join present n using (room_type_id, stay_date)
  left join (select room_type_id, code from room_type where property_id = $1) t using (room_type_id)
 where (coalesce(c.held, 0), coalesce(c.sold, 0)) is distinct from (coalesce(n.held, 0), coalesce(n.sold, 0))
 order by stay_date, room_type
