//! The handle of one channel, for whoever shares the process: what both channels have in common.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use jiff::civil::Date;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::clock::Clock;
use crate::faults::{Faults, Struck};
use crate::hotel::{Room, Shown};
use crate::journal::{Journal, Log};
use crate::night::nights;
use crate::reservation::{Change, Sold, Wish};
use crate::settings::{AlpineBitsSettings, BookingComSettings};
use crate::state::State;
use crate::stock::Terms;

/// One fake channel. Clones are the same channel; nothing here waits.
#[derive(Clone)]
pub struct Channel {
    code: &'static str,
    clock: Clock,
    state: Arc<Mutex<State>>,
}

impl Channel {
    /// The fake Booking.com, still without hotels. Fails if the journal's file cannot be opened.
    pub(crate) fn booking_com(
        settings: &BookingComSettings,
        clock: Clock,
        seed: u64,
        journal: Option<&Path>,
    ) -> std::io::Result<Channel> {
        let state = State {
            hotels: Default::default(),
            reservations: Default::default(),
            log: Log::open(BOOKING_COM, journal)?,
            faults: Faults::default(),
            rng: SmallRng::seed_from_u64(seed),
            terms: Terms {
                needs_price: true,
                reopens_by_itself: settings.reopens_by_itself,
                currency: settings.currency.clone(),
                card_percent: settings.card_percent,
            },
            delivers_each_version: false,
            reference_prefix: "",
            reference_next: settings.first_reference,
            instance_next: 9_000,
        };
        Ok(Channel::new(BOOKING_COM, clock, state))
    }

    /// The fake AlpineBits portal, still without hotels; otherwise like the other.
    pub(crate) fn alpinebits(
        settings: &AlpineBitsSettings,
        clock: Clock,
        seed: u64,
        journal: Option<&Path>,
    ) -> std::io::Result<Channel> {
        let state = State {
            hotels: Default::default(),
            reservations: Default::default(),
            log: Log::open(ALPINEBITS, journal)?,
            faults: Faults::default(),
            rng: SmallRng::seed_from_u64(seed.wrapping_add(1)),
            terms: Terms {
                needs_price: false,
                reopens_by_itself: settings.reopens_by_itself,
                currency: settings.currency.clone(),
                card_percent: settings.card_percent,
            },
            delivers_each_version: true,
            reference_prefix: "R",
            reference_next: settings.first_reference,
            instance_next: 0,
        };
        Ok(Channel::new(ALPINEBITS, clock, state))
    }

    fn new(code: &'static str, clock: Clock, state: State) -> Channel {
        Channel {
            code,
            clock,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// `booking_com` or `alpinebits`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The sandbox's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The codes of all hotels.
    pub fn hotels(&self) -> Vec<String> {
        self.state().hotels.keys().cloned().collect()
    }

    /// The room types of a hotel; empty if it is unknown.
    pub fn rooms(&self, hotel: &str) -> Vec<Room> {
        let state = self.state();
        let known = state.hotels.get(hotel);
        known.map_or_else(Vec::new, |h| h.rooms.values().cloned().collect())
    }

    /// Puts a hotel under contract, or gives a known one other rooms; its numbers stay.
    pub fn add_hotel(&self, code: &str, rooms: &[Room]) {
        let now = self.clock.now();
        self.state().add_hotel(code, rooms, now);
    }

    /// Grants the client's login a hotel, or takes it away again (then it is answered 403).
    pub fn link(&self, hotel: &str, linked: bool) {
        if let Some(hotel) = self.state().hotels.get_mut(hotel) {
            hotel.linked = linked;
        }
    }

    /// What guests see of one night of one room type; `None` if there is no such room.
    pub fn shown(&self, hotel: &str, room: &str, night: Date) -> Option<Shown> {
        let state = self.state();
        state.hotels.get(hotel)?.shown(room, night, &state.terms)
    }

    /// The same for all room types of a hotel on the nights `from..to`, by room, then night.
    pub fn shown_range(&self, hotel: &str, from: Date, to: Date) -> Vec<Shown> {
        let state = self.state();
        let Some(hotel) = state.hotels.get(hotel) else {
            return Vec::new();
        };
        let terms = &state.terms;
        hotel
            .rooms
            .keys()
            .flat_map(|room| nights(from, to).map(move |night| (room, night)))
            .filter_map(|(room, night)| hotel.shown(room, night, terms))
            .collect()
    }

    /// Sells what a guest wants and takes it off the own number; `None` if it is not shown.
    pub fn sell(&self, wish: &Wish) -> Option<Sold> {
        let mut state = self.state();
        state.sell(wish, self.clock.now())
    }

    /// Changes a stay; `None` if the new one is not shown, or the reservation is unknown or
    /// cancelled.
    pub fn modify(&self, reference: &str, change: &Change) -> Option<Sold> {
        let mut state = self.state();
        state.modify(reference, change, self.clock.now())
    }

    /// Cancels a stay; `None` if it is unknown or cancelled already.
    pub fn cancel(&self, reference: &str) -> Option<Sold> {
        let mut state = self.state();
        state.cancel(reference, self.clock.now())
    }

    /// A copy of everything written down so far.
    pub fn journal(&self) -> Journal {
        let state = self.state();
        Journal {
            channel: self.code.to_owned(),
            messages: state.log.messages.clone(),
            reservations: state.reservations.values().cloned().collect(),
            nights: state.log.nights.clone(),
            mailbox: state.log.mailbox.clone(),
        }
    }

    /// The faults as they are set now (`Next` counts down).
    pub fn faults(&self) -> Faults {
        self.state().faults.clone()
    }

    /// Sets other faults; they strike from the next message on.
    pub fn set_faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// Draws the faults that strike the next message.
    pub(crate) fn strike(&self, endpoint: &str) -> Struck {
        let mut state = self.state();
        let State { faults, rng, .. } = &mut *state;
        faults.draw(endpoint, rng)
    }

    /// Whether a message at `endpoint` still waits to be dealt with.
    pub(crate) fn holds(&self, endpoint: &str) -> bool {
        self.state().faults.hold(endpoint)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The state, locked. A thread that died with it left every rule of it whole.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) const BOOKING_COM: &str = "booking_com";
pub(crate) const ALPINEBITS: &str = "alpinebits";
