//! The books: what must be answered, and what must be true afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_ledger::command::{Answer, Command};
use keyrack_ledger::decide::buffer_rule::BufferRule;
use keyrack_ledger::decide::pool_rule::PoolRule;
use keyrack_model::id::{CaseId, PropertyId, ReservationId};

use super::cases::Files;
use super::entry::{Cell, Entry};
use super::expected::Expected;
use super::house::House;
use super::{allotment, capacity, cases, desk, fact, hold, switch, wish};
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
            Command::RequestAll(_) => unreachable!("no script has lists of guests"),
            Command::Agree(agreement) => allotment::agree(house, agreement, now),
            Command::ReleaseAllotment { allotment, nights } => {
                allotment::release(house, *allotment, *nights, now)
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
            Command::OpenCase { .. } => Expected::no("not_found"),
            Command::EndCase(asked) => cases::end(house, asked, now),
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
        let mut first = None;
        let doubts: &[bool] = match self.house(property) {
            Some(house) if house.switching.is_in_doubt() => &[false, true],
            _ => &[false],
        };
        let ways = [(false, false), (true, false), (false, true), (true, true)];
        let ways = ways
            .into_iter()
            .flat_map(|way| doubts.iter().map(move |guess| (way, *guess)));
        for ((sweeps, ignores_dead), guess) in ways {
            let mut books = self.clone();
            if guess && let Some(house) = books.houses.get_mut(&property) {
                Arc::make_mut(house).switching.guess = true;
            }
            if sweeps {
                let Some(unswept) = self.unswept(property, asked, now) else {
                    continue;
                };
                books.sweep(property, unswept, now);
            }
            if ignores_dead && !books.ignore_dead(property, now) {
                continue;
            }
            let expected = books.carry_out(property, asked, now);
            let differences = expected.differences(answer, moving);
            if differences.is_empty() {
                books.see_plainly(property);
                *self = books;
                return differences;
            }
            first.get_or_insert((differences, books));
        }
        match first {
            Some((differences, books)) => {
                *self = books;
                differences
            }
            None => Vec::new(),
        }
    }

    /// Whoever draws next finds the rooms of dead holds free; `false` where no dead hold drew any.
    fn ignore_dead(&mut self, property: PropertyId, now: Timestamp) -> bool {
        let Some(house) = self.houses.get_mut(&property) else {
            return false;
        };
        if !house.dead(now).has_drawn() {
            return false;
        }
        Arc::make_mut(house).ignores_dead = true;
        true
    }

    /// Nothing is guessed any more.
    fn see_plainly(&mut self, property: PropertyId) {
        if let Some(house) = self.houses.get_mut(&property)
            && (house.ignores_dead || house.switching.guess)
        {
            let house = Arc::make_mut(house);
            house.ignores_dead = false;
            house.switching.guess = false;
        }
    }

    /// The pool rules of a property are replaced.
    pub fn put_pool_rules(
        &mut self,
        property: PropertyId,
        rules: &[PoolRule],
        now: Timestamp,
    ) -> Expected {
        match self.houses.get_mut(&property) {
            Some(house) => switch::put(Arc::make_mut(house), rules, now),
            None => Expected::no("not_found"),
        }
    }

    /// The buffer rules of a property are replaced.
    pub fn put_buffers(&mut self, property: PropertyId, rules: Vec<BufferRule>) {
        if let Some(house) = self.houses.get_mut(&property) {
            Arc::make_mut(house).buffers = rules;
        }
    }

    /// A case that was accepted as it was is worked again.
    pub fn reopen(&mut self, property: PropertyId, case: CaseId) -> Expected {
        match self.houses.get_mut(&property) {
            Some(house) => cases::reopen(Arc::make_mut(house), case),
            None => Expected::no("not_found"),
        }
    }

    /// The cases as they were seen.
    pub fn adopt_cases(&mut self, property: PropertyId, files: &Files) {
        if let Some(house) = self.houses.get_mut(&property)
            && (house.cases != *files || !house.accepted.is_empty())
        {
            Arc::make_mut(house).adopt_cases(files);
        }
    }

    /// What nobody could know of switches is from now on what it was seen to be.
    pub fn adopt_switches(&mut self, property: PropertyId, on: &BTreeSet<(i32, Cell)>) {
        if let Some(house) = self.houses.get_mut(&property)
            && house.switching.has_rules()
        {
            Arc::make_mut(house).adopt_switches(on);
        }
    }

    /// A worker lets go all that is due in every house; of how many allotments.
    pub fn release_due(&mut self, now: Timestamp) -> u32 {
        let houses = self.houses.values_mut().map(Arc::make_mut);
        houses.map(|house| allotment::release_due(house, now)).sum()
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
