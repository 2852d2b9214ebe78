//! The fake channels over real sockets, as a client meets them.

mod alpinebits;
mod alpinebits_queue;
mod booking_ari;
mod booking_queues;
mod client;
mod door;
mod fallback;
mod faults;
mod stock;
