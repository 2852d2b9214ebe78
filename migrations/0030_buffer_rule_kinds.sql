-- keyrack-ledger owns: nothing new.
--
-- Two more kinds of buffer rules: so many rooms at most, and so many of a hundred free ones.

alter table buffer_rule
    drop constraint buffer_rule_kind_is_known,
    add constraint buffer_rule_kind_is_known check (kind in ('keep_back', 'close_at', 'cap', 'share_percent')),
    add constraint buffer_rule_share_is_a_part check (kind <> 'share_percent' or rooms <= 100);
