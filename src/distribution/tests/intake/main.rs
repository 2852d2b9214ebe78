//! The inbound half against a real Postgres, a scripted dialect and a scripted portal over HTTP.
#![allow(clippy::unwrap_used)]

mod acknowledged;
mod bad_input;
mod channel;
mod connections;
mod desk;
mod inbox;
mod mails;
mod mapping;
mod polls;
mod portal;
mod strangers;
mod timetable;
