//! A database of its own for every test, on one cluster for every run of cargo.
//!
//! The first test that asks makes the cluster; it is keyed by the cargo process above it, so all
//! test binaries of a run share it, and its keeper removes it when that cargo is gone. Migrations
//! run once, into a template; each test gets a clone.

mod anchor;
mod cluster;
pub(crate) mod database;
mod template;
