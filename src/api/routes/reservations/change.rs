//! `PATCH …/reservations/{id}`: rooms, guest, note.

use axum::extract::State;
use keyrack_ledger::command::{Asked, Command, Modification};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::auth::{At, Books};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Body, Segments};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::create::turned_away;
use crate::routes::reservations::one::{ReservationPath, answered};
use crate::routes::reservations::room::{GuestBody, RoomBody, wished};
use crate::routes::reservations::view::ReservationView;
use crate::state::ApiState;
use crate::wire::{ForceBody, Wrongs};

/// A change: any of these, at least one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationChange {
    /// The whole new list: an entry with a `room_stay_id` changes that room, one without is new,
    /// one that is missing is given back.
    rooms: Option<Vec<RoomBody>>,
    /// Who comes.
    guest: Option<GuestBody>,
    /// Staff's note.
    note: Option<String>,
    /// The channel knows: needed where rooms of a channel's reservation change.
    #[serde(default)]
    #[schema(required = false)]
    told_channel: bool,
    /// What may be overridden.
    force: Option<ForceBody>,
}

/// Changes a reservation: new nights are taken before old ones go back, or nothing changes.
#[utoipa::path(patch, path = "/v1/properties/{property}/reservations/{id}", tag = "reservations",
    params(PropertyPath, ReservationPath,
        ("If-Match" = String, Header, description = "The ETag that was read")),
    request_body = ReservationChange,
    responses((status = 200, body = ReservationView, headers(("ETag" = String))), Problems))]
pub async fn change(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    if_match: IfMatch,
    body: Body<ReservationChange>,
) -> Result<Versioned<ReservationView>, Problem> {
    let version = if_match.required()?;
    let (house, body) = (&at.house, body.value);
    let mut wrongs = Wrongs::default();
    let is_empty = body.rooms.is_none() && body.guest.is_none() && body.note.is_none();
    wrongs.unless(!is_empty, "", "any of rooms, guest and note");
    wrongs.longest(body.note.as_deref(), 4_000, "/note");
    if let Some(guest) = &body.guest {
        guest.check(&mut wrongs);
    }
    let force = at.caller.force(body.force)?;
    let rooms = match body.rooms {
        None => None,
        Some(rooms) => Some(wished(house, rooms, &mut wrongs).await?),
    };
    wrongs.finish()?;
    let wanted = rooms.clone().unwrap_or_default();
    let command = Command::Modify(Box::new(Modification {
        reservation: path.id(),
        version,
        rooms,
        guest: body.guest.map(Into::into),
        note: body.note,
        told_channel: body.told_channel,
        force,
    }));
    let asked = Asked::new(house.id, at.caller.by().into(), command);
    let receipt = match state.ledger().ask(asked).await? {
        Ok(receipt) => receipt,
        Err(refusal) => return Err(turned_away(&state, house, refusal, &wanted).await),
    };
    let reservation = receipt
        .reservation
        .ok_or_else(|| Problem::not_found("reservation"))?;
    answered(&state, house, *reservation, receipt.is_replay).await
}
