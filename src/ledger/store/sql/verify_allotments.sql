-- What cannot be proved of allotments: their lines against their counts, reservations against what is taken, what is
-- left against the allotted rooms of the nights, and these against the entries ($2: a whole replay).
with counted as (
    select * from allotment_night where property_id = $1
), said as (
    select e.allotment_id, e.night_from + d as stay_date, sum(e.agreed) as agreed, sum(e.taken) as taken,
           sum(e.released) as released
      from allotment_entry e
     cross join lateral generate_series(0, e.night_until - e.night_from - 1) d
     where e.property_id = $1
     group by 1, 2
), drawn as (
    select (d ->> 'allotment')::bigint as allotment_id, (d ->> 'night')::date as stay_date,
           sum((d ->> 'rooms')::integer) as rooms
      from known_reservation r
     cross join lateral jsonb_array_elements(r.detail -> 'drawn') d
     where r.property_id = $1 and r.detail ? 'drawn' and r.status not in ('cancelled', 'expired')
     group by 1, 2
), kept as (
    select room_type_id, stay_date,
           sum(case when is_released then 0 else greatest(0, agreed - taken) end) as rooms
      from counted
     group by 1, 2
), moved as (
    select e.room_type_id, e.night_from + d as stay_date,
           sum(case when e.to_pool = 'allotted' then e.quantity else - e.quantity end) as rooms
      from ledger_entry e
     cross join lateral generate_series(0, e.night_until - e.night_from - 1) d
     where $2 and e.property_id = $1 and e.quantity > 0 and 'allotted' in (e.from_pool, e.to_pool)
     group by 1, 2
), night_ as (
    select room_type_id, stay_date, allotted from night where property_id = $1
), found as (
    select a.room_type_id, a.code, stay_date,
           format('allotment %s: its lines say %s agreed, %s taken, %s released, its counts %s, %s, %s', a.code,
                  coalesce(s.agreed, 0), coalesce(s.taken, 0), coalesce(s.released, 0), coalesce(c.agreed, 0),
                  coalesce(c.taken, 0), coalesce(c.released, 0)) as what
      from said s
      full join (select allotment_id, stay_date, agreed, taken, released from counted) c
          using (allotment_id, stay_date)
      join allotment a using (allotment_id)
     where (coalesce(s.agreed, 0), coalesce(s.taken, 0), coalesce(s.released, 0))
           is distinct from (coalesce(c.agreed, 0), coalesce(c.taken, 0), coalesce(c.released, 0))
    union all
    select a.room_type_id, a.code, stay_date,
           format('allotment %s: reservations drew %s, it says %s', a.code, coalesce(d.rooms, 0),
                  coalesce(c.taken, 0))
      from drawn d
      full join (select allotment_id, stay_date, taken from counted) c using (allotment_id, stay_date)
      join allotment a using (allotment_id)
     where coalesce(d.rooms, 0) <> coalesce(c.taken, 0)
    union all
    select room_type_id, '', stay_date,
           format('allotted: allotments keep %s, the night %s', coalesce(k.rooms, 0), coalesce(n.allotted, 0))
      from kept k full join night_ n using (room_type_id, stay_date)
     where coalesce(k.rooms, 0) <> coalesce(n.allotted, 0)
    union all
    select room_type_id, '', stay_date,
           format('allotted: entries say %s, the night %s', coalesce(m.rooms, 0), coalesce(n.allotted, 0))
      from moved m full join night_ n using (room_type_id, stay_date)
     where $2 and coalesce(m.rooms, 0) <> coalesce(n.allotted, 0)
)
select t.code as room_type, f.stay_date, f.what
  from found f
  left join room_type t on t.property_id = $1 and t.room_type_id = f.room_type_id
 order by f.stay_date, room_type, f.what
