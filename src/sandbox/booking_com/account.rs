//! The handle of the fake Booking.com: its one machine account, tokens and the rhythm of polls.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::channel::Channel;
use crate::settings::{BookingComSettings, Secret};

use super::{queue, token};

/// The fake Booking.com, for whoever shares the process. Clones are the same channel.
#[derive(Clone)]
pub struct BookingCom {
    channel: Channel,
    pub(super) settings: Arc<BookingComSettings>,
    desk: Arc<Mutex<Desk>>,
}

/// Tokens and the rhythm of polls.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) tokens: token::Tokens,
    pub(super) new: Rhythm,
    pub(super) modify: Rhythm,
    pub(super) missed: Rhythm,
}

/// When a queue was last asked, and last had something acknowledged.
#[derive(Clone, Copy, Default)]
pub(super) struct Rhythm {
    pub(super) asked_at: Option<Timestamp>,
    pub(super) acknowledged_at: Option<Timestamp>,
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

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for BookingCom {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}
