//! The books: what must be answered, and what must be true afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_ledger::command::{Answer, Command};
use keyrack_model::id::{PropertyId, ReservationId};

use super::entry::{Cell, Entry};
use super::expected::Expected;
use super::house::House;
use super::{capacity, desk, fact, hold, wish};
use crate::ids::Ids;
use crate::shape::Shape;

/// The auditor's books. Cheap to clone: a house is copied when it is first written to.
#[derive(Clone, Debug, Default)]
pub struct Books {
    houses: BTreeMap<PropertyId, Arc<House>>,
}

impl Books {
    /// Empty books of the properties of a shape.
    pub fn open(shape: &Shape, ids: &Ids) -> Self {
        let houses = shape
            .properties
            .iter()
            .enumerate()
            .map(|(index, property)| {
                let ids = ids.property(index);
                let house = House::new(property, ids);
                (ids.property, Arc::new(house))
            });
        Self {
            houses: houses.collect(),
        }
    }

    /// A property's page.
    pub fn house(&self, property: PropertyId) -> Option<&House> {
        self.houses.get(&property).map(Arc::as_ref)
    }

    /// A reservation as it must be.
    pub fn entry(&self, property: PropertyId, id: ReservationId) -> Option<&Entry> {
        self.house(property)?.entries.get(&id).map(Arc::as_ref)
    }

    /// What the answer to a command must be, and the books after it.
    pub fn carry_out(&mut self, property: PropertyId, asked: &Command, now: Timestamp) -> Expected {
        let Some(house) = self.houses.get_mut(&property).map(Arc::make_mut) else {
            return Expected::no("not_found");
        };
        match asked {
            Command::Request(wish) => wish::request(house, wish, now),
            Command::Modify(change) => wish::modify(house, change, now),
            Command::Record(told) => fact::record(house, told, now),
            Command::Confirm {
                reservation,
                payment_reference,
                version,
            } => {
                let payment = payment_reference.as_ref();
                hold::confirm(house, *reservation, payment, *version, now)
            }
            Command::Cancel {
                reservation,
                told_channel,
                version,
                ..
            } => hold::cancel(house, *reservation, *told_channel, *version, now),
            Command::Extend {
                reservation,
                until,
                version,
            } => hold::extend(house, *reservation, *until, *version, now),
            Command::Expire { reservation } => hold::expire(house, *reservation, now),
            Command::Progress {
                reservation,
                step,
                version,
            } => desk::progress(house, *reservation, *step, *version, now),
            Command::SetNights { changes, dry_run } => {
                capacity::set_nights(house, changes, *dry_run, now)
            }
            Command::RequestAll(_) | Command::Agree(_) | Command::ReleaseAllotment { .. } => {
                unreachable!("no shape of the simulation has groups or allotments")
            }
            Command::SetBlocks { room, blocks } => capacity::set_blocks(house, room, blocks, now),
            Command::SetPhysical {
                room_type,
                nights,
                rooms,
                force,
                dry_run,
            } => {
                let cut = capacity::Physical {
                    room_type: *room_type,
                    nights: *nights,
                    rooms: *rooms,
                    force: force.as_ref(),
                    dry_run: *dry_run,
                };
                capacity::set_physical(house, &cut, now)
            }
            // Cases are known by ids that no shape holds: simulated staff work none of them.
            Command::OpenCase { .. } | Command::EndCase(_) => Expected::no("not_found"),
            Command::Review { room_type, nights } => {
                capacity::review(house, *room_type, *nights, now)
            }
        }
    }

    /// Carries a command out and compares with the answer that its caller got; what differs. Where
    /// the reservation is a dead hold, the sweeper may have come first unseen: that is tried too.
    /// The nights `moving` are those that others changed meanwhile.
    pub fn explain(
        &mut self,
        property: PropertyId,
        asked: &Command,
        now: Timestamp,
        answer: &Answer,
        moving: &BTreeSet<Cell>,
    ) -> Vec<String> {
        let explained = |books: &mut Self| {
            let expected = books.carry_out(property, asked, now);
            expected.differences(answer, moving)
        };
        let Some(unswept) = self.unswept(property, asked, now) else {
            return explained(self);
        };
        let mut swept = self.clone();
        let differences = explained(self);
        if differences.is_empty() {
            return differences;
        }
        swept.sweep(property, unswept, now);
        if !explained(&mut swept).is_empty() {
            return differences;
        }
        *self = swept;
        Vec::new()
    }

    /// The dead and unswept hold that a command speaks of.
    fn unswept(
        &self,
        property: PropertyId,
        asked: &Command,
        now: Timestamp,
    ) -> Option<ReservationId> {
        let house = self.house(property)?;
        let id = match asked {
            Command::Record(told) => {
                let report = &told.revision.report;
                let key = (told.revision.account, report.reference.clone());
                house.references.get(&key)?.reservation?
            }
            Command::Request(wish) => wish.reservation,
            Command::Modify(change) => change.reservation,
            Command::Confirm { reservation, .. }
            | Command::Cancel { reservation, .. }
            | Command::Extend { reservation, .. }
            | Command::Progress { reservation, .. }
            | Command::Expire { reservation } => *reservation,
            _ => return None,
        };
        house.entries.get(&id)?.is_unswept(now).then_some(id)
    }

    /// The sweeper has come by: a dead hold is expired.
    pub fn sweep(&mut self, property: PropertyId, id: ReservationId, now: Timestamp) {
        let Some(house) = self.houses.get_mut(&property).map(Arc::make_mut) else {
            return;
        };
        if house
            .entries
            .get(&id)
            .is_some_and(|entry| entry.is_unswept(now))
        {
            house.sweep(id, now);
        }
    }
}
