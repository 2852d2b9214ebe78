//! Allotments in the auditor's books: what is agreed of each night, what is taken of that, and
//! what has fallen back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use keyrack_ledger::command::Forced;
use keyrack_ledger::decide::allotment::{Agreement, Owner};
use keyrack_ledger::decide::refusal::Force;
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, AllotmentId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, days_between};

use super::entry::{Cell, nights};
use super::expected::{Expected, No, Yes};
use super::house::{Dead, House};
use crate::ids::PropertyIds;
use crate::pool_shape::OwnerShape;
use crate::shape::PropertyShape;

/// An allotment.
#[derive(Clone, Debug)]
pub struct Allotment {
    /// Whose; `None` is the group's.
    pub account: Option<AccountId>,
    /// Of which plain type.
    pub room_type: RoomTypeId,
    /// Days before the stay date at whose midnight it falls back.
    pub release_days: i32,
    /// The days at whose midnight all of it falls back: its own, and its group's.
    pub cut_offs: [Option<StayDate>; 2],
    /// Counts its changes.
    pub version: i64,
    /// Its nights that were ever agreed.
    pub nights: BTreeMap<StayDate, Kept>,
}

/// A night of an allotment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Rooms agreed.
    pub agreed: i32,
    /// Rooms taken of it, by dead and unswept holds among others.
    pub taken: i32,
    /// What is unsold has fallen back, and what comes free falls back at once.
    pub is_released: bool,
}

impl Kept {
    /// Rooms that may still be drawn: what it keeps out of free sale.
    pub fn left(self) -> i32 {
        if self.is_released {
            0
        } else {
            (self.agreed - self.taken).max(0)
        }
    }

    /// The same with so many rooms more taken of it.
    pub fn with_taken(self, more: i32) -> Self {
        let taken = self.taken + more;
        Self { taken, ..self }
    }
}

impl Allotment {
    /// A night; nothing is agreed where nobody ever did.
    pub fn night(&self, night: StayDate) -> Kept {
        self.nights.get(&night).copied().unwrap_or_default()
    }

    /// Whether a night has fallen back on a day of the calendar.
    fn is_due(&self, night: StayDate, day: StayDate) -> bool {
        let mut cut_offs = self.cut_offs.iter().flatten();
        days_between(day, night) <= self.release_days || cut_offs.any(|at| *at <= day)
    }
}

/// The allotments of a shape, with nothing agreed.
pub fn of(shape: &PropertyShape, ids: &PropertyIds) -> BTreeMap<AllotmentId, Allotment> {
    let night = |offset| keyrack_model::stay::plus_days(shape.first_night, offset);
    let each = shape.pools.allotments.iter().zip(&ids.allotments);
    let each = each.map(|(known, id)| {
        let (account, group_cut_off) = match known.owner {
            OwnerShape::Account(at) => (Some(ids.accounts[at]), None),
            OwnerShape::Group => (None, shape.pools.group_cut_off.map(night)),
        };
        let allotment = Allotment {
            account,
            room_type: ids.types[known.room_type],
            release_days: 0,
            cut_offs: [None, group_cut_off],
            version: 1,
            nights: BTreeMap::new(),
        };
        (*id, allotment)
    });
    each.collect()
}

/// How accounts sell the types that they do not sell from the shared pool alone.
pub type Mapped = BTreeMap<(AccountId, RoomTypeId), (PoolMode, AllotmentId)>;

/// The mappings of a shape.
pub fn mapped(shape: &PropertyShape, ids: &PropertyIds) -> Mapped {
    let each = shape.pools.mapped.iter().map(|(account, mode, at)| {
        let room_type = shape.pools.allotments[*at].room_type;
        let key = (ids.accounts[*account], ids.types[room_type]);
        (key, (*mode, ids.allotments[*at]))
    });
    each.collect()
}

impl House {
    /// The allotments of a type.
    fn of_type(&self, room_type: RoomTypeId) -> impl Iterator<Item = (&AllotmentId, &Allotment)> {
        let of_it = move |one: &(&AllotmentId, &Allotment)| one.1.room_type == room_type;
        self.allotments.iter().filter(of_it)
    }

    /// Rooms that all allotments keep out of free sale on a night, where so many are taken of each
    /// besides what is counted.
    pub fn allotted(&self, cell: Cell, more: &dyn Fn(AllotmentId) -> i32) -> i32 {
        let left =
            |(id, one): (&AllotmentId, &Allotment)| one.night(cell.1).with_taken(more(*id)).left();
        self.of_type(cell.0).map(left).sum()
    }

    /// The same without what dead holds drew.
    pub fn allotted_alive(&self, cell: Cell, dead: &Dead) -> i32 {
        self.allotted(cell, &|id| -dead.drawn(id, cell.1))
    }

    /// Counts rooms taken of allotments; says on which nights of the house.
    pub fn count_drawn(&mut self, by: &BTreeMap<(AllotmentId, StayDate), i32>) -> BTreeSet<Cell> {
        let mut cells = BTreeSet::new();
        for ((id, night), more) in by.iter().filter(|(_, more)| **more != 0) {
            let Some(known) = self.allotments.get_mut(id) else {
                continue;
            };
            known.nights.entry(*night).or_default().taken += more;
            cells.insert((known.room_type, *night));
        }
        cells
    }
}

fn forces(force: Option<&Forced>, what: Force) -> bool {
    force.is_some_and(|force| force.allow.contains(&what))
}

/// Rooms are agreed: taken from free sale, or given back to it. What is past stays as it was.
pub fn agree(house: &mut House, asked: &Agreement, now: Timestamp) -> Expected {
    let Some(known) = house.allotments.get(&asked.allotment) else {
        return Expected::no("not_found");
    };
    if known.version != asked.terms.version {
        return Expected::No(No {
            code: "version_mismatch",
            current: Some(known.version),
            ..No::default()
        });
    }
    let owner = known.account.map(Owner::Account);
    debug_assert!(owner.is_none_or(|owner| owner == asked.terms.owner));
    let mut after = known.clone();
    after.release_days = asked.terms.release.period_days;
    after.cut_offs[0] = asked.terms.release.cut_off;
    let is_other = (after.release_days, after.cut_offs) != (known.release_days, known.cut_offs);
    let day = house.rules.calendar_day(now);
    let dead = house.dead(now);
    let (mut cut, mut short) = (BTreeMap::new(), BTreeMap::new());
    for night in asked.nights.into_iter().flat_map(Stay::nights) {
        let rooms = rooms_on(asked, night);
        let has_row = known.nights.contains_key(&night);
        if night < day || rooms == 0 && !has_row {
            continue;
        }
        let was = known.night(night);
        let is_released = after.is_due(night, day);
        let is = Kept {
            agreed: rooms,
            is_released,
            ..was
        };
        after.nights.insert(night, is);
        // Dead holds take nothing.
        let alive = |kept: Kept| kept.with_taken(-dead.drawn(asked.allotment, night));
        let (was, is, cell) = (alive(was), alive(is), (known.room_type, night));
        let missing = is.left() - was.left() - house.free(cell, &dead);
        if is.left() > was.left() && missing > 0 {
            short.insert(cell, missing);
        }
        if is.agreed < was.agreed && is.agreed < is.taken {
            cut.insert(cell, is.taken - is.agreed);
        }
    }
    let force = asked.force.as_ref();
    for (allow, nights) in [(Force::Allotment, &cut), (Force::Oversell, &short)] {
        if !nights.is_empty() && !asked.dry_run && !forces(force, allow) {
            return Expected::needs(allow, nights.keys().copied().collect());
        }
    }
    short.extend(cut);
    let mut yes = Yes {
        short: Some(short),
        ..Yes::default()
    };
    if !asked.dry_run && (is_other || after.nights != known.nights) {
        after.version += 1;
        yes.touched = put(house, asked.allotment, after, now);
    }
    Expected::Yes(yes)
}

/// What is agreed of a night: the last that speaks of it says.
fn rooms_on(asked: &Agreement, night: StayDate) -> i32 {
    let mut rooms = 0;
    for value in &asked.values {
        let in_range = value.nights.arrival() <= night && night < value.nights.departure();
        if in_range && value.weekdays.contains(night) {
            rooms = value.rooms;
        }
    }
    rooms
}

/// An allotment in its new state; says on which nights it keeps more or fewer rooms than before.
fn put(house: &mut House, id: AllotmentId, after: Allotment, now: Timestamp) -> BTreeSet<Cell> {
    let room_type = after.room_type;
    let before = house.allotments.insert(id, after);
    let mut touched = BTreeSet::new();
    let each: Vec<StayDate> = house.allotments[&id].nights.keys().copied().collect();
    for night in each {
        let was = before.as_ref().map_or(0, |one| one.night(night).left());
        if house.allotments[&id].night(night).left() != was {
            house.change_night((room_type, night), now, |_| {});
            touched.insert((room_type, night));
        }
    }
    touched
}

/// What is unsold falls back where it is due, once.
pub fn release(house: &mut House, id: AllotmentId, range: Stay, now: Timestamp) -> Expected {
    let Some(known) = house.allotments.get(&id) else {
        return Expected::no("not_found");
    };
    let day = house.rules.calendar_day(now);
    let mut after = known.clone();
    for night in nights(range.arrival(), range.departure()) {
        let is_due = known.is_due(night, day);
        if let Some(kept) = after.nights.get_mut(&night) {
            kept.is_released |= is_due;
        }
    }
    let touched = put(house, id, after, now);
    Expected::Yes(Yes {
        touched,
        ..Yes::default()
    })
}

/// A worker looks for all that is due; of how many allotments something falls back.
pub fn release_due(house: &mut House, now: Timestamp) -> u32 {
    let day = house.rules.calendar_day(now);
    let mut released = 0;
    let ids: Vec<AllotmentId> = house.allotments.keys().copied().collect();
    for id in ids {
        let mut after = house.allotments[&id].clone();
        let known = house.allotments[&id].clone();
        for (night, kept) in &mut after.nights {
            kept.is_released |= known.is_due(*night, day);
        }
        if after.nights != known.nights {
            released += 1;
            put(house, id, after, now);
        }
    }
    released
}
