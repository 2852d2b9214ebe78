//! A property in the auditor's books: its rules, its nights, who takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_ledger::decide::buffer_rule::BufferRule;
use keyrack_model::id::{AccountId, AllotmentId, ReservationId, RoomTypeId};
use keyrack_model::reservation::{RevisionKind, Status};
use keyrack_model::stay::{StayDate, plus_days};

use super::allotment::{self, Allotment};
use super::cases::Files;
use super::draw;
use super::entry::{Cell, Entry, Rooms};
use super::rules::Rules;
use super::switch::Switching;
use crate::ids::PropertyIds;
use crate::shape::PropertyShape;

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
    /// Kept in allotments and not taken of them.
    pub allotted: i32,
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
    /// None: so many rooms beyond were accepted as they were, and no more.
    Accepted(i32),
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

/// What dead holds that nobody has swept seem to take.
#[derive(Clone, Debug, Default)]
pub struct Dead {
    /// Rooms.
    pub rooms: Rooms,
    drawn: BTreeMap<(AllotmentId, StayDate), i32>,
}

impl Dead {
    /// Rooms on a night of the house.
    pub fn on(&self, cell: Cell) -> i32 {
        self.rooms.get(&cell).copied().unwrap_or(0)
    }

    /// Whether any of them takes a room on a night, of whatever pool.
    pub fn concerns(&self, cell: Cell) -> bool {
        let drawn = self.drawn.keys().any(|(_, night)| *night == cell.1);
        drawn || self.on(cell) != 0
    }

    /// Whether any of them came from an allotment.
    pub fn has_drawn(&self) -> bool {
        !self.drawn.is_empty()
    }

    /// Rooms of these that came from an allotment.
    pub fn drawn(&self, allotment: AllotmentId, night: StayDate) -> i32 {
        self.drawn.get(&(allotment, night)).copied().unwrap_or(0)
    }
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
    /// Its allotments.
    pub allotments: BTreeMap<AllotmentId, Allotment>,
    /// Overbooking cases with nights that are not cured, as they were seen last.
    pub cases: Files,
    /// Nights that were accepted when they were last seen, and are changed since.
    pub accepted: BTreeMap<Cell, i32>,
    /// Rules that switch how accounts sell.
    pub switching: Switching,
    /// Rules that keep rooms back from what is told.
    pub buffers: Vec<BufferRule>,
    /// Whoever draws finds the rooms of dead holds free: somebody let them go unseen.
    pub ignores_dead: bool,
    /// Which entries say `held`.
    holds: BTreeSet<ReservationId>,
}

impl Night {
    /// Rooms sold beyond those that can be slept in, of which there are never fewer than none.
    pub fn beyond(&self) -> i32 {
        self.sold - (self.physical - self.out_of_order).max(0)
    }

    /// The overdraft.
    pub fn overdraft(&self) -> i32 {
        let taken = self.held + self.sold + self.allotted + self.out_of_order;
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
            allotments: allotment::of(shape, ids),
            cases: Files::new(),
            accepted: BTreeMap::new(),
            switching: Switching::default(),
            buffers: Vec::new(),
            ignores_dead: false,
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
            allotted: 0,
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
        night.allotted = self.allotted(cell, &|_| 0);
        night.case = self.judge(cell, &night, now);
        self.nights.insert(cell, night);
        self.turn(cell, now);
    }

    /// What dead holds still seem to take.
    pub fn dead(&self, now: Timestamp) -> Dead {
        let mut dead = Dead::default();
        for id in &self.holds {
            let entry = &self.entries[id];
            if entry.is_unswept(now) {
                for (cell, rooms) in self.rules.taken(entry.rooms.iter()) {
                    *dead.rooms.entry(cell).or_insert(0) += rooms;
                }
                for one in &entry.drawn {
                    let drawn = dead.drawn.entry((one.allotment, one.night));
                    *drawn.or_insert(0) += one.rooms;
                }
            }
        }
        dead
    }

    /// Rooms in free sale; dead holds take none.
    pub fn free(&self, cell: Cell, dead: &Dead) -> i32 {
        let night = self.night(cell);
        let taken = night.held - dead.on(cell) + night.sold + self.allotted_alive(cell, dead);
        (night.physical + night.limit - night.out_of_order - taken).max(0)
    }

    /// Nights on which fewer rooms are free than a change takes more of: rooms that it draws from
    /// allotments are kept for it, and what it no longer takes goes back to where it came from.
    pub fn short(&self, before: Option<&Entry>, after: &Entry, dead: &Dead) -> BTreeSet<Cell> {
        let before = before.filter(|entry| entry.takes());
        let drawn = draw::difference(before, after);
        let mut asked = self.rules.taken(after.rooms.iter());
        for (cell, rooms) in before
            .into_iter()
            .flat_map(|entry| self.rules.taken(entry.rooms.iter()))
        {
            *asked.entry(cell).or_insert(0) -= rooms;
        }
        let is_short = |(cell, more): &(&Cell, &i32)| {
            let of = |id| drawn.get(&(id, cell.1)).copied().unwrap_or(0);
            let kept = self.allotted(**cell, &|id| of(id) - dead.drawn(id, cell.1));
            let more = **more + kept - self.allotted_alive(**cell, dead);
            more > 0 && self.free(**cell, dead) < more
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
        // It may have been before the switches were last looked at.
        let turned = self.switching.turned.clone();
        let cells = self.write(id, entry, now);
        self.switching.turned = turned;
        for cell in cells {
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
    pub fn write(&mut self, id: ReservationId, mut entry: Entry, now: Timestamp) -> BTreeSet<Cell> {
        let mut moved: BTreeMap<Cell, (i32, i32)> = BTreeMap::new();
        let mut drawn = BTreeSet::new();
        let before = self.entries.get(&id).map(Arc::clone);
        if entry.takes() {
            draw::settle(self, &mut entry);
        }
        for cell in self.count_drawn(&draw::difference(before.as_deref(), &entry)) {
            drawn.insert(cell);
        }
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
        moved.retain(|cell, rooms| *rooms != (0, 0) || drawn.contains(cell));
        for (cell, (held, sold)) in &moved {
            self.change_night(*cell, now, |night| {
                night.held += held;
                night.sold += sold;
            });
        }
        for cell in drawn {
            moved.entry(cell).or_insert_with(|| {
                self.change_night(cell, now, |_| {});
                (0, 0)
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
