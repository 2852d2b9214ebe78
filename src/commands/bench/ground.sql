-- The bench's hotels and the tables of the plain way: the same columns and indexes as ours, and an outbox row
-- of its own, as whoever writes the plain way would have it.

create table plain_night (like night including all) with (fillfactor = 60);
create table plain_reservation (like reservation including all) with (fillfactor = 90);
alter table plain_reservation add room_type_id bigint, add arrival date, add departure date, add quantity integer;
create index plain_reservation_arrival on plain_reservation (property_id, arrival);
create table plain_entry (like ledger_entry including all);
create table plain_outbox (
    seq        bigint      generated always as identity primary key,
    topic      text        not null,
    payload    jsonb       not null,
    created_at timestamptz not null default clock_timestamp()
);
-- What callers over HTTP tell beside: who comes, and the key under which they may ask again.
create table plain_guest (like reservation_guest including all);
create table plain_key (like idempotency_key including all);

-- The plain way with exactly our rows.
create table twin_night (like night including all) with (fillfactor = 60);
create table twin_reservation (like reservation including all) with (fillfactor = 90);
create table twin_stay (like room_stay including all);
create table twin_entry (like ledger_entry including all);

create function bench_ground(properties integer, types integer, first date, nights integer, rooms_ integer,
                             with_plain boolean)
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
    if with_plain then
        insert into plain_night select * from night order by property_id, room_type_id, stay_date;
        insert into twin_night select * from night order by property_id, room_type_id, stay_date;
    end if;
    analyze;
end
$$;

-- Back to empty hotels; the type that is full fills again with the first holds.
create function bench_reset() returns void language plpgsql as $$
begin
    truncate reservation, room_stay, reservation_guest, idempotency_key,
             plain_reservation, plain_entry, plain_outbox, plain_guest, plain_key, twin_reservation, twin_stay,
             twin_entry;
    delete from ledger_entry where kind <> 'capacity_set';
    update night set held = 0, sold = 0, version = version + 1 where held > 0 or sold > 0;
    update plain_night set held = 0, sold = 0, version = version + 1 where held > 0 or sold > 0;
    update twin_night set held = 0, sold = 0, version = version + 1 where held > 0 or sold > 0;
end
$$;

-- Sold beyond the rooms, or sums that the written rows do not prove.
create function bench_wrong_sums() returns setof text language plpgsql as $$
declare
    nights text;
    entries text;
begin
    for nights, entries in
        values ('night', 'ledger_entry'), ('plain_night', 'plain_entry'), ('twin_night', 'twin_entry')
    loop
        return query execute format(
            'select format(''oversold in %1$s: type %%s on %%s'', room_type_id, stay_date) from %1$I
              where held + sold > physical', nights);
        return query execute format(
            'select format(''%1$s: type %%s on %%s: %%s held and %%s sold, entries say %%s and %%s'',
                           n.room_type_id, n.stay_date, n.held, n.sold, e.held, e.sold)
               from %1$I n
               left join (select room_type_id, night_from + d as stay_date,
                                 sum(case when to_pool = ''held'' then quantity else 0 end
                                     - case when from_pool = ''held'' then quantity else 0 end) as held,
                                 sum(case when to_pool = ''sold'' then quantity else 0 end
                                     - case when from_pool = ''sold'' then quantity else 0 end) as sold
                            from %2$I, generate_series(0, night_until - night_from - 1) d
                           group by 1, 2) e using (room_type_id, stay_date)
              where n.held <> coalesce(e.held, 0) or n.sold <> coalesce(e.sold, 0)', nights, entries);
    end loop;
end
$$;

-- Holds of one night that have died, spread over all hotels.
create function bench_dead_holds(holds integer, first date) returns void language plpgsql as $$
begin
    create temporary table dead on commit drop as
    select n, gen_random_uuid() as id, t.property_id, t.room_type_id, first + n / 200 % 300 as night
      from generate_series(0, holds - 1) n
      join (select row_number() over (order by property_id, room_type_id) - 1 as at, count(*) over () as types,
                   property_id, room_type_id
              from room_type where code <> 'type-full') t on t.at = n % t.types;
    insert into reservation (property_id, reservation_id, number, status, source, hold_until, hold_dead_at,
                             booked_at, created_at, updated_at, detail)
    select property_id, id, nextval('reservation_number'), 'held', 'web', ledger_now() - interval '1 hour',
           ledger_now() - interval '1 hour', ledger_now(), ledger_now(), ledger_now(), '{}' from dead order by n;
    insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, arrival, departure, taken_from,
                           taken_until, quantity, adults)
    select property_id, id, 1, room_type_id, night, night + 1, night, night + 1, 1, 2 from dead order by n;
    insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id, night_from,
                              night_until, quantity, from_pool, to_pool, actor, at)
    select property_id, id, 0, id, 1, 'held', room_type_id, night, night + 1, 1, 'free', 'held', 'bench', ledger_now()
      from dead order by n;
    update night set held = held + d.rooms
      from (select property_id, room_type_id, night, count(*) as rooms from dead group by 1, 2, 3) d
     where night.property_id = d.property_id and night.room_type_id = d.room_type_id and stay_date = d.night;
    analyze reservation, room_stay, night;
end
$$;

-- Stays of the years before the first night, ended and paid.
create function bench_history(stays integer, first date) returns void language plpgsql as $$
begin
    create temporary table old on commit drop as
    select n, gen_random_uuid() as id, t.property_id, t.room_type_id, first - 3 - n % 1000 as night
      from generate_series(0, stays - 1) n
      join (select row_number() over (order by property_id, room_type_id) - 1 as at, count(*) over () as types,
                   property_id, room_type_id
              from room_type where code <> 'type-full') t on t.at = n % t.types;
    insert into reservation (property_id, reservation_id, number, status, source, booked_at, created_at, updated_at,
                             detail)
    select property_id, id, nextval('reservation_number'), 'completed', 'web', night, night, night, '{}'
      from old order by n;
    insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, arrival, departure, taken_from,
                           taken_until, quantity, adults)
    select property_id, id, 1, room_type_id, night, night + 2, night, night + 2, 1, 2 from old order by n;
    insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id, night_from,
                              night_until, quantity, from_pool, to_pool, actor, at)
    select property_id, id, 0, id, 1, 'confirmed', room_type_id, night, night + 2, 1, 'free', 'sold', 'bench', night
      from old order by n;
end
$$;
