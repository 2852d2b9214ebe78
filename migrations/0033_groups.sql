-- keyrack-ledger owns: room_group.
--
-- Guests who come together under one name. Rooms are kept for them in allotments of the group, and reservations are
-- drawn from these one by one. What is left falls back at the group's cut-off, or before at the allotment's own.

create table room_group (
    property_id bigint  not null references property,
    group_id    bigint  generated always as identity,
    code        text    not null,
    name        text    not null,
    -- Who speaks for the group, for staff: no guest of a reservation.
    contact     text,
    cut_off     date,
    version     bigint  not null default 1,
    primary key (property_id, group_id),
    constraint room_group_code_is_unique unique (property_id, code)
);

alter table allotment add foreign key (property_id, group_id) references room_group;
