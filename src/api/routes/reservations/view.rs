//! A reservation as it is shown.

use jiff::Timestamp;
use keyrack_ledger::decide::drawn::Drawn;
use keyrack_ledger::decide::state::{Booked, Reservation, RoomStay};
use keyrack_ledger::reservations::Folio;
use keyrack_model::id::RoomStayId;
use keyrack_model::money::Money;
use keyrack_model::reservation::{Guest, GuestName, Source, Status};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::names::Names;
use crate::routes::reservations::room::GuestBody;
use crate::wire::{Day, MoneyShape, NightPrice};

/// A reservation as it is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reservation)]
pub struct ReservationView {
    /// A UUID.
    id: Uuid,
    /// Short, for people.
    #[schema(example = "1001")]
    number: String,
    /// Where it stands.
    #[schema(value_type = StatusShape)]
    status: Status,
    /// Counts every change, from 1; also the ETag.
    version: i64,
    /// Where it came from.
    #[schema(value_type = SourceShape)]
    source: Source,
    /// Code of the account that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// The channel's reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    channel_reference: Option<String>,
    /// Its rooms, without those that were given back.
    rooms: Vec<RoomView>,
    /// Who comes.
    guest: GuestBody,
    /// Until when a hold may be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hold_until: Option<Timestamp>,
    /// Seconds until then, at the instant of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    hold_remaining_seconds: Option<i64>,
    /// How often the hold was extended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    extensions: Option<i32>,
    /// Whose hold, in the caller's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    owner_id: Option<String>,
    /// Price of the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    total: Option<Money>,
    /// Who collects, in the channel's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payment_model: Option<String>,
    /// What confirmed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payment_reference: Option<String>,
    /// What the channel keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    commission: Option<Money>,
    /// What a cancellation costs, where it was told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    cancellation_terms: Vec<CancellationTermView>,
    /// Why it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cancel_reason: Option<String>,
    /// Prepaid or guaranteed.
    guaranteed: bool,
    /// The reservation that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    successor_of: Option<Uuid>,
    /// Staff's note.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    note: Option<String>,
    /// The guest's remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    remarks: Vec<GuestName>,
    /// When the guest booked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    booked_at: Option<Timestamp>,
    /// When we first heard.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
    /// What staff should see, such as `unmapped`, `needs_room_change`, `changed_by_both`,
    /// `expiry_failed`.
    flags: Vec<String>,
}

/// A room of a reservation: what it is, and beside it what the channel booked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RoomStay)]
pub struct RoomView {
    /// Its id within the reservation, never used again.
    room_stay_id: i32,
    /// Code of the room type; absent while the channel's code is not mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    room_type: Option<String>,
    /// Code of the rate plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_plan: Option<String>,
    /// First night.
    arrival: Day,
    /// The morning after the last night.
    departure: Day,
    /// How many rooms.
    quantity: i32,
    /// Adults.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    adults: Option<i32>,
    /// Age of each child; `null` is unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    children_ages: Vec<Option<i32>>,
    /// Who sleeps here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    guest_name: Option<GuestName>,
    /// Code of the physical room, once assigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    room: Option<String>,
    /// Price of each night for one room, as it was told or agreed.
    nightly: Vec<NightPrice>,
    /// What the channel booked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    booked: Option<BookedView>,
    /// Nights whose rooms came from an allotment; all others came from the shared pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    drawn: Vec<DrawnView>,
}

/// Rooms of a night that came from an allotment.
#[derive(Debug, Serialize, ToSchema)]
pub struct DrawnView {
    /// The night.
    stay_date: Day,
    /// Code of the allotment.
    allotment: String,
    /// How many rooms.
    rooms: i32,
}

/// A room as the channel booked it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BookedRoom)]
pub struct BookedView {
    /// The channel's code of the room.
    room_code: String,
    /// The channel's code of the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_code: Option<String>,
    /// Code of our room type, as it was mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    room_type: Option<String>,
    /// First night.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    arrival: Option<Day>,
    /// The morning after the last night.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    departure: Option<Day>,
    /// How many rooms.
    quantity: i32,
    /// Price of the room as told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    total: Option<Money>,
}

/// What a cancellation costs.
#[derive(Debug, Serialize, ToSchema)]
pub struct CancellationTermView {
    /// What it costs.
    #[schema(value_type = MoneyShape)]
    fee: Money,
}

/// Where a reservation stands.
#[derive(Serialize, ToSchema)]
#[schema(as = ReservationStatus)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's enum in the OpenAPI document"
)]
pub enum StatusShape {
    Held,
    Confirmed,
    CheckedIn,
    Completed,
    NoShow,
    Cancelled,
    Expired,
}

/// Where a reservation came from.
#[derive(Serialize, ToSchema)]
#[schema(as = ReservationSource)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's enum in the OpenAPI document"
)]
pub enum SourceShape {
    Phone,
    WalkIn,
    Web,
    Email,
    Group,
    Channel,
}

/// Who comes and who sleeps where: what the ledger keeps apart from the numbers.
#[derive(Debug, Default)]
pub struct Persons {
    /// Who comes.
    pub guest: Guest,
    /// Name per room stay.
    pub room_guests: Vec<(RoomStayId, GuestName)>,
    /// Staff's note.
    pub note: Option<String>,
    /// The guest's remarks.
    pub remarks: Vec<GuestName>,
    /// Room code per room stay.
    pub assigned: Vec<(RoomStayId, String)>,
}

impl Persons {
    /// Those of a folio.
    pub fn of(folio: Folio) -> Self {
        Self {
            guest: folio.guest,
            room_guests: folio.room_guests,
            note: folio.note,
            remarks: folio.remarks,
            assigned: folio.assigned,
        }
    }
}

impl ReservationView {
    /// The view at an instant.
    pub fn new(reservation: &Reservation, persons: Persons, now: Timestamp, names: &Names) -> Self {
        let detail = &reservation.detail;
        let is_held = reservation.status == Status::Held;
        let hold_until = reservation.hold_until.filter(|_| is_held);
        let rooms = reservation.present_rooms();
        let takes_rooms = reservation.takes_rooms();
        let drawn: Vec<Drawn> = match takes_rooms {
            true => detail.drawn.clone(),
            false => Vec::new(),
        };
        Self {
            id: reservation.id.0,
            number: reservation.number.to_string(),
            status: reservation.status,
            version: reservation.version,
            source: reservation.source,
            account: reservation.account.map(|id| names.accounts.shown(id)),
            channel_reference: reservation.channel_reference.clone(),
            rooms: rooms
                .map(|room| RoomView::new(room, &drawn, &persons, names))
                .collect(),
            guest: persons.guest.into(),
            hold_until,
            hold_remaining_seconds: hold_until
                .map(|until| (until.as_second() - now.as_second()).max(0)),
            extensions: is_held.then_some(reservation.extensions),
            owner_id: reservation.owner_id.clone(),
            total: detail.total,
            payment_model: detail.payment_model.clone(),
            payment_reference: reservation.payment_reference.clone(),
            commission: detail.commission,
            cancellation_terms: detail
                .cancellation_fee
                .map(|fee| CancellationTermView { fee })
                .into_iter()
                .collect(),
            cancel_reason: detail.cancel_reason.clone(),
            guaranteed: detail.guaranteed,
            successor_of: detail.successor_of.map(|id| id.0),
            note: persons.note,
            remarks: persons.remarks,
            booked_at: reservation.booked_at,
            created_at: reservation.created_at,
            updated_at: reservation.updated_at,
            flags: reservation.flags.clone(),
        }
    }

    /// Its rooms, for sheets.
    pub fn rooms(&self) -> &[RoomView] {
        &self.rooms
    }

    /// A line of a printed sheet: number, guest, status.
    pub fn heading(&self) -> String {
        let status = self.status.as_str();
        format!("{:>8}  {:<28}  {status}", self.number, self.guest.name())
    }
}

impl RoomView {
    fn new(room: &RoomStay, drawn: &[Drawn], persons: &Persons, names: &Names) -> Self {
        let of = |id: &RoomStayId| *id == room.id;
        let guest = persons.room_guests.iter().find(|(id, _)| of(id));
        let assigned = persons.assigned.iter().find(|(id, _)| of(id));
        let nightly = room.nightly.iter();
        Self {
            room_stay_id: room.id.0,
            room_type: room.room_type.map(|id| names.room_types.shown(id)),
            rate_plan: room.rate_plan.map(|id| names.rate_plans.shown(id)),
            arrival: Day(room.arrival),
            departure: Day(room.departure),
            quantity: room.quantity,
            adults: room.adults,
            children_ages: room.children_ages.clone(),
            guest_name: guest.map(|(_, name)| name.clone()),
            room: assigned.map(|(_, code)| code.clone()),
            nightly: nightly
                .map(|(night, price)| NightPrice {
                    stay_date: Day(*night),
                    price: *price,
                })
                .collect(),
            booked: room
                .booked
                .as_ref()
                .map(|booked| BookedView::new(booked, names)),
            drawn: drawn
                .iter()
                .filter(|one| one.room == room.id)
                .map(|one| DrawnView {
                    stay_date: Day(one.night),
                    allotment: names.allotments.shown(one.allotment),
                    rooms: one.rooms,
                })
                .collect(),
        }
    }

    /// A line of a printed sheet: room, type, stay.
    pub fn line(&self) -> String {
        let room = self.room.as_deref().unwrap_or("-");
        let room_type = self.room_type.as_deref().unwrap_or("(unmapped)");
        let (arrival, departure) = (self.arrival, self.departure);
        format!(
            "          {room:<8} {:>2} x {room_type:<14} {arrival}..{departure}",
            self.quantity
        )
    }
}

impl BookedView {
    fn new(booked: &Booked, names: &Names) -> Self {
        Self {
            room_code: booked.room_code.clone(),
            rate_code: booked.rate_code.clone(),
            room_type: booked.room_type.map(|id| names.room_types.shown(id)),
            arrival: booked.arrival.map(Day),
            departure: booked.departure.map(Day),
            quantity: booked.quantity,
            total: booked.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use keyrack_ledger::decide::state::Detail;
    use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};

    use super::*;

    fn held() -> Reservation {
        let created_at: Timestamp = "2030-01-01T10:00:00Z".parse().expect("an instant");
        let room = |id, is_given_back| RoomStay {
            id: RoomStayId(id),
            room_type: Some(RoomTypeId(1)),
            rate_plan: None,
            arrival: date(2030, 2, 1),
            departure: date(2030, 2, 3),
            taken_from: date(2030, 2, 1),
            taken_until: date(2030, 2, 3),
            quantity: 1,
            is_given_back,
            components: None,
            adults: Some(2),
            children_ages: vec![None, Some(7)],
            nightly: Vec::new(),
            booked: None,
        };
        Reservation {
            property: PropertyId(1),
            id: ReservationId(Uuid::nil()),
            number: 1001,
            status: Status::Held,
            version: 1,
            source: Source::Phone,
            account: None,
            channel_reference: None,
            hold_until: "2030-01-01T10:15:00Z".parse().ok(),
            hold_dead_at: "2030-01-01T10:17:00Z".parse().ok(),
            extensions: 0,
            owner_id: None,
            payment_reference: None,
            booked_at: None,
            created_at,
            updated_at: created_at,
            flags: Vec::new(),
            detail: Detail::default(),
            rooms: vec![room(1, false), room(2, true)],
        }
    }

    fn shown(reservation: &Reservation, now: &str) -> serde_json::Value {
        let now = now.parse().expect("an instant");
        let persons = Persons::default();
        let view = ReservationView::new(reservation, persons, now, &Names::default());
        serde_json::to_value(view).expect("a view is JSON")
    }

    #[test]
    fn a_hold_says_how_long_it_lives_and_never_less_than_nothing() {
        let early = shown(&held(), "2030-01-01T10:14:00Z");
        assert_eq!(early["hold_remaining_seconds"], 60);
        let late = shown(&held(), "2030-01-01T10:16:00Z");
        assert_eq!(late["hold_remaining_seconds"], 0);
    }

    #[test]
    fn a_confirmed_stay_has_no_hold() {
        let confirmed = Reservation {
            status: Status::Confirmed,
            ..held()
        };
        let view = shown(&confirmed, "2030-01-01T10:14:00Z");
        assert_eq!(view.get("hold_until"), None);
        assert_eq!(view.get("hold_remaining_seconds"), None);
    }

    #[test]
    fn a_room_that_was_given_back_is_not_shown() {
        let view = shown(&held(), "2030-01-01T10:14:00Z");
        assert_eq!(view["rooms"].as_array().map(Vec::len), Some(1));
        assert_eq!(view["rooms"][0]["room_stay_id"], 1);
        assert_eq!(
            view["rooms"][0]["children_ages"],
            serde_json::json!([null, 7])
        );
    }
}
