//! How far a hotel could mean to sell: computed, never applied unasked.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::decide::overbooking::forecast::ratio_permille;
use keyrack_ledger::overbookings::suggestion::{
    self, ASSUMPTIONS, History, NightSuggestion, Question, SOURCE,
};
use keyrack_model::money::{Currency, Money};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::ground;
use crate::auth::{At, Looks};
use crate::extract::Ask;
use crate::problem::sentence::sentence;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, MoneyShape, range};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(suggestion))
}

/// For what.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SuggestionAsk {
    /// Code of the room type.
    room_type: String,
    /// First night.
    from: Day,
    /// End of the nights, excluded: at most 92.
    to: Day,
    /// What a sold room is worth, a decimal in the property's currency; left out, what was paid on
    /// average in the last year.
    value: Option<String>,
    /// What a walk costs; left out, what the policy says of one night at the last moment.
    walk_cost: Option<String>,
}

/// What is suggested. Nothing is applied: put it with `PUT …/overbooking-limits`.
#[derive(Debug, Serialize, ToSchema)]
struct SuggestionView {
    /// Code of the room type.
    room_type: String,
    /// What a sold room is worth.
    #[schema(value_type = MoneyShape)]
    value: Money,
    /// What a walk costs.
    #[schema(value_type = MoneyShape)]
    walk_cost: Money,
    /// The critical ratio, value / (value + walk cost), in thousandths.
    critical_ratio_permille: i64,
    /// On what it rests.
    assumptions: Vec<&'static str>,
    /// Where the rule comes from.
    source: &'static str,
    /// Night by night.
    nights: Vec<NightSuggestionView>,
    /// What became of the stays of the last year, by lead time, source and weekday of arrival.
    history: Vec<HistoryView>,
}

/// What is suggested of a night.
#[derive(Debug, Serialize, ToSchema)]
struct NightSuggestionView {
    /// The night.
    stay_date: Day,
    /// Days ahead.
    lead_days: i32,
    /// Rooms that can be slept in.
    rooms: i32,
    /// Rooms sold.
    sold: i32,
    /// Of these, rooms that are expected to be cancelled or not to be arrived in; a decimal. Absent
    /// where the history tells nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "1.25")]
    expected_lost: Option<String>,
    /// Rooms cancelled so far, whenever they were sold.
    cancelled: i64,
    /// Rooms of guests who did not come.
    no_shows: i64,
    /// The limit that the night has.
    limit_now: i32,
    /// The limit that would be best. Absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    limit: Option<i32>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why_not: Option<String>,
}

/// What became of stays that were expected.
#[derive(Debug, Serialize, ToSchema)]
struct HistoryView {
    /// So many days before their arrival.
    lead_days: i32,
    /// From where.
    source: String,
    /// Weekday of arrival, 1 is Monday.
    weekday: i32,
    /// Stays.
    expected: i64,
    /// Of these, cancelled afterwards.
    cancelled: i64,
    /// Of these, did not come.
    no_shows: i64,
}

/// Suggests how far beyond its rooms a type could be sold, by the property's own history: expected
/// cancellations and no-shows beside the actual ones, and the newsvendor's limit.
#[utoipa::path(get, path = "/v1/properties/{property}/overbooking-limits/suggestion", tag = "pools",
    params(PropertyPath, SuggestionAsk),
    responses((status = 200, body = SuggestionView), Problems))]
async fn suggestion(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<SuggestionAsk>,
) -> Result<Json<SuggestionView>, Problem> {
    let house = &at.house;
    let ground = ground(&state, house.id).await?;
    let nights = range(ask.from, ask.to)?;
    if nights.length() > NIGHTS_MAX {
        return Err(Problem::invalid("/to", "at most 92 nights"));
    }
    let currency = ground.currency();
    let question = Question {
        room_type: house.room_type(&ask.room_type, "/room_type").await?,
        nights,
        value_minor: minor(ask.value.as_deref(), currency, "/value")?,
        walk_minor: minor(ask.walk_cost.as_deref(), currency, "/walk_cost")?,
    };
    let told = suggestion::suggest(state.ledger(), &ground, question).await?;
    let told = match told {
        Ok(told) => told,
        Err(refusal) => return Err(house.refused(refusal).await),
    };
    Ok(Json(SuggestionView {
        room_type: ask.room_type,
        value: Money::new(told.value_minor, currency),
        walk_cost: Money::new(told.walk_minor, currency),
        critical_ratio_permille: ratio_permille(told.value_minor, told.walk_minor),
        assumptions: ASSUMPTIONS.to_vec(),
        source: SOURCE,
        nights: told.nights.into_iter().map(Into::into).collect(),
        history: told.history.into_iter().map(Into::into).collect(),
    }))
}

fn minor(text: Option<&str>, currency: Currency, pointer: &str) -> Result<Option<i64>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let money = Money::from_decimal(text, currency).filter(|money| money.minor >= 0);
    let money = money.filter(|money| money.minor <= AMOUNT_MAX);
    let wrong = || Problem::invalid(pointer, "a decimal such as 120.00, not negative");
    money.map(|money| Some(money.minor)).ok_or_else(wrong)
}

impl From<NightSuggestion> for NightSuggestionView {
    fn from(night: NightSuggestion) -> Self {
        let decimal = |hundredths: i64| format!("{}.{:02}", hundredths / 100, hundredths % 100);
        Self {
            stay_date: Day(night.night),
            lead_days: night.lead_days,
            rooms: night.rooms,
            sold: night.sold,
            expected_lost: night.expected_lost_hundredths.map(decimal),
            cancelled: night.cancelled,
            no_shows: night.no_shows,
            limit_now: night.limit_now,
            limit: night.limit,
            why_not: night.why_not.map(|why| sentence(&why)),
        }
    }
}

impl From<History> for HistoryView {
    fn from(history: History) -> Self {
        Self {
            lead_days: history.lead_days,
            source: history.source,
            weekday: history.weekday,
            expected: history.expected,
            cancelled: history.cancelled,
            no_shows: history.no_shows,
        }
    }
}

/// A season: a query of the history for each lead time.
const NIGHTS_MAX: i32 = 92;
/// More than any night costs.
const AMOUNT_MAX: i64 = 1_000_000_000;
