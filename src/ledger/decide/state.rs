//! A reservation as the ledger holds it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::money::Money;
use keyrack_model::reservation::{Source, Status};
use keyrack_model::stay::{Stay, StayDate};
use serde::{Deserialize, Serialize};

use super::drawn::Drawn;

/// A reservation without its guests: what rules need, and what answers are made of. As JSON it
/// stands in the receipt of each idempotency key, so what is not there is not written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Whose.
    pub property: PropertyId,
    /// Its id outside.
    pub id: ReservationId,
    /// Its short number.
    pub number: i64,
    /// Where it stands.
    pub status: Status,
    /// Counts every change, from 1.
    pub version: i64,
    /// Where it came from.
    pub source: Source,
    /// Through which listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountId>,
    /// The channel's reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_reference: Option<String>,
    /// Until when a hold may be confirmed in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_until: Option<Timestamp>,
    /// Until when a hold keeps its rooms: `hold_until` and the grace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_dead_at: Option<Timestamp>,
    /// How often the hold was extended.
    pub extensions: i32,
    /// Whose hold, in the caller's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// What confirmed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_reference: Option<String>,
    /// When the guest booked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booked_at: Option<Timestamp>,
    /// When we first heard.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What staff should see, such as `unmapped`, `needs_room_change`, `changed_by_both`.
    pub flags: Vec<String>,
    /// What rules do not need.
    pub detail: Detail,
    /// Its rooms, given-back ones among them, by id.
    pub rooms: Vec<RoomStay>,
}

/// What rules do not need: money as told, terms, links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Detail {
    /// Price of the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Money>,
    /// What the channel keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commission: Option<Money>,
    /// What a cancellation costs, where told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancellation_fee: Option<Money>,
    /// Who collects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_model: Option<String>,
    /// The reservation that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor_of: Option<ReservationId>,
    /// Why it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// Payments that are owed back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refunds_due: Vec<String>,
    /// Prepaid or guaranteed: a no-show keeps its nights.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guaranteed: bool,
    /// A code of it was not mapped before its last change: what came of that change came of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub was_unmapped: bool,
    /// What an undo goes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    /// Rooms that came from allotments; all others came from the shared pool. Of a reservation that
    /// takes no rooms: what it had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
}

/// What an undo goes back to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The status before.
    pub status: Status,
    /// The nights taken before, by room stay: `taken_from`, `taken_until`, `departure`.
    pub taken: BTreeMap<i32, (StayDate, StayDate, StayDate)>,
    /// The business day on which it was done.
    pub on: StayDate,
}

/// One room of a reservation (or several alike): actual, beside what the channel booked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomStay {
    /// Its id within the reservation.
    pub id: RoomStayId,
    /// `None` while the channel's code is not mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_type: Option<RoomTypeId>,
    /// The product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_plan: Option<RatePlanId>,
    /// First night.
    pub arrival: StayDate,
    /// Morning after the last night; equals the arrival only for odd facts.
    pub departure: StayDate,
    /// First night that is taken.
    pub taken_from: StayDate,
    /// End of the nights that are taken.
    pub taken_until: StayDate,
    /// Rooms.
    pub quantity: i32,
    /// No longer part of the reservation.
    pub is_given_back: bool,
    /// Rooms taken per unit, by plain type, where the type is composed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<(RoomTypeId, i32)>>,
    /// Adults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adults: Option<i32>,
    /// Ages of the children; `None` is unknown.
    pub children_ages: Vec<Option<i32>>,
    /// Price of each night for one room.
    pub nightly: Vec<(StayDate, Money)>,
    /// What the channel says, where a channel says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booked: Option<Booked>,
}

impl RoomStay {
    /// The stay, where it has a night.
    pub fn stay(&self) -> Option<Stay> {
        Stay::new(self.arrival, self.departure)
    }

    /// The nights that are taken, where there are any.
    pub fn taken(&self) -> Option<Stay> {
        Stay::new(self.taken_from, self.taken_until)
    }
}

/// A room as the channel booked it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booked {
    /// The channel's key of the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_key: Option<String>,
    /// The channel's code of the room.
    pub room_code: String,
    /// The channel's code of the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_code: Option<String>,
    /// Ours, as it was mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_type: Option<RoomTypeId>,
    /// First night.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival: Option<StayDate>,
    /// Morning after the last night.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub departure: Option<StayDate>,
    /// Rooms.
    pub quantity: i32,
    /// Price of the room as told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Money>,
}

impl Reservation {
    /// Whether its rooms are taken: held and alive or dead but unswept, confirmed, in the house,
    /// or a no-show that keeps nights.
    pub fn takes_rooms(&self) -> bool {
        matches!(
            self.status,
            Status::Held
                | Status::Confirmed
                | Status::CheckedIn
                | Status::Completed
                | Status::NoShow
        )
    }

    /// The rooms that it still has.
    pub fn present_rooms(&self) -> impl Iterator<Item = &RoomStay> {
        self.rooms.iter().filter(|room| !room.is_given_back)
    }

    /// Rooms whose stay has changed keep the change when a step at the desk is undone.
    pub fn keep_changes_since(&mut self, before: &[RoomStay]) {
        let Some(undo) = &mut self.detail.undo else {
            return;
        };
        for room in &self.rooms {
            let is_same = |old: &RoomStay| {
                old.id == room.id && (old.arrival, old.departure) == (room.arrival, room.departure)
            };
            if !before.iter().any(is_same) {
                undo.taken.remove(&room.id.0);
            }
        }
    }

    /// Whether the code of one of its rooms was not mapped when the channel told it last.
    pub fn has_unmapped_room(&self) -> bool {
        let unmapped = |room: &RoomStay| {
            let booked = room.booked.as_ref();
            booked.is_some_and(|booked| booked.room_type.is_none())
        };
        self.present_rooms().any(unmapped)
    }

    /// Its codes are mapped now, where they were not: what came of that is known by it until the
    /// channel tells something else.
    pub fn unflag_unmapped(&mut self) {
        let was = self.flags.iter().any(|known| known == "unmapped");
        self.unflag("unmapped");
        self.detail.was_unmapped = was && !self.has_unmapped_room();
    }

    /// Adds a flag once.
    pub fn flag(&mut self, flag: &str) {
        if !self.flags.iter().any(|known| known == flag) {
            self.flags.push(flag.to_owned());
        }
    }

    /// Takes a flag away.
    pub fn unflag(&mut self, flag: &str) {
        self.flags.retain(|known| known != flag);
    }
}
