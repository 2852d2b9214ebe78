-- keyrack-ledger owns: guest_place, turn_away.
--
-- At most so many reservations of one guest for one arrival date: each takes a numbered place, and the primary key has
-- each place once, whoever writes. Only properties with a limit have rows. The guest is a hash of an address or a
-- number: the rows prove a count and name nobody. The date stands before the guest, so that old ones go in one piece.

create table guest_place (
    property_id    bigint  not null,
    arrival        date    not null,
    guest          bytea   not null,
    place          integer not null,
    -- Whose; once it has ended, or arrives on another day, the place is free.
    reservation_id uuid    not null,
    primary key (property_id, arrival, guest, place),
    constraint guest_place_not_negative check (place >= 0)
);

-- What was asked for and not sold, summed up: refusing writes nothing, so daemons add what they have counted now and
-- then, and what a killed one had not yet added is lost.
create table turn_away (
    property_id  bigint  not null references property,
    -- The business day of the asking.
    asked_on     date    not null,
    arrival      date    not null,
    room_type_id bigint  not null,
    source       text    not null,
    -- 0 where no account asked.
    account_id   bigint  not null,
    -- The word of the refusal: sold_out, closed, restriction …
    reason       text    not null,
    wishes       bigint  not null,
    -- Rooms times nights.
    room_nights  bigint  not null,
    primary key (property_id, asked_on, arrival, room_type_id, source, account_id, reason)
);
