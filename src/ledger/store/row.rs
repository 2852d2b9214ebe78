//! Rows as the database's JSON spells them, and back.

use jiff::Timestamp;
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::money::Money;
use keyrack_model::reservation::{RevisionKind, Source, Status};
use keyrack_model::stay::StayDate;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::command::Receipt;
use crate::decide::draft::{Reference, ReservationKey};
use crate::decide::state::{Booked, Detail, Reservation, RoomStay};
use crate::error::LedgerError;

/// A row of `reservation`, perhaps with its room stays.
#[derive(Deserialize)]
pub(crate) struct ReservationRow {
    property_id: i64,
    reservation_id: Uuid,
    number: i64,
    status: String,
    version: i64,
    source: String,
    account_id: Option<i64>,
    channel_reference: Option<String>,
    hold_until: Option<Timestamp>,
    hold_dead_at: Option<Timestamp>,
    extensions: i32,
    owner_id: Option<String>,
    payment_reference: Option<String>,
    booked_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    flags: Vec<String>,
    detail: Option<Detail>,
    #[serde(default)]
    rooms: Option<Vec<RoomStayRow>>,
}

impl ReservationRow {
    pub(crate) fn into_reservation(self) -> Result<Reservation, LedgerError> {
        let unknown = |what: &str, name: &str| LedgerError::Unreadable(format!("{what} {name:?}"));
        Ok(Reservation {
            property: PropertyId(self.property_id),
            id: ReservationId(self.reservation_id),
            number: self.number,
            status: Status::from_name(&self.status)
                .ok_or_else(|| unknown("status", &self.status))?,
            version: self.version,
            source: Source::from_name(&self.source)
                .ok_or_else(|| unknown("source", &self.source))?,
            account: self.account_id.map(AccountId),
            channel_reference: self.channel_reference,
            hold_until: self.hold_until,
            hold_dead_at: self.hold_dead_at,
            extensions: self.extensions,
            owner_id: self.owner_id,
            payment_reference: self.payment_reference,
            booked_at: self.booked_at,
            created_at: self.created_at,
            updated_at: self.updated_at,
            flags: self.flags,
            detail: self.detail.unwrap_or_default(),
            rooms: self
                .rooms
                .unwrap_or_default()
                .into_iter()
                .map(RoomStay::from)
                .collect(),
        })
    }
}

/// A row of `room_stay`.
#[derive(Serialize, Deserialize)]
pub(crate) struct RoomStayRow {
    property_id: i64,
    reservation_id: Uuid,
    room_stay_id: i32,
    room_type_id: Option<i64>,
    rate_plan_id: Option<i64>,
    arrival: StayDate,
    departure: StayDate,
    taken_from: StayDate,
    taken_until: StayDate,
    quantity: i32,
    is_given_back: bool,
    components: Option<Vec<(RoomTypeId, i32)>>,
    adults: Option<i32>,
    children_ages: Option<Vec<Option<i32>>>,
    nightly: Option<Vec<(StayDate, Money)>>,
    booked: Option<Booked>,
}

impl From<RoomStayRow> for RoomStay {
    fn from(row: RoomStayRow) -> Self {
        Self {
            id: RoomStayId(row.room_stay_id),
            room_type: row.room_type_id.map(RoomTypeId),
            rate_plan: row.rate_plan_id.map(RatePlanId),
            arrival: row.arrival,
            departure: row.departure,
            taken_from: row.taken_from,
            taken_until: row.taken_until,
            quantity: row.quantity,
            is_given_back: row.is_given_back,
            components: row.components,
            adults: row.adults,
            children_ages: row.children_ages.unwrap_or_default(),
            nightly: row.nightly.unwrap_or_default(),
            booked: row.booked,
        }
    }
}

impl RoomStayRow {
    /// Whose it is.
    pub(crate) fn reservation(&self) -> ReservationKey {
        (
            PropertyId(self.property_id),
            ReservationId(self.reservation_id),
        )
    }

    pub(crate) fn of(reservation: &Reservation, room: &RoomStay) -> Self {
        Self {
            property_id: reservation.property.0,
            reservation_id: reservation.id.0,
            room_stay_id: room.id.0,
            room_type_id: room.room_type.map(|id| id.0),
            rate_plan_id: room.rate_plan.map(|id| id.0),
            arrival: room.arrival,
            departure: room.departure,
            taken_from: room.taken_from,
            taken_until: room.taken_until,
            quantity: room.quantity,
            is_given_back: room.is_given_back,
            components: room.components.clone(),
            adults: room.adults,
            children_ages: (!room.children_ages.is_empty()).then(|| room.children_ages.clone()),
            nightly: (!room.nightly.is_empty()).then(|| room.nightly.clone()),
            booked: room.booked.clone(),
        }
    }
}

/// A row of `channel_reference`.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReferenceRow {
    pub property_id: i64,
    pub account_id: i64,
    pub reference: String,
    pub reservation_id: Option<Uuid>,
    pub last_order: Option<i64>,
    pub last_kind: RevisionKind,
    pub last_hash: String,
    pub is_cancelled: bool,
    pub version: i64,
}

impl ReferenceRow {
    pub(crate) fn into_reference(self) -> Result<((AccountId, String), Reference), LedgerError> {
        let reference = Reference {
            reservation: self.reservation_id.map(ReservationId),
            last_order: self.last_order,
            last_kind: self.last_kind,
            last_hash: self.last_hash,
            is_cancelled: self.is_cancelled,
            version: self.version,
        };
        Ok(((AccountId(self.account_id), self.reference), reference))
    }
}

/// A row of `idempotency_key`.
#[derive(Deserialize)]
pub(crate) struct KeptRow {
    pub scope: String,
    pub key: String,
    pub fingerprint: String,
    pub receipt: Receipt,
}
