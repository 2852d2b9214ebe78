//! The ledger against a real Postgres: each verb, and races on one and on two handles.
#![allow(clippy::unwrap_used)]

mod batches;
mod facts;
mod holds;
mod hotel;
mod locks;
mod overbooking;
mod pending;
mod races;
mod rules;
mod sweeping;
