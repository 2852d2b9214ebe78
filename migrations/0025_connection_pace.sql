-- keyrack-distribution owns: connection_pace.
--
-- A channel's quota is the connection's, whichever daemon sends: each request takes its place here before it leaves.

create table connection_pace (
    connection_id bigint      primary key references connection on delete cascade,
    -- Until when the quota is spent, were every request of it sent at an even pace.
    spent_until   timestamptz not null
) with (fillfactor = 50);
