//! Stories told to the real program: its own database, its own port, callers from outside.

#![allow(clippy::unwrap_used, reason = "all of this program is tests")]

mod app;
mod command;
mod hostile;
mod import;
mod staff_books;
