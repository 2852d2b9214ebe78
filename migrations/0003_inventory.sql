-- keyrack-ledger owns: night, rate_night, rate_change, buffer_rule, room_assignment.
--
-- One row a night, narrow and of fixed width, with no index but its key: every change stays on its
-- page (a heap-only tuple) as long as the page has room, hence the fillfactor. It is the running
-- sum of ledger_entry, written in the same transaction, and born with nothing in it.

create table night (
    property_id       bigint  not null,
    room_type_id      bigint  not null,
    stay_date         date    not null,
    physical          integer not null default 0,
    out_of_order      integer not null default 0,
    overbooking_limit integer not null default 0,
    allotted          integer not null default 0,
    held              integer not null default 0,
    sold              integer not null default 0,
    oversold          integer not null default 0,
    version           bigint  not null default 1,
    primary key (property_id, room_type_id, stay_date),
    foreign key (property_id, room_type_id) references room_type,
    constraint night_counts_not_negative check (
        physical >= 0 and out_of_order >= 0 and overbooking_limit >= 0 and allotted >= 0
        and held >= 0 and sold >= 0 and oversold >= 0),
    constraint night_overdraft_is_exact check (
        oversold = greatest(0, held + sold + allotted + out_of_order - physical
            - overbooking_limit))
) with (fillfactor = 60);

-- What staff and revenue managers set of a night. Layers: room type 0 is the whole property, rate
-- plan 0 the room type itself, account 0 every account. A null field says nothing at its layer.
create table rate_night (
    property_id         bigint  not null references property,
    room_type_id        bigint  not null,
    rate_plan_id        bigint  not null,
    account_id          bigint  not null,
    stay_date           date    not null,
    amount_minor        bigint,
    occupancy_rates     jsonb,
    min_stay_arrival    integer,
    min_stay_through    integer,
    max_stay            integer,
    closed_to_arrival   boolean,
    closed_to_departure boolean,
    min_advance_days    integer,
    max_advance_days    integer,
    stop_sell           boolean,
    primary key (property_id, room_type_id, stay_date, rate_plan_id, account_id),
    constraint rate_night_amount_not_negative check (amount_minor >= 0),
    constraint rate_night_stays_are_positive check (
        min_stay_arrival >= 1 and min_stay_through >= 1 and max_stay >= 1
        and min_advance_days >= 0 and max_advance_days >= 0)
);

-- The feed's other tail: which nights a change of rates, rules, mappings or horizon touched.
-- Room type, rate plan and account 0 mean all of them.
create table rate_change (
    property_id  bigint      not null references property,
    seq          bigint      generated always as identity,
    tx           xid8        not null default pg_current_xact_id(),
    room_type_id bigint      not null,
    rate_plan_id bigint      not null,
    account_id   bigint      not null,
    night_from   date        not null,
    night_until  date        not null,
    fields       text[]      not null,
    actor        text        not null,
    at           timestamptz not null default ledger_now(),
    primary key (property_id, seq)
);
create index rate_change_tail on rate_change (tx, seq);

create table buffer_rule (
    property_id   bigint   not null references property,
    rule_id       bigint   generated always as identity,
    account_id    bigint,
    room_type_id  bigint,
    night_from    date,
    night_until   date,
    -- Bits, Monday lowest.
    weekdays      smallint not null default 127,
    lead_days_min integer,
    lead_days_max integer,
    kind          text     not null,
    rooms         integer  not null,
    primary key (property_id, rule_id),
    constraint buffer_rule_kind_is_known check (kind in ('keep_back', 'close_at')),
    constraint buffer_rule_rooms_not_negative check (rooms >= 0)
);

-- A row exists only while it takes the room, for a stay or for a block. Two rows never take one
-- room on one night: the database itself refuses.
create table room_assignment (
    property_id    bigint    not null,
    assignment_id  bigint    generated always as identity,
    room_id        bigint    not null,
    stay           daterange not null,
    reservation_id uuid,
    room_stay_id   integer,
    block_kind     text,
    reason         text,
    primary key (property_id, assignment_id),
    foreign key (property_id, room_id) references room,
    constraint room_taken_once exclude using gist
        (property_id with =, room_id with =, stay with &&) deferrable initially immediate,
    constraint assignment_stay_not_empty check (not isempty(stay)),
    constraint assignment_is_for_a_stay_or_a_block check (
        (reservation_id is null) = (room_stay_id is null)
            and (reservation_id is null) = (block_kind is not null)),
    constraint assignment_block_is_known
        check (block_kind in ('out_of_order', 'owner', 'house_use'))
);
create index room_assignment_of_reservation on room_assignment (property_id, reservation_id)
    where reservation_id is not null;
