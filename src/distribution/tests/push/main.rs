//! Telling channels, against a real Postgres and a channel that answers as told.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod accounts;
mod channel;
mod daemons;
mod escalation;
mod evidence;
mod faults;
mod feed;
mod fields;
mod house;
mod lag;
mod order;
mod own_sale;
mod pages;
mod plans;
mod pools;
mod portal;
mod reopened;
mod safety;
mod sets;
mod then;
mod webhooks;
