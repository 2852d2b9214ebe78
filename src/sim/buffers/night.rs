//! One night, sold under one rule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::world::{Hotel, Night};
use crate::generate::dice::Dice;

/// What the rule does.
pub(super) enum Kept {
    /// Everything is told.
    Nothing,
    /// Nothing is told at so many or fewer.
    CloseAt(i32),
    /// So many are kept back, by seller.
    Back(Vec<i32>),
}

impl Kept {
    fn told(&self, seller: usize, free: i32) -> i32 {
        let told = match self {
            Self::Nothing => free,
            Self::CloseAt(rooms) if free <= *rooms => 0,
            Self::CloseAt(_) => free,
            Self::Back(rooms) => free - rooms.get(seller).copied().unwrap_or(0),
        };
        told.max(0)
    }
}

/// What came of it.
#[derive(Default)]
pub(super) struct Sold {
    pub(super) rooms: i32,
    /// Guests who asked and got nothing.
    pub(super) refused: i32,
    pub(super) sales: Vec<Booking>,
    /// Each telling: to whom, and how long it took.
    pub(super) told: Vec<(usize, i64)>,
}

/// A room that was sold.
pub(super) struct Booking {
    pub(super) seller: usize,
    pub(super) booked_ms: i64,
    pub(super) heard_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The ledger hears of a sale.
    Heard { is_of_burst: bool },
    /// A channel shows what it was told: over whatever it has sold meanwhile.
    Shown { seller: usize, rooms: i32 },
    /// A guest asks.
    Asked { guest: usize },
}

/// Sells the night, guest by guest.
pub(super) fn play(hotel: &Hotel, night: &Night, rule: &Kept) -> Sold {
    let mut dice = Dice::from_seed(night.seed);
    let mut sold = Sold::default();
    let mut free = night.rooms;
    let sellers = 0..hotel.sellers.len();
    let mut shown: Vec<i32> = sellers.map(|seller| rule.told(seller, free)).collect();
    let mut told = shown.clone();
    // Never more than one message is under way to a channel, so none overtakes another.
    let mut lands_at = vec![0; shown.len()];
    let mut events: BinaryHeap<Reverse<(i64, Event)>> = BinaryHeap::new();
    let asked = night.guests.iter().enumerate();
    events.extend(asked.map(|(guest, who)| Reverse((who.at_ms, Event::Asked { guest }))));
    while let Some(Reverse((now, event))) = events.pop() {
        let is_of_burst = match event {
            Event::Shown { seller, rooms } => {
                shown[seller] = rooms;
                continue;
            }
            Event::Asked { guest } => {
                let guest = night.guests[guest];
                let stock = if guest.seller == 0 {
                    &mut free
                } else {
                    &mut shown[guest.seller]
                };
                if *stock <= 0 {
                    sold.refused += 1;
                    continue;
                }
                let seller = &hotel.sellers[guest.seller];
                let heard_ms = now + seller.hearing_ms(&mut dice, guest.is_of_burst);
                sold.rooms += 1;
                sold.sales.push(Booking {
                    seller: guest.seller,
                    booked_ms: now,
                    heard_ms,
                });
                *stock -= 1;
                let is_of_burst = guest.is_of_burst;
                if guest.seller != 0 {
                    events.push(Reverse((heard_ms, Event::Heard { is_of_burst })));
                    continue;
                }
                is_of_burst
            }
            Event::Heard { is_of_burst } => {
                free -= 1;
                is_of_burst
            }
        };
        for seller in 1..hotel.sellers.len() {
            let rooms = rule.told(seller, free);
            if rooms == told[seller] {
                continue;
            }
            told[seller] = rooms;
            let lag = hotel.sellers[seller].telling_ms(&mut dice, is_of_burst);
            lands_at[seller] = (now + lag).max(lands_at[seller] + 1);
            sold.told.push((seller, lands_at[seller] - now));
            events.push(Reverse((lands_at[seller], Event::Shown { seller, rooms })));
        }
    }
    sold
}
