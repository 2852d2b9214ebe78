//! A reservation as its channel keeps it: every version, and what became of each.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::night::{length, nights};

/// One reservation with all its versions, the oldest first; never without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub reference: String,
    pub hotel: String,
    pub booked_at: Timestamp,
    pub versions: Vec<Version>,
}

/// One state of a reservation, and its delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// From 1.
    pub number: u32,
    pub state: VersionState,
    pub at: Timestamp,
    /// The rooms of this state; for a cancellation those that were given back.
    pub rooms: Vec<RoomStay>,
    pub guest: Guest,
    pub currency: String,
    /// When it was put into an answer, each time.
    pub delivered_at: Vec<Timestamp>,
    pub acknowledged_at: Option<Timestamp>,
    /// When the client last said that it could not take it.
    pub rejected_at: Option<Timestamp>,
    /// When it left the queue unacknowledged.
    pub fell_back_at: Option<Timestamp>,
    /// When it was mailed to the hotel.
    pub mailed_at: Option<Timestamp>,
    /// When a later version took its place before anybody acknowledged it (Booking.com).
    pub superseded_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionState {
    /// A wish for a quote: takes no room (AlpineBits).
    Requested,
    Booked,
    Modified,
    Cancelled,
}

/// One room of a reservation for one stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomStay {
    /// The channel's own number of this room in this reservation; stays with it for life.
    pub instance: u64,
    pub room: String,
    pub rate: String,
    pub arrival: Date,
    /// The morning after the last night.
    pub departure: Date,
    /// One price per night, in minor units.
    pub prices_minor: Vec<i64>,
    pub adults: u8,
    pub child_ages: Vec<u8>,
}

/// Whoever travels. The people are made up; `Debug` hides them all the same.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    pub given_name: String,
    pub surname: String,
    pub email: String,
    pub comment: Option<String>,
    /// A test card number, so that masking can be tested.
    pub card: Option<String>,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guest(…)")
    }
}

impl RoomStay {
    pub fn nights(&self) -> impl Iterator<Item = Date> {
        nights(self.arrival, self.departure)
    }

    pub fn length(&self) -> u32 {
        length(self.arrival, self.departure)
    }

    pub fn total_minor(&self) -> i64 {
        self.prices_minor.iter().sum()
    }
}

impl Version {
    pub(crate) fn new(
        number: u32,
        state: VersionState,
        at: Timestamp,
        rooms: Vec<RoomStay>,
        guest: Guest,
        currency: String,
    ) -> Version {
        Version {
            number,
            state,
            at,
            rooms,
            guest,
            currency,
            delivered_at: Vec::new(),
            acknowledged_at: None,
            rejected_at: None,
            fell_back_at: None,
            mailed_at: None,
            superseded_at: None,
        }
    }

    pub fn total_minor(&self) -> i64 {
        self.rooms.iter().map(RoomStay::total_minor).sum()
    }

    /// Whether it still waits in a queue.
    pub fn is_waiting(&self) -> bool {
        self.acknowledged_at.is_none()
            && self.fell_back_at.is_none()
            && self.superseded_at.is_none()
    }

    /// The first night of all its rooms.
    pub fn arrival(&self) -> Option<Date> {
        self.rooms.iter().map(|room| room.arrival).min()
    }
}

impl Reservation {
    /// The state it is in.
    pub fn latest(&self) -> &Version {
        self.versions
            .last()
            .expect("a reservation is made with its first version")
    }

    pub(crate) fn latest_mut(&mut self) -> &mut Version {
        self.versions
            .last_mut()
            .expect("a reservation is made with its first version")
    }

    /// Rooms it takes now: none once it is cancelled, or as long as it is a mere quote.
    pub fn taken(&self) -> &[RoomStay] {
        match self.latest().state {
            VersionState::Booked | VersionState::Modified => &self.latest().rooms,
            VersionState::Requested | VersionState::Cancelled => &[],
        }
    }

    /// What the seller learns of it.
    pub fn sold(&self) -> Sold {
        let latest = self.latest();
        Sold {
            reference: self.reference.clone(),
            hotel: self.hotel.clone(),
            version: latest.number,
            state: latest.state,
            at: latest.at,
            rooms: latest.rooms.clone(),
            total_minor: latest.total_minor(),
            currency: latest.currency.clone(),
        }
    }
}

/// What came of selling, changing or cancelling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sold {
    pub reference: String,
    pub hotel: String,
    pub version: u32,
    pub state: VersionState,
    pub at: Timestamp,
    /// For a cancellation: what was given back.
    pub rooms: Vec<RoomStay>,
    pub total_minor: i64,
    pub currency: String,
}

/// What a guest wants to book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    pub hotel: String,
    pub rooms: Vec<WishedRoom>,
    /// One is made up if absent.
    #[serde(default)]
    pub guest: Option<Guest>,
    /// Sells even what is not shown: as a channel does on a number that is out of date.
    #[serde(default)]
    pub regardless: bool,
    /// Asks for a quote only; takes no room (AlpineBits).
    #[serde(default)]
    pub quote: bool,
}

/// So many rooms of one type for one stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WishedRoom {
    pub room: String,
    /// The cheapest that can be had if absent.
    #[serde(default)]
    pub rate: Option<String>,
    pub arrival: Date,
    pub departure: Date,
    #[serde(default = "one")]
    pub quantity: u32,
    #[serde(default = "two")]
    pub adults: u8,
    #[serde(default)]
    pub child_ages: Vec<u8>,
}

impl WishedRoom {
    /// One room for two adults at the cheapest rate.
    pub fn new(room: &str, arrival: Date, departure: Date) -> WishedRoom {
        WishedRoom {
            room: room.to_owned(),
            rate: None,
            arrival,
            departure,
            quantity: one(),
            adults: two(),
            child_ages: Vec::new(),
        }
    }
}

impl Wish {
    /// One room of that type for two adults.
    pub fn one(hotel: &str, room: &str, arrival: Date, departure: Date) -> Wish {
        Wish {
            hotel: hotel.to_owned(),
            rooms: vec![WishedRoom::new(room, arrival, departure)],
            guest: None,
            regardless: false,
            quote: false,
        }
    }

    /// The same for so many rooms.
    pub fn rooms(mut self, quantity: u32) -> Wish {
        for room in &mut self.rooms {
            room.quantity = quantity;
        }
        self
    }

    /// The same, sold whatever is shown.
    pub fn regardless(mut self) -> Wish {
        self.regardless = true;
        self
    }
}

/// How a guest changes a stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// New dates for all rooms.
    Dates { arrival: Date, departure: Date },
    /// Another room type for all rooms.
    Room { room: String },
    /// One room more.
    AddRoom(WishedRoom),
    /// One room less, by its instance; the last one cannot be dropped.
    DropRoom { instance: u64 },
    /// Other people, the same rooms.
    Guest(Guest),
}

fn one() -> u32 {
    1
}

fn two() -> u8 {
    2
}
