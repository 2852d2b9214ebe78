//! What a channel shows, and what it would sell a stay for, from what it was told.

use jiff::civil::Date;

use crate::hotel::{Hotel, Limits, Night, RateNight, Room, Shown, ShownRate};
use crate::night::{length, nights};
use crate::reservation::WishedRoom;

/// How a channel treats its stock.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Sells only nights that were told a price (Booking.com).
    pub(crate) needs_price: bool,
    /// Puts rooms that guests give back on sale by itself.
    pub(crate) reopens_by_itself: bool,
    pub(crate) currency: String,
    pub(crate) card_percent: u8,
}

/// A rate and its price per night for one room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) rate: String,
    pub(crate) prices_minor: Vec<i64>,
    pub(crate) currency: String,
}

impl Hotel {
    /// What is shown of one night; `None` if there is no such room type.
    pub(crate) fn shown(&self, room: &str, night: Date, terms: &Terms) -> Option<Shown> {
        let known = self.rooms.get(room)?;
        let empty = Night::default();
        let at = self.nights.get(&(room.to_owned(), night)).unwrap_or(&empty);
        let rates: Vec<(&String, ShownRate)> = known
            .rates
            .iter()
            .map(|rate| (rate, shown_rate(known, at.rates.get(rate), terms)))
            .collect();
        let all_closed = !rates.is_empty() && rates.iter().all(|(_, rate)| rate.closed);
        let price_minor = rates
            .iter()
            .filter(|(_, rate)| !rate.closed)
            .filter_map(|(_, rate)| rate.price_minor)
            .min();
        let sells = !at.closed && !all_closed && price_minor.is_some();
        Some(Shown {
            room: room.to_owned(),
            night,
            rooms: if sells { at.number.unwrap_or(0) } else { 0 },
            number: at.number,
            closed: at.closed || all_closed,
            price_minor,
            limits: at.limits,
            rates: rates
                .into_iter()
                .map(|(code, rate)| (code.clone(), rate))
                .collect(),
            told: at.told,
        })
    }

    /// The cheapest rate at which the rules let one such room be sold, without regard to how
    /// many are left; `None` if there is none.
    pub(crate) fn offer(&self, wished: &WishedRoom, terms: &Terms) -> Option<Offer> {
        let known = self.rooms.get(&wished.room)?;
        let mut offers: Vec<Offer> = known
            .rates
            .iter()
            .filter(|rate| wished.rate.as_ref().is_none_or(|only| only == *rate))
            .filter(|rate| self.rules_allow(wished, rate))
            .filter_map(|rate| self.priced(known, rate, wished, terms))
            .collect();
        offers.sort_by_key(|offer| offer.prices_minor.iter().sum::<i64>());
        offers.into_iter().next()
    }

    /// What a room costs that is sold whatever is shown: told prices where there are any.
    pub(crate) fn offer_regardless(&self, wished: &WishedRoom, terms: &Terms) -> Offer {
        let known = self.rooms.get(&wished.room);
        let rate = wished
            .rate
            .clone()
            .or_else(|| known.and_then(|room| room.rates.first().cloned()))
            .unwrap_or_else(|| "STD".to_owned());
        let list = known.map_or(10_000, |room| room.list_price_minor);
        let prices_minor = nights(wished.arrival, wished.departure)
            .map(|night| {
                self.rate_night(&wished.room, &rate, night)
                    .and_then(RateNight::price)
                    .unwrap_or(list)
            })
            .collect();
        Offer {
            rate,
            prices_minor,
            currency: terms.currency.clone(),
        }
    }

    fn priced(
        &self,
        known: &Room,
        rate: &str,
        wished: &WishedRoom,
        terms: &Terms,
    ) -> Option<Offer> {
        let mut prices_minor = Vec::new();
        let mut currency = terms.currency.clone();
        for night in nights(wished.arrival, wished.departure) {
            let at = self.rate_night(&wished.room, rate, night);
            if let Some(told) = at.and_then(|at| at.currency.clone()) {
                currency = told;
            }
            prices_minor.push(price_of(known, at, terms)?);
        }
        Some(Offer {
            rate: rate.to_owned(),
            prices_minor,
            currency,
        })
    }

    fn rules_allow(&self, wished: &WishedRoom, rate: &str) -> bool {
        let long = length(wished.arrival, wished.departure);
        let open = nights(wished.arrival, wished.departure).all(|night| {
            !self
                .room_night(&wished.room, night)
                .is_some_and(|at| at.closed)
                && !self
                    .rate_night(&wished.room, rate, night)
                    .is_some_and(|at| at.closed)
                && self.limits(&wished.room, rate, night).all(|limits| {
                    limits.min_stay.is_none_or(|least| long >= least)
                        && limits.max_stay.is_none_or(|most| long <= most)
                })
        });
        let arrives = self
            .limits(&wished.room, rate, wished.arrival)
            .all(|limits| {
                !limits.closed_to_arrival
                    && limits.min_stay_arrival.is_none_or(|least| long >= least)
                    && limits.max_stay_arrival.is_none_or(|most| long <= most)
            });
        let departs = self
            .limits(&wished.room, rate, wished.departure)
            .all(|limits| !limits.closed_to_departure);
        open && arrives && departs
    }

    /// The rules of a night at both levels.
    fn limits(&self, room: &str, rate: &str, night: Date) -> impl Iterator<Item = Limits> {
        let of_room = self.room_night(room, night).map(|at| at.limits);
        let of_rate = self.rate_night(room, rate, night).map(|at| at.limits);
        of_room.into_iter().chain(of_rate)
    }

    fn room_night(&self, room: &str, night: Date) -> Option<&Night> {
        self.nights.get(&(room.to_owned(), night))
    }

    fn rate_night(&self, room: &str, rate: &str, night: Date) -> Option<&RateNight> {
        self.room_night(room, night)?.rates.get(rate)
    }
}

fn shown_rate(room: &Room, at: Option<&RateNight>, terms: &Terms) -> ShownRate {
    ShownRate {
        closed: at.is_some_and(|at| at.closed),
        price_minor: price_of(room, at, terms),
        limits: at.map(|at| at.limits).unwrap_or_default(),
    }
}

fn price_of(room: &Room, at: Option<&RateNight>, terms: &Terms) -> Option<i64> {
    let told = at.and_then(RateNight::price);
    if terms.needs_price {
        told
    } else {
        told.or(Some(room.list_price_minor))
    }
}
