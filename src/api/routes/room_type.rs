//! Room types: what is counted, how many there are, and who would be hit by a cut.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::catalog::{self, RoomType, RoomTypeSetup};
use keyrack_ledger::command::ShortNight;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body, Segments};
use crate::names::House;
use crate::page::Page;
use crate::problem::{Problem, Problems};
use crate::routes::hits::{HitsView, on_short_nights};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, ForceBody, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put))
}

/// Which room type.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RoomTypePath {
    /// Code of the room type: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    #[param(example = "DBL")]
    pub room_type: String,
}

/// Whether anything is done.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DryRun {
    /// `true` says what would happen and does nothing.
    #[serde(default)]
    #[param(required = false)]
    pub dry_run: bool,
}

/// A room type as the hotel sets it up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoomTypeBody {
    /// For people.
    name: String,
    /// How many rooms (or beds) there are; 0 or left out for a composed type.
    #[serde(default)]
    #[schema(minimum = 0)]
    rooms: i32,
    /// What is counted.
    #[serde(default)]
    counts: Counts,
    /// Who fits.
    occupancy: OccupancyBody,
    /// Holds of this type live so long; the property's time where it is not said.
    #[schema(minimum = 1)]
    hold_seconds: Option<i32>,
    /// What a composed type is made of.
    #[serde(default)]
    #[schema(required = false)]
    components: Vec<ComponentBody>,
    /// A cut below what is taken needs it, with `oversell`.
    force: Option<ForceBody>,
}

/// What is counted of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Rooms.
    #[default]
    Rooms,
    /// Beds of a dormitory.
    Beds,
}

/// Who fits into a room.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OccupancyBody {
    /// Adults at most.
    #[schema(minimum = 1)]
    adults_max: i32,
    /// Children at most.
    #[schema(minimum = 0)]
    children_max: i32,
    /// Guests at most.
    #[schema(minimum = 1)]
    total_max: i32,
}

/// A part of a composed type.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentBody {
    /// Code of the plain type.
    room_type: String,
    /// How many of it.
    #[schema(minimum = 1)]
    quantity: i32,
}

/// A room type as it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoomTypeView {
    /// Its code.
    code: String,
    /// For people.
    name: String,
    /// How many there are.
    rooms: i32,
    /// What is counted.
    counts: Counts,
    /// Who fits.
    occupancy: OccupancyBody,
    /// Holds of this type live so long.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hold_seconds: Option<i32>,
    /// What a composed type is made of.
    components: Vec<ComponentBody>,
    /// Counts changes; also the ETag.
    version: i64,
}

/// What a change did, or would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoomTypeChangeView {
    /// The type as it is; absent in the dry run of a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    room_type: Option<RoomTypeView>,
    /// Nothing was done.
    dry_run: bool,
    /// Nights with more taken than there is.
    short: Vec<ShortNightView>,
    /// Whom it would hit on these nights; in a dry run, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hits: Option<HitsView>,
}

/// A night with more taken than there is.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShortNightView {
    /// Code of the room type.
    room_type: String,
    /// The night.
    stay_date: Day,
    /// Rooms beyond what there is.
    rooms: i32,
}

/// Creates or changes a room type; its nights are born up to the horizon.
#[utoipa::path(put, path = "/v1/properties/{property}/room-types/{room_type}", tag = "hotel",
    params(PropertyPath, RoomTypePath, DryRun), request_body = RoomTypeBody,
    responses((status = 200, body = RoomTypeChangeView),
        (status = 201, body = RoomTypeChangeView), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<RoomTypePath>,
    Ask(DryRun { dry_run }): Ask<DryRun>,
    IfMatch(version): IfMatch,
    body: Body<RoomTypeBody>,
) -> Result<Versioned<RoomTypeChangeView>, Problem> {
    let (setup, force) = body.value.setup()?;
    let force = at.caller.force(force)?;
    let (house, by, code) = (&at.house, at.caller.by(), &path.room_type);
    let put = catalog::put_room_type(
        state.ledger(),
        house.id,
        &by,
        code,
        setup,
        version,
        force,
        dry_run,
    );
    let change = match put.await? {
        Ok(change) => change,
        Err(refusal) => return Err(house.refused(refusal).await),
    };
    let version = change.room_type.as_ref().map_or(0, |one| one.version);
    let view = RoomTypeChangeView {
        room_type: change.room_type.map(RoomTypeView::from),
        dry_run,
        hits: match dry_run && !change.short.is_empty() {
            true => Some(on_short_nights(&state, house, &change.short).await?),
            false => None,
        },
        short: short_nights(house, change.short).await?,
    };
    Ok(Versioned::put(version, change.is_new && !dry_run, view))
}

/// A room type.
#[utoipa::path(get, path = "/v1/properties/{property}/room-types/{room_type}", tag = "hotel",
    params(PropertyPath, RoomTypePath), responses((status = 200, body = RoomTypeView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<RoomTypePath>,
) -> Result<Versioned<RoomTypeView>, Problem> {
    let mut all = catalog::room_types(state.ledger(), at.house.id)
        .await?
        .into_iter();
    let found = all.find(|one| one.code == path.room_type);
    let found = found.ok_or_else(|| Problem::not_found("room type"))?;
    Ok(Versioned::of(found.version, found.into()))
}

/// The room types of a property, in order of code.
#[utoipa::path(get, path = "/v1/properties/{property}/room-types", tag = "hotel",
    params(PropertyPath), responses((status = 200, body = Page<RoomTypeView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Json<Page<RoomTypeView>>, Problem> {
    let all = catalog::room_types(state.ledger(), at.house.id).await?;
    Ok(Json(Page::whole(
        all.into_iter().map(RoomTypeView::from).collect(),
    )))
}

/// Short nights under the codes of their property.
pub async fn short_nights(
    house: &House,
    short: Vec<ShortNight>,
) -> Result<Vec<ShortNightView>, Problem> {
    let names = house
        .names_with(|names| {
            let known = |one: &ShortNight| names.room_types.code(one.room_type).is_some();
            short.iter().all(known)
        })
        .await?;
    let views = short.into_iter().map(|one| ShortNightView {
        room_type: names.room_types.shown(one.room_type),
        stay_date: Day(one.night),
        rooms: one.rooms,
    });
    Ok(views.collect())
}

impl RoomTypeBody {
    fn setup(self) -> Result<(RoomTypeSetup, Option<ForceBody>), Problem> {
        let mut wrongs = Wrongs::default();
        wrongs.named(&self.name, 200, "/name");
        wrongs.unless((0..=10_000).contains(&self.rooms), "/rooms", "0 to 10,000");
        let guests = self.occupancy;
        for (count, name) in [
            (guests.adults_max, "adults_max"),
            (guests.children_max, "children_max"),
            (guests.total_max, "total_max"),
        ] {
            let pointer = format!("/occupancy/{name}");
            wrongs.unless((0..=100).contains(&count), pointer, "0 to 100");
        }
        wrongs.unless(self.components.len() <= 20, "/components", "at most 20");
        for (at, part) in self.components.iter().enumerate() {
            let pointer = format!("/components/{at}/quantity");
            wrongs.unless((1..=1_000).contains(&part.quantity), pointer, "1 to 1,000");
        }
        wrongs.finish()?;
        let components = self.components.into_iter();
        let setup = RoomTypeSetup {
            name: self.name,
            rooms: self.rooms,
            counts_beds: self.counts == Counts::Beds,
            adults_max: guests.adults_max,
            children_max: guests.children_max,
            total_max: guests.total_max,
            hold_seconds: self.hold_seconds,
            components: components
                .map(|part| (part.room_type, part.quantity))
                .collect(),
        };
        Ok((setup, self.force))
    }
}

impl From<RoomType> for RoomTypeView {
    fn from(room_type: RoomType) -> Self {
        let setup = room_type.setup;
        let components = setup.components.into_iter();
        Self {
            code: room_type.code,
            name: setup.name,
            rooms: setup.rooms,
            counts: match setup.counts_beds {
                true => Counts::Beds,
                false => Counts::Rooms,
            },
            occupancy: OccupancyBody {
                adults_max: setup.adults_max,
                children_max: setup.children_max,
                total_max: setup.total_max,
            },
            hold_seconds: setup.hold_seconds,
            components: components
                .map(|(room_type, quantity)| ComponentBody {
                    room_type,
                    quantity,
                })
                .collect(),
            version: room_type.version,
        }
    }
}
