//! Allotments: rooms kept for one account or one group by agreement, and how they sell.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::allotments::{self, AllotmentRow, Put};
use keyrack_ledger::decide::allotment::{AgreedRooms, Owner};
use keyrack_ledger::tail;
use keyrack_model::allotment::{AllotmentNight, Release};
use keyrack_model::stay::{StayDate, StayRange, Weekdays, plus_days};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body, Segments};
use crate::names::{House, Names};
use crate::page::{self, Page, PageAsk};
use crate::problem::{Problem, Problems};
use crate::routes::hits::{HitsView, on_short_nights};
use crate::routes::properties::PropertyPath;
use crate::routes::rates::WeekdayShape;
use crate::routes::room_type::{DryRun, ShortNightView, short_nights};
use crate::state::ApiState;
use crate::wire::{Day, ForceBody, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put))
        .routes(routes!(pickup))
}

/// Which allotment.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct AllotmentPath {
    /// Code of the allotment: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    #[param(example = "tour-2030")]
    allotment: String,
}

/// An allotment as it is agreed. Its nights from today on are those of the values and no others:
/// fewer rooms, or a night that is left out, go back to free sale.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AllotmentBody {
    /// Code of the account that it is kept for; never another one. This or `group`.
    account: Option<String>,
    /// Code of the group that it is kept for.
    group: Option<String>,
    /// Code of a plain room type; never another one.
    room_type: String,
    /// At most 500. Where two bind a night, the later one says.
    values: Vec<AgreedBody>,
    /// Days before the stay date at whose midnight, in the hotel's zone, what is unsold falls back
    /// to free sale.
    #[schema(minimum = 0, maximum = 2000)]
    release_period_days: i32,
    /// The date at whose beginning all that is unsold falls back.
    cut_off: Option<Day>,
    /// More rooms than are free take `oversell`, fewer than are taken `allotment`.
    force: Option<ForceBody>,
}

/// Rooms that are agreed over nights.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgreedRooms)]
pub struct AgreedBody {
    /// First night.
    from: Day,
    /// The morning after the last night.
    to: Day,
    /// Only these weekdays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<WeekdayShape>>, nullable = false)]
    weekdays: Option<Weekdays>,
    /// How many rooms a night.
    #[schema(minimum = 0)]
    rooms: i32,
}

/// An allotment as it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct AllotmentView {
    /// Its code.
    code: String,
    /// Code of the account that it is kept for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// Code of the group that it is kept for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    group: Option<String>,
    /// Code of its room type.
    room_type: String,
    /// Days before the stay date at whose midnight what is unsold falls back.
    release_period_days: i32,
    /// The date at whose beginning all that is unsold falls back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cut_off: Option<Day>,
    /// What is agreed from today on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    values: Option<Vec<AgreedBody>>,
    /// Counts changes; also the ETag.
    version: i64,
}

/// What a change of an allotment did, or would do.
#[derive(Debug, Serialize, ToSchema)]
struct AllotmentChangeView {
    /// The allotment as it is; absent in the dry run of a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    allotment: Option<AllotmentView>,
    /// Nothing was done.
    dry_run: bool,
    /// Nights on which fewer rooms are free than are newly kept, or more is taken than is agreed,
    /// with the rooms that are wanting.
    short: Vec<ShortNightView>,
    /// Whom it would hit on these nights; in a dry run, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hits: Option<HitsView>,
}

/// Agrees rooms for an account or a group. They leave free sale at once, and what is unsold comes
/// back `release_period_days` before each night.
#[utoipa::path(put, path = "/v1/properties/{property}/allotments/{allotment}", tag = "pools",
    params(PropertyPath, AllotmentPath, DryRun), request_body = AllotmentBody,
    responses((status = 200, body = AllotmentChangeView),
        (status = 201, body = AllotmentChangeView), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AllotmentPath>,
    Ask(DryRun { dry_run }): Ask<DryRun>,
    IfMatch(version): IfMatch,
    body: Body<AllotmentBody>,
) -> Result<Versioned<AllotmentChangeView>, Problem> {
    let (house, mut body) = (&at.house, body.value);
    let force = at.caller.force(body.force.take())?;
    let names = house.read_names().await?;
    let (owner, room_type, values) = body.agreed(&names)?;
    let put = Put {
        code: path.allotment,
        owner,
        room_type,
        release: Release {
            period_days: body.release_period_days,
            cut_off: body.cut_off.map(|day| day.0),
        },
        values,
        version,
        force,
        dry_run,
    };
    let by = at.caller.by();
    let change = match allotments::put(state.ledger(), house.id, &by, put).await? {
        Ok(change) => change,
        Err(refusal) => return Err(house.refused(refusal).await),
    };
    let version = change.allotment.as_ref().map_or(0, |one| one.version);
    let allotment = match change.allotment {
        Some(row) => Some(whole(&state, house, row).await?),
        None => None,
    };
    let view = AllotmentChangeView {
        allotment,
        dry_run,
        hits: match dry_run && !change.short.is_empty() {
            true => Some(on_short_nights(&state, house, &change.short).await?),
            false => None,
        },
        short: short_nights(house, change.short).await?,
    };
    Ok(Versioned::put(version, change.is_new && !dry_run, view))
}

/// An allotment, with what is agreed from today on.
#[utoipa::path(get, path = "/v1/properties/{property}/allotments/{allotment}", tag = "pools",
    params(PropertyPath, AllotmentPath), responses((status = 200, body = AllotmentView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<AllotmentPath>,
) -> Result<Versioned<AllotmentView>, Problem> {
    let row = found(&state, &at.house, &path.allotment).await?;
    let version = row.version;
    Ok(Versioned::of(version, whole(&state, &at.house, row).await?))
}

/// The allotments of a property, in order of code.
#[utoipa::path(get, path = "/v1/properties/{property}/allotments", tag = "pools",
    params(PropertyPath, PageAsk),
    responses((status = 200, body = Page<AllotmentView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<PageAsk>,
) -> Result<Json<Page<AllotmentView>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let after = ask.cursor.as_deref();
    let found = allotments::page(state.ledger(), at.house.id, after, limit).await?;
    let names = at.house.names_of_blocks(&found).await?;
    let page = page::cut(found, limit, |last| last.code.clone());
    Ok(Json(page.map(|row| AllotmentView::new(row, None, &names))))
}

/// Which nights.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NightsAsk {
    /// First night.
    pub from: Day,
    /// The morning after the last night.
    pub to: Day,
}

/// How an allotment sells, night by night.
#[derive(Debug, Serialize, ToSchema)]
struct PickupView {
    /// Code of the allotment.
    allotment: String,
    /// The nights on which rooms were ever agreed.
    nights: Vec<PickupNightView>,
}

/// How a night of an allotment sells, in rooms.
#[derive(Debug, Serialize, ToSchema)]
pub struct PickupNightView {
    /// The night.
    stay_date: Day,
    /// Kept by agreement.
    agreed: i32,
    /// Drawn by reservations.
    taken: i32,
    /// What may still be drawn.
    left: i32,
    /// Fallen back to free sale.
    released: i32,
    /// What comes free from now on falls back as well.
    is_released: bool,
}

/// The pick-up of an allotment: agreed, taken, left and released, night by night.
#[utoipa::path(get, path = "/v1/properties/{property}/allotments/{allotment}/pickup", tag = "pools",
    params(PropertyPath, AllotmentPath, NightsAsk),
    responses((status = 200, body = PickupView), Problems))]
async fn pickup(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<AllotmentPath>,
    Ask(ask): Ask<NightsAsk>,
) -> Result<Json<PickupView>, Problem> {
    let nights = StayRange::new(ask.from.0, ask.to.0).ok_or_else(|| {
        let message = "must be after from (the end is excluded), by at most 2,200 nights";
        Problem::invalid("/to", message)
    })?;
    let row = found(&state, &at.house, &path.allotment).await?;
    let nights = allotments::pickup(state.ledger(), at.house.id, row.id, nights).await?;
    Ok(Json(PickupView {
        allotment: row.code,
        nights: nights.into_iter().map(PickupNightView::from).collect(),
    }))
}

async fn found(state: &ApiState, house: &House, code: &str) -> Result<AllotmentRow, Problem> {
    let found = allotments::by_code(state.ledger(), house.id, code).await?;
    found.ok_or_else(|| Problem::not_found("allotment"))
}

/// The view with what is agreed from the business day on.
async fn whole(
    state: &ApiState,
    house: &House,
    row: AllotmentRow,
) -> Result<AllotmentView, Problem> {
    let (ledger, id) = (state.ledger(), row.id);
    let (today, _) = tail::business_day(ledger, house.id).await?;
    let agreed = allotments::agreed(ledger, house.id, id, today).await?;
    let names = house.names_of_blocks(std::slice::from_ref(&row)).await?;
    Ok(AllotmentView::new(row, Some(runs(&agreed)), &names))
}

/// Nights of equal rooms in a row as one value.
fn runs(nights: &[(StayDate, AllotmentNight)]) -> Vec<AgreedBody> {
    let mut runs: Vec<AgreedBody> = Vec::new();
    for (night, counts) in nights.iter().filter(|(_, counts)| counts.agreed > 0) {
        let after = Day(plus_days(*night, 1));
        match runs.last_mut() {
            Some(last) if last.to.0 == *night && last.rooms == counts.agreed => last.to = after,
            _ => runs.push(AgreedBody {
                from: Day(*night),
                to: after,
                weekdays: None,
                rooms: counts.agreed,
            }),
        }
    }
    runs
}

impl AllotmentBody {
    /// Whose, of which type, and what is agreed.
    fn agreed(
        &self,
        names: &Names,
    ) -> Result<(Owner, keyrack_model::id::RoomTypeId, Vec<AgreedRooms>), Problem> {
        let mut wrongs = Wrongs::default();
        let account = self.account.as_ref().map(|code| names.accounts.id(code));
        wrongs.unless(account != Some(None), "/account", "no such account");
        let group = self.group.as_ref().map(|code| names.groups.id(code));
        wrongs.unless(group != Some(None), "/group", "no such group");
        let one = self.account.is_some() != self.group.is_some();
        wrongs.unless(one, "/account", "exactly one of account and group");
        let room_type = names.room_types.id(&self.room_type);
        wrongs.unless(room_type.is_some(), "/room_type", "no such room type");
        let fits = (0..=2_000).contains(&self.release_period_days);
        wrongs.unless(fits, "/release_period_days", "0 to 2,000");
        wrongs.unless(self.values.len() <= VALUES_MAX, "/values", "at most 500");
        let mut values = Vec::new();
        for (at, value) in self.values.iter().enumerate() {
            let nights = StayRange::new(value.from.0, value.to.0);
            let message = "must be after from (the end is excluded), by at most 2,200 nights";
            wrongs.unless(nights.is_some(), format!("/values/{at}/to"), message);
            let fits = (0..=10_000).contains(&value.rooms);
            wrongs.unless(fits, format!("/values/{at}/rooms"), "0 to 10,000");
            values.extend(nights.map(|nights| AgreedRooms {
                nights,
                weekdays: value.weekdays.unwrap_or(Weekdays::ALL),
                rooms: value.rooms,
            }));
        }
        wrongs.finish()?;
        let account = account.flatten().map(Owner::Account);
        let owner = account.or(group.flatten().map(Owner::Group));
        match (owner, room_type) {
            (Some(owner), Some(room_type)) => Ok((owner, room_type, values)),
            _ => Err(Problem::invalid(
                "/account",
                "exactly one of account and group",
            )),
        }
    }
}

impl AllotmentView {
    /// A row under the codes of its property.
    pub fn new(row: AllotmentRow, values: Option<Vec<AgreedBody>>, names: &Names) -> Self {
        let (account, group) = match row.owner {
            Owner::Account(id) => (Some(names.accounts.shown(id)), None),
            Owner::Group(id) => (None, Some(names.groups.shown(id))),
        };
        Self {
            code: row.code,
            account,
            group,
            room_type: names.room_types.shown(row.room_type),
            release_period_days: row.release.period_days,
            cut_off: row.release.cut_off.map(Day),
            values,
            version: row.version,
        }
    }
}

impl From<(StayDate, AllotmentNight)> for PickupNightView {
    fn from((night, counts): (StayDate, AllotmentNight)) -> Self {
        Self {
            stay_date: Day(night),
            agreed: counts.agreed,
            taken: counts.taken,
            left: counts.left(),
            released: counts.released,
            is_released: counts.is_released,
        }
    }
}

const VALUES_MAX: usize = 500;
