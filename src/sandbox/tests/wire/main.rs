//! The fake channels over real sockets, as a client meets them.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // Tests; one says when it skips.

mod alpinebits;
mod alpinebits_queue;
mod booking_ari;
mod booking_queues;
mod cases;
mod checks;
mod client;
mod day;
mod door;
mod fallback;
mod faults;
mod stock;
