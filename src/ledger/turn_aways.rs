//! Wishes that were turned away, counted by reason, for revenue managers.
//!
//! Refusing writes nothing and locks nothing: what is turned away is counted in memory and added to
//! the database now and then, and when the ledger closes. What a killed process had not added yet,
//! a minute at most, is lost.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use keyrack_model::id::{AccountId, PropertyId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange};

use crate::command::{Answer, Asked, Command};
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::{connection, turn_away};

/// What was turned away, by everything that it is summed by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub property: PropertyId,
    pub arrival: StayDate,
    pub room_type: RoomTypeId,
    pub source: &'static str,
    pub account: Option<AccountId>,
    pub reason: &'static str,
}

/// How often, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub wishes: i64,
    pub room_nights: i64,
}

/// What this process has counted and not yet added.
#[derive(Debug, Default)]
pub(crate) struct TurnAways(Mutex<HashMap<Key, Sum>>);

impl TurnAways {
    /// A command was answered.
    pub(crate) fn answered(&self, asked: &Asked, answer: &Answer) {
        let (Command::Request(wish), Err(refusal)) = (&asked.command, answer) else {
            return;
        };
        // Who waits has been counted once; what is tried for them is nobody's asking.
        if asked.by.actor.starts_with("worker:") {
            return;
        }
        let reason = refusal.code();
        if !REASONS.contains(&reason) {
            return;
        }
        let mut counted = self.counted();
        for room in &wish.rooms {
            let key = Key {
                property: asked.property,
                arrival: room.stay.arrival(),
                room_type: room.room_type,
                source: wish.source.as_str(),
                account: wish.channel.as_ref().map(|(account, _)| *account),
                reason,
            };
            if counted.len() >= KEYS_MAX && !counted.contains_key(&key) {
                metrics::counter!("turn_aways_uncounted_total").increment(1);
                continue;
            }
            let nights = i64::try_from(room.stay.nights().count()).unwrap_or(i64::MAX);
            let sum = counted.entry(key).or_default();
            sum.wishes += 1;
            sum.room_nights = sum
                .room_nights
                .saturating_add(nights.saturating_mul(room.quantity.into()));
        }
    }

    fn take(&self) -> HashMap<Key, Sum> {
        std::mem::take(&mut *self.counted())
    }

    fn put_back(&self, sums: HashMap<Key, Sum>) {
        let mut counted = self.counted();
        for (key, sum) in sums {
            let again = counted.entry(key).or_default();
            again.wishes += sum.wishes;
            again.room_nights = again.room_nights.saturating_add(sum.room_nights);
        }
    }

    fn counted(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Sum>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds what this process has counted to the database; says how many sums. What cannot be added
/// is kept for the next time.
///
/// # Errors
///
/// Failures of the database.
pub async fn add(ledger: &Ledger) -> Result<usize, LedgerError> {
    let sums = ledger.turn_aways().take();
    if sums.is_empty() {
        return Ok(0);
    }
    let added = async {
        let mut conn = connection::reader(ledger).await?;
        turn_away::add(&mut conn, &sums).await
    };
    match added.await {
        Ok(()) => Ok(sums.len()),
        Err(error) => {
            ledger.turn_aways().put_back(sums);
            Err(error)
        }
    }
}

/// Wishes that were turned away for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnAway {
    /// The day at the property on which they were asked.
    pub asked_on: StayDate,
    /// The first night that was asked for.
    pub arrival: StayDate,
    /// The room type.
    pub room_type: RoomTypeId,
    /// Where they came from: `web`, `phone` …
    pub source: String,
    /// By which account, where one asked.
    pub account: Option<AccountId>,
    /// The word of the refusal.
    pub reason: String,
    /// How many.
    pub wishes: i64,
    /// Rooms times nights.
    pub room_nights: i64,
}

/// What was turned away of arrivals in a range, in order of arrival, type and day of asking, the
/// first `limit` sums.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(
    ledger: &Ledger,
    property: PropertyId,
    arrivals: StayRange,
    limit: u32,
) -> Result<Vec<TurnAway>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    turn_away::list(&mut conn, property, arrivals, limit).await
}

/// The refusals that turn demand away; the others are mistakes of the caller.
const REASONS: [&str; 6] = [
    "sold_out",
    "closed",
    "not_yet_open",
    "restriction",
    "needs_force",
    "allotment_exhausted",
];
/// Sums kept at most: a few megabytes.
const KEYS_MAX: usize = 20_000;
