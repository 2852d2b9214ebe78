//! The calculation of what an account is told, line by line.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use keyrack_distribution::accounts::status;
use keyrack_distribution::accounts::told::{self, Then, ToldThen};
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
use crate::routes::accounts::told::AriView;
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, Instant};

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
    /// What had been told by this instant, and how that was worked out; left out, what would be
    /// told now.
    #[param(value_type = Option<String>, format = DateTime)]
    at: Option<Instant>,
}

/// How a number comes about.
#[derive(Debug, Serialize, ToSchema)]
struct ExplainView {
    /// In the order of the calculation; of an instant in the past, as it was made when it was
    /// told. Empty where that was not kept.
    lines: Vec<ExplainLineView>,
    /// Of an instant in the past.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    then: Option<ThenView>,
}

/// What had been told by an instant.
#[derive(Debug, Serialize, ToSchema)]
struct ThenView {
    /// The instant.
    at: Timestamp,
    /// What is known and what is not, in a sentence.
    known: String,
    /// What had been sent last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    sent: Option<ToldThenView>,
    /// What the channel had taken last, and showed, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    shown: Option<ToldThenView>,
}

/// Something that was told.
#[derive(Debug, Serialize, ToSchema)]
struct ToldThenView {
    /// What.
    values: AriView,
    /// When the change was made that it tells.
    due_at: Timestamp,
    /// When it was sent.
    sent_at: Timestamp,
    /// When the channel said that it took it, then or later; absent where it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    acknowledged_at: Option<Timestamp>,
    /// Why it was not acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
}

/// A line of a calculation.
#[derive(Debug, Serialize, ToSchema)]
struct ExplainLineView {
    /// `composition`, `pool`, `buffer_rule`, `physical_cap`, `closure`, `channel_limit`, `told` …
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

/// The calculation of what is told of a night, line by line: now, or of an instant in the past what
/// had been told by then.
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
    if let Some(Instant(instant)) = ask.at {
        let then = told::by(engine, &row, key, instant).await?;
        return Ok(Json(ExplainView::of(then, instant)));
    }
    let mut lines = tail::explain(ledger, &listing, key).await?;
    if let Some(since) = status::throttled_since(engine, row.account.id).await? {
        lines.push(ExplainLine {
            step: "throttled".to_owned(),
            why: format!(
                "since {since} the channel does not take what it is told, or cannot be asked: \
                 until it recovers it is told no more than it was"
            ),
            rooms: None,
            closed: lines.last().is_some_and(|last| last.closed),
        });
    }
    Ok(Json(ExplainView {
        lines: lines.into_iter().map(ExplainLineView::from).collect(),
        then: None,
    }))
}

impl ExplainView {
    fn of(then: Then, at: Timestamp) -> Self {
        let known = match (&then.sent, &then.taken) {
            (None, _) => {
                "nothing had been told of it by then, or it is longer ago than is kept".to_owned()
            }
            (Some(sent), _) if sent.lines.is_none() => {
                "what was told is known; how it was worked out was not kept then".to_owned()
            }
            (Some(sent), Some(taken)) if sent != taken => format!(
                "this was sent at {}, and the channel had not taken it by then: it showed what it \
                 took before",
                sent.sent_at
            ),
            (Some(sent), None) => format!(
                "this was sent at {}, and the channel had not taken it by then",
                sent.sent_at
            ),
            (Some(sent), Some(_)) => format!(
                "this was told at {}, and taken by then; the calculation is of that moment",
                sent.sent_at
            ),
        };
        let shown = then.taken.filter(|taken| then.sent.as_ref() != Some(taken));
        let lines = then.sent.as_ref().and_then(|sent| sent.lines.clone());
        Self {
            lines: (lines.into_iter().flatten())
                .map(ExplainLineView::from)
                .collect(),
            then: Some(ThenView {
                at,
                known,
                sent: then.sent.map(ToldThenView::from),
                shown: shown.map(ToldThenView::from),
            }),
        }
    }
}

impl From<ToldThen> for ToldThenView {
    fn from(told: ToldThen) -> Self {
        Self {
            values: told.values.into(),
            due_at: told.due_at,
            sent_at: told.sent_at,
            acknowledged_at: told.acknowledged_at,
            why: told.why,
        }
    }
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
