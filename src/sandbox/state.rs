//! All that one channel remembers.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use rand::rngs::SmallRng;

use crate::faults::Faults;
use crate::hotel::{Applied, Hotel, Room, Told, What};
use crate::journal::{Cause, Log, Mail, NightChange};
use crate::night::nights;
use crate::reservation::Reservation;
use crate::stock::Terms;

/// Hotels, reservations, journal, faults and chance of one channel, behind one lock.
pub(crate) struct State {
    pub(crate) hotels: BTreeMap<String, Hotel>,
    pub(crate) reservations: BTreeMap<String, Reservation>,
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    pub(crate) rng: SmallRng,
    pub(crate) terms: Terms,
    /// Each version is a message of its own (AlpineBits); else only the latest (Booking.com).
    pub(crate) delivers_each_version: bool,
    /// What references begin with.
    pub(crate) reference_prefix: &'static str,
    pub(crate) reference_next: u64,
    pub(crate) instance_next: u64,
}

impl State {
    /// Puts a hotel under contract, or gives a known one other rooms; its numbers stay.
    pub(crate) fn add_hotel(&mut self, code: &str, rooms: &[Room], now: Timestamp) {
        let hotel = self.hotels.entry(code.to_owned()).or_insert_with(|| Hotel {
            rooms: BTreeMap::new(),
            linked: true,
            added_at: now,
            complete_set_at: None,
            nights: BTreeMap::new(),
        });
        hotel.rooms = rooms
            .iter()
            .map(|room| (room.code.clone(), room.clone()))
            .collect();
    }

    /// Takes what a client told of a hotel's nights and writes each night down.
    pub(crate) fn tell(&mut self, hotel: &str, applied: &[Applied], now: Timestamp) {
        let mut touched: BTreeMap<(String, Date), (bool, Cause)> = BTreeMap::new();
        for told in applied {
            let cause = match told.what {
                What::Forgotten => Cause::LeftOut,
                _ => Cause::Told,
            };
            let counts = !matches!(told.what, What::Price { .. });
            for night in nights(told.from, told.to) {
                let at = touched
                    .entry((told.room.clone(), night))
                    .or_insert((false, cause));
                at.0 |= counts;
                if cause == Cause::Told {
                    at.1 = cause;
                }
            }
        }
        let before: BTreeMap<(String, Date), Option<u32>> = touched
            .keys()
            .map(|key| (key.clone(), self.shown_rooms(hotel, &key.0, key.1)))
            .collect();
        for told in applied {
            self.tell_one(hotel, told, now);
        }
        for (key, (counts, cause)) in touched {
            let shown = self.shown_rooms(hotel, &key.0, key.1);
            if counts || before.get(&key) != Some(&shown) {
                self.record_night(hotel, &key.0, key.1, cause, now);
            }
        }
    }

    fn tell_one(&mut self, hotel: &str, told: &Applied, now: Timestamp) {
        let sequence = self.log.next_sequence();
        let Some(hotel) = self.hotels.get_mut(hotel) else {
            return;
        };
        for night in nights(told.from, told.to) {
            let at = hotel.nights.entry((told.room.clone(), night)).or_default();
            at.tell(told.rate.as_deref(), &told.what);
            at.told = Some(Told { sequence, at: now });
        }
    }

    fn shown_rooms(&self, hotel: &str, room: &str, night: Date) -> Option<u32> {
        let shown = self.hotels.get(hotel)?.shown(room, night, &self.terms)?;
        Some(shown.rooms)
    }

    /// Writes down what a night looks like now.
    pub(crate) fn record_night(
        &mut self,
        hotel: &str,
        room: &str,
        night: Date,
        cause: Cause,
        now: Timestamp,
    ) {
        let shown = self
            .hotels
            .get(hotel)
            .and_then(|h| h.shown(room, night, &self.terms));
        let Some(shown) = shown else { return };
        let sequence = self.log.next_sequence();
        self.log.night(NightChange {
            sequence,
            at: now,
            hotel: hotel.to_owned(),
            room: room.to_owned(),
            night,
            number: shown.number,
            closed: shown.closed,
            shown: shown.rooms,
            cause,
        });
    }

    /// Mails a version to the hotel.
    pub(crate) fn mail(&mut self, reference: &str, version: usize, at: Timestamp) {
        let Some(reservation) = self.reservations.get_mut(reference) else {
            return;
        };
        let hotel = reservation.hotel.clone();
        let Some(version) = reservation.versions.get_mut(version) else {
            return;
        };
        version.mailed_at = Some(at);
        let mail = Mail {
            at,
            hotel,
            reference: reference.to_owned(),
            version: version.number,
        };
        self.log.mail(mail);
    }

    pub(crate) fn next_reference(&mut self) -> String {
        let reference = format!("{}{}", self.reference_prefix, self.reference_next);
        self.reference_next += 1;
        reference
    }

    pub(crate) fn next_instance(&mut self) -> u64 {
        self.instance_next += 1;
        self.instance_next
    }
}
