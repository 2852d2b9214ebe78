//! A hotel as a channel knows it, and its stock night by night, as told and as sold.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// One hotel at one channel.
#[derive(Clone, Debug)]
pub(crate) struct Hotel {
    pub(crate) rooms: BTreeMap<String, Room>,
    /// Whether the client's login may touch it.
    pub(crate) linked: bool,
    pub(crate) added_at: Timestamp,
    /// When the last complete set was taken (AlpineBits).
    pub(crate) complete_set_at: Option<Timestamp>,
    pub(crate) nights: BTreeMap<(String, Date), Night>,
}

/// A room type at a channel, in the channel's codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    pub code: String,
    /// Rate codes that can be sold for it.
    pub rates: Vec<String>,
    /// How many there are, as the hotel once declared.
    pub physical: u32,
    /// What the channel charges where nobody tells it prices (AlpineBits), in minor units.
    pub list_price_minor: i64,
}

impl Room {
    /// A room type with a list price of 100.00.
    pub fn new(code: &str, rates: &[&str], physical: u32) -> Room {
        Room {
            code: code.to_owned(),
            rates: rates.iter().map(|rate| (*rate).to_owned()).collect(),
            physical,
            list_price_minor: 10_000,
        }
    }
}

/// One night of one room type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Night {
    /// Rooms left: as last told, minus what was sold since. Never told: none.
    pub(crate) number: Option<u32>,
    /// Closed at the level of the room type, whatever the number says.
    pub(crate) closed: bool,
    pub(crate) limits: Limits,
    pub(crate) rates: BTreeMap<String, RateNight>,
    /// Distinct rooms by their own code (AlpineBits); their sum is the number.
    pub(crate) distinct: BTreeMap<String, u32>,
    pub(crate) told: Option<Told>,
}

/// One night of one room type at one rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateNight {
    pub(crate) closed: bool,
    pub(crate) limits: Limits,
    /// By number of guests; 0 is the price that names none.
    pub(crate) prices: BTreeMap<u8, i64>,
    pub(crate) currency: Option<String>,
}

impl RateNight {
    /// The price of the room as most guests pay it: that for the most guests.
    pub(crate) fn price(&self) -> Option<i64> {
        self.prices.last_key_value().map(|(_, minor)| *minor)
    }
}

/// Rules about stays that touch a night or begin or end on it; absent where never told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub closed_to_arrival: bool,
    pub closed_to_departure: bool,
    pub min_stay: Option<u32>,
    pub max_stay: Option<u32>,
    pub min_stay_arrival: Option<u32>,
    pub max_stay_arrival: Option<u32>,
}

/// When a night was last told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    pub sequence: u64,
    pub at: Timestamp,
}

/// What a channel shows its guests of one night of one room type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub room: String,
    pub night: Date,
    /// Rooms a guest can take; 0 if closed, without a price or never told.
    pub rooms: u32,
    /// The number the channel holds, whether or not it is closed.
    pub number: Option<u32>,
    /// Closed at room level, or at every rate it has.
    pub closed: bool,
    /// The lowest price among open rates, in minor units.
    pub price_minor: Option<i64>,
    /// Rules at room level.
    pub limits: Limits,
    /// Rules and state per rate.
    pub rates: BTreeMap<String, ShownRate>,
    pub told: Option<Told>,
}

/// What a channel shows of one rate on one night.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownRate {
    pub closed: bool,
    pub price_minor: Option<i64>,
    pub limits: Limits,
}

/// One thing told about nights `from..to` (the end excluded) of one room type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub room: String,
    pub rate: Option<String>,
    pub from: Date,
    pub to: Date,
    pub what: What,
}

/// What was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Rooms left, absolute.
    Number(u32),
    /// Rooms left of one distinct room (AlpineBits).
    DistinctNumber(String, u32),
    Closed(bool),
    ClosedToArrival(bool),
    ClosedToDeparture(bool),
    /// 0 clears.
    MinStay(u32),
    MaxStay(u32),
    MinStayArrival(u32),
    MaxStayArrival(u32),
    Price {
        minor: i64,
        currency: String,
        /// For so many guests; 0 for whoever comes.
        guests: u8,
    },
    /// A whole season in which the hotel is closed (AlpineBits).
    ClosingSeason,
    /// The night is no longer known: a complete set left it out, or a reset (AlpineBits).
    Forgotten,
}

impl Night {
    /// Takes one thing that was told.
    pub(crate) fn tell(&mut self, rate: Option<&str>, what: &What) {
        match what {
            What::Number(rooms) => self.tell_number(*rooms),
            What::DistinctNumber(room, rooms) => {
                self.distinct.insert(room.clone(), (*rooms).min(1));
                self.number = Some(self.distinct.values().sum());
            }
            What::ClosingSeason => {
                self.number = Some(0);
                self.distinct.clear();
                self.closed = true;
            }
            What::Forgotten => {
                self.number = Some(0);
                self.distinct.clear();
                self.closed = false;
            }
            What::Closed(closed) => match rate {
                Some(rate) => self.rate(rate).closed = *closed,
                None => self.closed = *closed,
            },
            What::Price {
                minor,
                currency,
                guests,
            } => {
                let at = self.rate(rate.unwrap_or_default());
                at.prices.insert(*guests, *minor);
                at.currency = Some(currency.clone());
            }
            limit => match rate {
                Some(rate) => self.rate(rate).limits.tell(limit),
                None => self.limits.tell(limit),
            },
        }
    }

    fn tell_number(&mut self, rooms: u32) {
        self.number = Some(rooms);
        self.distinct.clear();
    }

    fn rate(&mut self, rate: &str) -> &mut RateNight {
        self.rates.entry(rate.to_owned()).or_default()
    }
}

impl Limits {
    fn tell(&mut self, what: &What) {
        let unless_zero = |nights: u32| (nights > 0).then_some(nights);
        match what {
            What::ClosedToArrival(closed) => self.closed_to_arrival = *closed,
            What::ClosedToDeparture(closed) => self.closed_to_departure = *closed,
            What::MinStay(nights) => self.min_stay = unless_zero(*nights),
            What::MaxStay(nights) => self.max_stay = unless_zero(*nights),
            What::MinStayArrival(nights) => self.min_stay_arrival = unless_zero(*nights),
            What::MaxStayArrival(nights) => self.max_stay_arrival = unless_zero(*nights),
            _ => {}
        }
    }
}
