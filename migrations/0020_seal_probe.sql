-- keyrack-distribution owns: seal_probe.
--
-- A known word under the key that seals this database, written by the first daemon: another key shows at the
-- start, and not when the first login does not open.
create table seal_probe (
    is_only boolean     primary key default true,
    sealed  bytea       not null,
    made_at timestamptz not null default ledger_now(),
    constraint seal_probe_is_one check (is_only)
);
