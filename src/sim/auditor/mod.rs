//! The auditor: a second opinion on what must happen, written as plainly as possible.
//!
//! [`Books`](books::Books) are maps and counters. They share no code with the ledger's rules and
//! follow the ledger's design in words: what takes rooms, what may be refused, what is owed. Where
//! the design leaves something open, nothing is demanded.

pub mod allotment;
pub mod books;
mod capacity;
pub mod cases;
pub mod compare;
mod desk;
mod draw;
pub mod entry;
pub mod expected;
mod fact;
mod hold;
pub mod house;
pub mod listing;
mod rules;
mod switch;
mod told;
mod wish;
