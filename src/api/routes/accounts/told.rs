//! What an account was told of each night, and what a shop that fetches is served.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use keyrack_distribution::accounts::told::{self, ServedNight, ToldNight};
use keyrack_model::ari::{AriValues, OccupancyRate};
use keyrack_model::money::Money;
use keyrack_model::restriction::Restrictions;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks};
use crate::extract::{Ask, Segments};
use crate::page::Page;
use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::routes::accounts::account::{AccountPath, found};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, MoneyShape, range};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(told_nights))
        .routes(routes!(serve))
}

/// Which nights.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ToldAsk {
    /// First night.
    #[param(value_type = String, format = Date)]
    from: Day,
    /// The morning after the last night.
    #[param(value_type = String, format = Date)]
    to: Day,
    /// Every telling in order, not only the last of each night.
    #[serde(default)]
    #[param(required = false)]
    history: bool,
}

/// Which nights.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AriAsk {
    /// First night.
    #[param(value_type = String, format = Date)]
    from: Day,
    /// The morning after the last night.
    #[param(value_type = String, format = Date)]
    to: Day,
}

/// What may be sold of a night.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AriValues)]
pub struct AriView {
    /// Rooms; absent where a rate plan is spoken of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rooms: Option<i32>,
    /// Closed for sale.
    closed: bool,
    /// Price of the room at standard occupancy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    rate: Option<Money>,
    /// Price of the room by number of guests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<OccupancyRateShape>, required = false)]
    occupancy_rates: Vec<OccupancyRate>,
    /// Stay rules.
    #[schema(value_type = RestrictionsShape)]
    restrictions: Restrictions,
}

/// The price for a number of guests.
#[derive(Serialize, ToSchema)]
#[schema(as = OccupancyRate)]
struct OccupancyRateShape {
    /// Number of guests.
    guests: u8,
    /// For the whole room and night.
    rate: MoneyShape,
}

/// Stay rules; `null` and `false` restrict nothing.
#[derive(Serialize, ToSchema)]
#[schema(as = Restrictions)]
struct RestrictionsShape {
    /// Nights a stay must have when it arrives on this night.
    min_stay_arrival: Option<i32>,
    /// Nights a stay must have when it touches this night.
    min_stay_through: Option<i32>,
    /// Nights a stay may have at most when it arrives on this night.
    max_stay: Option<i32>,
    /// Nobody arrives on this night.
    closed_to_arrival: bool,
    /// Nobody departs on this date.
    closed_to_departure: bool,
    /// Days before the arrival from which it is too late to book.
    min_advance_days: Option<i32>,
    /// Days before the arrival from which it may be booked at the earliest.
    max_advance_days: Option<i32>,
    /// Closed for sale.
    stop_sell: bool,
}

/// What was told of a night.
#[derive(Debug, Serialize, ToSchema)]
struct ToldView {
    /// Code of the room type.
    room_type: String,
    /// Code of the rate plan; absent for the room itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_plan: Option<String>,
    /// The night.
    stay_date: Day,
    /// What was told.
    values: AriView,
    /// When the change was made that it tells.
    due_at: Timestamp,
    /// When it was sent.
    sent_at: Timestamp,
    /// When the channel said that it took it; absent while that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    acknowledged_at: Option<Timestamp>,
    /// Why it was not acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
}

/// What an account may sell of a night.
#[derive(Debug, Serialize, ToSchema)]
struct ServedView {
    /// Code of the room type.
    room_type: String,
    /// Code of the rate plan; absent for the room itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_plan: Option<String>,
    /// The night.
    stay_date: Day,
    /// What it may sell.
    values: AriView,
}

/// What an account was told last of each night, past nights too.
#[utoipa::path(get, path = "/v1/properties/{property}/accounts/{account}/told",
    tag = "channels", params(PropertyPath, AccountPath, ToldAsk),
    responses((status = 200, body = Page<ToldView>), Problems))]
async fn told_nights(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<AccountPath>,
    Ask(ask): Ask<ToldAsk>,
) -> Result<Json<Page<ToldView>>, Problem> {
    let nights = range(ask.from, ask.to)?;
    let row = found(&state, &at.house, &path).await?;
    let told = match ask.history {
        false => told::told(state.distribution(), &row, nights).await?,
        true => told::history(state.distribution(), &row, nights).await?,
    };
    Ok(Json(Page::whole(
        told.into_iter().map(ToldView::from).collect(),
    )))
}

/// What an account may sell now, for channels and shops that fetch; recorded as told.
#[utoipa::path(get, path = "/v1/properties/{property}/accounts/{account}/ari",
    tag = "channels", params(PropertyPath, AccountPath, AriAsk),
    responses((status = 200, body = Page<ServedView>), Problems))]
async fn serve(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<AccountPath>,
    Ask(ask): Ask<AriAsk>,
) -> Result<Json<Page<ServedView>>, Problem> {
    let nights = range(ask.from, ask.to)?;
    let row = found(&state, &at.house, &path).await?;
    let served = told::serve(state.distribution(), &row, nights).await?;
    let served = served.ok_or_else(|| {
        let state = row.account.state.as_str();
        let detail =
            format!("the account is {state} and is told nothing: let it go live, or resume it");
        Problem::new(Kind::IllegalTransition, detail)
    })?;
    Ok(Json(Page::whole(
        served.into_iter().map(ServedView::from).collect(),
    )))
}

impl From<AriValues> for AriView {
    fn from(values: AriValues) -> Self {
        Self {
            rooms: values.rooms,
            closed: values.closed,
            rate: values.rate,
            occupancy_rates: values.occupancy_rates,
            restrictions: values.restrictions,
        }
    }
}

impl From<ToldNight> for ToldView {
    fn from(told: ToldNight) -> Self {
        Self {
            room_type: told.room_type,
            rate_plan: told.rate_plan,
            stay_date: Day(told.night),
            values: told.values.into(),
            due_at: told.due_at,
            sent_at: told.sent_at,
            acknowledged_at: told.acknowledged_at,
            why: told.why,
        }
    }
}

impl From<ServedNight> for ServedView {
    fn from(served: ServedNight) -> Self {
        Self {
            room_type: served.room_type,
            rate_plan: served.rate_plan,
            stay_date: Day(served.night),
            values: served.values.into(),
        }
    }
}
