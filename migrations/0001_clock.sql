-- keyrack-ledger owns: clock_shift.
--
-- One clock decides, the database's, through one function. Tests and the demo move it per database
-- by the shift; production never touches the row. Cut to microseconds, so that what is stored reads
-- back equal.

create extension if not exists btree_gist;

create table clock_shift (
    one   boolean  primary key default true,
    shift interval not null default interval '0',
    constraint clock_shift_is_one_row check (one)
);

insert into clock_shift default values;

create function ledger_now() returns timestamptz
    language sql volatile parallel safe
    return (select clock_timestamp() + shift from clock_shift);
