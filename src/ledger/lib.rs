//! What is true: one reservation ledger in Postgres.
