-- keyrack-ledger owns: safety_number, safety_turn. keyrack-distribution owns: nothing new.
--
-- A fifth kind of buffer rule: as many rooms as could still be sold on stale numbers. What it keeps back is measured
-- off the booking path, and stands as a row, so that all daemons tell the same number and it changes only when it is
-- written.

alter table buffer_rule
    drop constraint buffer_rule_kind_is_known,
    add constraint buffer_rule_kind_is_known
        check (kind in ('keep_back', 'close_at', 'cap', 'share_percent', 'safety'));

create table safety_number (
    property_id  bigint      not null references property,
    account_id   bigint      not null,
    room_type_id bigint      not null,
    -- How far ahead the night is, and whether it is one of a weekend: 0 to 5.
    night_kind   smallint    not null,
    -- The rule's target, one of so many scarce room nights; 0 is the property's.
    one_in       integer     not null,
    rooms        integer     not null,
    -- What it rests on, for people.
    why          text        not null,
    changed_at   timestamptz not null,
    -- The words are of this instant: they are not written anew with each measurement.
    written_at   timestamptz not null,
    primary key (property_id, account_id, room_type_id, night_kind, one_in),
    constraint safety_number_rooms_not_negative check (rooms >= 0),
    constraint safety_number_night_kind_is_known check (night_kind between 0 and 5)
) with (fillfactor = 70);

-- Who measures: one daemon at a time, and none too often.
create table safety_turn (
    property_id bigint      primary key references property,
    measured_at timestamptz not null
) with (fillfactor = 70);

-- An account with a safety rule that fails or lags far behind is not told more than it was, since then.
alter table push_state add column throttled_since timestamptz;
