//! The HTTP contract from outside, on a real Postgres.

mod abuse;
mod allotments;
mod app;
mod availability;
mod channels;
mod document;
mod groups;
mod hits;
mod hostile;
mod impatient;
mod inventory;
mod list_versions;
mod lists;
mod manners;
mod messages;
mod portal;
mod queue;
mod refused;
mod replay;
mod reservations;
mod socket;
mod strangers;
mod waitlist;
