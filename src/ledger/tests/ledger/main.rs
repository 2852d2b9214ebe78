//! The ledger against a real Postgres: each verb, and races on one and on two handles.
#![allow(clippy::unwrap_used)]

mod archive;
mod batches;
mod checkpoints;
mod facts;
mod guest_limits;
mod holds;
mod hotel;
mod locks;
mod overbooking;
mod pending;
mod races;
mod rules;
mod sweeping;
mod turn_aways;
mod waitlist;
