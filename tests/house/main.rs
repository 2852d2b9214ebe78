//! Stories told to the real program: its own database, its own port, callers from outside.

#![allow(clippy::unwrap_used, reason = "all of this program is tests")]

mod app;
mod channel;
mod command;
mod command_pools;
mod command_queue;
mod high_season;
mod hostile;
mod import;
mod kept_back;
mod killed;
mod last_room;
mod metrics;
mod midnight;
mod operator;
mod oversold;
mod plans;
mod post;
mod reservation_arrives;
mod rooming_list;
mod staff_books;
mod whole_and_by_room;
