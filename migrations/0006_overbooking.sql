-- keyrack-ledger owns: overbooking_case, overbooking_case_night, overbooking_case_event.
--
-- Every night with sold > physical - out_of_order has one open case, opened and closed in the
-- transaction that oversold or cured the night. Owner, deadline, ways out and their working have
-- their place here.

create table overbooking_case (
    property_id    bigint      not null references property,
    case_id        bigint      generated always as identity,
    room_type_id   bigint      not null,
    status         text        not null default 'open',
    cause          text        not null default 'undetermined',
    -- What was told to which account and when, when the guest booked, when we heard: filled when
    -- opened, completed by whoever works out the cause.
    evidence       jsonb       not null default '{}',
    owner          text,
    deadline       timestamptz,
    opened_at      timestamptz not null,
    closed_at      timestamptz,
    outcome        text,
    version        bigint      not null default 1,
    primary key (property_id, case_id),
    foreign key (property_id, room_type_id) references room_type,
    constraint overbooking_case_status_is_known check (status in ('open', 'closed')),
    constraint overbooking_case_closes_with_an_outcome check
        ((status = 'closed') = (closed_at is not null and outcome is not null))
);

create table overbooking_case_night (
    property_id  bigint      not null,
    case_id      bigint      not null,
    room_type_id bigint      not null,
    stay_date    date        not null,
    -- Rooms beyond what can be slept in, when it was opened.
    rooms        integer     not null,
    opened_by    uuid,
    cured_at     timestamptz,
    cured_by     uuid,
    primary key (property_id, case_id, stay_date),
    foreign key (property_id, case_id) references overbooking_case
);
create unique index overbooked_night_has_one_open_case
    on overbooking_case_night (property_id, room_type_id, stay_date) where cured_at is null;

-- What happened to a case, in order; nothing is ever closed silently.
create table overbooking_case_event (
    property_id bigint      not null,
    case_id     bigint      not null,
    seq         bigint      generated always as identity,
    kind        text        not null,
    actor       text        not null,
    detail      jsonb       not null default '{}',
    at          timestamptz not null,
    primary key (property_id, case_id, seq),
    foreign key (property_id, case_id) references overbooking_case
);
