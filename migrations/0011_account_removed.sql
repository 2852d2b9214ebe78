-- keyrack-ledger owns: account.
--
-- A removed account is out of sight but stays in the table: the references that it brought are kept for ever,
-- and who connects the same listing again under its code is known again. Its listing is free for others.

alter table account add column removed_at timestamptz;
alter table account drop constraint account_listing_is_unique;
create unique index account_listing_is_unique on account (connection_id, hotel_code) where removed_at is null;
