//! A case ends.

use axum::extract::State;
use keyrack_ledger::keys::Role;
use keyrack_ledger::overbookings::{self, transfer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::{CasePath, ResolveBody};
use super::list::ground;
use super::verbs::answered;
use super::view::CaseView;
use crate::auth::{At, Books};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body, Segments};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::room_type::DryRun;
use crate::state::ApiState;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(resolve))
}

/// Ends a case: its guests are moved and it is closed in one change, on the very versions that were
/// read. What would leave more sold than there is is refused, but for `accepted_as_is`. Front desk;
/// what costs more than the policy lets it spend takes a manager, or his approval. A repeat answers
/// as the first did. With `dry_run` it is only asked whether it would be refused, and the case is
/// shown as it is; of a sister property, whether this house would let the guest go.
#[utoipa::path(post, path = "/v1/properties/{property}/overbooking-cases/{id}/resolve",
    tag = "pools", params(PropertyPath, CasePath, DryRun), request_body = ResolveBody,
    responses((status = 200, body = CaseView), Problems))]
async fn resolve(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<CasePath>,
    Ask(DryRun { dry_run }): Ask<DryRun>,
    IfMatch(version): IfMatch,
    body: Body<ResolveBody>,
) -> Result<Versioned<CaseView>, Problem> {
    let house = &at.house;
    let currency = ground(&state, house.id).await?.currency();
    let mut told = body.value;
    let departures = told.departures()?;
    let mut end = told.end(house, path.id(), currency).await?;
    end.version = version;
    end.rehearses = dry_run;
    end.may_approve = at.caller.key.role >= Role::Manager;
    let (ledger, by) = (state.ledger(), at.caller.by());
    let done = match departures.as_slice() {
        [] => overbookings::end(ledger, house.id, by, end).await?,
        departures => transfer::end(ledger, house.id, by, end, departures).await?,
    };
    answered(&state, house, done).await
}
