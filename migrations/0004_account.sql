-- keyrack-distribution owns: connection. keyrack-ledger owns: account, mapping, api_key.
--
-- A connection is one login with its one poller and its one quota, for one hotel or many; an
-- account is one property's listing behind it. The ledger owns accounts and mappings, since facts
-- and pools need them.

create table connection (
    connection_id bigint      generated always as identity primary key,
    code          text        not null,
    channel       text        not null,
    endpoint      text,
    -- Sealed with the configuration's key: user, secret; never given back.
    credentials   bytea       not null,
    settings      jsonb       not null default '{}',
    -- Sealed: what signing in learned (a token, negotiated capabilities), and when.
    learned       bytea,
    learned_at    timestamptz,
    version       bigint      not null default 1,
    created_at    timestamptz not null default ledger_now(),
    constraint connection_code_is_unique unique (code)
);

create table account (
    property_id     bigint      not null references property,
    account_id      bigint      generated always as identity,
    code            text        not null,
    connection_id   bigint      not null references connection,
    channel         text        not null,
    hotel_code      text        not null,
    state           text        not null default 'setup',
    state_since     timestamptz not null default ledger_now(),
    state_reason    text,
    -- What was sold before the account was connected has been imported, or waived by a person.
    import_done     boolean     not null default false,
    settings        jsonb       not null default '{}',
    version         bigint      not null default 1,
    primary key (property_id, account_id),
    constraint account_id_is_unique unique (account_id),
    constraint account_code_is_unique unique (property_id, code),
    constraint account_listing_is_unique unique (connection_id, hotel_code),
    constraint account_state_is_known check (state in ('setup', 'live', 'paused', 'closed'))
);

create table mapping (
    property_id       bigint not null,
    account_id        bigint not null,
    room_type_id      bigint not null,
    rate_plan_id      bigint,
    channel_room_code text   not null,
    channel_rate_code text,
    pool              text   not null default 'shared',
    foreign key (property_id, account_id) references account,
    foreign key (property_id, room_type_id) references room_type,
    foreign key (property_id, rate_plan_id) references rate_plan,
    constraint mapping_pool_is_known check (pool in ('shared'))
);
create unique index mapping_codes_are_unique
    on mapping (property_id, account_id, channel_room_code, coalesce(channel_rate_code, ''));

-- Keys are shown once and kept as a hash: who reads the table cannot ask as anybody.
create table api_key (
    key_id      bigint      generated always as identity primary key,
    hash        bytea       not null,
    role        text        not null,
    property_id bigint      references property,
    name        text        not null default '',
    created_at  timestamptz not null default ledger_now(),
    revoked_at  timestamptz,
    constraint api_key_hash_is_unique unique (hash),
    constraint api_key_role_is_known check (role in ('admin', 'manager', 'front_desk', 'read_only'))
);
