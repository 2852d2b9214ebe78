//! What a batch decided: everything that must be applied, in the order of the locks.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::id::{AccountId, PropertyId, RoomStayId};
use keyrack_model::inventory::{NightBalance, Pool};
use keyrack_model::stay::days_between;
use uuid::Uuid;

use super::allotting::AllotmentChanges;
use super::blocks::BlockChange;
use super::draft::{GuestChange, NightKey, Reference, ReservationKey};
use super::entry::{Entry, Move};
use super::guest_limit::Taken;
use super::overbooking::needs_case;
use super::overbooking::sheet::{Asking, Ended};
use super::rules::Rules;
use super::state::{Reservation, RoomStay};
use crate::command::{By, Idempotency, Receipt};

/// What must be applied, in the order of the locks.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The clock of the read: the instant of the entries.
    pub now: Timestamp,
    /// Rules versions that the decisions rest on.
    pub rules: Vec<(PropertyId, i64)>,
    /// Receipts to keep.
    pub receipts: Vec<(Idempotency, Receipt)>,
    /// New reservations.
    pub new: Vec<Reservation>,
    /// Changed ones.
    pub changed: Vec<Changed>,
    /// References: property, account, reference, version that was read (0: new), state.
    pub references: Vec<(PropertyId, AccountId, String, i64, Reference)>,
    /// Nights with the version that was read and their new balance, in order of key.
    pub nights: Vec<(NightKey, i64, NightBalance)>,
    /// Nights were moved that are in the end as they were read: they are not written.
    pub has_nights_as_before: bool,
    /// Lines of the ledger.
    pub entries: Vec<Entry>,
    /// Blocks of physical rooms, in order of room.
    pub blocks: Vec<(PropertyId, BlockChange)>,
    /// Nights, lines and terms of allotments.
    pub allotments: AllotmentChanges,
    /// Guests.
    pub guests: Vec<(ReservationKey, GuestChange)>,
    /// Places of guests on arrival dates.
    pub places: Vec<Taken>,
    /// Nights that need an open case, with the rooms beyond.
    pub overbooked: Vec<(NightKey, i32)>,
    /// Nights that no longer need one.
    pub cured: Vec<NightKey>,
    /// Nights for which a person opens one.
    pub by_hand: BTreeMap<NightKey, Asking>,
    /// Who looked at such nights again, where nothing moved on them.
    pub reviewed: BTreeMap<NightKey, Asking>,
    /// Cases that a command ends.
    pub ended: Vec<Ended>,
    /// The last command of the batch and who asked it.
    pub last: (Uuid, Arc<By>),
}

/// A reservation that was changed.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The version that was read.
    pub version: i64,
    /// What it is now.
    pub after: Reservation,
    /// Whether any of its rooms is another: most commands change what becomes of a stay and not its
    /// rooms, and rows that stay as they are need not be written.
    pub has_other_rooms: bool,
    /// Room stays that came to another type: they leave rooms that are not of it. A guest who was
    /// put into a room of another type keeps it as long as the stay's own type stands.
    pub retyped: Vec<RoomStayId>,
}

impl Changed {
    /// The change from one state to another.
    pub fn of(before: &Reservation, after: Reservation) -> Self {
        let came_to_another = |room: &&RoomStay| {
            let was = before.rooms.iter().find(|old| old.id == room.id);
            was.is_some_and(|old| old.room_type != room.room_type)
        };
        let retyped = after.rooms.iter().filter(came_to_another);
        Self {
            version: before.version,
            retyped: retyped.map(|room| room.id).collect(),
            has_other_rooms: after.rooms != before.rooms,
            after,
        }
    }
}

impl Changes {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        self.receipts.is_empty()
            && self.new.is_empty()
            && self.changed.is_empty()
            && self.references.is_empty()
            && self.nights.is_empty()
            && self.entries.is_empty()
            && self.blocks.is_empty()
            && self.allotments.is_empty()
            && self.guests.is_empty()
            && self.places.is_empty()
            && self.overbooked.is_empty()
            && self.cured.is_empty()
            && self.ended.is_empty()
    }

    /// Rooms of a changed night beyond what can be slept in; 0 where none are.
    pub fn beyond(&self, key: NightKey) -> i32 {
        let at = self.nights.binary_search_by_key(&key, |(key, ..)| *key);
        let night = at.map(|at| self.nights[at].2).unwrap_or_default();
        night.beyond()
    }

    /// The line that moved rooms on a night last.
    pub fn line_on(&self, key: NightKey) -> Option<&Entry> {
        self.last_on(key, |_| true)
    }

    /// The line that took rooms of a night last, whoever gave some back behind it.
    pub fn taker_on(&self, key: NightKey) -> Option<&Entry> {
        let takes = |m: &Move| matches!(m.to, Pool::Sold | Pool::OutOfOrder | Pool::Outside);
        self.last_on(key, takes).or_else(|| self.line_on(key))
    }

    fn last_on(&self, key: NightKey, is_meant: impl Fn(&Move) -> bool) -> Option<&Entry> {
        let on_it = |m: &Move| m.room_type == key.1 && m.nights.contains(key.2) && is_meant(m);
        let mut lines = self
            .entries
            .iter()
            .rev()
            .filter(|entry| entry.property == key.0);
        lines.find(|entry| entry.moved.as_ref().is_some_and(&on_it))
    }

    /// Whether a night needs a case now, or no longer does. Says whether that is written: then it
    /// rests on the night, which must be as it was read, also where nothing else of it changes.
    pub fn judge(
        &mut self,
        key: NightKey,
        was: &NightBalance,
        is: &NightBalance,
        rules: &Rules,
    ) -> bool {
        let lead = days_between(rules.business_day(self.now), key.2);
        let meant = rules.policies.meant_overbooking_case_days;
        if needs_case(is, lead, meant) {
            self.overbooked.push((key, is.beyond()));
            return true;
        }
        if was.is_overbooked() {
            self.cured.push(key);
        }
        was.is_overbooked()
    }
}
