//! The private server as its users meet it: alive, killed, refused, and under other accounts.

mod accounts;
mod daemon;
mod databases;
mod deaths;
mod life;
mod place;
mod refusals;
