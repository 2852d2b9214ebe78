//! What a batch saw, and what it decided to change: the sheet on which decisions are drawn up.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::id::{AccountId, PropertyId, ReservationId, RoomId, RoomTypeId};
use keyrack_model::inventory::{NightBalance, Pool};
use keyrack_model::reservation::{Guest, GuestName, RevisionKind, Status};
use keyrack_model::stay::{StayDate, StayRange};
use uuid::Uuid;

use super::allotting::{AllotmentKey, Allotting, SeenAllotment};
use super::blocks::{BlockChange, SeenRoom};
use super::entry::{Entry, Move};
use super::guest_limit::{Limited, Limits};
use super::layer::RateTable;
use super::overbooking::sheet::{Asking, CaseSheet, SeenCases};
use super::pool_rule::Switches;
use super::revise::TypeNight;
use super::rules::Rules;
use super::state::Reservation;
use crate::command::{Asked, By, Idempotency, Receipt};
use keyrack_model::id_map::IdMap;

/// A night of a property.
pub type NightKey = (PropertyId, RoomTypeId, StayDate);

/// A reservation of a property.
pub type ReservationKey = (PropertyId, ReservationId);

/// A night as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Night {
    /// What is counted.
    pub balance: NightBalance,
    /// Counts every change.
    pub version: i64,
}

/// What is remembered of a channel's reference, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `None` is a tombstone: the cancel came before anything else.
    pub reservation: Option<ReservationId>,
    /// Order of the last revision, where the channel tells one.
    pub last_order: Option<i64>,
    /// Kind of the last revision.
    pub last_kind: RevisionKind,
    /// Hash of its content.
    pub last_hash: String,
    /// The channel cancelled it.
    pub is_cancelled: bool,
    /// Counts changes; 0 before it is written.
    pub version: i64,
}

/// What a batch saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The database's clock.
    pub now: Timestamp,
    /// The rules of the batch's properties.
    pub rules: IdMap<PropertyId, Arc<Rules>>,
    /// The nights.
    pub nights: BTreeMap<NightKey, Night>,
    /// The reservations.
    pub reservations: IdMap<ReservationKey, Reservation>,
    /// The references.
    pub references: HashMap<(AccountId, String), Reference>,
    /// Receipts kept for idempotency keys, by scope and key, with the request's fingerprint.
    pub receipts: HashMap<(String, String), (String, Receipt)>,
    /// Short numbers for new reservations.
    pub numbers: VecDeque<i64>,
    /// Rates and restrictions of the nights that wishes ask for.
    pub rates: IdMap<PropertyId, RateTable>,
    /// The physical rooms whose blocks are set, by code.
    pub rooms: SeenRooms,
    /// Nights of allotments, of the types and nights that were read.
    pub allotments: BTreeMap<AllotmentKey, SeenAllotment>,
    /// Rules of scarcity that hold on the nights that were read.
    pub switches: HashMap<PropertyId, Switches>,
    /// The overbooking cases that are ended.
    pub cases: SeenCases,
    /// What is known of guests, where a property limits them.
    pub limited: Limited,
}

/// Physical rooms of properties, by code.
pub type SeenRooms = BTreeMap<(PropertyId, String), SeenRoom>;

/// Guests of a reservation to be written; a `None` leaves what is stored.
#[derive(Clone, Debug, Default)]
pub struct GuestChange {
    /// Who comes.
    pub guest: Option<Guest>,
    /// Who sleeps in which room stay.
    pub room_guests: Option<BTreeMap<i32, GuestName>>,
    /// Staff's note.
    pub note: Option<String>,
    /// The guest's remarks.
    pub remarks: Option<Vec<GuestName>>,
}

/// What is being drawn up.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What was seen, with the changes so far.
    pub(super) seen: Seen,
    pub(super) nights_before: BTreeMap<NightKey, Night>,
    pub(super) reservations_before: IdMap<ReservationKey, Option<Reservation>>,
    pub(super) references_before: HashMap<(AccountId, String), (PropertyId, i64)>,
    pub(super) entries: Vec<Entry>,
    pub(super) guests: BTreeMap<ReservationKey, GuestChange>,
    pub(super) kept: Vec<(Idempotency, Receipt)>,
    pub(super) blocks: BTreeMap<(PropertyId, RoomId), BlockChange>,
    pub(super) allotting: Allotting,
    pub(super) limits: Limits,
    pub(super) reviewed: BTreeMap<NightKey, Asking>,
    pub(super) cases: CaseSheet,
    missing: BTreeSet<NightKey>,
    starved: BTreeSet<PropertyId>,
    command_id: Uuid,
    by: Arc<By>,
    line: i32,
}

impl Draft {
    /// A fresh sheet over what was seen.
    pub fn new(mut seen: Seen) -> Self {
        Self {
            limits: Limits::over(&mut seen.limited),
            seen,
            nights_before: BTreeMap::new(),
            reservations_before: IdMap::default(),
            references_before: HashMap::new(),
            entries: Vec::new(),
            guests: BTreeMap::new(),
            kept: Vec::new(),
            blocks: BTreeMap::new(),
            allotting: Allotting::default(),
            reviewed: BTreeMap::new(),
            cases: CaseSheet::default(),
            missing: BTreeSet::new(),
            starved: BTreeSet::new(),
            command_id: Uuid::nil(),
            by: Arc::default(),
            line: 0,
        }
    }

    /// Takes everything back that was drawn up since; what was found wanting is still known.
    pub fn go_back(&mut self, before: Self) {
        let missing = std::mem::take(&mut self.missing);
        let starved = std::mem::take(&mut self.starved);
        *self = before;
        self.missing.extend(missing);
        self.starved.extend(starved);
    }

    /// Begins the lines of a command.
    pub fn begin(&mut self, asked: &Asked) {
        self.command_id = asked.command_id;
        self.by = Arc::clone(&asked.by);
        self.line = 0;
    }

    /// The present command and who asks it.
    pub fn asking(&self) -> (Uuid, Arc<By>) {
        (self.command_id, Arc::clone(&self.by))
    }

    /// The database's clock at the read.
    pub fn now(&self) -> Timestamp {
        self.seen.now
    }

    /// Whether the property is there.
    pub fn knows(&self, property: PropertyId) -> bool {
        self.seen.rules.contains_key(&property)
    }

    /// The rules of a property of the batch.
    pub fn rules(&self, property: PropertyId) -> Arc<Rules> {
        let rules = self.seen.rules.get(&property);
        Arc::clone(rules.expect("the batch read the rules of each property in it"))
    }

    /// Rates and restrictions that were read.
    pub fn rates(&self, property: PropertyId) -> Option<&RateTable> {
        self.seen.rates.get(&property)
    }

    /// A reservation with the changes so far.
    pub fn reservation(&self, key: ReservationKey) -> Option<&Reservation> {
        self.seen.reservations.get(&key)
    }

    /// A reference with the changes so far.
    pub fn reference(&self, account: AccountId, reference: &str) -> Option<&Reference> {
        self.seen.references.get(&(account, reference.to_owned()))
    }

    /// A short number for a new reservation.
    pub fn next_number(&mut self) -> i64 {
        self.seen
            .numbers
            .pop_front()
            .expect("the batch read a number for each new reservation")
    }

    /// Short numbers that no reservation was made with.
    pub fn numbers_left(&self) -> usize {
        self.seen.numbers.len()
    }

    /// A night with the changes so far; one that is not there is remembered as missing, and the
    /// batch gives birth to it and decides anew.
    pub fn night(&mut self, property: PropertyId, (room_type, night): TypeNight) -> NightBalance {
        match self.seen.nights.get(&(property, room_type, night)) {
            Some(seen) => seen.balance,
            None => {
                self.missing.insert((property, room_type, night));
                NightBalance::default()
            }
        }
    }

    /// Nights of a claim that have fewer free rooms than it takes more of.
    pub fn short_nights(
        &mut self,
        property: PropertyId,
        delta: &BTreeMap<TypeNight, i32>,
    ) -> Vec<TypeNight> {
        let mut short = Vec::new();
        for (night, rooms) in delta.iter().filter(|(_, rooms)| **rooms > 0) {
            let balance = self.night(property, *night);
            if balance.free() < *rooms {
                short.push(*night);
                if balance.held > 0 {
                    self.starved.insert(property);
                }
            }
        }
        short
    }

    /// Puts a changed or new reservation down: moves the rooms between its claim before and after,
    /// writes its entries under `kind`, raises its version. Says which nights moved.
    pub fn put(
        &mut self,
        mut after: Reservation,
        kind: &'static str,
        reason: Option<String>,
    ) -> (Reservation, Vec<(RoomTypeId, StayRange)>) {
        let key = (after.property, after.id);
        let before = self.seen.reservations.get(&key).cloned();
        after.version = before.as_ref().map_or(1, |b| b.version + 1);
        after.updated_at = self.seen.now;
        if after.status != Status::Held {
            after.unflag("expiry_failed");
        }
        let moved = self.moves_of(before.as_ref(), &mut after);
        for m in &moved {
            self.carry_out(after.property, m);
        }
        let touched = moved.iter().map(|m| (m.room_type, m.nights)).collect();
        self.write(
            after.property,
            Some((after.id, after.version)),
            kind,
            moved,
            reason,
        );
        self.reservations_before.entry(key).or_insert(before);
        self.seen.reservations.insert(key, after.clone());
        (after, touched)
    }

    /// Moves rooms on the nights.
    pub fn carry_out(&mut self, property: PropertyId, m: &Move) {
        for night in m.nights.nights() {
            self.change_night((property, m.room_type, night), |balance| {
                add(balance, m.from, -m.quantity);
                add(balance, m.to, m.quantity);
            });
        }
    }

    fn change_night(&mut self, key: NightKey, change: impl FnOnce(&mut NightBalance)) {
        let Some(night) = self.seen.nights.get_mut(&key) else {
            self.missing.insert(key);
            return;
        };
        self.nights_before.entry(key).or_insert(*night);
        let mut balance = night.balance;
        change(&mut balance);
        night.balance = balance.settled();
    }

    /// Looks at nights again without changing them: whether they need a case.
    pub fn review(&mut self, key: NightKey) {
        self.reviewed.insert(key, self.asking());
    }

    /// Writes lines of the present command: the first under `kind`, further ones as `moved`.
    pub fn write(
        &mut self,
        property: PropertyId,
        reservation: Option<(ReservationId, i64)>,
        kind: &'static str,
        moved: Vec<Move>,
        reason: Option<String>,
    ) {
        let mut lines = moved.into_iter().map(Some).collect::<Vec<_>>();
        if lines.is_empty() {
            lines.push(None);
        }
        for (index, moved) in lines.into_iter().enumerate() {
            let kind = if index == 0 { kind } else { "moved" };
            let reason = if index == 0 { reason.clone() } else { None };
            let entry = Entry {
                property,
                command_id: self.command_id,
                line: self.line,
                reservation,
                kind,
                moved,
                about: None,
                reason,
                by: Arc::clone(&self.by),
            };
            self.entries.push(entry);
            self.line += 1;
        }
    }

    /// Nights on which a channel gives rooms back by itself although nothing moved here: a further
    /// line of the present command, so that they are told again.
    pub fn tell_again(
        &mut self,
        after: &Reservation,
        about: impl IntoIterator<Item = (RoomTypeId, StayRange)>,
    ) {
        for nights in about {
            let entry = Entry {
                property: after.property,
                command_id: self.command_id,
                line: self.line,
                reservation: Some((after.id, after.version)),
                kind: "moved",
                moved: None,
                about: Some(nights),
                reason: None,
                by: Arc::clone(&self.by),
            };
            self.entries.push(entry);
            self.line += 1;
        }
    }

    /// The command, and its line that is written next.
    pub(super) fn next_line(&self) -> (Uuid, i32) {
        (self.command_id, self.line)
    }

    /// Puts a reference down.
    pub fn put_reference(
        &mut self,
        property: PropertyId,
        account: AccountId,
        reference: &str,
        mut after: Reference,
    ) {
        let key = (account, reference.to_owned());
        let before = self
            .seen
            .references
            .get(&key)
            .map_or(0, |known| known.version);
        self.references_before
            .entry(key.clone())
            .or_insert((property, before));
        after.version = before + 1;
        self.seen.references.insert(key, after);
    }

    /// Puts guests down.
    pub fn put_guests(&mut self, key: ReservationKey, change: GuestChange) {
        let kept = self.guests.entry(key).or_default();
        kept.guest = change.guest.or(kept.guest.take());
        kept.room_guests = change.room_guests.or(kept.room_guests.take());
        kept.note = change.note.or(kept.note.take());
        kept.remarks = change.remarks.or(kept.remarks.take());
    }

    /// The receipt that is kept for a key, with its fingerprint.
    pub fn kept_receipt(&self, key: &Idempotency) -> Option<(String, Receipt)> {
        self.seen
            .receipts
            .get(&(key.scope.clone(), key.key.clone()))
            .cloned()
    }

    /// Keeps a receipt for a key.
    pub fn keep_receipt(&mut self, key: &Idempotency, receipt: &Receipt) {
        let known = (key.fingerprint.clone(), receipt.clone());
        self.seen
            .receipts
            .insert((key.scope.clone(), key.key.clone()), known);
        self.kept.push((key.clone(), receipt.clone()));
    }

    /// Nights that are not there yet: give birth to them and decide anew.
    pub fn missing(&self) -> &BTreeSet<NightKey> {
        &self.missing
    }

    /// A property in which rooms are wanting that holds take, perhaps dead ones.
    pub fn starve(&mut self, property: PropertyId) {
        self.starved.insert(property);
    }

    /// Properties in which a wish failed for want of rooms that holds take.
    pub fn starved(&self) -> &BTreeSet<PropertyId> {
        &self.starved
    }
}

fn add(balance: &mut NightBalance, pool: Pool, rooms: i32) {
    match pool {
        Pool::Held => balance.held += rooms,
        Pool::Sold => balance.sold += rooms,
        Pool::OutOfOrder => balance.out_of_order += rooms,
        Pool::Allotted => balance.allotted += rooms,
        // Rooms come from outside and from the limit: what leaves there arrives in the house.
        Pool::Outside => balance.physical -= rooms,
        Pool::Limit => balance.overbooking_limit -= rooms,
        // Free sale is what the others leave.
        Pool::Free => {}
    }
}
