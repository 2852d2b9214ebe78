//! Keyrack: one reservation ledger, every night told everywhere.
