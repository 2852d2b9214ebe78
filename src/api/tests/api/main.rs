//! The HTTP contract from outside, on a real Postgres.

mod app;
mod document;
mod hostile;
mod manners;
mod reservations;
