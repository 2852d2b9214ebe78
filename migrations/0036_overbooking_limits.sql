-- keyrack-ledger owns: overbooking_limit_rule.
--
-- How far beyond its rooms a hotel means to sell: by type, dates and weekdays, absolute or in percent, by lead time.
-- Nights keep what the rules say of them today, so a booking reads no rule: they are put on the nights when the rules
-- change and at every roll-over.

create table overbooking_limit_rule (
    property_id   bigint   not null references property,
    rule_id       bigint   generated always as identity,
    room_type_id  bigint   not null,
    night_from    date     not null,
    night_until   date     not null,
    weekdays      smallint not null default 127,
    -- Only so many days ahead or more; 1 leaves the day of arrival without.
    lead_days_min integer  not null default 1,
    lead_days_max integer,
    rooms         integer,
    percent       integer,
    primary key (property_id, rule_id),
    foreign key (property_id, room_type_id) references room_type,
    constraint overbooking_limit_rule_in_order check (night_from < night_until),
    constraint overbooking_limit_rule_is_one check (num_nonnulls(rooms, percent) = 1),
    constraint overbooking_limit_rule_is_a_number check
        (coalesce(rooms, 0) >= 0 and coalesce(percent, 0) between 0 and 100 and lead_days_min >= 0)
);
