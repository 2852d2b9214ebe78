-- keyrack-ledger owns: archived_reservation, archived_room_stay, archived_reservation_guest, known_reservation,
-- known_room_stay, known_reservation_guest, the functions ledger_apply_reservations and ledger_bring_back.
--
-- Ended reservations leave the hot tables and lie here, whole and unchanged. What is in one place is not in the
-- other: a move is one transaction, and whoever looks for a reservation looks in both by one statement. Entries,
-- references and receipts stay where they are. A command that changes an archived reservation first brings it back.
-- A column that the hot tables get later must be added here and to the views as well.

create table archived_reservation (
    property_id       bigint      not null,
    reservation_id    uuid        not null,
    number            bigint      not null,
    status            text        not null,
    version           bigint      not null,
    source            text        not null,
    account_id        bigint,
    channel_reference text,
    hold_until        timestamptz,
    hold_dead_at      timestamptz,
    extensions        integer     not null,
    owner_id          text,
    payment_reference text,
    booked_at         timestamptz,
    created_at        timestamptz not null,
    updated_at        timestamptz not null,
    flags             text[]      not null,
    detail            jsonb,
    -- [[room_stay_id, room code]]: the rooms that it had, only told. What is past takes no room.
    assigned          jsonb       not null,
    archived_at       timestamptz not null,
    constraint archived_reservation_number_is_unique unique (property_id, number),
    constraint archived_reservation_has_ended check (status in ('completed', 'no_show', 'cancelled', 'expired'))
);
create index archived_reservation_owner on archived_reservation (property_id, owner_id) where owner_id is not null;
-- The keys come last: to a plan that is made over an empty table all indexes look alike, and it takes the newest.
alter table archived_reservation add primary key (property_id, reservation_id);

create table archived_room_stay (
    property_id    bigint  not null,
    reservation_id uuid    not null,
    room_stay_id   integer not null,
    room_type_id   bigint,
    rate_plan_id   bigint,
    arrival        date    not null,
    departure      date    not null,
    taken_from     date    not null,
    taken_until    date    not null,
    quantity       integer not null,
    is_given_back  boolean not null,
    components     jsonb,
    adults         integer,
    children_ages  jsonb,
    nightly        jsonb,
    booked         jsonb,
    foreign key (property_id, reservation_id) references archived_reservation
);
create index archived_room_stay_arrival on archived_room_stay (property_id, arrival);
create index archived_room_stay_departure on archived_room_stay (property_id, departure);
-- What a verification that begins at some night must look at.
create index archived_room_stay_taken on archived_room_stay (property_id, taken_until);
alter table archived_room_stay add primary key (property_id, reservation_id, room_stay_id);

-- Personal data, still apart.
create table archived_reservation_guest (
    property_id    bigint not null,
    reservation_id uuid   not null,
    guest          jsonb  not null,
    room_guests    jsonb,
    note           text,
    remarks        jsonb
);
create index archived_reservation_guest_name
    on archived_reservation_guest (property_id, lower(guest ->> 'name') text_pattern_ops);
alter table archived_reservation_guest add primary key (property_id, reservation_id);

-- Every reservation, wherever it lies.
create view known_reservation as
select property_id, reservation_id, number, status, version, source, account_id, channel_reference, hold_until,
       hold_dead_at, extensions, owner_id, payment_reference, booked_at, created_at, updated_at, flags, detail
  from reservation
union all
select property_id, reservation_id, number, status, version, source, account_id, channel_reference, hold_until,
       hold_dead_at, extensions, owner_id, payment_reference, booked_at, created_at, updated_at, flags, detail
  from archived_reservation;

create view known_room_stay as
select property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival, departure, taken_from,
       taken_until, quantity, is_given_back, components, adults, children_ages, nightly, booked
  from room_stay
union all
select property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival, departure, taken_from,
       taken_until, quantity, is_given_back, components, adults, children_ages, nightly, booked
  from archived_room_stay;

create view known_reservation_guest as
select property_id, reservation_id, guest, room_guests, note, remarks from reservation_guest
union all
select property_id, reservation_id, guest, room_guests, note, remarks from archived_reservation_guest;

-- Brings back what a call changes and the archive has, as it was: the change that follows demands its version as
-- of any other. Who brings back waits for no archived row, since it may hold hot ones by then that others wait for
-- who bring back the same: where somebody was first, all is read again, and a locked batch waits in its place of the
-- order.
create function ledger_bring_back(more jsonb) returns void language plpgsql as $$
declare
    properties bigint[];
    ids uuid[];
    locked bigint;
begin
    select array_agg(a.property_id), array_agg(a.reservation_id) into properties, ids
      from (select property_id, reservation_id
              from jsonb_to_recordset(more -> 'changed') c(property_id bigint, reservation_id uuid)
            union
            select property_id, reservation_id
              from jsonb_to_recordset(more -> 'guests') g(property_id bigint, reservation_id uuid)) k
     cross join lateral (select * from archived_reservation a
                          where a.property_id = k.property_id and a.reservation_id = k.reservation_id offset 0) a;
    if ids is null then
        return;
    end if;
    select count(*) into locked
      from (select from (select unnest(properties) as property_id, unnest(ids) as reservation_id) k
              join archived_reservation a using (property_id, reservation_id)
               for update of a skip locked) l;
    if locked <> cardinality(ids) then
        raise exception 'reservations changed' using errcode = 'KR001';
    end if;
    insert into reservation (property_id, reservation_id, number, status, version, source, account_id,
                             channel_reference, hold_until, hold_dead_at, extensions, owner_id, payment_reference,
                             booked_at, created_at, updated_at, flags, detail)
    select a.property_id, a.reservation_id, a.number, a.status, a.version, a.source, a.account_id,
           a.channel_reference, a.hold_until, a.hold_dead_at, a.extensions, a.owner_id, a.payment_reference,
           a.booked_at, a.created_at, a.updated_at, a.flags, a.detail
      from (select unnest(properties) as property_id, unnest(ids) as reservation_id) k
      join archived_reservation a using (property_id, reservation_id);
    insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
                           departure, taken_from, taken_until, quantity, is_given_back, components, adults,
                           children_ages, nightly, booked)
    select s.property_id, s.reservation_id, s.room_stay_id, s.room_type_id, s.rate_plan_id, s.arrival,
           s.departure, s.taken_from, s.taken_until, s.quantity, s.is_given_back, s.components, s.adults,
           s.children_ages, s.nightly, s.booked
      from (select unnest(properties) as property_id, unnest(ids) as reservation_id) k
      join archived_room_stay s using (property_id, reservation_id);
    insert into reservation_guest (property_id, reservation_id, guest, room_guests, note, remarks)
    select g.property_id, g.reservation_id, g.guest, g.room_guests, g.note, g.remarks
      from (select unnest(properties) as property_id, unnest(ids) as reservation_id) k
      join archived_reservation_guest g using (property_id, reservation_id);
    delete from archived_reservation_guest g
     using (select unnest(properties) as property_id, unnest(ids) as reservation_id) k
     where g.property_id = k.property_id and g.reservation_id = k.reservation_id;
    delete from archived_room_stay s
     using (select unnest(properties) as property_id, unnest(ids) as reservation_id) k
     where s.property_id = k.property_id and s.reservation_id = k.reservation_id;
    delete from archived_reservation a
     using (select unnest(properties) as property_id, unnest(ids) as reservation_id) k
     where a.property_id = k.property_id and a.reservation_id = k.reservation_id;
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
end
$$;
