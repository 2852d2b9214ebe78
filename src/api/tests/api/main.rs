//! The HTTP contract from outside, on a real Postgres.

mod abuse;
mod app;
mod availability;
mod channels;
mod document;
mod hostile;
mod inventory;
mod manners;
mod messages;
mod portal;
mod refused;
mod replay;
mod reservations;
mod socket;
mod strangers;
mod waitlist;
