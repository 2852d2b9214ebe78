-- The bench's hotels and the tables of the plain way: the same columns and indexes as ours, and an outbox row
-- of its own, as whoever writes the plain way would have it.

create table plain_night (like night including all) with (fillfactor = 60);
create table plain_reservation (like reservation including all);
alter table plain_reservation add room_type_id bigint, add arrival date, add departure date, add quantity integer;
create index plain_reservation_arrival on plain_reservation (property_id, arrival);
create table plain_entry (like ledger_entry including all);
create table plain_outbox (
    seq        bigint      generated always as identity primary key,
    topic      text        not null,
    payload    jsonb       not null,
    created_at timestamptz not null default clock_timestamp()
);

create function bench_ground(properties integer, types integer, first date, nights integer, rooms_ integer)
returns void language plpgsql as $$
begin
    -- The business day is the first night, wherever the clock of the machine stands.
    update clock_shift set shift = (first + time '12:00') at time zone 'UTC' - clock_timestamp();
    insert into property (code, name, time_zone, currency, hold_seconds)
    select 'hotel-' || n, 'Hotel ' || n, 'UTC', 'EUR', 86400 from generate_series(1, properties) n;
    insert into room_type (property_id, code, name, rooms)
    select property_id, 'type-' || t, 'Type', rooms_ from property, generate_series(1, types) t order by 1, 2;
    insert into room_type (property_id, code, name, rooms)
    select min(property_id), 'type-full', 'Full', 50 from property;
    insert into night (property_id, room_type_id, stay_date, physical)
    select property_id, room_type_id, first + d, rooms from room_type, generate_series(0, nights - 1) d order by 1, 2,
    3;
    insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until, quantity,
                              from_pool, to_pool, actor, at)
    select property_id, gen_random_uuid(), 0, 'capacity_set', room_type_id, first, first + nights, rooms,
           'outside', 'free', 'bench', ledger_now() from room_type;
    insert into plain_night select * from night order by property_id, room_type_id, stay_date;
    analyze;
end
$$;

-- Back to empty hotels; the type that is full fills again with the first holds.
create function bench_reset() returns void language plpgsql as $$
begin
    truncate reservation, room_stay, reservation_guest, idempotency_key,
             plain_reservation, plain_entry, plain_outbox;
    delete from ledger_entry where kind <> 'capacity_set';
    update night set held = 0, version = 1 where held > 0;
    update plain_night set held = 0, version = 1 where held > 0;
end
$$;

-- Sold beyond the rooms, or sums that the written rows do not prove.
create function bench_wrong_sums() returns setof text language sql as $$
    select format('oversold: type %s on %s', room_type_id, stay_date) from night
     where held > physical
    union all
    select format('plain oversold: type %s on %s', room_type_id, stay_date) from plain_night
     where held > physical
    union all
    select format('type %s on %s: %s held, entries say %s', n.room_type_id, n.stay_date, n.held, e.held)
      from night n
      left join (select room_type_id, night_from + d as stay_date, sum(quantity) as held
                   from ledger_entry, generate_series(0, night_until - night_from - 1) d
                  where to_pool = 'held' group by 1, 2) e using (room_type_id, stay_date)
     where n.held <> coalesce(e.held, 0)
    union all
    select format('plain type %s on %s: %s held, entries say %s', n.room_type_id, n.stay_date, n.held, e.held)
      from plain_night n
      left join (select room_type_id, night_from + d as stay_date, sum(quantity) as held
                   from plain_entry, generate_series(0, night_until - night_from - 1) d
                  where to_pool = 'held' group by 1, 2) e using (room_type_id, stay_date)
     where n.held <> coalesce(e.held, 0)
$$;
