//! Cases, to be read, and one opened by hand.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::overbookings;
use keyrack_ledger::overbookings::advice;
use keyrack_ledger::overbookings::case::{self, Case, Listed};
use keyrack_ledger::overbookings::ground::Ground;
use keyrack_model::id::{CaseId, PropertyId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::{CasePath, NOTE_MAX};
use super::view::CaseView;
use crate::auth::{At, Books, Looks};
use crate::conditional::Versioned;
use crate::extract::{Ask, Body, Segments};
use crate::page::{self, Page};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, Wrongs, range};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, open))
        .routes(routes!(show))
}

/// Which cases.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CasesAsk {
    /// Only these; all where it is not said.
    #[param(inline)]
    status: Option<CaseStatus>,
    /// At most so many; 100 where it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Where a case stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CaseStatus {
    /// A night is still beyond.
    Open,
    /// Cured or resolved.
    Closed,
}

/// A case that is opened by hand.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OpenBody {
    /// Code of the room type.
    room_type: String,
    /// First night.
    from: Day,
    /// End of the nights, excluded.
    to: Day,
    /// Why.
    note: Option<String>,
}

/// The cases of a property, newest first.
#[utoipa::path(get, path = "/v1/properties/{property}/overbooking-cases", tag = "pools",
    params(PropertyPath, CasesAsk), responses((status = 200, body = Page<CaseView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<CasesAsk>,
) -> Result<Json<Page<CaseView>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let listed = Listed {
        is_open: ask.status.map(|status| status == CaseStatus::Open),
        before: page::after(ask.cursor.as_deref())?.map(CaseId),
        limit,
    };
    let ground = ground(&state, at.house.id).await?;
    let cases = case::list(state.ledger(), at.house.id, listed).await?;
    let page = page::cut(cases, limit, |last| last.id.to_string());
    let items = page.items.into_iter();
    Ok(Json(Page {
        items: items.map(|case| CaseView::of(case, &ground)).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// A case: why, who is moved, what can be done and what it costs.
#[utoipa::path(get, path = "/v1/properties/{property}/overbooking-cases/{id}", tag = "pools",
    params(PropertyPath, CasePath), responses((status = 200, body = CaseView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<CasePath>,
) -> Result<Versioned<CaseView>, Problem> {
    let case = case::load(state.ledger(), at.house.id, path.id()).await?;
    let case = case.ok_or_else(|| Problem::not_found("overbooking case"))?;
    shown(&state, at.house.id, case).await
}

/// Opens a case by hand, for nights that are beyond what can be slept in although they were meant
/// to be; all others have one by themselves. Front desk.
#[utoipa::path(post, path = "/v1/properties/{property}/overbooking-cases", tag = "pools",
    params(PropertyPath), request_body = OpenBody,
    responses((status = 201, body = CaseView), Problems))]
async fn open(
    State(state): State<ApiState>,
    at: At<Books>,
    body: Body<OpenBody>,
) -> Result<Versioned<CaseView>, Problem> {
    let house = &at.house;
    let told = body.value;
    let mut wrongs = Wrongs::default();
    wrongs.longest(told.note.as_deref(), NOTE_MAX, "/note");
    wrongs.finish()?;
    let nights = range(told.from, told.to)?;
    let room_type = house.room_type(&told.room_type, "/room_type").await?;
    let (ledger, by) = (state.ledger(), at.caller.by());
    let note = told.note.as_deref();
    let opened = overbookings::open_by_hand(ledger, house.id, by, (room_type, nights), note);
    match opened.await? {
        Ok(case) => {
            let location = format!(
                "/v1/properties/{}/overbooking-cases/{}",
                house.code, case.id
            );
            let view = shown(&state, house.id, case).await?;
            Ok(Versioned {
                is_new: true,
                location: Some(location),
                ..view
            })
        }
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

/// A case with what to do about it.
pub async fn shown(
    state: &ApiState,
    property: PropertyId,
    case: Case,
) -> Result<Versioned<CaseView>, Problem> {
    let ground = ground(state, property).await?;
    let advice = advice::advise(state.ledger(), &ground, &case).await?;
    let view = CaseView::advised(case, &ground, advice);
    Ok(Versioned::of(view.version, view))
}

/// What the cases of a property are judged by.
pub async fn ground(state: &ApiState, property: PropertyId) -> Result<Ground, Problem> {
    let ground = Ground::of(state.ledger(), property).await?;
    ground.ok_or_else(|| Problem::not_found("property"))
}
