//! `POST …/reservations`: a wish.

use axum::extract::State;
use keyrack_ledger::command::{Asked, Command, HoldEnd, Receipt, Wish, WishedRoom};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::inventory;
use keyrack_model::id::{ReservationId, RoomStayId};
use keyrack_model::reservation::{Guest, GuestName, Source};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::{At, Books, Caller};
use crate::conditional::Versioned;
use crate::extract::Body;
use crate::idempotency::Repeat;
use crate::names::House;
use crate::problem::{AlternativeView, Instead, Problem, Problems};
use crate::refusal::nights;
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::room::{GuestBody, RoomBody, wished};
use crate::routes::reservations::view::{Persons, ReservationView};
use crate::state::ApiState;
use crate::wire::{Day, ForceBody, Instant, Wrongs};

/// A wish for rooms.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReservation {
    /// Held for a while, or confirmed at once.
    status: NewStatus,
    /// Where it comes from.
    source: StaffSource,
    /// Its rooms: all of them, or none.
    rooms: Vec<RoomBody>,
    /// Who comes.
    guest: GuestBody,
    /// A hold lives so long; left out, the property's time.
    #[schema(minimum = 1)]
    hold_seconds: Option<u32>,
    /// Or until this instant: an option.
    #[schema(value_type = Option<String>, format = DateTime)]
    hold_until: Option<Instant>,
    /// Whose hold, in the caller's words.
    owner_id: Option<String>,
    /// Typed from a channel's e-mail: the account …
    account: Option<String>,
    /// … and the channel's reference; its electronic message becomes the next revision.
    channel_reference: Option<String>,
    /// Code of the group that it belongs to: rooms that name no allotment are drawn from its block
    /// of their type.
    group: Option<String>,
    /// What pays it, where it is confirmed at once.
    payment_reference: Option<String>,
    /// Prepaid or guaranteed: a no-show keeps its nights.
    #[serde(default)]
    #[schema(required = false)]
    guaranteed: bool,
    /// Staff's note.
    note: Option<String>,
    /// What may be overridden.
    force: Option<ForceBody>,
}

/// What a new reservation may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewStatus {
    /// Rooms kept until `hold_until`.
    Held,
    /// Taken.
    Confirmed,
}

/// Where staff take reservations from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StaffSource {
    /// On the telephone.
    Phone,
    /// At the desk, for tonight.
    WalkIn,
    /// The hotel's own site.
    Web,
    /// By letter.
    Email,
    /// A group.
    Group,
}

/// Makes a reservation: all of its rooms on all of its nights, or none.
///
/// Needs an `Idempotency-Key`. A `sold_out` names the nights and offers alternatives that were free
/// at that moment: other room types, the nearest dates, and where to wait.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations", tag = "reservations",
    params(PropertyPath,
        ("Idempotency-Key" = String, Header, description = "Fresh for each reservation")),
    request_body = NewReservation,
    responses(
        (status = 201, body = ReservationView,
            headers(("ETag" = String), ("Location" = String), ("Idempotent-Replay" = String))),
        Problems))]
pub async fn create(
    State(state): State<ApiState>,
    at: At<Books>,
    repeat: Repeat,
    body: Body<NewReservation>,
) -> Result<Versioned<ReservationView>, Problem> {
    let house = &at.house;
    let idempotency = repeat.required(&at.caller, &body.bytes)?;
    let wish = body.value.wish(house, &at.caller).await?;
    let persons = (wish.guest.clone(), wish.note.clone());
    let rooms = wish.rooms.clone();
    let command = Command::Request(Box::new(wish));
    let mut asked = Asked::new(house.id, at.caller.by().into(), command);
    asked.idempotency = Some(idempotency);
    match state.ledger().ask(asked).await? {
        Ok(receipt) => created(house, receipt, persons, &rooms).await,
        Err(refusal) => Err(turned_away(&state, house, refusal, &rooms).await),
    }
}

/// The view out of receipt and request: what was just made is not read back.
async fn created(
    house: &House,
    receipt: Receipt,
    (guest, note): (Option<Guest>, Option<String>),
    rooms: &[WishedRoom],
) -> Result<Versioned<ReservationView>, Problem> {
    let is_replay = receipt.is_replay;
    let Some(reservation) = receipt.reservation else {
        return Err(Problem::new(
            crate::problem::kind::Kind::Internal,
            "the ledger made no reservation of a wish",
        ));
    };
    let persons = Persons {
        guest: guest.unwrap_or_default(),
        room_guests: room_guests(&reservation, rooms),
        note,
        ..Persons::default()
    };
    let names = house.names_of(&[&reservation]).await?;
    let now = reservation.created_at;
    let view = ReservationView::new(&reservation, persons, now, &names);
    let (code, id) = (&house.code, reservation.id);
    Ok(Versioned {
        is_new: true,
        is_replay,
        location: Some(format!("/v1/properties/{code}/reservations/{id}")),
        ..Versioned::of(reservation.version, view)
    })
}

/// Rooms of a new reservation stand in the order of the wish.
fn room_guests(reservation: &Reservation, rooms: &[WishedRoom]) -> Vec<(RoomStayId, GuestName)> {
    let stays = reservation.rooms.iter().map(|room| room.id);
    let names = rooms.iter().map(|room| room.guest_name.clone());
    stays
        .zip(names)
        .filter_map(|(id, name)| Some((id, name?)))
        .collect()
}

/// The problem, with what is really free instead where rooms are wanting; only then is it looked
/// for.
pub async fn turned_away(
    state: &ApiState,
    house: &House,
    refusal: Refusal,
    rooms: &[WishedRoom],
) -> Problem {
    let wanting = match &refusal {
        Refusal::SoldOut(_) => wanting(&refusal, rooms),
        _ => None,
    };
    let mut problem = house.refused(refusal).await;
    let Some(room) = wanting else {
        return problem;
    };
    let mut instead = Instead {
        alternatives: Vec::new(),
        waitlist: format!("/v1/properties/{}/waitlist", house.code),
    };
    let (room_type, stay, quantity) = (room.room_type, room.stay, room.quantity);
    let found = inventory::alternatives(state.ledger(), house.id, room_type, stay, quantity).await;
    match found {
        Ok(found) => {
            let views = found.into_iter().map(|one| AlternativeView {
                room_type: one.room_type,
                arrival: Day(one.stay.arrival()),
                departure: Day(one.stay.departure()),
                free: one.free,
            });
            instead.alternatives = views.collect();
        }
        Err(error) => tracing::warn!(%error, "no alternatives could be looked for"),
    }
    problem.instead = Some(Box::new(instead));
    problem
}

/// The first room of which a night is wanting; of a composed type the nights name its parts.
fn wanting<'a>(refusal: &Refusal, rooms: &'a [WishedRoom]) -> Option<&'a WishedRoom> {
    let nights = nights(refusal);
    let is_wanting = |room: &&WishedRoom| {
        nights
            .iter()
            .any(|(id, night)| *id == room.room_type && room.stay.contains(*night))
    };
    let touches = |room: &&WishedRoom| nights.iter().any(|(_, night)| room.stay.contains(*night));
    let mut all = rooms.iter();
    let exact = all.find(is_wanting);
    exact.or_else(|| rooms.iter().find(touches))
}

impl NewReservation {
    async fn wish(self, house: &House, caller: &Caller) -> Result<Wish, Problem> {
        let mut wrongs = Wrongs::default();
        self.guest.check(&mut wrongs);
        wrongs.longest(self.note.as_deref(), 4_000, "/note");
        wrongs.line(self.owner_id.as_deref(), 200, "/owner_id");
        wrongs.line(self.payment_reference.as_deref(), 200, "/payment_reference");
        wrongs.line(self.channel_reference.as_deref(), 200, "/channel_reference");
        let paired = self.account.is_some() == self.channel_reference.is_some();
        let message = "account and channel_reference stand together";
        wrongs.unless(paired, "/channel_reference", message);
        let blank = self.channel_reference.as_deref().map(str::trim) == Some("");
        wrongs.unless(!blank, "/channel_reference", "must not be empty");
        let hold = self.hold(&mut wrongs);
        let force = caller.force(self.force)?;
        for (at, room) in self.rooms.iter().enumerate() {
            let pointer = format!("/rooms/{at}/room_stay_id");
            let message = "names a room of a reservation that is there: leave it out here";
            wrongs.unless(room.room_stay_id.is_none(), pointer, message);
        }
        let mut rooms = wished(house, self.rooms, &mut wrongs).await?;
        wrongs.finish()?;
        if let Some(group) = &self.group {
            draw_from_blocks(house, group, &mut rooms).await?;
        }
        let channel = match (self.account, self.channel_reference) {
            (Some(account), Some(reference)) => {
                Some((house.account(&account, "/account").await?, reference))
            }
            _ => None,
        };
        Ok(Wish {
            reservation: ReservationId(Uuid::now_v7()),
            hold,
            source: self.source.into(),
            rooms,
            guest: Some(self.guest.into()),
            note: self.note,
            owner_id: self.owner_id,
            payment_reference: self.payment_reference,
            channel,
            guaranteed: self.guaranteed,
            force,
        })
    }

    fn hold(&self, wrongs: &mut Wrongs) -> Option<HoldEnd> {
        let told = match (self.hold_seconds, self.hold_until) {
            (Some(_), Some(_)) => {
                wrongs.add("/hold_until", "hold_seconds or hold_until, not both");
                None
            }
            (Some(seconds), None) => {
                let fits = (1..=SECONDS_MAX).contains(&seconds);
                wrongs.unless(fits, "/hold_seconds", "1 to 31,536,000 (a year)");
                Some(HoldEnd::Seconds(seconds))
            }
            (None, Some(until)) => Some(HoldEnd::Until(until.0)),
            (None, None) => None,
        };
        match self.status {
            NewStatus::Held => Some(told.unwrap_or_default()),
            NewStatus::Confirmed => {
                let message = "only a held reservation has an end";
                wrongs.unless(told.is_none(), "/hold_seconds", message);
                None
            }
        }
    }
}

/// Rooms that name no allotment are drawn from the group's block of their type.
async fn draw_from_blocks(
    house: &House,
    group: &str,
    rooms: &mut [WishedRoom],
) -> Result<(), Problem> {
    let blocks = house.blocks(group, "/group").await?;
    for (at, room) in rooms.iter_mut().enumerate() {
        if room.allotment.is_some() {
            continue;
        }
        let block = blocks.iter().find(|one| one.room_type == room.room_type);
        let block = block.ok_or_else(|| {
            let message = "no rooms of this type are kept for the group";
            Problem::invalid(format!("/rooms/{at}/room_type"), message)
        })?;
        room.allotment = Some(block.id);
    }
    Ok(())
}

impl From<StaffSource> for Source {
    fn from(source: StaffSource) -> Self {
        match source {
            StaffSource::Phone => Self::Phone,
            StaffSource::WalkIn => Self::WalkIn,
            StaffSource::Web => Self::Web,
            StaffSource::Email => Self::Email,
            StaffSource::Group => Self::Group,
        }
    }
}

/// A year: longer is a mistake.
pub const SECONDS_MAX: u32 = 31_536_000;
