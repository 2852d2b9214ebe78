-- keyrack-distribution owns: channel_message, unmapped_code, unacknowledged, poll_state, notice.
--
-- What came from a channel is written before anything else is done with it, card data masked, so that
-- nothing is ever lost and anything can be read again. An answer that held nothing is not kept.

create table channel_message (
    message_id    bigint      generated always as identity primary key,
    connection_id bigint      not null references connection,
    -- The accounts that it speaks of, known once it has been read.
    account_ids   bigint[]    not null default '{}',
    direction     text        not null,
    topic         text        not null,
    -- The walk that it was part of: logs carry the same id.
    span_id       uuid        not null,
    -- Of copies that came again: the first.
    received_at   timestamptz not null,
    repeated_at   timestamptz,
    -- How often the same bytes came. A sender that repeats for hours costs one row.
    copies        integer     not null default 1,
    status        text        not null,
    reports       integer     not null default 0,
    -- The channel's references in it.
    named         text[]      not null default '{}',
    -- [{at, why, raw, reference}]
    faults        jsonb       not null default '[]',
    -- A code in it had no mapping: read again when it has.
    is_unmapped   boolean     not null default false,
    time_zone     text,
    -- Only headers that say how to read the body.
    headers       jsonb       not null default '[]',
    -- `gzip` from some size on; `plain` below.
    encoding      text        not null,
    body          bytea       not null,
    body_bytes    bigint      not null,
    -- Longer than what is kept: only its beginning is here.
    is_cut        boolean     not null default false,
    -- The channel's own id of the exchange, for its support.
    trace         text,
    digest        bytea       not null,
    constraint channel_message_direction_is_known check (direction in ('in', 'out')),
    constraint channel_message_status_is_known check (status in
        ('received', 'recorded', 'partly', 'unreadable', 'refused', 'sent', 'accepted', 'unanswered')),
    constraint channel_message_encoding_is_known check (encoding in ('plain', 'gzip'))
);
create unique index channel_message_is_kept_once
    on channel_message (connection_id, topic, digest) where direction = 'in';
create index channel_message_of_account on channel_message using gin (account_ids);
create index channel_message_of_reference on channel_message using gin (named);
create index channel_message_unmapped on channel_message (message_id) where is_unmapped;
create index channel_message_age on channel_message (received_at);

-- Codes that no mapping knows, while no mapping knows them.
create table unmapped_code (
    account_id        bigint      not null,
    channel_room_code text        not null,
    -- Empty is the room alone.
    channel_rate_code text        not null,
    first_seen_at     timestamptz not null,
    last_seen_at      timestamptz not null,
    primary key (account_id, channel_room_code, channel_rate_code)
);

-- Recorded, and the channel has not yet taken our word for it. Channels fall back to e-mail after a while,
-- so a row that grows old alarms. Taken away by the acknowledgement.
create table unacknowledged (
    connection_id bigint      not null references connection,
    reference     text        not null,
    account_id    bigint      not null,
    message_id    bigint      not null,
    recorded_at   timestamptz not null,
    -- In which queue it stood, and when it stood there last: a complete poll in which it no longer
    -- stands proves that an acknowledgement arrived whose answer was lost.
    goal          text        not null,
    seen_at       timestamptz not null,
    last_error    text,
    primary key (connection_id, reference)
);
create index unacknowledged_age on unacknowledged (recorded_at);

-- Retry state of what is asked, per connection and question. A poll is complete when every round went
-- through: marks that raise wait for one that began after them.
create table poll_state (
    connection_id          bigint      not null references connection,
    goal                   text        not null,
    due_at                 timestamptz not null,
    -- Failures in a row.
    attempt                integer     not null default 0,
    last_begun_at          timestamptz,
    -- Somebody wants to know now: not lost on a poll that is under way.
    rung_at                timestamptz,
    last_complete_begun_at timestamptz,
    last_complete_at       timestamptz,
    failing_since          timestamptz,
    last_error             text,
    primary key (connection_id, goal),
    constraint poll_state_goal_is_known check (goal in ('poll', 'missed'))
) with (fillfactor = 70);
create index poll_state_due on poll_state (due_at);

-- What a person must do: mailed, once while it lasts. No guest's name, only references.
create table notice (
    notice_id      bigint      generated always as identity primary key,
    kind           text        not null,
    -- What it is about: raised again, it counts up instead of mailing again.
    key            text        not null,
    property_id    bigint,
    account_id     bigint,
    text           text        not null,
    times          integer     not null default 1,
    raised_at      timestamptz not null,
    last_raised_at timestamptz not null,
    due_at         timestamptz not null,
    sent_at        timestamptz,
    attempt        integer     not null default 0,
    last_error     text,
    constraint notice_is_raised_once unique (kind, key)
);
create index notice_due on notice (due_at) where sent_at is null;
create index notice_of_account on notice (account_id) where account_id is not null;
