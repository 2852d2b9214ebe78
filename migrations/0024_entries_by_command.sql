-- keyrack-ledger owns: entry_beginning, the functions ledger_command_id, ledger_beginning,
-- ledger_replayed and ledger_claimed.
--
-- Command ids begin with their instant, and the key of ledger_entry is by property and command id: it finds what was
-- written lately of a property without an index by nights, which every booking paid for.

drop index ledger_entry_by_night;

-- The oldest command id that can stand at an instant of the database's machine; `tail` makes one of it.
create function ledger_command_id(at timestamptz, tail bytea default '\x00000000000000000000') returns uuid
    language sql immutable parallel safe as $$
    select encode(substring(int8send((extract(epoch from at) * 1000)::bigint) from 3) || tail, 'hex')::uuid;
$$;

-- All entries of a property that touch a night from `night` on, and all that will yet be written, have this command
-- id or a later one. Written with the checkpoints, two days behind the moment: no process writes whose clock is a
-- day away. The rows of some weeks stay, for what comes late.
create table entry_beginning (
    property_id bigint not null,
    night       date   not null,
    command_id  uuid   not null,
    primary key (property_id, night)
);

-- The oldest command that may have touched a night from this one on.
create function ledger_beginning(property bigint, night date) returns uuid language sql stable as $$
    select coalesce((select b.command_id from entry_beginning b
                      where b.property_id = $1 and b.night <= $2 order by b.night desc limit 1),
                    '00000000-0000-0000-0000-000000000000')
$$;

-- What entries sum up to, night by night: all of them (covered null), those that the night's checkpoint covers
-- (true), or those that it does not (false). Only entries that touch a night from `night` on are read.
create function ledger_replayed(property bigint, night date, covered boolean)
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
   and e.night_until > $2
   and ($3 is null
        or $3 and c.snapshot is not null and pg_visible_in_snapshot(e.tx, c.snapshot)
        or not $3 and (c.snapshot is null or not pg_visible_in_snapshot(e.tx, c.snapshot)))
 group by 1, 2
$$;

-- What reservations take of the nights from one on: held, sold. Archived ones are found by their nights alone where
-- not all are wanted.
create function ledger_claimed(property bigint, night date)
    returns table (room_type_id bigint, stay_date date, held bigint, sold bigint)
    language sql stable as $$
with stay as (
    select r.status, s.room_type_id, s.components, s.quantity, s.taken_from, s.taken_until, s.is_given_back
      from reservation r
      join room_stay s using (property_id, reservation_id)
     where r.property_id = $1 and s.taken_until > $2
    union all
    select r.status, s.room_type_id, s.components, s.quantity, s.taken_from, s.taken_until, s.is_given_back
      from archived_room_stay s
      join archived_reservation r using (property_id, reservation_id)
     where s.property_id = $1 and s.taken_until > $2
)
select p.room_type_id, s.taken_from + d,
       coalesce(sum(s.quantity * p.per_unit) filter (where s.status = 'held'), 0)::bigint,
       coalesce(sum(s.quantity * p.per_unit) filter (
           where s.status in ('confirmed', 'checked_in', 'completed', 'no_show')), 0)::bigint
  from stay s
 cross join lateral (
       select s.room_type_id, 1 where s.components is null
       union all
       select (c ->> 0)::bigint, (c ->> 1)::integer
         from jsonb_array_elements(s.components) c) p(room_type_id, per_unit)
 cross join lateral generate_series(0, s.taken_until - s.taken_from - 1) d
 where not s.is_given_back and p.room_type_id is not null and s.status not in ('cancelled', 'expired')
 group by 1, 2
$$;
