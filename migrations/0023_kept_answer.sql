-- keyrack-ledger owns: kept_answer.

-- Answers to what was asked under an idempotency key and does not go through the lanes (rates, inventory, the
-- verbs of accounts, replays). A reservation's key stands in idempotency_key instead, in its command's own commit.
create table kept_answer (
    scope        text        not null,
    key          text        not null,
    fingerprint  text        not null,
    begun_at     timestamptz not null,
    -- Null while the first is at work.
    status       smallint,
    content_type text,
    etag         text,
    body         bytea,
    primary key (scope, key)
);
create index kept_answer_age on kept_answer (begun_at);
