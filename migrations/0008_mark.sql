-- keyrack-distribution owns: feed_cursor, mark, push_state, told, told_history, push_attempt, retired_code,
-- evidence_due.
--
-- What must be told is derived from the ledger's tail and lies here as marks: at most one per cell, so that a
-- hundred changes of one night cost one message, order does not matter, and a crash costs a repeat. A mark
-- says where to look, never what was seen: the number is computed when it is sent.

create sequence mark_seq;

-- How far the one feed has read both tails. A restore onto another cluster shows in the system identifier:
-- then everything is marked and reading begins at the end.
create table feed_cursor (
    one               boolean     primary key default true,
    system_identifier text        not null,
    entry_tx          bigint      not null,
    entry_seq         bigint      not null,
    rate_tx           bigint      not null,
    rate_seq          bigint      not null,
    read_at           timestamptz not null,
    constraint feed_cursor_is_one_row check (one)
);

-- Rate plan 0 is the room itself. Updated in place again and again, hence the fillfactor.
create table mark (
    account_id      bigint      not null,
    room_type_id    bigint      not null,
    rate_plan_id    bigint      not null,
    stay_date       date        not null,
    -- Moved by every new change: what was told is settled only if nothing came meanwhile.
    seq             bigint      not null default nextval('mark_seq'),
    -- Since when something is untold: where lag is counted from.
    first_marked_at timestamptz not null,
    -- The last change: a raise waits for a poll begun after it.
    marked_at       timestamptz not null,
    -- Told again also where the number is the same.
    is_cancellation boolean     not null default false,
    is_full         boolean     not null default false,
    -- Looked at, found to raise: rests until a complete poll begun after marked_at.
    waits_for_poll  boolean     not null default false,
    attempt         integer     not null default 0,
    due_at          timestamptz not null,
    last_error      text,
    primary key (account_id, room_type_id, rate_plan_id, stay_date)
) with (fillfactor = 70);
-- What is due of one account, changes before resyncs.
create index mark_due on mark (account_id, waits_for_poll, is_full, due_at);
-- What staff must see.
create index mark_refused on mark (account_id) where last_error is not null;

-- One row an account: its turn, its claim, its health. Whoever holds the claim is the only one who sends.
create table push_state (
    account_id         bigint      primary key,
    property_id        bigint      not null,
    connection_id      bigint      not null,
    -- When to look next; null until somebody rings.
    next_at            timestamptz,
    -- Counts rings, so that one that comes during a turn is not lost.
    rung               bigint      not null default 0,
    -- Marks wait for a complete poll begun after this instant.
    waits_since        timestamptz,
    claimed_by         uuid,
    claimed_until      timestamptz,
    -- The channel is left in peace until then.
    backoff_until      timestamptz,
    failures           integer     not null default 0,
    failing_since      timestamptz,
    last_outcome       text,
    last_why           text,
    last_failed_at     timestamptz,
    last_pushed_at     timestamptz,
    -- A complete set is wanted, since then.
    complete_wanted_at timestamptz,
    resynced_on        date,
    resync_next_at     timestamptz not null default ledger_now(),
    -- Closes, waits, polls once more, ends.
    removing_since     timestamptz,
    removed_by         text
) with (fillfactor = 70);
create index push_state_next on push_state (next_at) where next_at is not null;
create index push_state_waits on push_state (connection_id) where waits_since is not null;
create index push_state_resync on push_state (resync_next_at);
create index push_state_claims on push_state (claimed_by) where claimed_by is not null;
create index push_state_removals on push_state (removing_since) where removing_since is not null;

-- What a channel was told last of a cell. Written before the message leaves: if the outcome stays unknown,
-- the row says so (no acknowledged_at), and between openness_min and openness_max lies what it may be showing.
create table told (
    account_id      bigint      not null,
    room_type_id    bigint      not null,
    rate_plan_id    bigint      not null,
    stay_date       date        not null,
    rooms           integer,
    closed          boolean     not null,
    -- Price and restrictions as JSON, where there are any.
    detail          jsonb,
    openness_min    integer     not null,
    openness_max    integer     not null,
    -- The change that it tells.
    due_at          timestamptz not null,
    sent_at         timestamptz not null,
    acknowledged_at timestamptz,
    attempt_id      bigint      not null,
    primary key (account_id, room_type_id, rate_plan_id, stay_date)
) with (fillfactor = 70);
create index told_unsure on told (account_id) where acknowledged_at is null;

-- Every change that was told, for past nights and for the evidence of an overbooking: what the channel
-- showed at an instant is the last row sent before it.
create table told_history (
    history_id      bigint      generated always as identity primary key,
    account_id      bigint      not null,
    room_type_id    bigint      not null,
    rate_plan_id    bigint      not null,
    stay_date       date        not null,
    rooms           integer,
    closed          boolean     not null,
    detail          jsonb,
    due_at          timestamptz not null,
    sent_at         timestamptz not null,
    -- Null where the channel refused it or never answered; why says which.
    acknowledged_at timestamptz,
    why             text,
    attempt_id      bigint      not null,
    -- Raised the number: waited for a poll by design, so its lag is counted apart.
    is_raise        boolean     not null default false
);
create index told_history_of_night
    on told_history (account_id, stay_date, room_type_id, rate_plan_id, history_id);
create index told_history_lag on told_history (account_id, history_id) where acknowledged_at is not null;

-- One row a message: how it went.
create table push_attempt (
    attempt_id  bigint      generated always as identity primary key,
    account_id  bigint      not null,
    at          timestamptz not null,
    cells       integer     not null,
    spans       integer     not null,
    is_complete boolean     not null default false,
    -- `sent` until the answer is judged: what stays so was cut off by a crash.
    outcome     text        not null default 'sent',
    why         text,
    trace       text,
    duration_ms bigint
);
create index push_attempt_of_account on push_attempt (account_id, attempt_id);
create index push_attempt_age on push_attempt (at);

-- Remote codes that a change of mappings left behind: closed before anything else is told.
create table retired_code (
    account_id        bigint      not null,
    channel_room_code text        not null,
    -- Empty is the room itself.
    channel_rate_code text        not null,
    -- What it stood for, as in mark.
    room_type_id      bigint      not null,
    rate_plan_id      bigint      not null,
    retired_at        timestamptz not null,
    attempt           integer     not null default 0,
    due_at            timestamptz not null,
    last_error        text,
    primary key (account_id, channel_room_code, channel_rate_code)
);

-- Overbookings whose evidence is still to be gathered; a row, so that a crash forgets none.
create table evidence_due (
    property_id    bigint      not null,
    case_id        bigint      not null,
    room_type_id   bigint      not null,
    night_from     date        not null,
    night_until    date        not null,
    reservation_id uuid,
    opened_at      timestamptz not null,
    -- Gathered again a while later, when what was under way has been answered.
    attempt        integer     not null default 0,
    due_at         timestamptz not null,
    primary key (property_id, case_id)
);
create index evidence_due_next on evidence_due (due_at);
