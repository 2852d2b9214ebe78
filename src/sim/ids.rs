//! From abstract ids to those of a ledger: what a step means once properties and reservations
//! exist.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::command::{Asked, By, HoldEnd};
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::id::{AccountId, AllotmentId, GroupId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, plus_days};
use uuid::Uuid;

use crate::shape::{PropertyShape, Shape};
use crate::step::{Handle, Hold, Nights, Read, Scripted, Step};

/// The ids of a property in a ledger, in the order of its shape.
#[derive(Clone, Debug)]
pub struct PropertyIds {
    /// Its own.
    pub property: PropertyId,
    /// Of its types.
    pub types: Vec<RoomTypeId>,
    /// Of its accounts.
    pub accounts: Vec<AccountId>,
    /// Of its group.
    pub group: GroupId,
    /// Of its allotments.
    pub allotments: Vec<AllotmentId>,
}

/// What a script's names stand for in one ledger.
#[derive(Clone, Debug)]
pub struct Ids {
    shape: Arc<Shape>,
    properties: Vec<PropertyIds>,
    made: HashMap<Handle, ReservationId>,
    handles: HashMap<ReservationId, Handle>,
    versions: HashMap<ReservationId, i64>,
    agreed: HashMap<AllotmentId, i64>,
    desk: Arc<By>,
    channel: Arc<By>,
    worker: Arc<By>,
}

impl Ids {
    /// Nothing is made yet.
    pub fn new(shape: Arc<Shape>, properties: Vec<PropertyIds>) -> Self {
        let by = |actor: &str| {
            Arc::new(By {
                actor: actor.to_owned(),
                request_id: None,
            })
        };
        Self {
            shape,
            properties,
            made: HashMap::new(),
            handles: HashMap::new(),
            versions: HashMap::new(),
            agreed: HashMap::new(),
            desk: by("key:1 (Sim)"),
            channel: by("account:sim"),
            worker: by("worker:sim"),
        }
    }

    /// The ids of a property of the shape.
    pub fn property(&self, index: usize) -> &PropertyIds {
        &self.properties[index]
    }

    /// The ids of all properties, in the order of the shape.
    pub fn properties(&self) -> impl Iterator<Item = &PropertyIds> {
        self.properties.iter()
    }

    /// An answer named a reservation: the step's number stands for it from now on.
    pub fn learn(&mut self, number: usize, named: &Reservation) {
        self.made.insert(number, named.id);
        self.handles.entry(named.id).or_insert(number);
        self.versions.insert(named.id, named.version);
    }

    /// An allotment is in this version now.
    pub fn learn_allotment(&mut self, allotment: AllotmentId, version: i64) {
        self.agreed.insert(allotment, version);
    }

    /// The version of an allotment that its caller has read.
    pub(crate) fn agreed(&self, allotment: AllotmentId, read: Read) -> i64 {
        let last = self.agreed.get(&allotment).copied().unwrap_or(1);
        if read == Read::Stale { last - 1 } else { last }
    }

    /// What a number stands for.
    pub fn reservation(&self, of: Handle) -> Option<ReservationId> {
        self.made.get(&of).copied()
    }

    /// The first number that stood for a reservation.
    pub fn handle(&self, reservation: ReservationId) -> Option<Handle> {
        self.handles.get(&reservation).copied()
    }

    /// The id that a step gives to a reservation that it makes: known before it is answered, so
    /// that a lost answer can be looked up.
    pub fn made_by(&self, number: usize) -> ReservationId {
        ReservationId(self.uuid(number, 1))
    }

    /// A step as it is asked. `None` where time passes, or where what it names was never made.
    pub fn asked(&self, scripted: &Scripted) -> Option<Asked> {
        let command = scripted.step.command(scripted.number, self)?;
        let by = match &scripted.step {
            Step::Record(_) => &self.channel,
            Step::Expire { .. } | Step::Review { .. } | Step::Release { .. } => &self.worker,
            _ => &self.desk,
        };
        Some(Asked {
            property: self.property(scripted.step.property()?).property,
            command_id: self.uuid(scripted.number, 2),
            by: Arc::clone(by),
            idempotency: None,
            command,
        })
    }

    /// A UUIDv7 in the order of the steps.
    fn uuid(&self, number: usize, what: u8) -> Uuid {
        let mut random = [what; 10];
        random[2..].copy_from_slice(&self.shape.seed.to_be_bytes());
        let start = u64::try_from(self.shape.start.as_millisecond()).unwrap_or(0);
        let millis = start + u64::try_from(number).unwrap_or(u64::MAX >> 20);
        uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    pub(crate) fn version(&self, reservation: ReservationId, read: Read) -> Option<i64> {
        let last = self.versions.get(&reservation).copied().unwrap_or(0);
        match read {
            Read::No => None,
            Read::Last => Some(last),
            Read::Stale => Some(last - 1),
        }
    }

    /// When the script begins.
    pub(crate) fn start(&self) -> Timestamp {
        self.shape.start
    }

    pub(crate) fn shape(&self, property: usize) -> &PropertyShape {
        &self.shape.properties[property]
    }

    pub(crate) fn night(&self, property: usize, offset: i32) -> StayDate {
        plus_days(self.shape(property).first_night, offset)
    }

    pub(crate) fn nights(&self, property: usize, nights: Nights) -> (RoomTypeId, Stay) {
        let from = self.night(property, nights.from);
        let stay = Stay::new(from, plus_days(from, nights.count.max(1)));
        (
            self.room_type(property, nights.room_type),
            stay.expect("the departure is after the arrival"),
        )
    }

    /// A type of the property; one that nobody has where the script knocks at the wrong door.
    pub(crate) fn room_type(&self, property: usize, index: usize) -> RoomTypeId {
        let known = self.property(property).types.get(index);
        known.copied().unwrap_or(RoomTypeId(i64::MAX))
    }

    pub(crate) fn hold_end(&self, hold: Hold) -> HoldEnd {
        match hold {
            Hold::Default => HoldEnd::Default,
            Hold::Seconds(seconds) => HoldEnd::Seconds(seconds),
            Hold::Until(minutes) => HoldEnd::Until(self.instant(minutes)),
        }
    }

    fn instant(&self, minutes: i64) -> Timestamp {
        let after = SignedDuration::from_secs(minutes * 60 + 30);
        let instant = self.shape.start.checked_add(after);
        instant.unwrap_or(self.shape.start)
    }
}
