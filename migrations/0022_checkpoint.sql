-- keyrack-ledger owns: night_checkpoint, an index of ledger_entry.
--
-- Closed nights, long before the business day, with the counts that were proved of them: a verification adds what
-- came later and reads the rest of their history no more. A row covers exactly the entries of its night that its
-- snapshot saw: sequences commit out of order, so that no number could say it. It is written by the transaction that
-- proved the night, and a whole verification proves it again. While the night has the version that was proved, no
-- entry has come since.

create table night_checkpoint (
    property_id       bigint      not null,
    room_type_id      bigint      not null,
    stay_date         date        not null,
    physical          integer     not null,
    out_of_order      integer     not null,
    overbooking_limit integer     not null,
    held              integer     not null,
    sold              integer     not null,
    -- Of the night when it was proved.
    night_version     bigint      not null,
    snapshot          pg_snapshot not null,
    -- Transactions of another cluster mean nothing here: after a restore the row counts for nothing.
    system_identifier bigint      not null,
    proven_at         timestamptz not null,
    primary key (property_id, room_type_id, stay_date)
);

-- What was written of the nights from one on: a verification that begins there, and the story of a night.
create index ledger_entry_by_night on ledger_entry (property_id, room_type_id, night_until) where quantity > 0;
