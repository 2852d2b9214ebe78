-- keyrack-ledger owns: waitlist. keyrack-distribution owns: told_history, told_basis.
--
-- A wish for rooms that were not to be had, with its place in the queue. It is offered one hold at a time: the row says
-- which reservation, before the hold is asked for, and every step demands the version that was read, so that two
-- daemons, or one that died in between, offer it once.

create table waitlist (
    property_id       bigint      not null references property,
    wish_id           uuid        not null,
    status            text        not null default 'waiting',
    version           bigint      not null default 1,
    arrival           date        not null,
    departure         date        not null,
    -- In order of preference.
    room_types        bigint[]    not null,
    quantity          integer     not null,
    adults            integer,
    source            text        not null,
    -- How long an offer stands; null takes the property's time of a hold.
    answer_seconds    integer,
    -- Personal data: whom to tell.
    guest             jsonb       not null,
    note              text,
    created_at        timestamptz not null default ledger_now(),
    -- Its place: an offer that nobody answered puts it at the end.
    queued_at         timestamptz not null default ledger_now(),
    -- Not looked at before: something else than rooms stands in the way.
    look_after        timestamptz,
    -- How often it was offered something; with the id the key under which the hold is asked for.
    offers            integer     not null default 0,
    offer_reservation uuid,
    offer_room_type   bigint,
    offered_at        timestamptz,
    -- The hold is there and the offer has been told; null before.
    answer_until      timestamptz,
    -- How it ended: date_passed, unanswered.
    outcome           text,
    ended_at          timestamptz,
    primary key (property_id, wish_id),
    constraint waitlist_status_is_known check (status in
        ('waiting', 'offered', 'accepted', 'cancelled', 'ended')),
    constraint waitlist_stay_in_order check (arrival < departure),
    constraint waitlist_quantity_is_positive check (quantity > 0),
    constraint waitlist_offer_names_its_hold check ((status = 'offered') <= (offer_reservation is not null))
) with (fillfactor = 80);
-- The queue. Only open wishes are in it.
create index waitlist_open on waitlist (property_id, queued_at) where status in ('waiting', 'offered');

-- How a number that was told came about, line by line, as it was worked out when it was told. Equal calculations are
-- one row, and there are few: most nights are alike.
create table told_basis (
    digest       uuid  primary key,
    lines        jsonb not null,
    last_used_on date  not null
);
create index told_basis_age on told_basis (last_used_on);

-- Null where it was told before calculations were kept.
alter table told_history add column basis uuid;
