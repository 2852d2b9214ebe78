//! Cases of a time, counted.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use keyrack_ledger::overbookings::report::{self, Count};
use keyrack_model::money::{Currency, Money};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks};
use crate::extract::Ask;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, MoneyShape, range};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(report))
}

/// Which cases.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ReportAsk {
    /// Opened on this day of the property or later.
    from: Day,
    /// Opened before this day.
    to: Day,
}

/// The cases of a time, counted.
#[derive(Debug, Serialize, ToSchema)]
struct ReportView {
    /// First day.
    from: Day,
    /// End of the days, excluded.
    to: Day,
    /// All of them.
    all: CountView,
    /// By cause.
    by_cause: BTreeMap<String, CountView>,
    /// By the channel that sold; the hotel's own doing under `direct`.
    by_channel: BTreeMap<String, CountView>,
    /// By the account that sold; the hotel's own doing under `direct`.
    by_account: BTreeMap<String, CountView>,
    /// By the month in which they were opened, `YYYY-MM`.
    by_month: BTreeMap<String, CountView>,
    /// By outcome; those that are open under `open`.
    by_outcome: BTreeMap<String, CountView>,
}

/// Cases that are alike.
#[derive(Debug, Serialize, ToSchema)]
struct CountView {
    /// How many.
    cases: i64,
    /// Of these, still open.
    open: i64,
    /// Of these, past their deadline before they were resolved.
    escalated: i64,
    /// Rooms beyond, over all their nights.
    rooms: i64,
    /// What they cost, one for each currency.
    #[schema(value_type = Vec<MoneyShape>)]
    cost: Vec<Money>,
}

/// Overbooking cases by cause, channel, month and outcome, with what they cost.
#[utoipa::path(get, path = "/v1/properties/{property}/overbooking-reports", tag = "pools",
    params(PropertyPath, ReportAsk), responses((status = 200, body = ReportView), Problems))]
async fn report(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<ReportAsk>,
) -> Result<Json<ReportView>, Problem> {
    let days = range(ask.from, ask.to)?;
    let told = report::report(state.ledger(), at.house.id, days).await?;
    let each = |counts: BTreeMap<String, Count>| {
        let each = counts.into_iter();
        each.map(|(name, count)| (name, count.into())).collect()
    };
    Ok(Json(ReportView {
        from: ask.from,
        to: ask.to,
        all: told.all.into(),
        by_cause: each(told.by_cause),
        by_channel: each(told.by_channel),
        by_account: each(told.by_account),
        by_month: each(told.by_month),
        by_outcome: each(told.by_outcome),
    }))
}

impl From<Count> for CountView {
    fn from(count: Count) -> Self {
        let money = |(code, minor): (String, i64)| {
            let currency = Currency::from_code(&code)?;
            Some(Money::new(minor, currency))
        };
        Self {
            cases: count.cases,
            open: count.open,
            escalated: count.escalated,
            rooms: count.rooms,
            cost: count.cost.into_iter().filter_map(money).collect(),
        }
    }
}
