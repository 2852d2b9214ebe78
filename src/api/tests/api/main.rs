//! The HTTP contract from outside, on a real Postgres.

mod document;
