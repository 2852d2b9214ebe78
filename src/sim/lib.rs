//! The simulation: scripts of chance, and an auditor who keeps books of his own.
//!
//! From one seed come a [`shape::Shape`] (properties, types, rules) and a script of
//! [`step::Scripted`] steps in abstract ids. [`ids::Ids`] turns a step into a command of the
//! ledger; [`auditor::books::Books`] says what the answer must be and what must be true afterwards.
//! Whoever runs a script feeds both: the ledger with commands, the books with commands and answers.
//! The auditor shares no code with the ledger's rules, else both would share their mistakes.
//!
//! A script runs on paper (the pure rules alone, in the tests) or on the real thing: [`campaign`]
//! runs seeds, [`run`] one of them, round by round. In a round up to six callers ask two or three
//! daemons at once while [`lot`] breaks connections, daemons and the server; afterwards an order is
//! looked for in which the books explain every answer and agree with the database.

mod asking;
mod audit;
pub mod auditor;
mod beside;
pub mod buffers;
pub mod campaign;
pub mod case_step;
mod command;
mod daemon;
pub mod error;
mod fact_step;
mod faults;
mod feed;
pub mod generate;
mod hotel;
pub mod ids;
mod listings;
mod look;
mod look_pools;
pub mod lot;
mod marks;
mod order;
pub mod pool_shape;
pub mod pool_step;
mod round;
pub mod rule_step;
pub mod run;
pub mod shape;
pub mod shrink;
mod solo;
mod stage;
pub mod step;
pub mod tally;
mod telling;
