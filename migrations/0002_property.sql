-- keyrack-ledger owns: property, room_type, room_type_component, room, rate_plan.
--
-- Inside, keys are bigint; outside, codes. Every table of a property has property_id first in its
-- keys, so that the way stays open to spread properties over machines.

create table property (
    property_id           bigint      generated always as identity primary key,
    code                  text        not null,
    name                  text        not null,
    time_zone             text        not null,
    currency              text        not null,
    day_roll_over         time        not null default time '04:00',
    horizon_days          integer     not null default 730,
    hold_seconds          integer     not null default 900,
    confirm_grace_seconds integer     not null default 120,
    extensions_max        integer     not null default 2,
    late_confirm          text        not null default 'refuse',
    bookable_from         date,
    rate_min_minor        bigint,
    rate_max_minor        bigint,
    -- What has no column of its own: hold_seconds by source, the no-show rule, policies of later
    -- features.
    policies              jsonb       not null default '{}',
    -- Raised by every change of rates, restrictions, rules, mappings and of the catalog: a decision
    -- is applied only if the rules are still those that it rested on.
    rules_version         bigint      not null default 1,
    version               bigint      not null default 1,
    -- Nights are born up to here (excluded).
    nights_until          date,
    -- Nights before here have been rolled over (completed, no-shows released).
    rolled_over_to        date,
    created_at            timestamptz not null default ledger_now(),
    constraint property_code_is_unique unique (code),
    constraint property_code_is_plain check (code ~ '^[a-z0-9-]{2,40}$'),
    constraint property_horizon_is_bounded check (horizon_days between 1 and 2000),
    constraint property_hold_is_positive
        check (hold_seconds >= 1 and confirm_grace_seconds >= 0 and extensions_max >= 0),
    constraint property_late_confirm_is_known check (late_confirm in ('refuse', 'retake'))
);

create table room_type (
    property_id  bigint  not null references property,
    room_type_id bigint  generated always as identity,
    code         text    not null,
    name         text    not null,
    -- Physical count; 0 for a composed type, which has no stock of its own.
    rooms        integer not null,
    counts       text    not null default 'rooms',
    adults_max   integer not null default 2,
    children_max integer not null default 0,
    total_max    integer not null default 2,
    -- Scarce types hold for a shorter time; null takes the property's.
    hold_seconds integer,
    version      bigint  not null default 1,
    primary key (property_id, room_type_id),
    constraint room_type_code_is_unique unique (property_id, code),
    constraint room_type_rooms_not_negative check (rooms >= 0),
    constraint room_type_counts_is_known check (counts in ('rooms', 'beds')),
    constraint room_type_hold_is_positive check (hold_seconds >= 1)
);

create table room_type_component (
    property_id  bigint  not null,
    room_type_id bigint  not null,
    component_id bigint  not null,
    quantity     integer not null,
    primary key (property_id, room_type_id, component_id),
    foreign key (property_id, room_type_id) references room_type,
    foreign key (property_id, component_id) references room_type,
    constraint component_quantity_is_positive check (quantity > 0),
    constraint component_is_another_type check (component_id <> room_type_id)
);

create table room (
    property_id  bigint  not null,
    room_id      bigint  generated always as identity,
    room_type_id bigint  not null,
    code         text    not null,
    name         text    not null default '',
    is_active    boolean not null default true,
    version      bigint  not null default 1,
    primary key (property_id, room_id),
    foreign key (property_id, room_type_id) references room_type,
    constraint room_code_is_unique unique (property_id, code)
);

create table rate_plan (
    property_id        bigint  not null references property,
    rate_plan_id       bigint  generated always as identity,
    code               text    not null,
    name               text    not null,
    meal_plan          text    not null default 'room_only',
    derived_from       bigint,
    -- {percent_hundredths, add_minor, step_minor}: how the rate follows from the other plan's.
    derivation         jsonb,
    cancellation_terms jsonb   not null default '[]',
    version            bigint  not null default 1,
    primary key (property_id, rate_plan_id),
    foreign key (property_id, derived_from) references rate_plan,
    constraint rate_plan_code_is_unique unique (property_id, code),
    constraint rate_plan_derives_from_another check (derived_from <> rate_plan_id)
);
