//! Lanes and batches: read, decide, apply.
//!
//! # Why
//!
//! Every write is a command, and commands go in batches, also a batch of one. A lane is a property,
//! or types of it ([`lane`]): an idle connection takes what is pending and whose lane has no batch
//! in flight, in order of arrival, without a timer; a share of it where the other is idle too. A
//! batch is two round trips: one unlocked read, the pure decision, one call that applies it to the
//! very rows that were read or does nothing. Where all its rows are remembered ([`memory`]) it is
//! the call alone. When somebody was first, the batch is read again under locks and decided anew.
//! No correctness rests on anything in this process: two daemons on one database are as right as
//! one.

mod clock;
pub(crate) mod contention;
pub(crate) mod count;
mod doubt;
mod keys;
pub(super) mod lane;
pub(crate) mod lanes;
pub(crate) mod memory;
pub(crate) mod numbers;
mod proof;
mod remembered;
mod retry;
mod round;
mod rules;
mod run;
pub(crate) mod worker;
