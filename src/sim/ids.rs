//! From abstract ids to those of a ledger: what a step means once properties and reservations
//! exist.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::command::{
    Asked, By, Command, Fact, Forced, HoldEnd, Modification, NightChange, Progress, Wish,
    WishedRoom,
};
use keyrack_ledger::decide::refusal::Force;
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::id::{AccountId, PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::money::{Currency, Money};
use keyrack_model::reservation::{
    Guest, ReportedRoom, ReservationReport, ReservationRevision, RevisionKind, RevisionRoom,
};
use keyrack_model::stay::{Stay, StayDate, plus_days};
use uuid::Uuid;

use crate::shape::{AccountShape, PropertyShape, Shape};
use crate::step::{
    Change, Desk, Handle, Hold, Nights, Read, Record, Request, Room, Scripted, Step, Stock, Told,
};

/// The ids of a property in a ledger, in the order of its shape.
#[derive(Clone, Debug)]
pub struct PropertyIds {
    /// Its own.
    pub property: PropertyId,
    /// Of its types.
    pub types: Vec<RoomTypeId>,
    /// Of its accounts.
    pub accounts: Vec<AccountId>,
}

/// What a script's names stand for in one ledger.
#[derive(Clone, Debug)]
pub struct Ids {
    shape: Arc<Shape>,
    properties: Vec<PropertyIds>,
    made: HashMap<Handle, ReservationId>,
    handles: HashMap<ReservationId, Handle>,
    versions: HashMap<ReservationId, i64>,
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
            desk: by("key:1 (Sim)"),
            channel: by("account:sim"),
            worker: by("worker:sim"),
        }
    }

    /// The ids of a property of the shape.
    pub fn property(&self, index: usize) -> &PropertyIds {
        &self.properties[index]
    }

    /// An answer named a reservation: the step's number stands for it from now on.
    pub fn learn(&mut self, number: usize, named: &Reservation) {
        self.made.insert(number, named.id);
        self.handles.entry(named.id).or_insert(number);
        self.versions.insert(named.id, named.version);
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
            Step::Expire { .. } | Step::Review { .. } => &self.worker,
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

    fn version(&self, reservation: ReservationId, read: Read) -> Option<i64> {
        let last = self.versions.get(&reservation).copied().unwrap_or(0);
        match read {
            Read::No => None,
            Read::Last => Some(last),
            Read::Stale => Some(last - 1),
        }
    }

    fn shape(&self, property: usize) -> &PropertyShape {
        &self.shape.properties[property]
    }

    fn night(&self, property: usize, offset: i32) -> StayDate {
        plus_days(self.shape(property).first_night, offset)
    }

    fn nights(&self, property: usize, nights: Nights) -> (RoomTypeId, Stay) {
        let from = self.night(property, nights.from);
        let stay = Stay::new(from, plus_days(from, nights.count.max(1)));
        (
            self.room_type(property, nights.room_type),
            stay.expect("the departure is after the arrival"),
        )
    }

    /// A type of the property; one that nobody has where the script knocks at the wrong door.
    fn room_type(&self, property: usize, index: usize) -> RoomTypeId {
        let known = self.property(property).types.get(index);
        known.copied().unwrap_or(RoomTypeId(i64::MAX))
    }

    fn hold_end(&self, hold: Hold) -> HoldEnd {
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

impl Step {
    /// Whose door the step knocks at; `None` where time passes.
    pub fn property(&self) -> Option<usize> {
        match self {
            Self::Wait { .. } => None,
            Self::Request(request) => Some(request.property),
            Self::Record(record) => Some(record.property),
            Self::Modify(change) => Some(change.property),
            Self::Confirm { property, .. }
            | Self::Cancel { property, .. }
            | Self::Extend { property, .. }
            | Self::Progress { property, .. }
            | Self::Expire { property, .. }
            | Self::SetNights { property, .. }
            | Self::SetPhysical { property, .. }
            | Self::Review { property, .. } => Some(*property),
        }
    }

    /// The command of the step with this number. `None` where time passes, or where what it names
    /// was never made.
    pub fn command(&self, number: usize, ids: &Ids) -> Option<Command> {
        Some(match self {
            Self::Wait { .. } => return None,
            Self::Request(request) => wish(request, number, ids),
            Self::Record(record) => fact(record, number, ids),
            Self::Modify(change) => modification(change, ids)?,
            Self::SetNights { .. } | Self::SetPhysical { .. } | Self::Review { .. } => {
                self.on_nights(ids)?
            }
            _ => self.on_reservation(ids)?,
        })
    }

    fn on_reservation(&self, ids: &Ids) -> Option<Command> {
        Some(match self {
            Self::Confirm {
                of,
                payment,
                version,
                ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Confirm {
                    reservation,
                    payment_reference: payment.map(payment_reference),
                    version: ids.version(reservation, *version),
                }
            }
            Self::Cancel {
                of,
                told_channel,
                version,
                ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Cancel {
                    reservation,
                    reason: None,
                    told_channel: *told_channel,
                    version: ids.version(reservation, *version),
                }
            }
            Self::Extend {
                of, until, version, ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Extend {
                    reservation,
                    until: ids.hold_end(*until),
                    version: ids.version(reservation, *version),
                }
            }
            Self::Progress {
                of, step, version, ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Progress {
                    reservation,
                    step: progress(*step),
                    version: ids.version(reservation, *version),
                }
            }
            Self::Expire { of, .. } => Command::Expire {
                reservation: ids.reservation(*of)?,
            },
            _ => return None,
        })
    }

    fn on_nights(&self, ids: &Ids) -> Option<Command> {
        Some(match self {
            Self::SetNights {
                property,
                changes,
                dry_run,
            } => {
                let change = |stock: &Stock| {
                    let (room_type, nights) = ids.nights(*property, stock.nights);
                    NightChange {
                        room_type,
                        nights,
                        out_of_order: stock.out_of_order,
                        overbooking_limit: stock.overbooking_limit,
                        reason: None,
                    }
                };
                Command::SetNights {
                    changes: changes.iter().map(change).collect(),
                    dry_run: *dry_run,
                }
            }
            Self::SetPhysical {
                property,
                nights,
                rooms,
                forced,
                dry_run,
            } => {
                let (room_type, nights) = ids.nights(*property, *nights);
                Command::SetPhysical {
                    room_type,
                    nights,
                    rooms: *rooms,
                    force: forced.then(|| force(&[Force::Oversell])).flatten(),
                    dry_run: *dry_run,
                }
            }
            Self::Review { property, nights } => {
                let (room_type, nights) = ids.nights(*property, *nights);
                Command::Review { room_type, nights }
            }
            _ => return None,
        })
    }
}

fn payment_reference(payment: u32) -> String {
    format!("pay-{payment}")
}

fn force(allow: &[Force]) -> Option<Forced> {
    (!allow.is_empty()).then(|| Forced {
        reason: "because of chance".to_owned(),
        allow: allow.to_vec(),
    })
}

fn progress(step: Desk) -> Progress {
    match step {
        Desk::CheckIn => Progress::CheckIn,
        Desk::CheckOut => Progress::CheckOut,
        Desk::NoShow(keep) => Progress::NoShow { keep },
        Desk::Undo => Progress::Undo,
        Desk::Complete => Progress::Complete,
        Desk::ReleaseNoShow => Progress::ReleaseNoShow,
        Desk::Overdue => Progress::Overdue,
    }
}

fn wished(room: &Room, property: usize, ids: &Ids) -> WishedRoom {
    let nights = Nights {
        room_type: room.room_type,
        from: room.from,
        count: room.nights,
    };
    let (room_type, stay) = ids.nights(property, nights);
    WishedRoom {
        room_stay: room.room_stay.map(RoomStayId),
        room_type,
        rate_plan: None,
        stay,
        quantity: room.quantity,
        price: None,
        adults: None,
        children_ages: Vec::new(),
        guest_name: None,
    }
}

/// A channel's reference.
fn reference(reference: u32) -> String {
    format!("ref-{reference}")
}

fn wish(request: &Request, number: usize, ids: &Ids) -> Command {
    let at = request.property;
    let rooms = request.rooms.iter().map(|room| wished(room, at, ids));
    Command::Request(Box::new(Wish {
        reservation: ids.made_by(number),
        hold: request.hold.map(|hold| ids.hold_end(hold)),
        source: request.source,
        rooms: rooms.collect(),
        guest: None,
        note: None,
        owner_id: None,
        payment_reference: request.payment.map(payment_reference),
        channel: request
            .channel
            .map(|(account, known)| (ids.property(at).accounts[account], reference(known))),
        guaranteed: request.guaranteed,
        force: force(&request.force),
    }))
}

fn modification(change: &Change, ids: &Ids) -> Option<Command> {
    let reservation = ids.reservation(change.of)?;
    let version = ids.version(reservation, change.version);
    let last = || ids.version(reservation, Read::Last).unwrap_or(0);
    let rooms = change.rooms.as_ref();
    Some(Command::Modify(Box::new(Modification {
        reservation,
        version: version.unwrap_or_else(last),
        rooms: rooms.map(|rooms| {
            let rooms = rooms.iter().map(|room| wished(room, change.property, ids));
            rooms.collect()
        }),
        guest: None,
        note: rooms.is_none().then(|| "late arrival".to_owned()),
        told_channel: change.told_channel,
        force: force(&change.force),
    })))
}

fn fact(record: &Record, number: usize, ids: &Ids) -> Command {
    let at = record.property;
    let account = &ids.shape(at).accounts[record.account];
    let rooms: Vec<RevisionRoom> = record
        .rooms
        .iter()
        .map(|told| revision_room(told, at, account, ids))
        .collect();
    let total = record.total.zip(Currency::from_code("EUR"));
    let report = ReservationReport {
        hotel_code: None,
        reference: reference(record.reference),
        kind: record.kind,
        order: record.order,
        booked_at: None,
        rooms: rooms.iter().map(|room| room.told.clone()).collect(),
        guest: Guest::default(),
        total: total.map(|(minor, currency)| Money::new(i64::from(minor), currency)),
        commission: None,
        payment_model: None,
        remarks: Vec::new(),
        is_quote: false,
        acknowledge_as: None,
    };
    Command::Record(Box::new(Fact {
        hash: content_hash(&report),
        reservation: ids.made_by(number),
        revision: ReservationRevision {
            property: ids.property(at).property,
            account: ids.property(at).accounts[record.account],
            report,
            rooms,
            is_snapshot: account.is_snapshot,
            received_at: ids.shape.start,
        },
    }))
}

fn revision_room(told: &Told, at: usize, account: &AccountShape, ids: &Ids) -> RevisionRoom {
    let arrival = ids.night(at, told.from);
    let types = &ids.property(at).types;
    let room_type = if told.is_mapped {
        Some(told.room_type)
    } else {
        account.fallback
    };
    RevisionRoom {
        told: ReportedRoom {
            room_key: account.has_room_keys.then(|| format!("room-{}", told.key)),
            room_code: format!("C{}", told.room_type),
            arrival: Some(arrival),
            departure: Some(plus_days(arrival, told.nights)),
            quantity: told.quantity,
            ..ReportedRoom::default()
        },
        room_type: room_type.map(|index| types[index]),
        is_fallback: !told.is_mapped && room_type.is_some(),
        rate_plan: None,
    }
}

/// The same content has the same hash, whatever its kind.
fn content_hash(report: &ReservationReport) -> String {
    let mut hasher = DefaultHasher::new();
    ReservationReport {
        kind: RevisionKind::New,
        ..report.clone()
    }
    .hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
