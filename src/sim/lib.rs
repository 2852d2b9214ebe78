//! The simulation: scripts of chance, and an auditor who keeps books of his own.
//!
//! From one seed come a [`shape::Shape`] (properties, types, rules) and a script of
//! [`step::Scripted`] steps in abstract ids. [`ids::Ids`] turns a step into a command of the
//! ledger; [`auditor::Books`] says what the answer must be and what must be true afterwards.
//! Whoever runs a script feeds both: the ledger with commands, the books with commands and answers.
//! The auditor shares no code with the ledger's rules, else both would share their mistakes.

pub mod auditor;
mod command;
pub mod generate;
pub mod ids;
pub mod shape;
pub mod shrink;
pub mod step;
