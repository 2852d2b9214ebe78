//! A fake Booking.com in the OTA dialect: one machine account, several hotels behind it.
//!
//! What it knows of the real one is in its published pages; where those are silent it takes the
//! harder reading. Its own choices: a reservation that was cancelled before anybody acknowledged
//! it is offered in the queue of new ones with `ResStatus="Cancel"` and nothing but its number;
//! an acknowledgement that names one stale message takes none; repeating an acknowledgement of
//! the latest version is a success; missed reservations come as one `OTA_HotelResNotifRQ` in
//! which each names its state (`Commit` is acknowledged as new, the others as changes).

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

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::channel::Channel;
use crate::settings::{BookingComSettings, Secret};

pub(crate) use routes::router;

/// The fake Booking.com, for whoever shares the process. Clones are the same channel.
#[derive(Clone)]
pub struct BookingCom {
    channel: Channel,
    settings: Arc<BookingComSettings>,
    desk: Arc<Mutex<Desk>>,
}

/// Tokens and the rhythm of polls.
#[derive(Default)]
struct Desk {
    tokens: token::Tokens,
    new: Rhythm,
    modify: Rhythm,
    missed: Rhythm,
}

#[derive(Clone, Copy, Default)]
struct Rhythm {
    asked_at: Option<Timestamp>,
    acknowledged_at: Option<Timestamp>,
}

impl BookingCom {
    pub(crate) fn new(channel: Channel, settings: BookingComSettings) -> BookingCom {
        BookingCom {
            channel,
            settings: Arc::new(settings),
            desk: Arc::default(),
        }
    }

    /// What the client must present for a token.
    pub fn credentials(&self) -> (String, Secret) {
        let settings = &self.settings;
        (settings.client_id.clone(), settings.client_secret.clone())
    }

    /// Makes all tokens given so far worthless.
    pub fn revoke_tokens(&self) {
        let now = self.channel.now();
        self.desk().tokens.revoke(now);
    }

    /// Lets time take its course: what nobody acknowledged in time falls back. Every request
    /// does so too; call it before reading the journal.
    pub fn let_fall(&self) {
        let now = self.channel.now();
        queue::let_fall(&mut self.channel.state(), &self.settings, now);
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for BookingCom {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}
