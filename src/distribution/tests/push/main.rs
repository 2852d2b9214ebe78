//! Telling channels, against a real Postgres and a channel that answers as told.

mod accounts;
mod channel;
mod daemons;
mod faults;
mod feed;
mod fields;
mod house;
mod order;
mod portal;
mod sets;
mod webhooks;
