//! What buffer rules are worth: scarce room nights of chance, sold under several rules at once.
//!
//! A pure world beside the ledger: guests book in bursts and at weekends, channels hear and are
//! told late, now and then very late and later still while everybody books, and every hotel begins
//! with nothing measured. The estimator under test sees only what a hotel would have written down.
//! Each rule meets the very same guests.

mod night;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::date;
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_ledger::decide::estimate::{Ear, Measured, Sale, numbers};
use keyrack_ledger::decide::lags::Lags;
use keyrack_ledger::decide::safety::{COLD_ROOMS, NightKind, SafetyKey, SafetyNumbers};
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange, Weekdays, plus_days};

use self::night::{Kept, Sold, play};
use self::world::{Hotel, Night};
use crate::generate::dice::Dice;

/// How many nights, of which seed, and how safe.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Scarce room nights.
    pub nights: usize,
    /// Of what chance.
    pub seed: u64,
    /// At most one of so many is to be sold twice.
    pub one_in: i32,
}

/// What came of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The rule.
    pub rule: &'static str,
    /// Nights.
    pub nights: u64,
    /// Nights on which a room was sold twice.
    pub sold_twice: u64,
    /// Rooms sold twice.
    pub rooms_twice: u64,
    /// Rooms that stayed empty though a guest had asked for one.
    pub unsold: u64,
    /// Rooms that there were.
    pub rooms: u64,
    /// Nights of these on which nothing was measured yet, and how many of them were sold twice.
    pub cold: (u64, u64),
}

/// Sells the nights without a buffer, with `close_at 1`, and with `safety`.
pub fn run(trial: Trial) -> Vec<Outcome> {
    let rules = ["no buffer", "close_at 1", "safety"];
    let mut outcomes = rules.map(|rule| Outcome {
        rule,
        ..Outcome::default()
    });
    let mut dice = Dice::from_seed(trial.seed);
    let mut left = trial.nights;
    while left > 0 {
        let nights = left.min(NIGHTS_A_HOTEL);
        left -= nights;
        of_hotel(&mut dice, nights, trial.one_in, &mut outcomes);
    }
    outcomes.to_vec()
}

/// One hotel, from its first day on.
fn of_hotel(dice: &mut Dice, nights: usize, one_in: i32, outcomes: &mut [Outcome; 3]) {
    let hotel = Hotel::throw(dice);
    let mut history = History::default();
    let mut kept = SafetyNumbers::new();
    let mut played = 0;
    for day in 0.. {
        if played == nights {
            break;
        }
        let today = plus_days(date(2030, 1, 7), day);
        kept = history.numbers(&hotel, one_in, &kept);
        for _ in 0..NIGHTS_A_DAY.min(nights - played) {
            played += 1;
            let night = Night::throw(dice, &hotel, today, i64::from(day) * DAY_MS);
            let kind = NightKind::of(night.date, today);
            let by_safety = |seller: usize| {
                let key = key(seller, kind);
                kept.get(&key).map_or(COLD_ROOMS, |kept| kept.rooms)
            };
            let by_safety: Vec<i32> = (0..hotel.sellers.len()).map(by_safety).collect();
            let is_cold = day < COLD_DAYS;
            let all = [Kept::Nothing, Kept::CloseAt(1), Kept::Back(by_safety)];
            for (outcome, rule) in outcomes.iter_mut().zip(&all) {
                let sold = play(&hotel, &night, rule);
                outcome.add(&night, &sold, is_cold);
                if matches!(rule, Kept::Back(_)) {
                    history.remember(&night, today, &sold);
                }
            }
        }
    }
}

impl Outcome {
    fn add(&mut self, night: &Night, sold: &Sold, is_cold: bool) {
        let twice = (sold.rooms - night.rooms).max(0);
        let unsold = (night.rooms - sold.rooms).max(0).min(sold.refused);
        let count = |rooms: i32| u64::try_from(rooms).unwrap_or(0);
        self.nights += 1;
        self.sold_twice += u64::from(twice > 0);
        self.rooms_twice += count(twice);
        self.unsold += count(unsold);
        self.rooms += count(night.rooms);
        if is_cold {
            self.cold.0 += 1;
            self.cold.1 += u64::from(twice > 0);
        }
    }

    /// Nights sold twice of a million.
    pub fn twice_per_million(&self) -> u64 {
        self.sold_twice * 1_000_000 / self.nights.max(1)
    }

    /// Rooms left empty of ten thousand.
    pub fn unsold_per_ten_thousand(&self) -> u64 {
        self.unsold * 10_000 / self.rooms.max(1)
    }
}

/// What the hotel has written down.
#[derive(Default)]
struct History {
    sales: Vec<Sale>,
    /// By seller, the newest last.
    told_ms: BTreeMap<usize, Vec<i64>>,
}

impl History {
    fn remember(&mut self, night: &Night, today: StayDate, sold: &Sold) {
        let nights = StayRange::new(night.date, plus_days(night.date, 1));
        for sale in &sold.sales {
            self.sales.extend(nights.map(|nights| Sale {
                seller: account(sale.seller),
                booked_ms: sale.booked_ms,
                booked_on: today,
                heard_ms: sale.heard_ms,
                room_type: ROOM_TYPE,
                nights,
                rooms: 1,
            }));
        }
        for (seller, lag) in &sold.told {
            self.told_ms.entry(*seller).or_default().push(*lag);
        }
    }

    /// As the ledger does it: of the last weeks, bounded.
    fn numbers(&mut self, hotel: &Hotel, one_in: i32, before: &SafetyNumbers) -> SafetyNumbers {
        let surplus = self.sales.len().saturating_sub(SALES_MAX);
        self.sales.drain(..surplus);
        for told in self.told_ms.values_mut() {
            let surplus = told.len().saturating_sub(TOLD_MAX);
            told.drain(..surplus);
        }
        let sellers = hotel.sellers.iter().enumerate();
        let ears: Vec<Ear> = sellers
            .filter_map(|(at, seller)| {
                let told = self.told_ms.get(&at).map_or(&[][..], Vec::as_slice);
                Some(Ear {
                    account: account(at)?,
                    told: Lags::of(told.iter().copied()),
                    declared_ms: seller.declared_ms,
                    deaf_ms: 0,
                    mute_ms: 0,
                })
            })
            .collect();
        let measured = Measured {
            sales: self.sales.clone(),
            cells: ears
                .iter()
                .map(|ear| (ear.account, ROOM_TYPE))
                .collect::<BTreeSet<_>>(),
            ears,
            parts: BTreeMap::new(),
            one_in,
        };
        numbers(&measured, &[rule()], before)
    }
}

/// The desk is seller 0; it sells from the ledger itself.
fn account(seller: usize) -> Option<AccountId> {
    let id = i64::try_from(seller).ok()?;
    (id > 0).then_some(AccountId(id))
}

fn key(seller: usize, kind: NightKind) -> SafetyKey {
    SafetyKey {
        account: account(seller).unwrap_or(AccountId(0)),
        room_type: ROOM_TYPE,
        kind,
        one_in: 0,
    }
}

fn rule() -> BufferRule {
    BufferRule {
        account: None,
        room_type: None,
        nights: None,
        weekdays: Weekdays::ALL,
        lead_days_min: None,
        lead_days_max: None,
        kind: BufferKind::Safety(0),
    }
}

const ROOM_TYPE: RoomTypeId = RoomTypeId(1);
const DAY_MS: i64 = 86_400_000;
const NIGHTS_A_HOTEL: usize = 2_000;
const NIGHTS_A_DAY: usize = 20;
/// Days on which a hotel counts as new.
const COLD_DAYS: i32 = 3;
/// As many sales and tellings as the ledger looks at.
const SALES_MAX: usize = 5_000;
const TOLD_MAX: usize = 1_000;
