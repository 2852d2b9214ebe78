//! The handle of the fake portal: what was agreed with its client and what it still demands.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::channel::Channel;
use crate::clock::elapsed_ms;
use crate::settings::{AlpineBitsSettings, Secret};

use super::answer::{Demand, Warning};
use super::capability::{self, Capabilities};
use super::guest_requests;

/// The fake portal, for whoever shares the process. Clones are the same channel.
#[derive(Clone)]
pub struct AlpineBits {
    channel: Channel,
    pub(super) settings: Arc<AlpineBitsSettings>,
    desk: Arc<Mutex<Desk>>,
}

/// What holds between the portal and its client.
#[derive(Default)]
pub(super) struct Desk {
    /// What the last handshake left; before the first one, all that the portal has.
    pub(super) agreed: Option<Capabilities>,
    pub(super) demands: BTreeSet<Demand>,
}

impl AlpineBits {
    pub(crate) fn new(channel: Channel, settings: AlpineBitsSettings) -> AlpineBits {
        AlpineBits {
            channel,
            settings: Arc::new(settings),
            desk: Arc::default(),
        }
    }

    /// User and password of the client.
    pub fn credentials(&self) -> (String, Secret) {
        (self.settings.user.clone(), self.settings.password.clone())
    }

    /// Asks for a complete set or a handshake in every answer until it has come.
    pub fn demand(&self, demand: Demand) {
        self.desk().demands.insert(demand);
    }

    /// Demands that were not yet met.
    pub fn demands(&self) -> Vec<Demand> {
        self.desk().demands.iter().copied().collect()
    }

    /// Capabilities that hold now between the portal and its client.
    pub fn agreed(&self) -> Vec<String> {
        self.capabilities().into_iter().collect()
    }

    /// Lets time take its course: what nobody acknowledged in time falls back. Every request
    /// does so too; call it before reading the journal.
    pub fn let_fall(&self) {
        let now = self.channel.now();
        let after_ms = self.settings.fallback_after_ms;
        guest_requests::let_fall(&mut self.channel.state(), after_ms, now);
    }

    pub(super) fn own(&self) -> Capabilities {
        self.settings.capabilities.iter().cloned().collect()
    }

    /// Daily prices are sent only to a client that said it can read them; everything else that
    /// the portal has may be used before a handshake, too.
    pub(super) fn capabilities(&self) -> Capabilities {
        let agreed = self.desk().agreed.clone();
        agreed.unwrap_or_else(|| {
            let mut own = self.own();
            own.remove(capability::ROOM_RATES);
            own
        })
    }

    pub(super) fn demand_warnings(&self) -> Vec<Warning> {
        self.desk()
            .demands
            .iter()
            .map(|demand| Warning::demand(*demand))
            .collect()
    }

    /// The advisory about a complete set that is too old.
    pub(super) fn advisories(&self, hotel: &str) -> Vec<Warning> {
        let now = self.channel.now();
        let state = self.channel.state();
        let max_age_ms = i64::from(self.settings.complete_set_max_age_ms);
        let Some(hotel) = state.hotels.get(hotel).filter(|_| max_age_ms > 0) else {
            return Vec::new();
        };
        let since = hotel.complete_set_at.unwrap_or(hotel.added_at);
        if elapsed_ms(since, now) <= max_age_ms {
            return Vec::new();
        }
        vec![Warning::advisory(
            "the last complete set is too old, please send one",
        )]
    }

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for AlpineBits {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}
