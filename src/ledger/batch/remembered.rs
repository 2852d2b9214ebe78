//! The rows that are remembered, and how they find room.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{StayDate, days_between, plus_days};
use quick_cache::unsync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};
use tokio::time::Instant;

use super::doubt::Doubts;
use crate::decide::draft::{NightKey, ReservationKey};
use crate::decide::state::{Reservation, RoomStay};
use crate::store::ahead::Lying;
use keyrack_model::id_map::IdMap;

/// A type's nights that are remembered, or how often they were wanting.
struct Nights {
    /// That of the first.
    first: StayDate,
    /// In order of date; empty while they are not read ahead. None is `None` but where the
    /// horizon has a gap.
    nights: Vec<Option<Lying>>,
    misses: u32,
    used_at: Instant,
    read_at: Option<Instant>,
}

/// A reservation as it was written last.
pub(super) struct Kept {
    pub reservation: Reservation,
    /// In this version no physical room is assigned to it: whoever assigns one raises the version.
    pub is_unassigned: bool,
}

/// When it was where, by the last read.
pub(super) struct Clock {
    pub now: Timestamp,
    pub wall: Timestamp,
    pub at: Instant,
}

/// What is remembered.
pub(super) struct Rows {
    pub clock: Option<Clock>,
    types: IdMap<PropertyId, IdMap<RoomTypeId, Nights>>,
    /// Nights and types in `types`.
    counts: (usize, usize),
    pub reservations: Cache<ReservationKey, Kept>,
    pub doubts: Doubts,
    room_made_at: Instant,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            clock: None,
            types: IdMap::default(),
            counts: (0, 0),
            reservations: latest(RESERVATIONS_MAX),
            doubts: Doubts::lasting(DOUBT_SHORTEST, DOUBT_LONGEST),
            room_made_at: Instant::now(),
        }
    }
}

impl Nights {
    /// Asked for, and not read ahead yet.
    fn unread(now: Instant) -> Self {
        Self {
            first: StayDate::ZERO,
            nights: Vec::new(),
            misses: 0,
            used_at: now,
            read_at: None,
        }
    }

    fn place(&mut self, night: StayDate) -> Option<&mut Option<Lying>> {
        let at = usize::try_from(days_between(self.first, night)).ok()?;
        self.nights.get_mut(at)
    }
}

impl Rows {
    /// The database's clock now, and unshifted, by the last read; none where that was long ago.
    pub fn clock(&mut self, at: Instant) -> Option<(Timestamp, Timestamp)> {
        self.rest_is_over(at);
        let clock = self.clock.as_ref()?;
        let since = at.saturating_duration_since(clock.at);
        if since > CLOCK_AGE_MAX {
            return None;
        }
        // Cut to microseconds, as what is stored.
        let micros = i64::try_from(since.as_micros()).ok()?;
        let since = SignedDuration::from_micros(micros);
        let later = |instant: Timestamp| instant.checked_add(since).ok();
        later(clock.now).zip(later(clock.wall))
    }

    /// After a rest nothing is left.
    pub fn rest_is_over(&mut self, at: Instant) {
        let is_rest = |clock: &Clock| at.saturating_duration_since(clock.at) > REST;
        if self.clock.as_ref().is_some_and(is_rest) {
            self.clear();
        }
    }

    fn nights(&mut self, of: (PropertyId, RoomTypeId)) -> Option<&mut Nights> {
        self.types.get_mut(&of.0)?.get_mut(&of.1)
    }

    fn insert(&mut self, of: (PropertyId, RoomTypeId), nights: Nights) {
        self.counts.0 += nights.nights.len();
        self.counts.1 += 1;
        let was = self.types.entry(of.0).or_default().insert(of.1, nights);
        if let Some(was) = was {
            self.counts.0 -= was.nights.len();
            self.counts.1 -= 1;
        }
    }

    /// A night, where it is remembered.
    pub fn night(&mut self, key: &NightKey, now: Instant) -> Option<Lying> {
        let nights = self.nights((key.0, key.1))?;
        nights.used_at = now;
        *nights.place(key.2)?
    }

    /// A reservation, unless it is as large as a group's.
    pub fn keep(&mut self, reservation: Reservation, is_unassigned: bool) {
        let size = |room: &RoomStay| 1 + room.nightly.len();
        if reservation.rooms.iter().map(size).sum::<usize>() <= RESERVATION_SIZE_MAX {
            let key = (reservation.property, reservation.id);
            let kept = Kept {
                reservation,
                is_unassigned,
            };
            self.reservations.insert(key, kept);
        }
    }

    /// A type's nights, in order of date.
    pub fn put_ahead(&mut self, of: (PropertyId, RoomTypeId), nights: Vec<(StayDate, Lying)>) {
        let now = Instant::now();
        let Some((first, _)) = nights.first().filter(|_| !self.doubts.has(of.0, now)) else {
            return;
        };
        let mut ahead = Nights {
            first: *first,
            read_at: Some(now),
            ..Nights::unread(now)
        };
        for (night, lying) in nights {
            let at = usize::try_from(days_between(ahead.first, night)).unwrap_or(0);
            ahead.nights.resize(at, None);
            ahead.nights.push(Some(lying));
        }
        self.insert(of, ahead);
    }

    /// What was written of a night whose type is read ahead.
    pub fn put(&mut self, key: &NightKey, lying: Lying) {
        let nights = self.nights((key.0, key.1));
        if let Some(place) = nights.and_then(|nights| nights.place(key.2)) {
            *place = Some(lying);
        }
    }

    /// Whether the type is to be read ahead now.
    pub fn miss(&mut self, of: (PropertyId, RoomTypeId), now: Instant) -> bool {
        if self.doubts.has(of.0, now) {
            return false;
        }
        if self.is_full() {
            self.make_room(now);
        }
        let is_full = self.is_full();
        if self.nights(of).is_none() {
            if is_full {
                return false;
            }
            self.insert(of, Nights::unread(now));
        }
        let Some(nights) = self.nights(of) else {
            return false;
        };
        if nights
            .read_at
            .is_some_and(|at| now.saturating_duration_since(at) < REREAD_AFTER)
        {
            // It is read, but not so far ahead, or other types are wanting.
            return false;
        }
        if now.saturating_duration_since(nights.used_at) > MISSES_WITHIN {
            nights.misses = 0;
        }
        nights.used_at = now;
        nights.misses += 1;
        nights.misses >= MISSES_MIN && !is_full
    }

    fn is_full(&self) -> bool {
        self.counts.0 >= NIGHTS_MAX || self.counts.1 >= TYPES_MAX
    }

    /// Drops what was not asked for lately, but not at every batch.
    fn make_room(&mut self, now: Instant) {
        if now.saturating_duration_since(self.room_made_at) < ROOM_EVERY {
            return;
        }
        self.room_made_at = now;
        let is_used = |one: &Nights| now.saturating_duration_since(one.used_at) < UNUSED;
        self.types.retain(|_, types| {
            types.retain(|_, one| is_used(one));
            !types.is_empty()
        });
        let all = || self.types.values().flat_map(IdMap::values);
        self.counts = (all().map(|one| one.nights.len()).sum(), all().count());
    }

    /// The nights of properties, and these reservations.
    pub fn forget(
        &mut self,
        properties: &BTreeSet<PropertyId>,
        reservations: &BTreeSet<ReservationKey>,
    ) {
        for id in properties {
            for one in self.types.remove(id).iter().flat_map(IdMap::values) {
                self.counts.0 -= one.nights.len();
                self.counts.1 -= 1;
            }
        }
        for key in reservations {
            self.reservations.remove(key);
        }
    }

    /// All of it.
    pub fn clear(&mut self) {
        self.clock = None;
        self.types.clear();
        self.counts = (0, 0);
        self.reservations.clear();
    }
}

/// Keeps the latest: a hold is confirmed after minutes, and by default all but a few are dropped
/// that nobody has asked for twice.
fn latest(count: usize) -> Cache<ReservationKey, Kept> {
    let options = OptionsBuilder::new()
        .estimated_items_capacity(count)
        .weight_capacity(u64::try_from(count).unwrap_or(u64::MAX))
        .hot_allocation(0.1)
        .build();
    options.map_or_else(
        |_| Cache::new(count),
        |options| {
            let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
            Cache::with_options(options, UnitWeighter, hasher, lifecycle)
        },
    )
}

/// The plain types of whose nights a reservation takes some.
pub(super) fn types_of(reservation: &Reservation) -> Vec<RoomTypeId> {
    reservation.rooms.iter().flat_map(parts_of).collect()
}

/// The nights that a reservation takes, of plain types.
pub(super) fn nights_of(reservation: &Reservation) -> impl Iterator<Item = NightKey> {
    let property = reservation.property;
    reservation.rooms.iter().flat_map(move |room| {
        let nights = move |of| {
            let count = days_between(room.taken_from, room.taken_until);
            (0..count).map(move |day| (property, of, plus_days(room.taken_from, day)))
        };
        parts_of(room).flat_map(nights)
    })
}

fn parts_of(room: &RoomStay) -> impl Iterator<Item = RoomTypeId> {
    let is_taken = !room.is_given_back;
    let plain = room
        .room_type
        .filter(|_| is_taken && room.components.is_none());
    let parts = room.components.iter().filter(move |_| is_taken).flatten();
    plain.into_iter().chain(parts.map(|(part, _)| *part))
}

/// How long the clock of a read is relied upon; the call that applies allows as much.
const CLOCK_AGE_MAX: Duration = Duration::from_millis(900);
/// Without a read for so long, all is forgotten.
const REST: Duration = Duration::from_secs(3);
/// Reservations that are kept, at most: some kilobyte each.
const RESERVATIONS_MAX: usize = 20_000;
/// Rooms and prices of nights of one that is kept, at most.
const RESERVATION_SIZE_MAX: usize = 64;
/// Nights that are kept, at most: some sixty bytes each.
const NIGHTS_MAX: usize = 500_000;
/// Types that are kept or counted, at most.
const TYPES_MAX: usize = 50_000;
/// Batches that asked for a type in vain before its nights are read ahead.
const MISSES_MIN: u32 = 3;
/// Within such a time.
const MISSES_WITHIN: Duration = Duration::from_secs(10);
/// What nobody asked for in such a time makes room.
const UNUSED: Duration = Duration::from_secs(30);
/// The first doubt of a property, and one that came again and again.
const DOUBT_SHORTEST: Duration = Duration::from_millis(500);
const DOUBT_LONGEST: Duration = Duration::from_secs(5);
/// Nights that were born since are read ahead as well, after so long.
const REREAD_AFTER: Duration = Duration::from_secs(10);
/// How often room is made at most.
const ROOM_EVERY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use keyrack_model::id::ReservationId;

    use super::*;

    #[test]
    fn the_latest_reservations_are_kept_though_nobody_has_asked_for_them() {
        let mut kept = latest(1_000);
        let key = |n: u128| (PropertyId(1), ReservationId(uuid::Uuid::from_u128(n)));
        for n in 0..5_000 {
            let reservation = reservation();
            let is_unassigned = true;
            kept.insert(
                key(n),
                Kept {
                    reservation,
                    is_unassigned,
                },
            );
        }
        let found = (4_200..5_000).filter(|n| kept.peek(&key(*n)).is_some());
        assert!(found.count() > 700, "nearly all of the latest");
        assert!(kept.len() <= 1_000);
    }

    fn reservation() -> Reservation {
        let id = "00000000-0000-0000-0000-000000000001";
        let json = serde_json::json!({
            "property": 1, "id": id, "number": 1, "status": "held", "version": 1,
            "source": "web", "extensions": 0, "created_at": "2030-01-01T00:00:00Z",
            "updated_at": "2030-01-01T00:00:00Z", "flags": [], "detail": {}, "rooms": [],
        });
        serde_json::from_value(json).expect("a reservation")
    }
}
