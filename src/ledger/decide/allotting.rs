//! The sheet's part of allotments: their counts as they were seen, and what is to be written.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyrack_model::allotment::{AllotmentNight, Release};
use keyrack_model::id::{AllotmentId, PoolRuleId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange, ranges};
use uuid::Uuid;

use super::allotment::Allotment;
use super::draft::{Draft, NightKey};
use super::pool_rule::{Switches, turned};
use super::revise::TypeNight;

/// A night of an allotment.
pub type AllotmentKey = (PropertyId, AllotmentId, StayDate);

/// A night of an allotment as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenAllotment {
    /// Of which plain type.
    pub room_type: RoomTypeId,
    /// What is counted.
    pub night: AllotmentNight,
    /// Counts changes; 0 where there is no row.
    pub version: i64,
}

/// By how much the counts of an allotment changed over nights: a line beside the ledger's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllotmentEntry {
    /// Whose.
    pub property: PropertyId,
    /// Which.
    pub allotment: AllotmentId,
    /// By which command.
    pub command_id: Uuid,
    /// The first of the command's lines that it belongs to.
    pub line: i32,
    /// Of which reservation.
    pub reservation: Option<ReservationId>,
    /// Over which nights.
    pub nights: StayRange,
    /// By how much each of them changed.
    pub by: Difference,
}

/// By how much a night of an allotment changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Rooms agreed.
    pub agreed: i32,
    /// Rooms taken.
    pub taken: i32,
    /// Rooms released.
    pub released: i32,
}

/// When an allotment falls back, newly agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whose.
    pub property: PropertyId,
    /// Which.
    pub allotment: AllotmentId,
    /// The version that was read.
    pub version: i64,
    /// When it falls back.
    pub release: Release,
}

/// What is decided of allotments so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Allotting {
    /// Versions that were read of what was changed.
    before: BTreeMap<AllotmentKey, i64>,
    entries: Vec<AllotmentEntry>,
    pub(super) terms: Vec<Terms>,
}

/// What a batch decided of allotments.
#[derive(Clone, Debug, Default)]
pub struct AllotmentChanges {
    /// Nights with the version that was read, as they are now, in order of key.
    pub counts: Vec<(AllotmentKey, SeenAllotment)>,
    /// Lines.
    pub entries: Vec<AllotmentEntry>,
    /// Terms.
    pub terms: Vec<Terms>,
    /// Rules that begin or cease to hold on a night.
    pub switches: Vec<(PropertyId, PoolRuleId, TypeNight, bool)>,
}

impl AllotmentChanges {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
            && self.entries.is_empty()
            && self.terms.is_empty()
            && self.switches.is_empty()
    }
}

/// Differences of nights, as they are gathered.
pub(super) type Differences = BTreeMap<AllotmentId, BTreeMap<StayDate, Difference>>;

impl Draft {
    /// A night of an allotment with the changes so far; nothing agreed where there is no row.
    pub fn allotment_night(&self, key: AllotmentKey) -> AllotmentNight {
        let seen = self.seen.allotments.get(&key);
        seen.map(|seen| seen.night).unwrap_or_default()
    }

    /// Whether a night of an allotment has a row.
    pub fn has_allotment_night(&self, key: AllotmentKey) -> bool {
        self.seen.allotments.contains_key(&key)
    }

    /// Puts the counts of a night of an allotment; says by how many rooms what is left of it
    /// changed.
    pub(super) fn put_allotment_night(
        &mut self,
        key: AllotmentKey,
        room_type: RoomTypeId,
        night: AllotmentNight,
        gathered: &mut Differences,
    ) -> i32 {
        let none = SeenAllotment {
            room_type,
            night: AllotmentNight::default(),
            version: 0,
        };
        let seen = self.seen.allotments.entry(key).or_insert(none);
        self.allotting.before.entry(key).or_insert(seen.version);
        let (was, is) = (seen.night, night.settled());
        seen.night = is;
        let by = gathered.entry(key.1).or_default().entry(key.2);
        let by = by.or_default();
        by.agreed += is.agreed - was.agreed;
        by.taken += is.taken - was.taken;
        by.released += is.released - was.released;
        is.left() - was.left()
    }

    /// Writes the gathered differences beside the line that is written next.
    pub(super) fn write_allotments(
        &mut self,
        property: PropertyId,
        reservation: Option<ReservationId>,
        gathered: Differences,
    ) {
        let (command_id, line) = self.next_line();
        for (allotment, nights) in gathered {
            let mut alike: BTreeMap<Difference, Vec<StayDate>> = BTreeMap::new();
            for (night, by) in nights {
                if by != Difference::default() {
                    alike.entry(by).or_default().push(night);
                }
            }
            for (by, nights) in alike {
                let entries = ranges(nights).into_iter().map(|nights| AllotmentEntry {
                    property,
                    allotment,
                    command_id,
                    line,
                    reservation,
                    nights,
                    by,
                });
                self.allotting.entries.extend(entries);
            }
        }
    }

    /// An allotment as it was just agreed, for the commands that follow.
    pub(super) fn know_allotment(
        &mut self,
        property: PropertyId,
        id: AllotmentId,
        allotment: Allotment,
    ) {
        if let Some(rules) = self.seen.rules.get_mut(&property) {
            let pools = &mut Arc::make_mut(rules).pools;
            pools.allotments.insert(id, allotment);
        }
    }

    /// Rules of scarcity that hold on the nights that were read.
    pub fn switches(&self, property: PropertyId) -> Switches {
        self.seen
            .switches
            .get(&property)
            .cloned()
            .unwrap_or_default()
    }

    /// Turns the switches of a night by what is free on it; says whether any turned.
    pub(super) fn turn(&self, key: NightKey, free: i32, changes: &mut AllotmentChanges) -> bool {
        let (property, night) = (key.0, (key.1, key.2));
        let pools = &self.seen.rules[&property].pools;
        if pools.rules.is_empty() {
            return false;
        }
        let turned = turned(pools, &self.switches(property), night, free);
        let is_any = !turned.is_empty();
        let turned = turned.into_iter();
        let turned = turned.map(|(rule, is_on)| (property, rule, night, is_on));
        changes.switches.extend(turned);
        is_any
    }

    /// What must be written of allotments.
    pub(super) fn allotment_changes(&mut self) -> AllotmentChanges {
        let Allotting {
            before,
            entries,
            terms,
        } = std::mem::take(&mut self.allotting);
        let counts = before.into_iter().map(|(key, version)| {
            let seen = self.seen.allotments[&key];
            (key, SeenAllotment { version, ..seen })
        });
        AllotmentChanges {
            counts: counts.collect(),
            entries,
            terms,
            switches: Vec::new(),
        }
    }
}
