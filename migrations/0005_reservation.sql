-- keyrack-ledger owns: reservation, room_stay, reservation_guest, channel_reference, ledger_entry,
-- idempotency_key.

create sequence reservation_number start 1001;

create table reservation (
    -- No foreign key: the one function that inserts demands the property's rules version, and a key would ask
    -- again for every hold.
    property_id       bigint      not null,
    reservation_id    uuid        not null,
    -- Short, for people.
    number            bigint      not null,
    status            text        not null,
    version           bigint      not null default 1,
    source            text        not null,
    account_id        bigint,
    channel_reference text,
    hold_until        timestamptz,
    -- hold_until and the grace: until then a hold keeps its rooms.
    hold_dead_at      timestamptz,
    extensions        integer     not null default 0,
    owner_id          text,
    payment_reference text,
    booked_at         timestamptz,
    created_at        timestamptz not null,
    updated_at        timestamptz not null,
    flags             text[]      not null default '{}',
    -- Money as told, terms, links to predecessor and successor: nothing personal.
    detail            jsonb,
    primary key (property_id, reservation_id),
    constraint reservation_number_is_unique unique (property_id, number),
    constraint reservation_status_is_known check (status in
        ('held', 'confirmed', 'checked_in', 'completed', 'no_show', 'cancelled', 'expired')),
    constraint reservation_hold_has_an_end check (
        (status = 'held') <= (hold_until is not null and hold_dead_at >= hold_until))
) with (fillfactor = 90);

-- What may have died. Only holds are in it, so it stays small.
create index reservation_hold_dead_at
    on reservation (property_id, hold_dead_at) where status = 'held';

-- What staff see (actual) beside what the channel says (booked). A row stays when its room is given
-- back: a room_stay_id is never used again. The nights taken stand apart from the stay: a no-show
-- keeps its first night only, an odd fact only the nights that make sense.
create table room_stay (
    property_id    bigint  not null,
    reservation_id uuid    not null,
    room_stay_id   integer not null,
    -- Null while a channel's code is not mapped: takes nothing.
    room_type_id   bigint,
    rate_plan_id   bigint,
    arrival        date    not null,
    departure      date    not null,
    taken_from     date    not null,
    taken_until    date    not null,
    quantity       integer not null,
    is_given_back  boolean not null default false,
    -- [[room_type_id, rooms per unit]] of a composed type as it was sold; null where it is plain.
    components     jsonb,
    adults         integer,
    children_ages  jsonb,
    -- [[night, minor]] in the currency of the reservation, where prices were told.
    nightly        jsonb,
    -- {room_key, room_code, rate_code, room_type_id, arrival, departure, quantity, total}.
    booked         jsonb,
    primary key (property_id, reservation_id, room_stay_id),
    constraint room_stay_in_order check (arrival <= departure and taken_from <= taken_until),
    constraint room_stay_quantity_is_positive check (quantity > 0)
);
create index room_stay_arrival on room_stay (property_id, arrival);

-- Personal data, apart from what proves the numbers: erasing a guest leaves the ledger whole.
create table reservation_guest (
    property_id    bigint not null,
    reservation_id uuid   not null,
    guest          jsonb  not null,
    -- {"1": "name"}: who sleeps in which room stay.
    room_guests    jsonb,
    note           text,
    remarks        jsonb,
    primary key (property_id, reservation_id)
);
create index reservation_guest_name
    on reservation_guest (property_id, lower(guest ->> 'name') text_pattern_ops);

-- Kept for ever, also when the reservation is archived: a late repeat must find what was done.
create table channel_reference (
    property_id    bigint  not null,
    account_id     bigint  not null,
    reference      text    not null,
    -- Null for a tombstone: the cancel came before anything else.
    reservation_id uuid,
    last_order     bigint,
    last_kind      text    not null,
    last_hash      text    not null,
    is_cancelled   boolean not null default false,
    version        bigint  not null default 1,
    primary key (property_id, account_id, reference),
    foreign key (property_id, account_id) references account
);

-- Append-only. An entry moves rooms of a type, over a range of nights, from one pool to another;
-- entries that move nothing tell what happened to a reservation. The night rows are its running
-- sum.
create table ledger_entry (
    property_id    bigint      not null,
    seq            bigint      generated always as identity,
    -- With seq the feed's order: a lower sequence may commit later, a lower transaction cannot be
    -- missed below the snapshot's horizon.
    tx             xid8        not null default pg_current_xact_id(),
    command_id     uuid        not null,
    line           integer     not null,
    reservation_id uuid,
    version        bigint,
    kind           text        not null,
    room_type_id   bigint,
    night_from     date,
    night_until    date,
    quantity       integer     not null default 0,
    from_pool      text,
    to_pool        text,
    actor          text        not null,
    request_id     text,
    reason         text,
    at             timestamptz not null,
    primary key (property_id, command_id, line),
    constraint ledger_entry_moves_or_tells check (
        (quantity = 0 and from_pool is null and to_pool is null)
        or (quantity > 0 and from_pool is distinct from to_pool and night_from < night_until
            and room_type_id is not null)),
    constraint ledger_entry_pools_are_known check (
        from_pool in ('outside', 'limit', 'free', 'out_of_order', 'held', 'sold')
        and to_pool in ('outside', 'limit', 'free', 'out_of_order', 'held', 'sold'))
);
create index ledger_entry_tail on ledger_entry (tx, seq);
create index ledger_entry_of_reservation on ledger_entry (property_id, reservation_id)
    where reservation_id is not null;

-- Only success is kept: a refusal is decided anew.
create table idempotency_key (
    scope       text        not null,
    key         text        not null,
    fingerprint text        not null,
    receipt     jsonb       not null,
    created_at  timestamptz not null,
    primary key (scope, key)
);
create index idempotency_key_age on idempotency_key (created_at);
