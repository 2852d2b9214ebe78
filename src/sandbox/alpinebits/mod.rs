//! A fake AlpineBits portal, version 2024-10, server side: one address, POST only.
//!
//! Its own choices where the standard leaves them open: an unknown category is an error, never a
//! warning; business errors come with status 200; a compressed handshake is refused; every version
//! of a guest request stays in the queue until it is acknowledged itself.

pub(crate) mod answer;
pub mod capability;
pub(crate) mod free_rooms;
pub(crate) mod guest_requests;
pub(crate) mod handshake;
mod inv_count;
pub(crate) mod judge;
mod message;
mod portal;
mod routes;

pub use answer::Demand;
pub use portal::AlpineBits;
pub(crate) use routes::router;
