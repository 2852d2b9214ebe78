//! The other side of the wire: fake channels that sell rooms, lag, fail and repeat.
//!
//! A fake Booking.com (OTA dialect) and a fake AlpineBits 2024-10 portal over HTTP. Each keeps a
//! hotel's stock as it was told, sells it to random guests, delivers what it sold the way the real
//! one does, refuses what the published rules refuse, and writes everything down for the audits.
//!
//! # Why it shares nothing
//!
//! It reads and writes the wire with code of its own and imports no other floor: a simulator that
//! shares the adapters' mistakes proves nothing.
//!
//! # Doors
//!
//! [`Sandbox`] for the same process, `/_sandbox/…` over HTTP for another one, [`check()`] for one
//! message standing alone, [`Guests`] for a day of a hotel's life.
//!
//! | address | what |
//! | --- | --- |
//! | `/token-based-authentication/exchange` | Booking.com: a token |
//! | `/hotels/ota/…`, `/reservations-flow-control/…` | Booking.com |
//! | `/alpinebits` | the AlpineBits portal |
//! | `/_sandbox/…` | the door for audits; see [`control`] |

pub(crate) mod alpinebits;
pub(crate) mod booking_com;
mod channel;
mod check;
mod clock;
pub mod control;
mod edge;
mod faults;
mod guests;
mod hotel;
mod journal;
mod money;
mod night;
mod people;
mod reservation;
mod selling;
mod server;
mod settings;
mod state;
mod stock;
mod xml;

pub use alpinebits::{AlpineBits, Demand};
pub use booking_com::BookingCom;
pub use channel::Channel;
pub use check::{CheckAnswer, Verdict, check};
pub use clock::Clock;
pub use faults::{Chance, Faults, Latency};
pub use guests::{Event, Guests, Habits};
pub use hotel::{Applied, Limits, Room, Shown, ShownRate, Told, What};
pub use journal::{Cause, Journal, Mail, Message, NightChange};
pub use reservation::{
    Change, Guest, Reservation, RoomStay, Sold, Version, VersionState, Wish, WishedRoom,
};
pub use server::Sandbox;
pub use settings::{AlpineBitsSettings, BookingComSettings, HotelSettings, Secret, Settings};
