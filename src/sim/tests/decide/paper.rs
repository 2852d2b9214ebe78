//! A ledger on paper: what Postgres does around the rules, in maps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_ledger::command::{Answer, Asked, By, Command};
use keyrack_ledger::decide;
use keyrack_ledger::decide::blocks::SeenRoom;
use keyrack_ledger::decide::changes::Changes;
use keyrack_ledger::decide::draft::{
    Draft, Night, NightKey, Reference, ReservationKey, Seen, SeenRooms,
};
use keyrack_ledger::decide::entry::Move;
use keyrack_ledger::decide::pool_rule::PoolRule;
use keyrack_ledger::decide::rules::Rules;
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::id::{AccountId, PropertyId, RoomId, RoomTypeId};
use keyrack_model::inventory::{NightBalance, Pool};
use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, plus_days};
use keyrack_sim::auditor::compare::State;
use keyrack_sim::ids::{Ids, PropertyIds};
use keyrack_sim::shape::{PropertyShape, Shape};

use crate::paper_pools::PaperPools;
use crate::paper_rules::rules;

/// A ledger on paper.
#[derive(Default)]
pub struct Paper {
    rules: HashMap<PropertyId, Arc<Rules>>,
    pools: PaperPools,
    pub nights: BTreeMap<PropertyId, BTreeMap<NightKey, Night>>,
    pub reservations: BTreeMap<ReservationKey, Reservation>,
    references: BTreeMap<(AccountId, String), Reference>,
    of_property: HashMap<AccountId, PropertyId>,
    holds: BTreeSet<ReservationKey>,
    rooms: SeenRooms,
    pub cases: BTreeSet<NightKey>,
    pub refunds: BTreeMap<ReservationKey, usize>,
    /// The running sum of all entries.
    proven: BTreeMap<NightKey, NightBalance>,
    number: i64,
}

impl Paper {
    pub fn open(shape: &Shape, ids: &Ids) -> Self {
        let mut paper = Self::default();
        for (index, property) in shape.properties.iter().enumerate() {
            let ids = ids.property(index);
            let known = rules(property, ids);
            paper.rules.insert(ids.property, Arc::new(known));
            for account in &ids.accounts {
                paper.of_property.insert(*account, ids.property);
            }
            paper.furnish(property, ids);
        }
        paper
    }

    /// Rooms with codes, and the nights that are there from the beginning.
    fn furnish(&mut self, shape: &PropertyShape, ids: &PropertyIds) {
        for at in shape.plain_types() {
            for room in 0..shape.types[at].rooms {
                let known = SeenRoom {
                    id: RoomId(i64::try_from(self.rooms.len()).expect("few")),
                    room_type: ids.types[at],
                    is_active: true,
                    version: 1,
                    blocks: Vec::new(),
                    guests: Vec::new(),
                };
                let code = shape.room_code(at, room);
                self.rooms.insert((ids.property, code), known);
            }
            let night = |offset| plus_days(shape.first_night, offset);
            let born = shape.born().map(night);
            let born = born.map(|night| (ids.property, ids.types[at], night));
            self.give_birth(&born.collect());
        }
    }

    /// A batch: read, decide, apply. Nights that are missing are born, and where a wish failed for
    /// want of rooms that dead holds take, those are let go first and all is decided anew.
    pub fn ask(&mut self, batch: &[Asked], now: Timestamp) -> Result<Vec<Answer>, String> {
        let mut expiries: Option<Vec<Asked>> = None;
        for _ in 0..6 {
            let all = || expiries.iter().flatten().chain(batch);
            let mut draft = Draft::new(self.see(all(), now));
            let mut answers = decide::all(&mut draft, all());
            if !draft.missing().is_empty() {
                self.give_birth(&draft.missing().clone());
                continue;
            }
            if expiries.is_none() && !draft.starved().is_empty() {
                let dead = self.dead(draft.starved(), now);
                if !dead.is_empty() {
                    expiries = Some(dead);
                    continue;
                }
            }
            answers.drain(..expiries.map_or(0, |expiries| expiries.len()));
            self.apply(draft.changes())?;
            return Ok(answers);
        }
        Err("the batch does not come to rest".to_owned())
    }

    fn see<'a>(&self, batch: impl Iterator<Item = &'a Asked>, now: Timestamp) -> Seen {
        let mut seen = Seen {
            now,
            ..Seen::default()
        };
        for asked in batch {
            let property = asked.property;
            if !seen.rules.contains_key(&property)
                && let Some(rules) = self.rules.get(&property)
            {
                seen.rules.insert(property, Arc::clone(rules));
                let mut nights = self.nights.get(&property).cloned().unwrap_or_default();
                seen.nights.append(&mut nights);
                self.pools.see(property, &mut seen);
            }
            let number = i64::try_from(seen.numbers.len()).expect("few");
            seen.numbers.push_back(self.number + number);
            let mut named = None;
            match &asked.command {
                Command::Request(wish) => {
                    if let Some(key) = &wish.channel {
                        self.see_reference(&mut seen, key);
                    }
                }
                Command::Record(fact) => {
                    let report = &fact.revision.report;
                    let key = (fact.revision.account, report.reference.clone());
                    named = self.see_reference(&mut seen, &key);
                }
                Command::SetBlocks { room, .. } => {
                    let key = (property, room.clone());
                    if let Some(known) = self.rooms.get(&key) {
                        seen.rooms.insert(key, known.clone());
                    }
                }
                Command::Modify(change) => named = Some(change.reservation),
                Command::Confirm { reservation, .. }
                | Command::Cancel { reservation, .. }
                | Command::Extend { reservation, .. }
                | Command::Progress { reservation, .. }
                | Command::Expire { reservation } => named = Some(*reservation),
                _ => {}
            }
            let key = named.map(|id| (property, id));
            if let Some(known) = key.and_then(|key| self.reservations.get(&key)) {
                seen.reservations
                    .insert((property, known.id), known.clone());
            }
        }
        seen
    }

    fn see_reference(
        &self,
        seen: &mut Seen,
        key: &(AccountId, String),
    ) -> Option<keyrack_model::id::ReservationId> {
        let known = self.references.get(key)?;
        seen.references.insert(key.clone(), known.clone());
        known.reservation
    }

    fn give_birth(&mut self, missing: &BTreeSet<NightKey>) {
        for key in missing {
            let physical = self.rules[&key.0].types[&key.1].rooms;
            let blocked = self.rooms.iter().filter(|(room, known)| {
                let mut blocks = known.blocks.iter();
                let is_of = room.0 == key.0 && known.room_type == key.1;
                is_of && blocks.any(|block| block.nights.contains(key.2))
            });
            let blocked = i32::try_from(blocked.count()).expect("few");
            let balance = NightBalance {
                physical,
                out_of_order: blocked.min(physical),
                ..NightBalance::default()
            };
            let night = Night {
                balance,
                version: 1,
            };
            self.nights.entry(key.0).or_default().insert(*key, night);
            self.proven.insert(*key, balance);
        }
    }

    fn dead(&self, of: &BTreeSet<PropertyId>, now: Timestamp) -> Vec<Asked> {
        let by = Arc::new(By::default());
        let is_dead = |key: &&ReservationKey| {
            let dead_at = self.reservations[key].hold_dead_at;
            of.contains(&key.0) && dead_at.is_some_and(|dead_at| dead_at <= now)
        };
        let expire = |(property, reservation): &ReservationKey| {
            let reservation = *reservation;
            Asked::new(*property, Arc::clone(&by), Command::Expire { reservation })
        };
        self.holds.iter().filter(is_dead).map(expire).collect()
    }

    fn apply(&mut self, changes: Changes) -> Result<(), String> {
        for new in changes.new {
            self.number = self.number.max(new.number + 1);
            let key = (new.property, new.id);
            if self.reservations.contains_key(&key) {
                return Err(format!("{} is made twice", new.id));
            }
            self.keep(new);
        }
        for change in changes.changed {
            let (read, changed) = (change.version, change.after);
            let key = (changed.property, changed.id);
            let known = self.reservations.get(&key).map(|known| known.version);
            if known != Some(read) || changed.version <= read {
                return Err(format!("{}: {known:?} was read as {read}", changed.id));
            }
            self.keep(changed);
        }
        for (property, change) in changes.blocks {
            let mut rooms = self.rooms.iter_mut();
            let known = rooms.find(|(key, known)| key.0 == property && known.id == change.room.id);
            let (code, known) = known.ok_or("a room is not there")?;
            if known.version != change.version_read {
                return Err(format!("{code:?}: {} was read", change.version_read));
            }
            *known = change.room;
        }
        for (_, account, reference, _, state) in changes.references {
            self.references.insert((account, reference), state);
        }
        for (key, read, balance) in changes.nights {
            let nights = self.nights.get_mut(&key.0);
            let night = nights.and_then(|nights| nights.get_mut(&key));
            let night = night.ok_or("a night is not there")?;
            if night.version != read {
                return Err(format!("{key:?}: {} was read as {read}", night.version));
            }
            let version = read + 1;
            *night = Night { balance, version };
        }
        for entry in changes.entries {
            if let Some(moved) = &entry.moved {
                self.prove(entry.property, moved);
            }
            if let ("refund_due", Some((id, _))) = (entry.kind, entry.reservation) {
                *self.refunds.entry((entry.property, id)).or_insert(0) += 1;
            }
        }
        self.pools.apply(&changes.allotments, &mut self.rules)?;
        self.cases
            .extend(changes.overbooked.iter().map(|(key, _)| *key));
        for key in &changes.cured {
            self.cases.remove(key);
        }
        Ok(())
    }

    fn keep(&mut self, state: Reservation) {
        let key = (state.property, state.id);
        if state.status == Status::Held {
            self.holds.insert(key);
        } else {
            self.holds.remove(&key);
        }
        self.reservations.insert(key, state);
    }

    /// Replays an entry on the running sums.
    fn prove(&mut self, property: PropertyId, moved: &Move) {
        for night in moved.nights.nights() {
            let sum = self
                .proven
                .entry((property, moved.room_type, night))
                .or_default();
            for (pool, rooms) in [(moved.from, -moved.quantity), (moved.to, moved.quantity)] {
                match pool {
                    Pool::Outside => sum.physical -= rooms,
                    Pool::Limit => sum.overbooking_limit -= rooms,
                    Pool::OutOfOrder => sum.out_of_order += rooms,
                    Pool::Allotted => sum.allotted += rooms,
                    Pool::Held => sum.held += rooms,
                    Pool::Sold => sum.sold += rooms,
                    Pool::Free => {}
                }
            }
        }
    }

    /// Nights that the entries do not prove.
    pub fn unproven(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (key, night) in self.nights.values().flatten() {
            let counts = |b: &NightBalance| {
                let taken = (b.held, b.sold, b.allotted);
                (b.physical, b.out_of_order, b.overbooking_limit, taken)
            };
            let proven = self.proven.get(key).copied().unwrap_or_default();
            if counts(&proven) != counts(&night.balance) {
                found.push(format!("{key:?}: entries say {proven:?}, is {night:?}"));
            }
        }
        found
    }

    /// Rules of scarcity that hold, by their place.
    pub fn switches(&self, property: PropertyId) -> BTreeSet<(i32, (RoomTypeId, StayDate))> {
        self.pools
            .places(property, &self.rules[&property].pools.rules)
    }

    /// The pool rules are replaced; those that stay keep their ids.
    pub fn put_pool_rules(&mut self, property: PropertyId, rules: &[PoolRule]) {
        let known = self.rules.get_mut(&property).expect("it is there");
        self.pools
            .put(property, &mut Arc::make_mut(known).pools.rules, rules);
    }

    /// All that is held of a property.
    pub fn state(&self, property: PropertyId) -> State {
        let nights = self.nights.get(&property).into_iter().flatten();
        let reservations = self
            .reservations
            .iter()
            .filter(|(key, _)| key.0 == property);
        let references = self.references.iter();
        let references = references.filter(|(key, _)| self.of_property[&key.0] == property);
        let refunds = self.refunds.iter().filter(|(key, _)| key.0 == property);
        State {
            allotments: self.pools.nights(property),
            switches: self.switches(property),
            files: BTreeMap::new(),
            nights: nights.map(|(key, n)| ((key.1, key.2), n.balance)).collect(),
            reservations: reservations.map(|(key, r)| (key.1, r.clone())).collect(),
            references: references
                .map(|(key, r)| (key.clone(), (r.reservation, r.is_cancelled, r.last_order)))
                .collect(),
            cases: self
                .cases
                .iter()
                .filter(|key| key.0 == property)
                .map(|key| (key.1, key.2))
                .collect(),
            refunds: refunds.map(|(key, count)| (key.1, *count)).collect(),
        }
    }
}
