//! The private server as its users meet it: alive, killed, refused, and under other accounts.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this program is tests"
)]

mod accounts;
mod daemon;
mod databases;
mod deaths;
mod life;
mod place;
mod refusals;
