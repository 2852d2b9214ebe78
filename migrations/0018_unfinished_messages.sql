-- keyrack-distribution owns: channel_message.
--
-- Messages of which a daemon died before it knew what they held: looked for all the time, and there are next to none.

create index channel_message_unfinished on channel_message (message_id)
    where direction = 'in' and status = 'received' and not is_cut;
