//! The calculation of what an account is told, line by line.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::catalog;
use keyrack_ledger::tail::{self, ExplainLine, Listing};
use keyrack_model::ari::AriKey;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks};
use crate::extract::Ask;
use crate::names::Names;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::Day;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(explain))
}

/// Which cell of which account.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExplainAsk {
    /// Code of the account.
    account: String,
    /// Code of the room type.
    room_type: String,
    /// The night.
    #[param(value_type = String, format = Date)]
    stay_date: Day,
    /// Code of the rate plan; left out, the room itself.
    rate_plan: Option<String>,
}

/// How a number comes about.
#[derive(Debug, Serialize, ToSchema)]
struct ExplainView {
    /// In the order of the calculation.
    lines: Vec<ExplainLineView>,
}

/// A line of a calculation.
#[derive(Debug, Serialize, ToSchema)]
struct ExplainLineView {
    /// `pool`, `buffer_rule`, `physical_cap`, `closure`, `channel_limit`, `told` …
    step: String,
    /// In words, with the numbers.
    why: String,
    /// Rooms after this step, where it speaks of rooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rooms: Option<i32>,
    /// Closed after this step.
    closed: bool,
}

/// The calculation of what is told of a night, line by line.
#[utoipa::path(get, path = "/v1/properties/{property}/explain", tag = "channels",
    params(PropertyPath, ExplainAsk), responses((status = 200, body = ExplainView), Problems))]
async fn explain(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<ExplainAsk>,
) -> Result<Json<ExplainView>, Problem> {
    let house = &at.house;
    let room_type = house.room_type(&ask.room_type, "/room_type").await?;
    let rate_plan = match &ask.rate_plan {
        None => None,
        Some(code) => {
            let knows = |names: &Names| names.rate_plans.id(code).is_some();
            let names = house.names_with(knows).await?;
            let found = names.rate_plans.id(code);
            Some(found.ok_or_else(|| Problem::invalid("/rate_plan", "no such rate plan"))?)
        }
    };
    let (ledger, engine) = (state.ledger(), state.distribution());
    let row = keyrack_distribution::accounts::find(engine, house.id, &ask.account).await?;
    let row = row.ok_or_else(|| Problem::invalid("/account", "no such account"))?;
    let (mappings, _) = catalog::mappings(ledger, row.account.id).await?;
    let adapter = engine.channels().adapter(&row.account.channel)?;
    let listing = Listing {
        account: &row.account,
        mappings: &mappings,
        capabilities: adapter.capabilities(),
    };
    let key = AriKey {
        room_type,
        rate_plan,
        night: ask.stay_date.0,
    };
    let lines = tail::explain(ledger, &listing, key).await?;
    Ok(Json(ExplainView {
        lines: lines.into_iter().map(ExplainLineView::from).collect(),
    }))
}

impl From<ExplainLine> for ExplainLineView {
    fn from(line: ExplainLine) -> Self {
        Self {
            step: line.step,
            why: line.why,
            rooms: line.rooms,
            closed: line.closed,
        }
    }
}
