//! What is true: one reservation ledger in Postgres.
//!
//! Floor 2. A verb is a function of its module: `reservations::request(&ledger, …)`. Every write
//! of a night or a
//! reservation is a [`command::Command`] that goes through the lanes of `batch`: read, decide,
//! apply. The
//! rules stand in [`decide`] and nowhere else, as functions of values. This floor knows no HTTP,
//! no channel and no adapter.
#![deny(clippy::float_arithmetic)]

pub mod allotments;
pub mod answers;
pub mod archive;
mod batch;
pub mod catalog;
pub mod checkpoint;
pub mod command;
pub mod decide;
mod desk;
pub mod error;
pub mod groups;
pub mod handle;
pub mod hits;
pub mod holds;
mod interrupt;
pub mod inventory;
pub mod keys;
pub mod lists;
pub mod moves;
mod offering;
mod offers;
pub mod overbookings;
pub mod rates;
pub mod reservations;
pub mod safety;
pub mod settings;
mod setup;
mod sheet;
mod store;
pub mod sweeper;
pub mod tail;
pub mod turn_aways;
pub mod verify;
pub mod waitlist;
mod waits;
pub mod wish;
