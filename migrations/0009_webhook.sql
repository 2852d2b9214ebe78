-- keyrack-distribution owns: webhook, webhook_delivery.
--
-- Who wants to hear of what, and what is still to be said. A delivery is written in the feed's transaction
-- with its body, so that every repeat says the same; it goes at least once, in order per reservation.

create table webhook (
    webhook_id  bigint      generated always as identity primary key,
    code        text        not null,
    url         text        not null,
    -- Names of events; empty is all.
    events      text[]      not null default '{}',
    -- Only of this property.
    property_id bigint      references property,
    -- Sealed; shown once.
    secret      bytea       not null,
    version     bigint      not null default 1,
    created_at  timestamptz not null default ledger_now(),
    constraint webhook_code_is_unique unique (code)
);

create table webhook_delivery (
    delivery_id    bigint      generated always as identity primary key,
    webhook_id     bigint      not null references webhook on delete cascade,
    -- The same for every repeat: how a receiver knows it again.
    event_id       text        not null,
    event          text        not null,
    -- What keeps its order: the reservation, the case or the account it speaks of.
    subject        text        not null,
    body           text        not null,
    status         text        not null default 'pending',
    attempt        integer     not null default 0,
    due_at         timestamptz not null,
    claimed_until  timestamptz,
    created_at     timestamptz not null,
    delivered_at   timestamptz,
    last_status    integer,
    last_error     text,
    constraint webhook_delivery_once unique (webhook_id, event_id),
    constraint webhook_delivery_status_is_known check (status in ('pending', 'delivered', 'failed'))
);
create index webhook_delivery_due on webhook_delivery (due_at) where status = 'pending';
create index webhook_delivery_order on webhook_delivery (webhook_id, subject, delivery_id)
    where status = 'pending';
create index webhook_delivery_list on webhook_delivery (webhook_id, delivery_id);
