-- keyrack-ledger owns: the function ledger_replayed.
--
-- As before, but of the nights from `night` on alone: an entry that begins before it says something of nights whose
-- other entries end before it and are not read. What took a room and gave it back in one batch left such a night as
-- it was, with half of its entries counted.

create or replace function ledger_replayed(property bigint, night date, covered boolean)
    returns table (room_type_id bigint, stay_date date, physical bigint, out_of_order bigint,
                   overbooking_limit bigint, held bigint, sold bigint)
    language sql stable as $$
with beginning as materialized (
    select ledger_beginning($1, $2) as command_id
), checkpoint as (
    select c.room_type_id, c.stay_date, c.snapshot from night_checkpoint c
     where $3 is not null and c.property_id = $1
       and c.system_identifier = (select system_identifier from pg_control_system())
)
select e.room_type_id, e.night_from + d,
       coalesce(sum(p.sign * e.quantity) filter (where p.pool = 'outside') * -1, 0)::bigint,
       coalesce(sum(p.sign * e.quantity) filter (where p.pool = 'out_of_order'), 0)::bigint,
       coalesce(sum(p.sign * e.quantity) filter (where p.pool = 'limit') * -1, 0)::bigint,
       coalesce(sum(p.sign * e.quantity) filter (where p.pool = 'held'), 0)::bigint,
       coalesce(sum(p.sign * e.quantity) filter (where p.pool = 'sold'), 0)::bigint
  from ledger_entry e
 cross join lateral generate_series(0, e.night_until - e.night_from - 1) d
  left join checkpoint c on c.room_type_id = e.room_type_id and c.stay_date = e.night_from + d
 cross join lateral (values (e.to_pool, 1), (e.from_pool, -1)) p(pool, sign)
 where e.property_id = $1 and e.command_id >= (select command_id from beginning) and e.quantity > 0
   and e.night_until > $2 and e.night_from + d >= $2
   and ($3 is null
        or $3 and c.snapshot is not null and pg_visible_in_snapshot(e.tx, c.snapshot)
        or not $3 and (c.snapshot is null or not pg_visible_in_snapshot(e.tx, c.snapshot)))
 group by 1, 2
$$;
