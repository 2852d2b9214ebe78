//! The HTTP contract from outside, on a real Postgres.

mod app;
mod channels;
mod document;
mod hostile;
mod manners;
mod portal;
mod reservations;
