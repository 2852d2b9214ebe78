//! Groups: who comes together, the rooms kept for them, and who drew from these.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::groups::{self, Group, GroupSetup};
use keyrack_ledger::tail;
use keyrack_model::stay::{StayRange, plus_days};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body, Segments};
use crate::names::House;
use crate::page::{self, Page, PageAsk};
use crate::problem::{Problem, Problems};
use crate::routes::allotments::{AllotmentView, PickupNightView};
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::view::{Persons, ReservationView};
use crate::state::ApiState;
use crate::wire::{Day, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put))
}

/// Which group.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct GroupPath {
    /// Code of the group: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    #[param(example = "wedding-rossi")]
    pub group: String,
}

/// A group as staff set it up. Its rooms are kept by allotments that name it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GroupBody {
    /// For people.
    name: String,
    /// Who speaks for it.
    contact: Option<String>,
    /// The date at whose beginning, in the hotel's zone, all that is left of its rooms falls back
    /// to free sale.
    cut_off: Option<Day>,
}

/// A group as it is.
#[derive(Debug, Serialize, ToSchema)]
struct GroupView {
    /// Its code.
    code: String,
    /// For people.
    name: String,
    /// Who speaks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    contact: Option<String>,
    /// The date at whose beginning all that is left of its rooms falls back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cut_off: Option<Day>,
    /// Counts changes; also the ETag.
    version: i64,
}

/// Everything of a group.
#[derive(Debug, Serialize, ToSchema)]
struct GroupSheetView {
    /// The group.
    #[serde(flatten)]
    group: GroupView,
    /// The rooms kept for it, in order of code.
    blocks: Vec<BlockView>,
    /// Who ever drew from them, the oldest first; at most 500.
    reservations: Vec<ReservationView>,
}

/// Rooms kept for a group.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GroupBlock)]
struct BlockView {
    /// The allotment.
    #[serde(flatten)]
    allotment: AllotmentView,
    /// How it sells, night by night.
    nights: Vec<PickupNightView>,
}

/// Creates or changes a group.
#[utoipa::path(put, path = "/v1/properties/{property}/groups/{group}", tag = "pools",
    params(PropertyPath, GroupPath), request_body = GroupBody,
    responses((status = 200, body = GroupView), (status = 201, body = GroupView), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<GroupPath>,
    IfMatch(version): IfMatch,
    body: Body<GroupBody>,
) -> Result<Versioned<GroupView>, Problem> {
    let body = body.value;
    let mut wrongs = Wrongs::default();
    wrongs.named(&body.name, 200, "/name");
    wrongs.line(body.contact.as_deref(), 500, "/contact");
    wrongs.finish()?;
    let setup = GroupSetup {
        name: body.name,
        contact: body.contact,
        cut_off: body.cut_off.map(|day| day.0),
    };
    let (ledger, house, by) = (state.ledger(), &at.house, at.caller.by());
    match groups::put(ledger, house.id, &by, &path.group, &setup, version).await? {
        Ok((group, is_new)) => Ok(Versioned::put(group.version, is_new, group.into())),
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

/// The groups of a property, in order of code.
#[utoipa::path(get, path = "/v1/properties/{property}/groups", tag = "pools",
    params(PropertyPath, PageAsk), responses((status = 200, body = Page<GroupView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<PageAsk>,
) -> Result<Json<Page<GroupView>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let after = ask.cursor.as_deref();
    let found = groups::page(state.ledger(), at.house.id, after, limit).await?;
    let page = page::cut(found, limit, |last| last.code.clone());
    Ok(Json(page.map(GroupView::from)))
}

/// A group with its rooms and who drew from them.
#[utoipa::path(get, path = "/v1/properties/{property}/groups/{group}", tag = "pools",
    params(PropertyPath, GroupPath), responses((status = 200, body = GroupSheetView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<GroupPath>,
) -> Result<Versioned<GroupSheetView>, Problem> {
    let (ledger, house) = (state.ledger(), &at.house);
    let group = found(&state, house, &path.group).await?;
    let (today, _) = tail::business_day(ledger, house.id).await?;
    let nights = StayRange::new(plus_days(today, -PAST_DAYS), plus_days(today, FUTURE_DAYS));
    let nights = nights.ok_or_else(|| Problem::not_found("group"))?;
    let sheet = groups::sheet(ledger, house.id, group.id, nights).await?;
    let rows: Vec<_> = sheet.blocks.iter().map(|(row, _)| row.clone()).collect();
    let shown: Vec<_> = sheet.reservations.iter().map(|f| &f.reservation).collect();
    let names = house.names_of_group(&rows, &shown).await?;
    let blocks = sheet.blocks.into_iter().map(|(row, nights)| BlockView {
        allotment: AllotmentView::new(row, None, &names),
        nights: nights.into_iter().map(PickupNightView::from).collect(),
    });
    let reservations = sheet.reservations.into_iter().map(|folio| {
        let (reservation, now) = (folio.reservation.clone(), folio.now);
        ReservationView::new(&reservation, Persons::of(folio), now, &names)
    });
    let version = group.version;
    let view = GroupSheetView {
        group: group.into(),
        blocks: blocks.collect(),
        reservations: reservations.collect(),
    };
    Ok(Versioned::of(version, view))
}

/// The group of a code.
pub async fn found(state: &ApiState, house: &House, code: &str) -> Result<Group, Problem> {
    let found = groups::by_code(state.ledger(), house.id, code).await?;
    found.ok_or_else(|| Problem::not_found("group"))
}

impl From<Group> for GroupView {
    fn from(group: Group) -> Self {
        Self {
            code: group.code,
            name: group.setup.name,
            contact: group.setup.contact,
            cut_off: group.setup.cut_off.map(Day),
            version: group.version,
        }
    }
}

/// What a group's sheet looks back, and ahead.
const PAST_DAYS: i32 = 60;
const FUTURE_DAYS: i32 = 2_000;
