//! A private Postgres for serve, demo and tests.
