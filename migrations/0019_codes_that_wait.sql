-- keyrack-distribution owns: channel_message.
--
-- Which codes a message waits for, so that what waits is told from the messages themselves: a code stays
-- listed while a message waits for it, and a message is read again once a mapping knows one of its codes.
-- Of messages that waited before this column came the codes are not known: they are read once more.
-- [{account, room, rate}]
alter table channel_message add column unmapped_codes jsonb not null default '[]';
