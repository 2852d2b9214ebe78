//! What was asked for and not sold, for revenue managers.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use keyrack_ledger::turn_aways;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks};
use crate::extract::Ask;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, range};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Which arrivals.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TurnAwaysAsk {
    /// The first arrival.
    #[param(value_type = String, format = Date)]
    from: Day,
    /// The first arrival that is not meant any more.
    #[param(value_type = String, format = Date)]
    to: Day,
}

/// What was turned away.
#[derive(Debug, Serialize, ToSchema)]
struct TurnAwaysView {
    /// Room nights by reason, over the whole answer.
    room_nights_by_reason: BTreeMap<String, i64>,
    /// In order of arrival, room type and day of asking; the first 10,000.
    turn_aways: Vec<TurnAwayView>,
}

/// Wishes that were turned away for one reason.
#[derive(Debug, Serialize, ToSchema)]
struct TurnAwayView {
    /// The first night that was asked for.
    arrival: Day,
    /// Code of the room type.
    room_type: String,
    /// The day at the property on which they asked.
    asked_on: Day,
    /// Where they came from: `phone`, `walk_in`, `web`, `email`, `group`, `channel`.
    source: String,
    /// Code of the account by which they asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// `sold_out`, `closed`, `not_yet_open`, `restriction`, `needs_force` or
    /// `allotment_exhausted`.
    reason: String,
    /// How many wishes; one that is tried again counts again.
    wishes: i64,
    /// Rooms times nights.
    room_nights: i64,
}

/// What was asked for and not sold, summed by arrival, room type, day, source, account and reason.
/// Refusing writes nothing: it appears a minute later, and what a killed daemon had not added yet
/// is missing.
#[utoipa::path(get, path = "/v1/properties/{property}/turn-aways", tag = "inventory",
    params(PropertyPath, TurnAwaysAsk),
    responses((status = 200, body = TurnAwaysView), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<TurnAwaysAsk>,
) -> Result<Json<TurnAwaysView>, Problem> {
    let arrivals = range(ask.from, ask.to)?;
    let found = turn_aways::list(state.ledger(), at.house.id, arrivals, SUMS_MAX).await?;
    let names = at.house.read_names().await?;
    let mut by_reason: BTreeMap<String, i64> = BTreeMap::new();
    for one in &found {
        *by_reason.entry(one.reason.clone()).or_default() += one.room_nights;
    }
    let turn_aways = found.into_iter().map(|one| TurnAwayView {
        arrival: Day(one.arrival),
        room_type: names.room_types.shown(one.room_type),
        asked_on: Day(one.asked_on),
        source: one.source,
        account: one.account.map(|id| names.accounts.shown(id)),
        reason: one.reason,
        wishes: one.wishes,
        room_nights: one.room_nights,
    });
    Ok(Json(TurnAwaysView {
        room_nights_by_reason: by_reason,
        turn_aways: turn_aways.collect(),
    }))
}

const SUMS_MAX: u32 = 10_000;
