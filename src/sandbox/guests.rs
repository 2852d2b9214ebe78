//! Random guests, who book what is shown and now and then change their minds.

use jiff::Span;
use jiff::civil::Date;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::channel::Channel;
use crate::people;
use crate::reservation::{Change, Reservation, Sold, Wish, WishedRoom};

/// Guests of one channel. The same seed and the same things shown give the same guests.
pub struct Guests {
    channel: Channel,
    rng: SmallRng,
    habits: Habits,
}

/// What guests do, in percent of all steps; the rest book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Habits {
    pub modify_percent: u8,
    pub cancel_percent: u8,
    /// Ask for a quote instead (AlpineBits only).
    pub quote_percent: u8,
    /// They arrive within so many nights from today.
    pub window_nights: u32,
    pub nights_max: u32,
    pub rooms_max: u32,
    /// Only this hotel; any if absent.
    pub hotel: Option<String>,
    /// Of a hundred guests so many leave a card.
    pub card_percent: u8,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            modify_percent: 15,
            cancel_percent: 15,
            quote_percent: 0,
            window_nights: 60,
            nights_max: 5,
            rooms_max: 2,
            hotel: None,
            card_percent: 30,
        }
    }
}

/// What a step of the guests brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Booked(Sold),
    Asked(Sold),
    Modified(Sold),
    Cancelled(Sold),
    /// What they wanted was not to be had.
    Nothing,
}

impl Guests {
    /// Guests with ordinary habits.
    pub fn new(channel: &Channel, seed: u64) -> Guests {
        Guests::with_habits(channel, seed, Habits::default())
    }

    /// Guests with these habits.
    pub fn with_habits(channel: &Channel, seed: u64, habits: Habits) -> Guests {
        let rng = SmallRng::seed_from_u64(seed);
        Guests {
            channel: channel.clone(),
            rng,
            habits,
        }
    }

    /// Makes one thing happen.
    pub fn step(&mut self) -> Event {
        let die: u8 = self.rng.random_range(0..100);
        let changes = self.habits.modify_percent;
        let leaves = changes.saturating_add(self.habits.cancel_percent);
        let asks = leaves.saturating_add(self.habits.quote_percent);
        let event = if die < changes {
            self.modify().map(Event::Modified)
        } else if die < leaves {
            self.cancel().map(Event::Cancelled)
        } else if die < asks && self.channel.code() == crate::channel::ALPINEBITS {
            self.book(true).map(Event::Asked)
        } else {
            self.book(false).map(Event::Booked)
        };
        event.unwrap_or(Event::Nothing)
    }

    /// Tries a few stays, as one who searches does, and books the first that is shown.
    fn book(&mut self, quote: bool) -> Option<Sold> {
        (0..TRIES).find_map(|_| {
            let wish = self.wish(quote)?;
            self.channel.sell(&wish)
        })
    }

    fn wish(&mut self, quote: bool) -> Option<Wish> {
        let hotel = self.hotel()?;
        let rooms = self.channel.rooms(&hotel);
        let room = &rooms[self.below(rooms.len())?];
        let (arrival, departure) = self.stay()?;
        let quantity = self.rng.random_range(1..=self.habits.rooms_max.max(1));
        let children = self.rng.random_range(0..3_usize).saturating_sub(1);
        let wished = WishedRoom {
            quantity: if self.rng.random_range(0..4) == 0 {
                quantity
            } else {
                1
            },
            adults: self.rng.random_range(1..=2),
            child_ages: (0..children)
                .map(|_| self.rng.random_range(1..=12))
                .collect(),
            ..WishedRoom::new(&room.code, arrival, departure)
        };
        let guest = people::anybody(&mut self.rng, self.habits.card_percent);
        Some(Wish {
            hotel,
            rooms: vec![wished],
            guest: Some(guest),
            regardless: false,
            quote,
        })
    }

    fn modify(&mut self) -> Option<Sold> {
        let reservation = self.somebody()?;
        let stay = reservation.latest().rooms.first()?.clone();
        let day = Span::new().days(1);
        let change = match self.rng.random_range(0..6) {
            0 => Change::Dates {
                arrival: stay.arrival,
                departure: stay.departure.checked_add(day).ok()?,
            },
            1 if stay.length() > 1 => Change::Dates {
                arrival: stay.arrival,
                departure: stay.departure.checked_sub(day).ok()?,
            },
            2 => Change::Dates {
                arrival: stay.arrival.checked_add(day).ok()?,
                departure: stay.departure.checked_add(day).ok()?,
            },
            3 if reservation.latest().rooms.len() > 1 => Change::DropRoom {
                instance: stay.instance,
            },
            4 => Change::AddRoom(WishedRoom::new(&stay.room, stay.arrival, stay.departure)),
            _ => Change::Guest(people::anybody(&mut self.rng, self.habits.card_percent)),
        };
        self.channel.modify(&reservation.reference, &change)
    }

    fn cancel(&mut self) -> Option<Sold> {
        let reservation = self.somebody()?;
        self.channel.cancel(&reservation.reference)
    }

    /// Anybody who has a room.
    fn somebody(&mut self) -> Option<Reservation> {
        let channel = self.channel.clone();
        let state = channel.state();
        let only = self.habits.hotel.as_ref();
        let staying: Vec<&Reservation> = state
            .reservations
            .values()
            .filter(|reservation| only.is_none_or(|hotel| *hotel == reservation.hotel))
            .filter(|reservation| !reservation.taken().is_empty())
            .collect();
        let place = self.below(staying.len())?;
        Some(staying[place].clone())
    }

    fn hotel(&mut self) -> Option<String> {
        if let Some(hotel) = &self.habits.hotel {
            return Some(hotel.clone());
        }
        let hotels = self.channel.hotels();
        let place = self.below(hotels.len())?;
        hotels.into_iter().nth(place)
    }

    fn stay(&mut self) -> Option<(Date, Date)> {
        let ahead = self.rng.random_range(0..self.habits.window_nights.max(1));
        let long = self.rng.random_range(1..=self.habits.nights_max.max(1));
        let today = self.channel.clock().today();
        let arrival = today.checked_add(Span::new().days(i64::from(ahead))).ok()?;
        let departure = arrival
            .checked_add(Span::new().days(i64::from(long)))
            .ok()?;
        Some((arrival, departure))
    }

    fn below(&mut self, end: usize) -> Option<usize> {
        (end > 0).then(|| self.rng.random_range(0..end))
    }
}

/// A guest who found nothing so often gives up.
const TRIES: usize = 8;
