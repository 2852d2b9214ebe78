//! A fake Booking.com in the OTA dialect: one machine account, several hotels behind it.
//!
//! What it knows of the real one is in its published pages; where those are silent it takes the
//! harder reading. Its own choices: a reservation that was cancelled before anybody acknowledged
//! it is offered in the queue of new ones with `ResStatus="Cancel"` and nothing but its number;
//! an acknowledgement that names one stale message takes none; repeating an acknowledgement of
//! the latest version is a success; missed reservations come as one `OTA_HotelResNotifRQ` in
//! which each names its state (`Commit` is acknowledged as new, the others as changes).

mod account;
pub(crate) mod acknowledgement;
pub(crate) mod answer;
pub(crate) mod ari;
pub(crate) mod judge;
mod message;
mod period;
mod poll;
pub(crate) mod queue;
mod routes;
mod token;

pub use account::BookingCom;
pub(crate) use routes::router;
