//! The ledger against a real Postgres: each verb, and races on one and on two handles.
#![allow(clippy::unwrap_used)]

mod allotment_chance;
mod allotment_paper;
mod allotment_proof;
mod allotments;
mod archive;
mod around;
mod batches;
mod checkpoints;
mod facts;
mod full;
mod guest_limits;
mod holds;
mod hotel;
mod leaving;
mod limits;
mod locks;
mod memory;
mod moment;
mod overbooking;
mod pending;
mod pool_rules;
mod queue;
mod races;
mod releases;
mod rules;
mod sweeping;
mod transfer;
mod turn_aways;
mod waitlist;
