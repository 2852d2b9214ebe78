//! Going live: what would be told is shown before anything is.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use keyrack_distribution::accounts::go_live::{self, GoLive, GoLiveRefusal, Line};
use keyrack_ledger::catalog;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Sets};
use crate::extract::{Ask, MaybeBody, Segments};
use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::routes::accounts::account::{AccountPath, found};
use crate::routes::accounts::told::AriView;
use crate::routes::properties::PropertyPath;
use crate::routes::room_type::DryRun;
use crate::state::ApiState;
use crate::wire::Day;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(go))
}

/// How to go live.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GoLiveBody {
    /// There is nothing to import, says a person: nothing was sold before that is not here.
    #[serde(default)]
    #[schema(required = false)]
    waive_import: bool,
}

/// What going live does, or would do.
#[derive(Debug, Serialize, ToSchema)]
struct GoLiveView {
    /// Nothing was done.
    dry_run: bool,
    /// The account is live now.
    is_live: bool,
    /// What was sold before has been imported, or that was waived.
    import_done: bool,
    /// Nights by what is told of them: `open`, `closed`, `untold`; and by what stands in the way:
    /// `no_price`, `no_mapping`, `oversold`.
    counts: BTreeMap<String, i32>,
    /// What is told, per type, plan and range of nights.
    lines: Vec<GoLiveLine>,
}

/// What is told of some nights, all alike.
#[derive(Debug, Serialize, ToSchema)]
struct GoLiveLine {
    /// Code of the room type.
    room_type: String,
    /// Code of the rate plan; absent for the room itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_plan: Option<String>,
    /// First night.
    from: Day,
    /// The morning after the last night.
    to: Day,
    /// What is told; absent where nothing can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    values: Option<AriView>,
    /// What stands in the way of selling.
    #[schema(value_type = Vec<GoLiveProblem>)]
    problems: Vec<go_live::Problem>,
}

/// What stands in the way of selling some nights.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's enum in the OpenAPI document"
)]
enum GoLiveProblem {
    /// No positive rate: told closed.
    NoPrice,
    /// The type or plan has no code at the channel: told nothing.
    NoMapping,
    /// More is sold than there is.
    Oversold,
}

/// Goes live, or shows what that would tell. Nothing rises before a complete poll.
#[utoipa::path(post, path = "/v1/properties/{property}/accounts/{account}/go-live",
    tag = "channels", params(PropertyPath, AccountPath, DryRun), request_body = GoLiveBody,
    responses((status = 200, body = GoLiveView), Problems))]
async fn go(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AccountPath>,
    Ask(DryRun { dry_run }): Ask<DryRun>,
    MaybeBody(body): MaybeBody<GoLiveBody>,
) -> Result<Json<GoLiveView>, Problem> {
    let mut row = found(&state, &at.house, &path).await?;
    let by = at.caller.by();
    if body.value.waive_import && !dry_run && !row.import_done {
        catalog::set_import_done(state.ledger(), row.account.id, &by).await?;
        row = found(&state, &at.house, &path).await?;
    }
    match go_live::go_live(state.distribution(), &row, &by, dry_run).await? {
        Ok(answer) => Ok(Json(GoLiveView::new(answer, dry_run))),
        Err(refusal) => Err(refused(refusal)),
    }
}

fn refused(refusal: GoLiveRefusal) -> Problem {
    match refusal {
        GoLiveRefusal::ImportNeeded => Problem::new(
            Kind::NeedsForce,
            "the channel would be shown rooms that are taken: import what is sold already, or say \
             that there is nothing (waive_import)",
        ),
        GoLiveRefusal::NothingMapped => Problem::new(
            Kind::IllegalTransition,
            "nothing is mapped: put the account's mappings first",
        ),
        GoLiveRefusal::WrongState(state) => Problem::new(
            Kind::IllegalTransition,
            format!(
                "an account that is {} does not go live: look at its state first",
                state.as_str()
            ),
        ),
    }
}

impl GoLiveView {
    fn new(answer: GoLive, dry_run: bool) -> Self {
        let counts = go_live::counted(&answer).into_iter();
        let counts = counts.map(|(word, nights)| (word.to_owned(), nights));
        Self {
            dry_run,
            is_live: answer.is_live,
            import_done: answer.import_done,
            counts: counts.collect(),
            lines: answer.lines.into_iter().map(GoLiveLine::from).collect(),
        }
    }
}

impl From<Line> for GoLiveLine {
    fn from(line: Line) -> Self {
        Self {
            room_type: line.room_type,
            rate_plan: line.rate_plan,
            from: Day(line.nights.arrival()),
            to: Day(line.nights.departure()),
            values: line.values.map(AriView::from),
            problems: line.problems,
        }
    }
}
