//! Rows as this process knows them: what it wrote last, and nights that it read ahead.
//!
//! # Why
//!
//! A batch of wishes reads nights that the same process wrote a moment ago. That read is a round
//! trip, and a fifth of what a hold costs the server. So a batch whose rows are all remembered is
//! decided on what is remembered. Nothing rests on it: the call that applies the batch demands
//! each row in the very version that the decision was made on, and that the clock is where it was
//! thought to be. What it does not prove is read as ever: refusals, repeats, whatever changes no
//! row. Where somebody else was first, what is remembered of the property is forgotten, and it is
//! left alone for a while.
//!
//! A type's nights are read ahead once it has been asked for a few times; reservations are kept
//! from their own writing. Both are bounded, and all is forgotten when a connection breaks or
//! nothing was asked for a moment: the server may be another, or have been set back.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::reservation::Status;
use keyrack_model::stay::StayDate;
use tokio::time::Instant;

use super::keys::RulesOf;
use super::remembered::{Clock, Kept, Rows, nights_of, types_of};
use crate::decide::changes::Changes;
use crate::decide::draft::{Night, ReservationKey, Seen};
use crate::store::ahead::Lying;
use crate::store::apply_row::Place;
use crate::store::read::{Keys, Places, Sight};

/// What is remembered.
#[derive(Default)]
pub(crate) struct Memory {
    rows: Mutex<Rows>,
    relied_on: AtomicU64,
}

impl Memory {
    /// All that the keys name, where all of it is remembered and rooms enough for the wishes are
    /// free: what might be refused is read.
    pub fn sight(&self, keys: &Keys, rules: &RulesOf) -> Option<Sight> {
        if !keys.references.is_empty() {
            return None;
        }
        let now = Instant::now();
        let mut rows = self.lock();
        let (clock, wall) = rows.clock(now)?;
        if keys.properties.iter().any(|id| rows.doubts.has(*id, now)) {
            return None;
        }
        let mut sight = Sight {
            seen: Seen {
                now: clock,
                ..Seen::default()
            },
            places: Places::with_capacity_and_hasher(keys.nights.len(), Default::default()),
            versions: Vec::new(),
            with_dead_holds: Default::default(),
            wall,
        };
        for id in &keys.properties {
            sight.versions.push((*id, rules.get(id)?.version));
        }
        for key in &keys.nights {
            let night = rows.night(key, now)?;
            if keys.rooms < i32::MAX && night.0.balance.free() < keys.rooms {
                return None;
            }
            sight.seen.nights.insert(*key, night.0);
            sight.places.insert(*key, night.1);
        }
        for key in &keys.reservations {
            let reservation = rows.reservations.get(key)?.reservation.clone();
            if reservation.hold_dead_at.is_some_and(|at| at <= clock) {
                // The sweeper and its troubles are about it, and raise no version.
                return None;
            }
            for night in nights_of(&reservation) {
                let lying = rows.night(&night, now)?;
                sight.seen.nights.insert(night, lying.0);
                sight.places.insert(night, lying.1);
            }
            sight.seen.reservations.insert(*key, reservation);
        }
        Some(sight)
    }

    /// The plain types of whose nights a reservation takes some, where it is remembered.
    pub fn types_of(&self, key: ReservationKey) -> Option<Vec<RoomTypeId>> {
        let rows = self.lock();
        let kept = rows.reservations.peek(&key)?;
        Some(types_of(&kept.reservation))
    }

    /// A read brought the clock; one that took long says too little of it. What it saw of
    /// reservations may be another version than the one that is remembered.
    pub fn read(&self, sight: &Sight, took: Duration) {
        let mut rows = self.lock();
        for (key, seen) in &sight.seen.reservations {
            let kept = rows.reservations.peek(key);
            let is_so = |kept: &Kept| {
                (kept.reservation.version, &kept.reservation.flags) == (seen.version, &seen.flags)
            };
            if kept.is_some_and(|kept| !is_so(kept)) {
                rows.reservations.remove(key);
            }
        }
        if took <= READ_MAX {
            rows.rest_is_over(Instant::now());
            rows.clock = Some(Clock {
                now: sight.seen.now,
                wall: sight.wall,
                at: Instant::now(),
            });
        }
    }

    /// Rows were written, and their nights lie there now.
    pub fn wrote(&self, changes: Changes, places: &[Place]) {
        let mut rows = self.lock();
        if places.len() != changes.nights.len() {
            // They were written by their keys.
            let written = changes.nights.iter().map(|(key, ..)| key.0);
            rows.forget(&written.collect(), &BTreeSet::new());
        }
        for ((key, version, balance), place) in changes.nights.iter().zip(places) {
            let version = version + 1;
            let night = Night {
                version,
                balance: *balance,
            };
            rows.put(key, (night, *place));
        }
        use Status::{Cancelled, Completed, Expired};
        for changed in changes.changed {
            let after = changed.after;
            let was = rows.reservations.remove(&(after.property, after.id));
            let is_unassigned = was.is_some_and(|(_, was)| {
                was.is_unassigned && was.reservation.version == changed.version
            });
            // Where a guest may be moved from his room, the call may flag the row beside.
            let is_known = !changed.has_other_rooms || is_unassigned;
            if is_known && !matches!(after.status, Cancelled | Completed | Expired) {
                rows.keep(after, is_unassigned);
            }
        }
        for new in changes.new {
            rows.keep(new, true);
        }
    }

    /// A batch was applied that rested on it.
    pub fn was_relied_on(&self) {
        metrics::counter!("ledger_batch_remembered_total").increment(1);
        self.relied_on.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were.
    pub fn relied_on(&self) -> u64 {
        self.relied_on.load(Ordering::Relaxed)
    }

    /// Types of these keys that are asked for often enough to be read ahead.
    pub fn wanting(&self, keys: &Keys) -> Vec<(PropertyId, RoomTypeId)> {
        let now = Instant::now();
        let mut rows = self.lock();
        let mut wanting = Vec::new();
        let mut types: Vec<_> = keys.nights.iter().map(|key| (key.0, key.1)).collect();
        types.dedup();
        for of in types {
            if rows.miss(of, now) && wanting.len() < AHEAD_AT_ONCE {
                wanting.push(of);
            }
        }
        wanting
    }

    /// A type's nights, in order of date, read while its lane was held.
    pub fn put_ahead(&self, of: (PropertyId, RoomTypeId), nights: Vec<(StayDate, Lying)>) {
        self.lock().put_ahead(of, nights);
    }

    /// Somebody was first on a row of each of these.
    pub fn doubt(&self, properties: &BTreeSet<PropertyId>) {
        let now = Instant::now();
        let mut rows = self.lock();
        for id in properties {
            rows.doubts.begin(*id, now);
        }
        rows.forget(properties, &BTreeSet::new());
    }

    /// These were written in another way, and their nights.
    pub fn forget(&self, reservations: &BTreeSet<ReservationKey>) {
        let properties = reservations.iter().map(|key| key.0).collect();
        self.lock().forget(&properties, reservations);
    }

    /// This one was written in another way, and none of its nights.
    pub fn forget_reservation(&self, key: ReservationKey) {
        self.lock().reservations.remove(&key);
    }

    /// The server may be another.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        // A panic leaves rows that are whole, or are out of date: then they are not applied.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read that took longer may have waited after it looked at the clock.
const READ_MAX: Duration = Duration::from_millis(50);
/// Types that one batch reads ahead at most.
const AHEAD_AT_ONCE: usize = 8;
