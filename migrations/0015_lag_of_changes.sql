-- keyrack-distribution owns: channel_message, mark, told_history.

create index channel_message_of_connection on channel_message (connection_id, message_id);
-- Those that no hotel sees: unreadable, or of a hotel without an account.
create index channel_message_of_nobody on channel_message (message_id) where account_ids = '{}';

-- The oldest change of the ledger that is untold; null where the cell is only told again (a first or full telling,
-- an echo).
alter table mark add column changed_at timestamptz;

-- The change of the ledger that it tells: where lag is counted from. Null where it tells none, and for what was told
-- before this was kept.
alter table told_history add column changed_at timestamptz;
drop index told_history_lag;
create index told_history_lag on told_history (account_id, history_id)
    where acknowledged_at is not null and changed_at is not null;
