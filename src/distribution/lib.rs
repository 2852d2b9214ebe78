//! The sync engine: takes reservations in from every channel and tells every channel what is left.
//!
//! Floor 3. What a channel says goes through [`intake`] into the ledger, whether it was asked for
//! ([`poll`]) or delivered ([`inbox`]). What the ledger has newly written becomes marks ([`feed`]),
//! and each mark is told with the present state ([`push`]). Nothing here decides anything about
//! rooms; nothing here knows a channel by name: the roof hands the adapters in. What must happen
//! later is a row, so a crash costs a repeat and never a loss.

pub mod accounts;
mod behind;
pub mod channels;
pub mod connections;
pub mod error;
mod evidence;
pub mod feed;
pub mod handle;
pub mod inbox;
pub mod intake;
pub mod lag;
mod lease;
pub mod messages;
pub mod notice;
mod pace;
pub mod poll;
pub mod push;
pub mod resync;
pub mod safety;
pub mod seal;
pub mod sealed;
pub mod settings;
mod sign_in;
mod store;
pub mod timetable;
pub mod tls;
pub mod transport;
pub mod waitlist;
pub mod webhooks;

pub use handle::Distribution;
