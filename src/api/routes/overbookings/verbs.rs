//! What people do with a case: assign, propose, approve, note, open again.

use axum::extract::State;
use keyrack_ledger::command::By;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::overbookings::{self, Work, case::Case};
use keyrack_model::money::Money;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::{CasePath, NOTE_MAX, ProposeBody, check_moves, minor};
use super::list::{ground, shown};
use super::view::CaseView;
use crate::auth::{At, Books, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Body, Segments};
use crate::names::House;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Instant, MoneyShape, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(assign))
        .routes(routes!(propose))
        .routes(routes!(approve))
        .routes(routes!(note))
        .routes(routes!(reopen))
}

/// Who works it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OwnerBody {
    /// A name.
    owner: String,
    /// Another deadline than the policy's; when it passes, the case escalates.
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline: Option<Instant>,
}

/// Up to which cost.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ApproveBody {
    /// So much; left out, what was proposed.
    #[schema(value_type = Option<MoneyShape>)]
    up_to: Option<Money>,
    /// In words.
    note: Option<String>,
}

/// Something to write down.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NoteBody {
    /// In words. No data of guests: a case is kept when a guest is erased.
    text: String,
}

/// Why it is opened again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReopenBody {
    /// In words.
    reason: String,
}

/// Says who works a case, and until when. Front desk.
#[utoipa::path(post, path = "/v1/properties/{property}/overbooking-cases/{id}/assign",
    tag = "pools", params(PropertyPath, CasePath), request_body = OwnerBody,
    responses((status = 200, body = CaseView), Problems))]
async fn assign(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<CasePath>,
    version: IfMatch,
    body: Body<OwnerBody>,
) -> Result<Versioned<CaseView>, Problem> {
    let told = body.value;
    let mut wrongs = Wrongs::default();
    wrongs.named(&told.owner, 80, "/owner");
    wrongs.finish()?;
    let by = at.caller.by();
    let work = work(&at.house, &path, version, &by);
    let deadline = told.deadline.map(|at| at.0);
    let done = overbookings::assign(state.ledger(), work, &told.owner, deadline).await?;
    answered(&state, &at.house, done).await
}

/// Proposes a way out, with its cost, for a manager to approve. Front desk.
#[utoipa::path(post, path = "/v1/properties/{property}/overbooking-cases/{id}/propose",
    tag = "pools", params(PropertyPath, CasePath), request_body = ProposeBody,
    responses((status = 200, body = CaseView), Problems))]
async fn propose(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<CasePath>,
    version: IfMatch,
    body: Body<ProposeBody>,
) -> Result<Versioned<CaseView>, Problem> {
    let told = body.value;
    let currency = ground(&state, at.house.id).await?.currency();
    let mut wrongs = Wrongs::default();
    let cost_minor = minor(told.cost, currency, "/cost", &mut wrongs);
    check_moves(&told.moves, &mut wrongs);
    wrongs.longest(told.note.as_deref(), NOTE_MAX, "/note");
    wrongs.finish()?;
    let by = at.caller.by();
    let proposal = json!({
        "ending": told.ending.as_str(), "moves": told.moves, "cost_minor": cost_minor,
        "note": told.note, "by": by.actor,
    });
    let work = work(&at.house, &path, version, &by);
    let done = overbookings::propose(state.ledger(), work, proposal).await?;
    answered(&state, &at.house, done).await
}

/// Approves what a way out costs: so much, or what was proposed. Manager.
#[utoipa::path(post, path = "/v1/properties/{property}/overbooking-cases/{id}/approve",
    tag = "pools", params(PropertyPath, CasePath), request_body = ApproveBody,
    responses((status = 200, body = CaseView), Problems))]
async fn approve(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<CasePath>,
    version: IfMatch,
    body: Body<ApproveBody>,
) -> Result<Versioned<CaseView>, Problem> {
    let told = body.value;
    let currency = ground(&state, at.house.id).await?.currency();
    let mut wrongs = Wrongs::default();
    let up_to = minor(told.up_to, currency, "/up_to", &mut wrongs);
    wrongs.longest(told.note.as_deref(), NOTE_MAX, "/note");
    wrongs.finish()?;
    let by = at.caller.by();
    let work = work(&at.house, &path, version, &by);
    let note = told.note.as_deref();
    let done = overbookings::approve(state.ledger(), work, up_to, note).await?;
    answered(&state, &at.house, done).await
}

/// Writes something down, also in a case that is closed. Front desk.
#[utoipa::path(post, path = "/v1/properties/{property}/overbooking-cases/{id}/note",
    tag = "pools", params(PropertyPath, CasePath), request_body = NoteBody,
    responses((status = 200, body = CaseView), Problems))]
async fn note(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<CasePath>,
    version: IfMatch,
    body: Body<NoteBody>,
) -> Result<Versioned<CaseView>, Problem> {
    let text = text(&body.value.text, "/text")?;
    let by = at.caller.by();
    let work = work(&at.house, &path, version, &by);
    let done = overbookings::note(state.ledger(), work, text).await?;
    answered(&state, &at.house, done).await
}

/// Opens a case again that was accepted as it was. Front desk.
#[utoipa::path(post, path = "/v1/properties/{property}/overbooking-cases/{id}/reopen",
    tag = "pools", params(PropertyPath, CasePath), request_body = ReopenBody,
    responses((status = 200, body = CaseView), Problems))]
async fn reopen(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<CasePath>,
    version: IfMatch,
    body: Body<ReopenBody>,
) -> Result<Versioned<CaseView>, Problem> {
    let reason = text(&body.value.reason, "/reason")?;
    let by = at.caller.by();
    let work = work(&at.house, &path, version, &by);
    let done = overbookings::reopen(state.ledger(), work, reason).await?;
    answered(&state, &at.house, done).await
}

fn work<'a>(house: &House, path: &CasePath, IfMatch(version): IfMatch, by: &'a By) -> Work<'a> {
    Work {
        property: house.id,
        case: path.id(),
        by,
        version,
    }
}

fn text<'a>(text: &'a str, pointer: &str) -> Result<&'a str, Problem> {
    let mut wrongs = Wrongs::default();
    wrongs.unless(!text.trim().is_empty(), pointer, "must not be empty");
    wrongs.longest(Some(text), NOTE_MAX, pointer);
    wrongs.finish()?;
    Ok(text)
}

/// The case after it, or why not.
pub async fn answered(
    state: &ApiState,
    house: &House,
    done: Result<Case, Refusal>,
) -> Result<Versioned<CaseView>, Problem> {
    match done {
        Ok(case) => shown(state, house.id, case).await,
        Err(refusal) => Err(house.refused(refusal).await),
    }
}
