-- keyrack-ledger owns: pool_rule, pool_switch, the functions ledger_apply_allotments and
-- ledger_expire_due.
--
-- A rule switches the pool that an account sells from: over dates and weekdays, or when few rooms of a night are free.
-- Whether a rule of the second kind holds depends on what was free before: it begins at so many free rooms and ends
-- only at more, so that one cancellation does not turn five channels about. Its state is a row, written in the
-- transaction that changes the night: whoever changes a night turns its switches.

create table pool_rule (
    property_id    bigint   not null references property,
    rule_id        bigint   generated always as identity,
    -- The later of two that bind says.
    place          integer  not null,
    account_id     bigint   not null,
    room_type_id   bigint,
    night_from     date,
    night_until    date,
    -- Bits, Monday lowest.
    weekdays       smallint not null default 127,
    mode           text     not null,
    -- Begins to hold at so many free rooms or fewer, and ends at so many or more.
    free_at_most   integer,
    free_again_at  integer,
    primary key (property_id, rule_id),
    constraint pool_rule_mode_is_known check (mode in ('shared', 'allotment', 'allotment_then_shared')),
    constraint pool_rule_ends_above_where_it_begins check (
        (free_at_most is null) = (free_again_at is null) and free_at_most >= 0 and free_again_at > free_at_most)
);

-- A row is there while the rule holds.
create table pool_switch (
    property_id  bigint      not null,
    rule_id      bigint      not null,
    room_type_id bigint      not null,
    stay_date    date        not null,
    since        timestamptz not null,
    primary key (property_id, rule_id, room_type_id, stay_date),
    foreign key (property_id, rule_id) references pool_rule on delete cascade
);

-- As before, and switches.
create or replace function ledger_apply_allotments(allotments jsonb, at_ timestamptz) returns void
    language plpgsql as $$
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

    -- Who turns a switch changes its night, by the version that was read.
    if allotments ? 'switches' then
        insert into pool_switch (property_id, rule_id, room_type_id, stay_date, since)
        select k.property_id, k.rule_id, k.room_type_id, k.stay_date, at_
          from jsonb_to_recordset(allotments -> 'switches')
               k(property_id bigint, rule_id bigint, room_type_id bigint, stay_date date, is_on boolean)
         where k.is_on
            on conflict do nothing;
        delete from pool_switch s
         using jsonb_to_recordset(allotments -> 'switches')
               k(property_id bigint, rule_id bigint, room_type_id bigint, stay_date date, is_on boolean)
         where not k.is_on and s.property_id = k.property_id and s.rule_id = k.rule_id
           and s.room_type_id = k.room_type_id and s.stay_date = k.stay_date;
    end if;
end
$$;

-- As before, but that hotels whose nights turn switches are left to the command.
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
              -- And whose rooms turn switches.
              and not exists (select from pool_rule q
                               where q.property_id = p.property_id and q.free_at_most is not null)
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
