//! Stories told to the real program: its own database, its own port, callers from outside.

#![allow(clippy::unwrap_used, reason = "all of this program is tests")]

mod app;
mod channel;
mod command;
mod command_pools;
mod command_queue;
mod hostile;
mod import;
mod killed;
mod last_room;
mod metrics;
mod operator;
mod plans;
mod reservation_arrives;
mod staff_books;
