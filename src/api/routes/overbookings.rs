//! The overbooking-resolution queue, to be read.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use keyrack_ledger::overbookings::{self, Case};
use keyrack_model::id::CaseId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Looks};
use crate::conditional::Versioned;
use crate::edge;
use crate::extract::{Ask, Segments};
use crate::page::{self, Page};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::Day;

/// The routes of this file. Opening a case by hand is not there yet, and says so like every other
/// path that is not.
pub fn routes() -> OpenApiRouter<ApiState> {
    let by_hand = "/v1/properties/{property}/overbooking-cases";
    OpenApiRouter::new()
        .routes(routes!(list))
        .route(by_hand, axum::routing::post(edge::no_such_path))
        .routes(routes!(show))
}

/// Which case.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct CasePath {
    /// Its id.
    id: i64,
}

/// Which cases.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CasesAsk {
    /// Only these; all where it is not said.
    #[param(inline)]
    status: Option<CaseStatus>,
    /// At most so many; 100 where it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Where a case stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CaseStatus {
    /// A night is still beyond.
    Open,
    /// Cured or resolved.
    Closed,
}

/// A case: oversold nights, why, and who is concerned.
#[derive(Debug, Serialize, ToSchema)]
struct CaseView {
    /// Its id.
    id: i64,
    /// Code of the room type.
    room_type: String,
    /// Where it stands.
    status: String,
    /// Why, as far as known: `undetermined`, `sold_before_close_could_arrive`, `push_failed`,
    /// `unmapped`, `channel_reopened`, `staff_forced`, `capacity_cut`, `meant`.
    cause: String,
    /// What was told when, when the guest booked, when we heard.
    #[schema(value_type = Object)]
    evidence: serde_json::Value,
    /// When it was opened.
    opened_at: Timestamp,
    /// When it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    closed_at: Option<Timestamp>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outcome: Option<String>,
    /// Its nights.
    nights: Vec<CaseNightView>,
    /// Reservations on its nights, in order of booking.
    concerned: Vec<Uuid>,
    /// What happened to it, in order.
    events: Vec<CaseEventView>,
    /// Counts changes; also the ETag.
    version: i64,
}

/// A night of a case.
#[derive(Debug, Serialize, ToSchema)]
struct CaseNightView {
    /// The night.
    stay_date: Day,
    /// Rooms beyond what can be slept in, when it was opened.
    rooms: i32,
    /// When a cancellation or a change cured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cured_at: Option<Timestamp>,
}

/// Something that happened to a case.
#[derive(Debug, Serialize, ToSchema)]
struct CaseEventView {
    /// What.
    kind: String,
    /// Who.
    actor: String,
    /// With which numbers.
    #[schema(value_type = Object)]
    detail: serde_json::Value,
    /// When.
    at: Timestamp,
}

/// The cases of a property, newest first.
#[utoipa::path(get, path = "/v1/properties/{property}/overbooking-cases", tag = "pools",
    params(PropertyPath, CasesAsk), responses((status = 200, body = Page<CaseView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<CasesAsk>,
) -> Result<Json<Page<CaseView>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let only_open = ask.status == Some(CaseStatus::Open);
    let mut cases = overbookings::list(state.ledger(), at.house.id, only_open, limit).await?;
    if ask.status == Some(CaseStatus::Closed) {
        cases.retain(|case| case.status == "closed");
    }
    Ok(Json(Page::whole(
        cases.into_iter().map(CaseView::from).collect(),
    )))
}

/// A case.
#[utoipa::path(get, path = "/v1/properties/{property}/overbooking-cases/{id}", tag = "pools",
    params(PropertyPath, CasePath), responses((status = 200, body = CaseView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<CasePath>,
) -> Result<Versioned<CaseView>, Problem> {
    let case = overbookings::load(state.ledger(), at.house.id, CaseId(path.id)).await?;
    let case = case.ok_or_else(|| Problem::not_found("overbooking case"))?;
    Ok(Versioned::of(case.version, case.into()))
}

impl From<Case> for CaseView {
    fn from(case: Case) -> Self {
        let nights = case.nights.into_iter();
        let events = case.events.into_iter();
        Self {
            id: case.id.0,
            room_type: case.room_type,
            status: case.status,
            cause: case.cause,
            evidence: case.evidence,
            opened_at: case.opened_at,
            closed_at: case.closed_at,
            outcome: case.outcome,
            nights: nights
                .map(|(night, rooms, cured_at)| CaseNightView {
                    stay_date: Day(night),
                    rooms,
                    cured_at,
                })
                .collect(),
            concerned: case.concerned.into_iter().map(|id| id.0).collect(),
            events: events
                .map(|(kind, actor, detail, at)| CaseEventView {
                    kind,
                    actor,
                    detail,
                    at,
                })
                .collect(),
            version: case.version,
        }
    }
}
