//! The verbs of an account: resync, pause, resume, close, test. A repeat changes nothing.

use axum::Json;
use axum::extract::State;
use keyrack_distribution::accounts;
use keyrack_distribution::accounts::lifecycle::{self, StateRefusal};
use keyrack_model::adapter::{Outcome, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Sets};
use crate::conditional::Versioned;
use crate::extract::{MaybeBody, Segments};
use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::routes::accounts::account::{AccountPath, found};
use crate::routes::accounts::view::AccountView;
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::Wrongs;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(resync))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(close))
        .routes(routes!(test))
}

/// Why, and whether it is meant although open nights stand told.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PauseBody {
    /// Why.
    reason: Option<String>,
    /// Pauses although open nights stand told there: they would be sold on stale numbers.
    #[serde(default)]
    #[schema(required = false)]
    force: bool,
}

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReasonBody {
    /// Why.
    reason: Option<String>,
}

/// What the channel said.
#[derive(Debug, Serialize, ToSchema)]
struct VerdictView {
    /// `accepted`, `partly`, `later`, `unauthenticated`, `refused`, `stale`.
    outcome: &'static str,
    /// In the channel's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
    /// The channel's own id of the exchange, for its support.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    trace: Option<String>,
}

/// Tells an account everything again, soon.
#[utoipa::path(post, path = "/v1/properties/{property}/accounts/{account}/resync",
    tag = "channels", params(PropertyPath, AccountPath),
    responses((status = 200, body = AccountView), Problems))]
async fn resync(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AccountPath>,
) -> Result<Versioned<AccountView>, Problem> {
    let row = found(&state, &at.house, &path).await?;
    let done = lifecycle::resync(state.distribution(), &row).await?;
    answered(&state, &at, &path, done).await
}

/// Stops pushes, never intake.
#[utoipa::path(post, path = "/v1/properties/{property}/accounts/{account}/pause",
    tag = "channels", params(PropertyPath, AccountPath), request_body = PauseBody,
    responses((status = 200, body = AccountView), Problems))]
async fn pause(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AccountPath>,
    MaybeBody(body): MaybeBody<PauseBody>,
) -> Result<Versioned<AccountView>, Problem> {
    let PauseBody { reason, force } = body.value;
    let reason = checked(reason)?;
    let row = found(&state, &at.house, &path).await?;
    let (by, reason) = (at.caller.by(), reason.as_deref());
    let done = lifecycle::pause(state.distribution(), &row, &by, reason, force).await?;
    answered(&state, &at, &path, done).await
}

/// Tells again; nothing rises before a complete poll begun from now on.
#[utoipa::path(post, path = "/v1/properties/{property}/accounts/{account}/resume",
    tag = "channels", params(PropertyPath, AccountPath),
    responses((status = 200, body = AccountView), Problems))]
async fn resume(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AccountPath>,
) -> Result<Versioned<AccountView>, Problem> {
    let row = found(&state, &at.house, &path).await?;
    let done = lifecycle::resume(state.distribution(), &row, &at.caller.by()).await?;
    answered(&state, &at, &path, done).await
}

/// Tells zero and closed everywhere, and keeps taking bookings in.
#[utoipa::path(post, path = "/v1/properties/{property}/accounts/{account}/close",
    tag = "channels", params(PropertyPath, AccountPath), request_body = ReasonBody,
    responses((status = 200, body = AccountView), Problems))]
async fn close(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AccountPath>,
    MaybeBody(body): MaybeBody<ReasonBody>,
) -> Result<Versioned<AccountView>, Problem> {
    let reason = checked(body.value.reason)?;
    let row = found(&state, &at.house, &path).await?;
    let (by, reason) = (at.caller.by(), reason.as_deref());
    let done = lifecycle::close(state.distribution(), &row, &by, reason).await?;
    answered(&state, &at, &path, done).await
}

/// Asks the channel whether the login is good and the hotel is known there.
#[utoipa::path(post, path = "/v1/properties/{property}/accounts/{account}/test",
    tag = "channels", params(PropertyPath, AccountPath),
    responses((status = 200, body = VerdictView), Problems))]
async fn test(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AccountPath>,
) -> Result<Json<VerdictView>, Problem> {
    let row = found(&state, &at.house, &path).await?;
    let verdict = accounts::test(state.distribution(), &row).await?;
    Ok(Json(verdict.into()))
}

fn checked(reason: Option<String>) -> Result<Option<String>, Problem> {
    let mut wrongs = Wrongs::default();
    wrongs.longest(reason.as_deref(), 500, "/reason");
    wrongs.finish()?;
    Ok(reason)
}

async fn answered(
    state: &ApiState,
    at: &At<Sets>,
    path: &AccountPath,
    done: Result<(), StateRefusal>,
) -> Result<Versioned<AccountView>, Problem> {
    done.map_err(refused)?;
    let row = found(state, &at.house, path).await?;
    let version = row.version;
    let view = AccountView::load(state.distribution(), row).await?;
    Ok(Versioned::of(version, view))
}

fn refused(refusal: StateRefusal) -> Problem {
    match refusal {
        StateRefusal::WrongState(state) => {
            let detail = format!(
                "this cannot be done with an account that is {}: look at its state first",
                state.as_str()
            );
            Problem::new(Kind::IllegalTransition, detail)
        }
        StateRefusal::OpenNightsTold(nights) => {
            let detail = format!(
                "{nights} nights stand told open and would be sold on stale numbers: close the \
                 account, or force it"
            );
            Problem::new(Kind::NeedsForce, detail)
        }
    }
}

impl From<Verdict> for VerdictView {
    fn from(verdict: Verdict) -> Self {
        Self {
            outcome: match verdict.outcome {
                Outcome::Accepted => "accepted",
                Outcome::Partly => "partly",
                Outcome::Later { .. } => "later",
                Outcome::Unauthenticated => "unauthenticated",
                Outcome::Refused => "refused",
                Outcome::Stale => "stale",
            },
            why: verdict.why,
            trace: verdict.trace,
        }
    }
}
