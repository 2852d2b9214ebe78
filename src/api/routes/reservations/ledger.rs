//! The ledger for people: everything that was written of a reservation, or of a night.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use keyrack_ledger::inventory;
use keyrack_ledger::reservations::{self, EntryLine};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Looks};
use crate::extract::Segments;
use crate::names::Names;
use crate::page::Page;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::one::{ReservationPath, folio};
use crate::state::ApiState;
use crate::wire::Day;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(of_reservation))
        .routes(routes!(of_night))
}

/// Which night of which room type.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct NightPath {
    /// Code of the room type.
    room_type: String,
    /// The night.
    #[param(value_type = String, format = Date)]
    stay_date: Day,
}

/// A line of the ledger: rooms moved from one pool to another, or what happened.
#[derive(Debug, Serialize, ToSchema)]
struct EntryView {
    /// When.
    at: Timestamp,
    /// Who.
    actor: String,
    /// The request that brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    request_id: Option<String>,
    /// Lines of one command share it.
    command_id: Uuid,
    /// What.
    kind: String,
    /// Of which reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reservation: Option<Uuid>,
    /// And which version of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    version: Option<i64>,
    /// Code of the room type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    room_type: Option<String>,
    /// First night.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    from: Option<Day>,
    /// The morning after the last night.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    to: Option<Day>,
    /// Rooms moved on each night; 0 tells only.
    quantity: i32,
    /// From which pool: `outside`, `limit`, `free`, `out_of_order`, `held`, `sold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    from_pool: Option<String>,
    /// To which pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    to_pool: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Everything that was written of a reservation, in order.
#[utoipa::path(get, path = "/v1/properties/{property}/reservations/{id}/ledger",
    tag = "reservations", params(PropertyPath, ReservationPath),
    responses((status = 200, body = Page<EntryView>), Problems))]
async fn of_reservation(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<ReservationPath>,
) -> Result<Json<Page<EntryView>>, Problem> {
    let entries = reservations::entries(state.ledger(), at.house.id, path.id()).await?;
    if entries.is_empty() {
        // Nothing written may also be nothing there.
        folio(&state, &at.house, path.id()).await?;
    }
    Ok(Json(shown(entries)))
}

/// Everything that was written of a night, in order: its sum is the night.
#[utoipa::path(get, path = "/v1/properties/{property}/nights/{room_type}/{stay_date}/ledger",
    tag = "reservations", params(PropertyPath, NightPath),
    responses((status = 200, body = Page<EntryView>), Problems))]
async fn of_night(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<NightPath>,
) -> Result<Json<Page<EntryView>>, Problem> {
    let knows = |names: &Names| names.room_types.id(&path.room_type).is_some();
    let names = at.house.names_with(knows).await?;
    let room_type = names.room_types.id(&path.room_type);
    let room_type = room_type.ok_or_else(|| Problem::not_found("room type"))?;
    let (house, night) = (at.house.id, path.stay_date.0);
    let entries = inventory::entries(state.ledger(), house, room_type, night).await?;
    Ok(Json(shown(entries)))
}

fn shown(entries: Vec<EntryLine>) -> Page<EntryView> {
    Page::whole(entries.into_iter().map(EntryView::from).collect())
}

impl From<EntryLine> for EntryView {
    fn from(line: EntryLine) -> Self {
        Self {
            at: line.at,
            actor: line.actor,
            request_id: line.request_id,
            command_id: line.command_id,
            kind: line.kind,
            reservation: line.reservation.map(|id| id.0),
            version: line.version,
            room_type: line.room_type,
            from: line.from.map(Day),
            to: line.to.map(Day),
            quantity: line.quantity,
            from_pool: line.from_pool,
            to_pool: line.to_pool,
            reason: line.reason,
        }
    }
}
