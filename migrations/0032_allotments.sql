-- keyrack-ledger owns: allotment, allotment_night, allotment_entry, the functions ledger_apply_allotments,
-- ledger_apply_reservations and ledger_expire_due.
--
-- Rooms kept for one account or one group by agreement. What is agreed, not yet taken and not yet released stands in
-- night.allotted, and moves in the ledger as a pool of its own. Which room of a reservation came from which
-- allotment stands in the reservation's detail (`drawn`): a hotel without allotments reads and writes nothing more.

create table allotment (
    property_id         bigint  not null references property,
    allotment_id        bigint  generated always as identity,
    code                text    not null,
    -- Whose: an account's or a group's.
    account_id          bigint,
    group_id            bigint,
    -- A plain type; never another one.
    room_type_id        bigint  not null,
    -- Days before the stay date at whose midnight what is left falls back.
    release_period_days integer not null default 0,
    -- All that is left falls back at the midnight in which this date begins.
    cut_off             date,
    -- 0 keeps the code until its first rooms are agreed: nobody sees it before.
    version             bigint  not null default 0,
    primary key (property_id, allotment_id),
    foreign key (property_id, room_type_id) references room_type,
    constraint allotment_code_is_unique unique (property_id, code),
    constraint allotment_is_of_one check (num_nonnulls(account_id, group_id) = 1),
    constraint allotment_release_period_not_negative check (release_period_days >= 0)
);

-- The running sum of allotment_entry, written in the same transaction as the night. What is left of it,
-- greatest(0, agreed - taken) where it is not released and else nothing, is its part of night.allotted.
create table allotment_night (
    property_id  bigint  not null,
    allotment_id bigint  not null,
    stay_date    date    not null,
    room_type_id bigint  not null,
    agreed       integer not null default 0,
    taken        integer not null default 0,
    released     integer not null default 0,
    is_released  boolean not null default false,
    version      bigint  not null default 1,
    primary key (property_id, allotment_id, stay_date),
    foreign key (property_id, allotment_id) references allotment,
    constraint allotment_night_counts_not_negative check (agreed >= 0 and taken >= 0),
    constraint allotment_night_released_is_exact check (
        released = case when is_released then greatest(0, agreed - taken) else 0 end)
);
-- What may fall due. Only what is not released is in it.
create index allotment_night_unreleased on allotment_night (property_id, allotment_id, stay_date)
    where not is_released;

-- Append-only, beside the entries of the same command: by how much the counts of an allotment changed over nights.
create table allotment_entry (
    property_id    bigint      not null,
    allotment_id   bigint      not null,
    seq            bigint      generated always as identity,
    command_id     uuid        not null,
    -- The first line of the command's entries that it belongs to.
    line           integer     not null,
    reservation_id uuid,
    night_from     date        not null,
    night_until    date        not null,
    agreed         integer     not null,
    taken          integer     not null,
    released       integer     not null,
    at             timestamptz not null,
    primary key (property_id, allotment_id, seq),
    foreign key (property_id, allotment_id) references allotment,
    constraint allotment_entry_in_order check (night_from < night_until)
);

-- What was written before has none of the new pool: nothing of it needs to be looked at again.
alter table ledger_entry
    drop constraint ledger_entry_pools_are_known,
    add constraint ledger_entry_pools_are_known check (
        from_pool in ('outside', 'limit', 'free', 'allotted', 'out_of_order', 'held', 'sold')
        and to_pool in ('outside', 'limit', 'free', 'allotted', 'out_of_order', 'held', 'sold')) not valid;

-- What a batch decided of allotments. Where any night's allotted rooms change, all nights of the batch come here, in
-- the order of their keys: each is found by its key and the version that was read.
create function ledger_apply_allotments(allotments jsonb, at_ timestamptz) returns void language plpgsql as $$
declare
    affected bigint;
begin
    update night n
       set physical = k.physical, out_of_order = k.out_of_order, overbooking_limit = k.overbooking_limit,
           allotted = k.allotted, held = k.held, sold = k.sold, oversold = k.oversold, version = n.version + 1
      from jsonb_populate_recordset(null::night, allotments -> 'nights') k
     where n.property_id = k.property_id and n.room_type_id = k.room_type_id and n.stay_date = k.stay_date
       and n.version = k.version;
    get diagnostics affected = row_count;
    if affected <> jsonb_array_length(allotments -> 'nights') then
        raise exception 'nights changed' using errcode = 'KR001';
    end if;

    -- Version 0 is a row that was not there.
    insert into allotment_night as n (property_id, allotment_id, stay_date, room_type_id, agreed, taken, released,
                                      is_released, version)
    select property_id, allotment_id, stay_date, room_type_id, agreed, taken, released, is_released, version + 1
      from jsonb_populate_recordset(null::allotment_night, allotments -> 'counts')
        on conflict (property_id, allotment_id, stay_date) do update
       set agreed = excluded.agreed, taken = excluded.taken, released = excluded.released,
           is_released = excluded.is_released, version = excluded.version
     where n.version = excluded.version - 1;
    get diagnostics affected = row_count;
    if affected <> jsonb_array_length(allotments -> 'counts') then
        raise exception 'allotments changed' using errcode = 'KR001';
    end if;

    insert into allotment_entry (property_id, allotment_id, command_id, line, reservation_id, night_from,
                                 night_until, agreed, taken, released, at)
    select property_id, allotment_id, command_id, line, reservation_id, night_from, night_until, agreed, taken,
           released, at_
      from jsonb_populate_recordset(null::allotment_entry, allotments -> 'entries');

    if jsonb_array_length(allotments -> 'terms') > 0 then
        update allotment a
           set release_period_days = k.release_period_days, cut_off = k.cut_off, version = a.version + 1
          from jsonb_populate_recordset(null::allotment, allotments -> 'terms') k
         where a.property_id = k.property_id and a.allotment_id = k.allotment_id and a.version = k.version;
        get diagnostics affected = row_count;
        if affected <> jsonb_array_length(allotments -> 'terms') then
            raise exception 'allotments changed' using errcode = 'KR001';
        end if;
        update property set rules_version = rules_version + 1
         where property_id in (select property_id
                                 from jsonb_populate_recordset(null::allotment, allotments -> 'terms'));
    end if;
end
$$;

-- As before, with a call more.
create or replace function ledger_apply_reservations(at_ timestamptz, more jsonb) returns void language plpgsql as $$
declare
    affected bigint;
begin
    if jsonb_array_length(more -> 'changed') > 0 or jsonb_array_length(more -> 'guests') > 0 then
        perform ledger_bring_back(more);
    end if;

    if jsonb_array_length(more -> 'changed') > 0 then
        update reservation r
           set status = k.status, version = coalesce(k.version_after, k.version + 1), hold_until = k.hold_until,
               hold_dead_at = k.hold_dead_at, extensions = k.extensions, payment_reference = k.payment_reference,
               booked_at = k.booked_at, updated_at = at_, flags = k.flags, detail = k.detail
          from jsonb_to_recordset(more -> 'changed')
               k(property_id bigint, reservation_id uuid, version bigint, version_after bigint, status text,
                 hold_until timestamptz, hold_dead_at timestamptz, extensions integer, payment_reference text,
                 booked_at timestamptz, flags text[], detail jsonb)
         where r.property_id = k.property_id and r.reservation_id = k.reservation_id and r.version = k.version;
        get diagnostics affected = row_count;
        if affected <> jsonb_array_length(more -> 'changed') then
            raise exception 'reservations changed' using errcode = 'KR001';
        end if;
    end if;

    if jsonb_array_length(more -> 'born') > 0 then
        insert into reservation (property_id, reservation_id, number, status, version, source, account_id,
                                 channel_reference, hold_until, hold_dead_at, extensions, owner_id,
                                 payment_reference, booked_at, created_at, updated_at, flags, detail)
        select property_id, reservation_id, number, status, version, source, account_id,
               channel_reference, hold_until, hold_dead_at, extensions, owner_id,
               payment_reference, booked_at, at_, at_, flags, detail
          from jsonb_populate_recordset(null::reservation, more -> 'born');
    end if;

    if jsonb_array_length(more -> 'stays') > 0 then
        insert into room_stay as s (property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
                                    departure, taken_from, taken_until, quantity, is_given_back, components, adults,
                                    children_ages, nightly, booked)
        select property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
               departure, taken_from, taken_until, quantity, is_given_back, components, adults,
               children_ages, nightly, booked
          from jsonb_populate_recordset(null::room_stay, more -> 'stays')
            on conflict (property_id, reservation_id, room_stay_id) do update
           set room_type_id = excluded.room_type_id, rate_plan_id = excluded.rate_plan_id,
               arrival = excluded.arrival, departure = excluded.departure, taken_from = excluded.taken_from,
               taken_until = excluded.taken_until, quantity = excluded.quantity,
               is_given_back = excluded.is_given_back, components = excluded.components, adults = excluded.adults,
               children_ages = excluded.children_ages, nightly = excluded.nightly, booked = excluded.booked;
    end if;

    if jsonb_array_length(more -> 'references') > 0 then
        insert into channel_reference as c (property_id, account_id, reference, reservation_id, last_order,
                                            last_kind, last_hash, is_cancelled, version)
        select property_id, account_id, reference, reservation_id, last_order,
               last_kind, last_hash, is_cancelled, version + 1
          from jsonb_populate_recordset(null::channel_reference, more -> 'references')
            on conflict (property_id, account_id, reference) do update
           set reservation_id = excluded.reservation_id, last_order = excluded.last_order,
               last_kind = excluded.last_kind, last_hash = excluded.last_hash,
               is_cancelled = excluded.is_cancelled, version = excluded.version
         where c.version = excluded.version - 1;
        get diagnostics affected = row_count;
        if affected <> jsonb_array_length(more -> 'references') then
            raise exception 'references changed' using errcode = 'KR001';
        end if;
    end if;

    if more ? 'allotments' then
        perform ledger_apply_allotments(more -> 'allotments', at_);
    end if;
end
$$;

-- As before, but that holds which drew from an allotment are left to the command.
create or replace function ledger_expire_due(properties bigint[], shares integer[], command uuid, actor_ text)
    returns table (property_id bigint, reservation_id uuid, dead_for_ms bigint)
    language plpgsql
    -- Nights are locked in the order in which they are named.
    set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    at_ constant timestamptz := ledger_now();
    dead_property bigint[];
    dead_id uuid[];
    dead_since timestamptz[];
    named bigint;
    freed bigint;
begin
    select array_agg(h.property_id), array_agg(h.reservation_id), array_agg(h.hold_dead_at)
      into dead_property, dead_id, dead_since
      from unnest(properties, shares) p(property_id, share)
     cross join lateral (
           select r.property_id, r.reservation_id, r.hold_dead_at
             from reservation r
            where r.property_id = p.property_id and r.status = 'held' and r.hold_dead_at <= at_
              and r.flags @> '{expiry_failed}' is false
              -- What drew from an allotment goes back there: that is the command's rule alone.
              and r.detail ? 'drawn' is not true
            order by r.hold_dead_at limit p.share
              for update skip locked) h;
    if dead_id is null then
        return;
    end if;

    -- A statement of its own: it sees what those have written who had the holds before us.
    with dead as materialized (
        select unnest(dead_property) as property_id, unnest(dead_id) as reservation_id
    ), gone as (
        update reservation r set status = 'expired', version = r.version + 1, updated_at = at_
          from dead d
         where r.property_id = d.property_id and r.reservation_id = d.reservation_id
        returning r.property_id, r.reservation_id, r.version
    ), part as materialized (
        select g.property_id, g.reservation_id, g.version, s.room_type_id, s.taken_from, s.taken_until, s.rooms
          from gone g
          left join lateral (
                select p.room_type_id, s.taken_from, s.taken_until, s.quantity * p.per_unit as rooms
                  from room_stay s
                 cross join lateral (
                       select s.room_type_id, 1 where s.components is null
                       union all
                       select (c ->> 0)::bigint, (c ->> 1)::integer
                         from jsonb_array_elements(s.components) c) p(room_type_id, per_unit)
                 where s.property_id = g.property_id and s.reservation_id = g.reservation_id
                   and not s.is_given_back and s.taken_from < s.taken_until and p.room_type_id is not null
                offset 0) s on true
    ), entry as (
        insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id,
                                  night_from, night_until, quantity, from_pool, to_pool, actor, at)
        select p.property_id, command, row_number() over (order by p.property_id, p.reservation_id),
               p.reservation_id, p.version,
               case row_number() over (partition by p.property_id, p.reservation_id) when 1 then 'expired'
                    else 'moved' end,
               p.room_type_id, p.taken_from, p.taken_until, coalesce(p.rooms, 0),
               case when p.rooms > 0 then 'held' end, case when p.rooms > 0 then 'free' end, actor_, at_
          from part p
    ), freed_night as materialized (
        select p.property_id, p.room_type_id, p.taken_from + d as stay_date, sum(p.rooms)::integer as rooms
          from part p
         cross join lateral generate_series(0, p.taken_until - p.taken_from - 1) d
         where p.rooms > 0
         group by 1, 2, 3
         order by 1, 2, 3
    ), night_ as (
        update night n
           set held = n.held - f.rooms, version = n.version + 1,
               oversold = greatest(0, n.held - f.rooms + n.sold + n.allotted + n.out_of_order - n.physical
                                      - n.overbooking_limit)
          from freed_night f
         where n.property_id = f.property_id and n.room_type_id = f.room_type_id and n.stay_date = f.stay_date
        returning 1
    ), room as (
        delete from room_assignment a
         using dead d
         where a.property_id = d.property_id and a.reservation_id = d.reservation_id
    )
    select (select count(*) from freed_night), (select count(*) from night_) into named, freed;
    if freed <> named then
        raise exception 'a dead hold takes nights that are not there';
    end if;

    return query
        select k.property_id, k.reservation_id, (extract(epoch from at_ - k.since) * 1000)::bigint
          from (select unnest(dead_property) as property_id, unnest(dead_id) as reservation_id,
                       unnest(dead_since) as since) k;
end
$$;

-- Which allotment a mapping sells from, where it does not sell from the shared pool alone.
alter table mapping
    add column allotment_id bigint,
    add foreign key (property_id, allotment_id) references allotment,
    drop constraint mapping_pool_is_known,
    add constraint mapping_pool_is_known check (pool in ('shared', 'allotment', 'allotment_then_shared')),
    add constraint mapping_pool_names_its_allotment check ((pool = 'shared') = (allotment_id is null));
