//! Everything that can be asked of the ledger, and its answers.

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::id::{
    AccountId, AllotmentId, PropertyId, RatePlanId, ReservationId, RoomStayId, RoomTypeId,
};
use keyrack_model::money::Money;
use keyrack_model::reservation::{Guest, GuestName, ReservationRevision, Source};
use keyrack_model::stay::{Stay, StayDate, StayRange};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::decide::allotment::Agreement;
use crate::decide::overbooking::end::CaseEnd;
use crate::decide::refusal::{Force, Refusal};
use crate::decide::state::Reservation;

/// A command with who asks and how it is known again.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Whose; its lane is all of it or some types.
    pub property: PropertyId,
    /// Unique; entries carry it, and a broken connection is looked up by it.
    pub command_id: Uuid,
    /// Who: a key with a named person, an account, a worker.
    pub by: Arc<By>,
    /// How a repeat is known.
    pub idempotency: Option<Idempotency>,
    /// What.
    pub command: Command,
}

impl Asked {
    /// A command under a fresh id.
    pub fn new(property: PropertyId, by: Arc<By>, command: Command) -> Self {
        Self {
            property,
            command_id: Uuid::now_v7(),
            by,
            idempotency: None,
            command,
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct By {
    /// `key:12 (Anna)`, `account:booking`, `worker:sweeper`: kept in entries. No personal data of
    /// guests.
    pub actor: String,
    /// The request that brought it.
    pub request_id: Option<String>,
}

impl By {
    /// Who asks where a channel's account tells of something, by its code.
    pub fn actor_of_account(code: &str) -> String {
        format!("account:{code}")
    }
}

/// How a repeat is known. Success is kept for the key, in the command's transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// API key and route.
    pub scope: String,
    /// The caller's key.
    pub key: String,
    /// Hash of the request.
    pub fingerprint: String,
}

/// What may be asked. Each is decided by the rules of [`crate::decide`].
#[derive(Clone, Debug)]
pub enum Command {
    /// A wish: may be refused.
    Request(Box<Wish>),
    /// Wishes that are carried out together, or none of them: a group's rooming list.
    RequestAll(Vec<Wish>),
    /// A channel's fact: never refused for want of rooms, mapping, price or data.
    Record(Box<Fact>),
    /// A hold becomes a stay.
    Confirm {
        /// Which.
        reservation: ReservationId,
        /// What pays it.
        payment_reference: Option<String>,
        /// The version that was read, where the caller says.
        version: Option<i64>,
    },
    /// The rooms come back, once.
    Cancel {
        /// Which.
        reservation: ReservationId,
        /// Why.
        reason: Option<String>,
        /// The channel knows: needed for a channel's reservation.
        told_channel: bool,
        /// The version that was read, where the caller says.
        version: Option<i64>,
    },
    /// A hold lives longer.
    Extend {
        /// Which.
        reservation: ReservationId,
        /// Until when; `None` adds the property's hold time from now.
        until: HoldEnd,
        /// The version that was read, where the caller says.
        version: Option<i64>,
    },
    /// Rooms, owner or payment change; new nights first, old nights after.
    Modify(Box<Modification>),
    /// The guest arrived, left, did not come, or that was a mistake.
    Progress {
        /// Which.
        reservation: ReservationId,
        /// What happened.
        step: Progress,
        /// The version that was read, where the caller says.
        version: Option<i64>,
    },
    /// A dead hold gives its rooms back. Only where it is dead by the database's clock.
    Expire {
        /// Which.
        reservation: ReservationId,
    },
    /// Out of order and overbooking limit of nights: all of the changes, in order, or none.
    SetNights {
        /// One after the other: a later one starts from what the earlier ones made.
        changes: Vec<NightChange>,
        /// Says what would happen and does nothing.
        dry_run: bool,
    },
    /// Agrees rooms of an allotment, or gives them back.
    Agree(Box<Agreement>),
    /// What is unsold of an allotment falls back to free sale, where it is due.
    ReleaseAllotment {
        /// Which.
        allotment: AllotmentId,
        /// Which nights are looked at.
        nights: StayRange,
    },
    /// The blocks of a physical room, in place of those it has, with what they count on the
    /// nights of its type.
    SetBlocks {
        /// Code of the room.
        room: String,
        /// All of them; no two have a night in common.
        blocks: Vec<Block>,
    },
    /// The physical count of nights: a room type was made, grew, shrank, or the horizon moved.
    SetPhysical {
        /// Of which type.
        room_type: RoomTypeId,
        /// From which night, to which (excluded).
        nights: StayRange,
        /// The new count.
        rooms: i32,
        /// May cut below what is taken.
        force: Option<Forced>,
        /// Says what would happen and does nothing.
        dry_run: bool,
    },
    /// A person opens an overbooking case.
    OpenCase {
        /// Of which type.
        room_type: RoomTypeId,
        /// For which nights.
        nights: StayRange,
    },
    /// An overbooking case ends, with the moves that end it.
    EndCase(Box<CaseEnd>),
    /// Looks at nights again: what was meant opens a case when it comes near. By the roll-over.
    Review {
        /// Of which type.
        room_type: RoomTypeId,
        /// Which nights.
        nights: StayRange,
    },
}

impl Command {
    /// Whether it raises the version of its property's rules: terms of an allotment are rules.
    pub fn raises_rules(&self) -> bool {
        matches!(self, Self::Agree(_))
    }
}

/// A channel's fact, with how it is known again.
#[derive(Clone, Debug)]
pub struct Fact {
    /// What was told.
    pub revision: ReservationRevision,
    /// Hash of its content: a repeat is known by it.
    pub hash: String,
    /// The id that a new reservation will have.
    pub reservation: ReservationId,
}

/// When a hold ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoldEnd {
    /// By the rules of property, type and source.
    #[default]
    Default,
    /// So many seconds from now.
    Seconds(u32),
    /// An option: at an instant.
    Until(Timestamp),
}

/// What a wish asks for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The id it will have, a UUIDv7 made by the caller.
    pub reservation: ReservationId,
    /// Held, or confirmed at once.
    pub hold: Option<HoldEnd>,
    /// From where.
    pub source: Source,
    /// Its rooms.
    pub rooms: Vec<WishedRoom>,
    /// Who comes.
    pub guest: Option<Guest>,
    /// Staff's note.
    pub note: Option<String>,
    /// Whose hold.
    pub owner_id: Option<String>,
    /// What pays it, of a wish that is confirmed at once.
    pub payment_reference: Option<String>,
    /// Typed from a channel's fall-back e-mail: its account and reference. The electronic message
    /// becomes its next revision.
    pub channel: Option<(AccountId, String)>,
    /// Prepaid or guaranteed.
    pub guaranteed: bool,
    /// What may be overridden.
    pub force: Option<Forced>,
}

/// One room of a wish.
#[derive(Clone, Debug)]
pub struct WishedRoom {
    /// In a modification: which room it changes.
    pub room_stay: Option<RoomStayId>,
    /// Which type.
    pub room_type: RoomTypeId,
    /// Which product.
    pub rate_plan: Option<RatePlanId>,
    /// Which nights.
    pub stay: Stay,
    /// How many rooms.
    pub quantity: i32,
    /// Agreed price of each night for one room; `None` takes the plan's, where there is one.
    pub price: Option<Money>,
    /// Adults.
    pub adults: Option<i32>,
    /// Ages of the children.
    pub children_ages: Vec<Option<i32>>,
    /// Who sleeps here.
    pub guest_name: Option<GuestName>,
    /// The allotment that it is drawn from; `None` by who asks.
    pub allotment: Option<AllotmentId>,
}

/// An override, written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forced {
    /// Why; not empty.
    pub reason: String,
    /// What.
    pub allow: Vec<Force>,
}

/// A change of a reservation by staff.
#[derive(Clone, Debug)]
pub struct Modification {
    /// Which.
    pub reservation: ReservationId,
    /// The version that was read.
    pub version: i64,
    /// The whole new list: with an id it changes that room, without it is new, a missing one is
    /// given back.
    pub rooms: Option<Vec<WishedRoom>>,
    /// Who comes.
    pub guest: Option<Guest>,
    /// Staff's note.
    pub note: Option<String>,
    /// The channel knows: needed where rooms of a channel's reservation change.
    pub told_channel: bool,
    /// What may be overridden.
    pub force: Option<Forced>,
}

/// What happens to a stay at the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The guest is in the house.
    CheckIn,
    /// The guest left; early departure gives back the nights from the present business day.
    CheckOut,
    /// The guest did not come; `keep` says whether the other nights stay taken, `None` asks the
    /// property's rule.
    NoShow {
        /// Keep the other nights.
        keep: Option<bool>,
    },
    /// Back to what it was before the last step.
    Undo,
    /// The departure is past and nobody told us: by the roll-over.
    Complete,
    /// The roll-over after a no-show: the other nights are let go.
    ReleaseNoShow,
    /// In the house after the departure: takes tonight as well, by the roll-over.
    Overdue,
}

/// Out of order and overbooking limit over nights. An absent field stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NightChange {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Which nights.
    pub nights: StayRange,
    /// Rooms that cannot be sold: a fact, never refused.
    pub out_of_order: Option<i32>,
    /// How far beyond physical the hotel means to sell.
    pub overbooking_limit: Option<i32>,
    /// Why.
    pub reason: Option<String>,
}

/// A stay in which a physical room is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Which nights.
    pub nights: StayRange,
    /// `out_of_order`, `owner` or `house_use`.
    pub kind: String,
    /// Why.
    pub reason: Option<String>,
}

/// The answer to a command that was carried out. Kept for its idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The reservation after it; `None` for commands on nights, and for a tombstone.
    pub reservation: Option<Box<Reservation>>,
    /// What it did, in one word: `held`, `confirmed`, `confirmed_in_grace`, `retaken`, `repeated`,
    /// `tombstone`, `older` …
    pub did: String,
    /// Nights whose balance changed, as ranges per room type.
    pub nights: Vec<(RoomTypeId, StayRange)>,
    /// Of commands on nights and of dry runs: who would be hit, and which nights fall short.
    pub short: Vec<ShortNight>,
    /// The answer of an earlier command under the same idempotency key.
    #[serde(skip)]
    pub is_replay: bool,
}

/// A night with more taken than there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortNight {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Which night.
    pub night: StayDate,
    /// Rooms beyond what there is.
    pub rooms: i32,
}

/// What the ledger says to a command.
pub type Answer = Result<Receipt, Refusal>;
