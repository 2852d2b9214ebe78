//! A property in the auditor's books: its rules, its nights, who takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use keyrack_model::id::{AccountId, ReservationId, RoomTypeId};
use keyrack_model::reservation::{RevisionKind, Source, Status};
use keyrack_model::stay::{StayDate, days_between, plus_days};

use super::entry::{Cell, Entry, Room, Rooms};
use crate::ids::PropertyIds;
use crate::shape::PropertyShape;

/// What a property goes by.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Its time zone.
    pub zone: TimeZone,
    /// Nights ahead that can be sold.
    pub horizon_days: i32,
    /// First night that may be booked.
    pub bookable_from: Option<StayDate>,
    /// How long a hold lives.
    pub hold_seconds: i32,
    /// How long one from the web lives, where that differs.
    pub web_hold_seconds: Option<i32>,
    /// How long its rooms stay kept after that.
    pub grace_seconds: i32,
    /// How often it may be extended.
    pub extensions_max: i32,
    /// A late confirm takes the rooms anew.
    pub retakes: bool,
    /// Which no-shows keep their nights.
    pub no_show_keeps: String,
    /// Nearer than so many days, what was meant needs a case as well.
    pub meant_days: i32,
    /// Its types.
    pub types: BTreeMap<RoomTypeId, Type>,
}

/// A room type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Rooms of a new night.
    pub rooms: i32,
    /// Holds of it live so long at most.
    pub hold_seconds: Option<i32>,
    /// Rooms of plain types that one unit takes; of a plain type, one of itself.
    pub parts: Vec<(RoomTypeId, i32)>,
    /// It has rooms of its own.
    pub is_plain: bool,
}

/// A night of a plain type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Night {
    /// Rooms that exist.
    pub physical: i32,
    /// Of these, what cannot be sold.
    pub out_of_order: i32,
    /// How far beyond physical the hotel means to sell.
    pub limit: i32,
    /// Taken by holds, dead and unswept ones among them.
    pub held: i32,
    /// Taken by confirmed stays.
    pub sold: i32,
    /// Whether a case is open.
    pub case: Case,
}

/// Whether a case is open on a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// More is sold than was meant, or it is near.
    Open,
    /// Nothing is wrong.
    Closed,
    /// What was meant and is not near, after more than that: left open by the design.
    Either,
}

/// What is remembered of a channel's reference, for ever.
#[derive(Clone, Debug)]
pub struct Known {
    /// `None` is a tombstone.
    pub reservation: Option<ReservationId>,
    /// The highest order that was told.
    pub order: Option<i64>,
    /// Kind of the last state.
    pub kind: RevisionKind,
    /// Hash of its content; empty where staff typed it.
    pub hash: String,
    /// The channel cancelled it.
    pub is_cancelled: bool,
}

/// A property.
#[derive(Clone, Debug)]
pub struct House {
    /// What it goes by.
    pub rules: Arc<Rules>,
    /// Its nights, as far as they are born.
    pub nights: BTreeMap<Cell, Night>,
    /// Everything that was ever booked.
    pub entries: BTreeMap<ReservationId, Arc<Entry>>,
    /// Every reference that was ever told.
    pub references: BTreeMap<(AccountId, String), Known>,
    /// Its rooms by code: of which type, and in which nights each is blocked.
    pub rooms: BTreeMap<String, (RoomTypeId, Vec<(StayDate, StayDate)>)>,
    /// Which entries say `held`.
    holds: BTreeSet<ReservationId>,
}

impl Rules {
    /// The rules of a shape under the ids of a ledger.
    pub fn of(shape: &PropertyShape, ids: &PropertyIds) -> Self {
        let types = shape.types.iter().zip(&ids.types).map(|(t, id)| {
            let parts = t.components.iter().map(|(part, n)| (ids.types[*part], *n));
            let mut parts: Vec<_> = parts.collect();
            if t.is_plain() {
                parts.push((*id, 1));
            }
            let known = Type {
                rooms: t.rooms,
                hold_seconds: t.hold_seconds,
                parts,
                is_plain: t.is_plain(),
            };
            (*id, known)
        });
        Self {
            zone: TimeZone::get(&shape.zone).unwrap_or(TimeZone::UTC),
            horizon_days: shape.horizon_days,
            bookable_from: shape
                .bookable_from
                .map(|offset| plus_days(shape.first_night, offset)),
            hold_seconds: shape.hold_seconds,
            web_hold_seconds: shape.web_hold_seconds,
            grace_seconds: shape.confirm_grace_seconds,
            extensions_max: shape.extensions_max,
            retakes: shape.late_confirm_retakes,
            no_show_keeps: shape.no_show_keeps.clone(),
            meant_days: shape.meant_overbooking_case_days,
            types: types.collect(),
        }
    }

    /// The business day: until four in the morning it is still yesterday.
    pub fn today(&self, now: Timestamp) -> StayDate {
        let local = self.zone.to_datetime(now);
        if local.time() < Time::constant(4, 0, 0, 0) {
            plus_days(local.date(), -1)
        } else {
            local.date()
        }
    }

    /// How long a hold of these types from this source lives.
    pub fn hold_seconds(&self, source: Source, types: impl Iterator<Item = RoomTypeId>) -> i32 {
        let mut seconds = self.hold_seconds;
        if source == Source::Web {
            seconds = self.web_hold_seconds.unwrap_or(seconds);
        }
        for room_type in types {
            let scarce = self.types.get(&room_type).and_then(|t| t.hold_seconds);
            seconds = seconds.min(scarce.unwrap_or(seconds));
        }
        seconds
    }

    /// When a hold that ends then is dead.
    pub fn dead_at(&self, until: Timestamp) -> Timestamp {
        let grace = SignedDuration::from_secs(i64::from(self.grace_seconds));
        until.saturating_add(grace).unwrap_or(until)
    }

    /// What some rooms take, by night of plain type.
    pub fn taken<'a>(&self, rooms: impl Iterator<Item = &'a Room>) -> Rooms {
        let mut taken = Rooms::new();
        for room in rooms.filter(|room| !room.is_gone) {
            let Some(known) = room.room_type.and_then(|id| self.types.get(&id)) else {
                continue;
            };
            for night in room.nights() {
                for (part, count) in &known.parts {
                    *taken.entry((*part, night)).or_insert(0) += count * room.quantity;
                }
            }
        }
        taken
    }
}

impl Night {
    /// Rooms sold beyond those that can be slept in.
    pub fn beyond(&self) -> i32 {
        self.sold - (self.physical - self.out_of_order)
    }

    /// The overdraft.
    pub fn overdraft(&self) -> i32 {
        let taken = self.held + self.sold + self.out_of_order;
        (taken - self.physical - self.limit).max(0)
    }
}

impl House {
    /// An empty house.
    pub fn new(shape: &PropertyShape, ids: &PropertyIds) -> Self {
        let mut house = Self {
            rules: Arc::new(Rules::of(shape, ids)),
            nights: BTreeMap::new(),
            entries: BTreeMap::new(),
            references: BTreeMap::new(),
            rooms: BTreeMap::new(),
            holds: BTreeSet::new(),
        };
        for at in shape.plain_types() {
            for room in 0..shape.types[at].rooms {
                let code = shape.room_code(at, room);
                house.rooms.insert(code, (ids.types[at], Vec::new()));
            }
            for offset in shape.born() {
                let cell = (ids.types[at], plus_days(shape.first_night, offset));
                house.nights.insert(cell, house.night(cell));
            }
        }
        house
    }

    /// A night that nobody touched has the rooms of its type, and the blocks of those.
    fn born(&self, (room_type, night): Cell) -> Night {
        let physical = self.rules.types.get(&room_type).map_or(0, |t| t.rooms);
        let mut blocked = 0;
        for (_, blocks) in self.rooms.values().filter(|(of, _)| *of == room_type) {
            let is_blocked = blocks
                .iter()
                .any(|(from, until)| *from <= night && night < *until);
            blocked += i32::from(is_blocked);
        }
        Night {
            physical,
            out_of_order: blocked.min(physical),
            limit: 0,
            held: 0,
            sold: 0,
            case: Case::Closed,
        }
    }

    /// A night; one that nobody touched has the rooms of its type.
    pub fn night(&self, cell: Cell) -> Night {
        let known = self.nights.get(&cell).copied();
        known.unwrap_or_else(|| self.born(cell))
    }

    /// Changes a night, and judges whether it needs a case.
    pub fn change_night(&mut self, cell: Cell, now: Timestamp, change: impl FnOnce(&mut Night)) {
        let mut night = self.night(cell);
        change(&mut night);
        let lead = days_between(self.rules.today(now), cell.1);
        night.case = match night.beyond() {
            ..=0 => Case::Closed,
            beyond if beyond > night.limit || lead < self.rules.meant_days => Case::Open,
            _ if night.case == Case::Closed => Case::Closed,
            _ => Case::Either,
        };
        self.nights.insert(cell, night);
    }

    /// Rooms that dead holds still seem to take.
    pub fn dead(&self, now: Timestamp) -> Rooms {
        let mut dead = Rooms::new();
        for id in &self.holds {
            let entry = &self.entries[id];
            if entry.is_unswept(now) {
                for (cell, rooms) in self.rules.taken(entry.rooms.iter()) {
                    *dead.entry(cell).or_insert(0) += rooms;
                }
            }
        }
        dead
    }

    /// Nights on which fewer rooms are free than are asked for more; dead holds take none.
    pub fn short(&self, asked: &Rooms, now: Timestamp) -> BTreeSet<Cell> {
        let dead = self.dead(now);
        let is_short = |(cell, more): &(&Cell, &i32)| {
            let night = self.night(**cell);
            let taken = night.held - dead.get(cell).unwrap_or(&0) + night.sold;
            let free = (night.physical + night.limit - night.out_of_order - taken).max(0);
            **more > 0 && free < **more
        };
        let short = asked.iter().filter(is_short);
        short.map(|(cell, _)| *cell).collect()
    }

    /// A dead hold that is let go now, or was by the sweeper at some time before: whether anybody
    /// looked at its nights since they came near cannot be known.
    pub fn sweep(&mut self, id: ReservationId, now: Timestamp) {
        let mut entry = Entry::clone(&self.entries[&id]);
        entry.status = Status::Expired;
        entry.version += 1;
        let before = self.nights.clone();
        for cell in self.write(id, entry, now) {
            let case = before.get(&cell).map(|night| night.case);
            if let Some(night) = self.nights.get_mut(&cell)
                && night.case == Case::Open
                && case != Some(Case::Open)
            {
                night.case = Case::Either;
            }
        }
    }

    /// Writes an entry in its new state, and moves the rooms that it takes. Says which nights
    /// changed.
    pub fn write(&mut self, id: ReservationId, entry: Entry, now: Timestamp) -> BTreeSet<Cell> {
        let mut moved: BTreeMap<Cell, (i32, i32)> = BTreeMap::new();
        let before = self.entries.get(&id).map(Arc::clone);
        for (sign, entry) in [(-1, before.as_deref()), (1, Some(&entry))] {
            let Some(entry) = entry else { continue };
            let counts: (i32, i32) = match entry.status {
                Status::Held => (sign, 0),
                Status::Confirmed | Status::CheckedIn | Status::Completed | Status::NoShow => {
                    (0, sign)
                }
                Status::Cancelled | Status::Expired => continue,
            };
            for (cell, rooms) in self.rules.taken(entry.rooms.iter()) {
                let moved = moved.entry(cell).or_insert((0, 0));
                *moved = (moved.0 + counts.0 * rooms, moved.1 + counts.1 * rooms);
            }
        }
        moved.retain(|_, rooms| *rooms != (0, 0));
        for (cell, (held, sold)) in &moved {
            self.change_night(*cell, now, |night| {
                night.held += held;
                night.sold += sold;
            });
        }
        if entry.status == Status::Held {
            self.holds.insert(id);
        } else {
            self.holds.remove(&id);
        }
        self.entries.insert(id, Arc::new(entry));
        moved.into_keys().collect()
    }
}
