//! The verbs of a reservation: confirm, cancel, extend, check-in, check-out, no-show, undo, assign,
//! move. A repeat answers as the first did.

use axum::extract::State;
use keyrack_ledger::command::{Asked, Command, HoldEnd, Progress};
use keyrack_ledger::reservations::{self, AutoRoom};
use keyrack_model::id::RoomStayId;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Books};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Body, MaybeBody, Segments};
use crate::idempotency::Repeat;
use crate::names::House;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::create::SECONDS_MAX;
use crate::routes::reservations::one::{ReservationPath, answered, folio, shown};
use crate::routes::reservations::view::ReservationView;
use crate::state::ApiState;
use crate::wire::{Instant, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(confirm))
        .routes(routes!(cancel))
        .routes(routes!(extend))
        .routes(routes!(check_in))
        .routes(routes!(check_out))
        .routes(routes!(no_show))
        .routes(routes!(undo))
        .routes(routes!(assign))
        .routes(routes!(move_room))
}

/// What pays a hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ConfirmBody {
    /// The payment's reference: a repeat with the same is the same confirm.
    payment_reference: Option<String>,
}

/// Why it is cancelled.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CancelBody {
    /// Why.
    reason: Option<String>,
    /// The channel knows: needed for a channel's reservation.
    #[serde(default)]
    #[schema(required = false)]
    told_channel: bool,
}

/// How much longer; neither: the property's hold time from now.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ExtendBody {
    /// So many seconds from now.
    #[schema(minimum = 1)]
    hold_seconds: Option<u32>,
    /// Or until this instant.
    #[schema(value_type = Option<String>, format = DateTime)]
    hold_until: Option<Instant>,
}

/// What becomes of the other nights.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NoShowBody {
    /// `true` keeps the other nights, `false` lets them go; left out, the property's rule says.
    keep: Option<bool>,
}

/// Nothing to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EmptyBody {}

/// Which room stay gets a room.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AssignBody {
    /// Left out: the only room stay of the reservation.
    room_stay_id: Option<i32>,
    /// Code of the room; left out, any that is free for the whole stay.
    room: Option<String>,
}

/// Where a room stay moves to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MoveBody {
    /// Left out: the only room stay of the reservation.
    room_stay_id: Option<i32>,
    /// Code of the room; `null` takes the stay out of its room.
    #[serde(deserialize_with = "crate::wire::present")]
    #[schema(value_type = Option<String>)]
    room: Option<Option<String>>,
}

/// A hold becomes a stay.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/confirm",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = ConfirmBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn confirm(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    IfMatch(version): IfMatch,
    repeat: Repeat,
    MaybeBody(body): MaybeBody<ConfirmBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let payment_reference = body.value.payment_reference;
    let mut wrongs = Wrongs::default();
    wrongs.longest(payment_reference.as_deref(), 200, "/payment_reference");
    wrongs.finish()?;
    let command = Command::Confirm {
        reservation: path.id(),
        payment_reference,
        version,
    };
    ask(&state, &at, command, &repeat, &body.bytes).await
}

/// The rooms come back, once, however often it is asked.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/cancel",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = CancelBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn cancel(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    IfMatch(version): IfMatch,
    repeat: Repeat,
    MaybeBody(body): MaybeBody<CancelBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let CancelBody {
        reason,
        told_channel,
    } = body.value;
    let mut wrongs = Wrongs::default();
    wrongs.longest(reason.as_deref(), 500, "/reason");
    wrongs.finish()?;
    let command = Command::Cancel {
        reservation: path.id(),
        reason,
        told_channel,
        version,
    };
    ask(&state, &at, command, &repeat, &body.bytes).await
}

/// A hold lives longer.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/extend",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = ExtendBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn extend(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    IfMatch(version): IfMatch,
    repeat: Repeat,
    MaybeBody(body): MaybeBody<ExtendBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let until = match (body.value.hold_seconds, body.value.hold_until) {
        (None, None) => HoldEnd::Default,
        (Some(seconds), None) if (1..=SECONDS_MAX).contains(&seconds) => HoldEnd::Seconds(seconds),
        (Some(_), None) => return Err(Problem::invalid("/hold_seconds", "1 to 31,536,000")),
        (None, Some(until)) => HoldEnd::Until(until.0),
        (Some(_), Some(_)) => {
            let message = "hold_seconds or hold_until, not both";
            return Err(Problem::invalid("/hold_until", message));
        }
    };
    let command = Command::Extend {
        reservation: path.id(),
        until,
        version,
    };
    ask(&state, &at, command, &repeat, &body.bytes).await
}

/// The guest is in the house.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/check-in",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = EmptyBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn check_in(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    version: IfMatch,
    repeat: Repeat,
    MaybeBody(body): MaybeBody<EmptyBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let command = progress(&path, Progress::CheckIn, version);
    ask(&state, &at, command, &repeat, &body.bytes).await
}

/// The guest left; an early departure gives back the nights from the present business day.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/check-out",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = EmptyBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn check_out(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    version: IfMatch,
    repeat: Repeat,
    MaybeBody(body): MaybeBody<EmptyBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let command = progress(&path, Progress::CheckOut, version);
    ask(&state, &at, command, &repeat, &body.bytes).await
}

/// The guest did not come.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/no-show",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = NoShowBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn no_show(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    version: IfMatch,
    repeat: Repeat,
    MaybeBody(body): MaybeBody<NoShowBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let keep = body.value.keep;
    let command = progress(&path, Progress::NoShow { keep }, version);
    ask(&state, &at, command, &repeat, &body.bytes).await
}

/// Back to what it was before the last step; a check-out only within its business day.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/undo",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = EmptyBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn undo(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    version: IfMatch,
    repeat: Repeat,
    MaybeBody(body): MaybeBody<EmptyBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let command = progress(&path, Progress::Undo, version);
    ask(&state, &at, command, &repeat, &body.bytes).await
}

/// Puts a room stay into a room.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/assign",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = AssignBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn assign(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    version: IfMatch,
    MaybeBody(body): MaybeBody<AssignBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let room = body.value.room.map_or(AutoRoom::Any, AutoRoom::Room);
    put(&state, &at, &path, body.value.room_stay_id, room, version).await
}

/// Moves a room stay to another room, or out of its room.
#[utoipa::path(post, path = "/v1/properties/{property}/reservations/{id}/move",
    tag = "reservations", params(PropertyPath, ReservationPath), request_body = MoveBody,
    responses((status = 200, body = ReservationView), Problems))]
async fn move_room(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<ReservationPath>,
    version: IfMatch,
    body: Body<MoveBody>,
) -> Result<Versioned<ReservationView>, Problem> {
    let room = body.value.room.flatten();
    let room = room.map_or(AutoRoom::Nothing, AutoRoom::Room);
    put(&state, &at, &path, body.value.room_stay_id, room, version).await
}

fn progress(path: &ReservationPath, step: Progress, IfMatch(version): IfMatch) -> Command {
    Command::Progress {
        reservation: path.id(),
        step,
        version,
    }
}

async fn ask(
    state: &ApiState,
    at: &At<Books>,
    command: Command,
    repeat: &Repeat,
    body: &[u8],
) -> Result<Versioned<ReservationView>, Problem> {
    let house: &House = &at.house;
    let mut asked = Asked::new(house.id, at.caller.by().into(), command);
    asked.idempotency = repeat.known(&at.caller, body);
    let receipt = match state.ledger().ask(asked).await? {
        Ok(receipt) => receipt,
        Err(refusal) => return Err(house.refused(refusal).await),
    };
    let reservation = receipt
        .reservation
        .ok_or_else(|| Problem::not_found("reservation"))?;
    answered(state, house, *reservation, receipt.is_replay).await
}

async fn put(
    state: &ApiState,
    at: &At<Books>,
    path: &ReservationPath,
    room_stay: Option<i32>,
    room: AutoRoom,
    IfMatch(version): IfMatch,
) -> Result<Versioned<ReservationView>, Problem> {
    let house: &House = &at.house;
    let room_stay = match room_stay {
        Some(id) => RoomStayId(id),
        None => {
            let folio = folio(state, house, path.id()).await?;
            let mut rooms = folio.reservation.present_rooms().map(|room| room.id);
            match (rooms.next(), rooms.next()) {
                (Some(only), None) => only,
                _ => return Err(Problem::invalid("/room_stay_id", "say which of its rooms")),
            }
        }
    };
    let (ledger, id, by) = (state.ledger(), path.id(), at.caller.by());
    match reservations::assign(ledger, house.id, by, id, room_stay, room, version).await? {
        Ok(()) => shown(house, folio(state, house, id).await?).await,
        Err(refusal) => Err(house.refused(refusal).await),
    }
}
