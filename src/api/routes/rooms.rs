//! Physical rooms and the stays in which they are blocked.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::catalog::{self, Room};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Books, Looks, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Body, Segments};
use crate::page::Page;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, ForceBody, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put))
        .routes(routes!(put_blocks))
}

/// Which room.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct RoomPath {
    /// Code of the room: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    #[param(example = "101")]
    room: String,
}

/// A physical room as the hotel sets it up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PhysicalRoomBody {
    /// Code of its type; once rooms are listed, their number is the type's count.
    room_type: String,
    /// For people; the code where it is not said.
    name: Option<String>,
    /// Counts as a room of its type.
    #[serde(default = "yes")]
    #[schema(default = true)]
    is_active: bool,
    /// A cut below what is taken needs it, with `oversell`.
    force: Option<ForceBody>,
}

/// The stays in which a room is blocked: the whole new list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BlocksBody {
    /// In any order; they may touch, not overlap.
    blocks: Vec<BlockBody>,
}

/// A stay in which a room is blocked.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BlockBody {
    /// First night.
    from: Day,
    /// The morning after the last night.
    to: Day,
    /// Why, in a word.
    kind: BlockKind,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Why a room is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BlockKind {
    /// Cannot be slept in.
    OutOfOrder,
    /// Its owner uses it.
    Owner,
    /// The house uses it.
    HouseUse,
}

/// A physical room as it is.
#[derive(Debug, Serialize, ToSchema)]
struct PhysicalRoomView {
    /// Its code.
    code: String,
    /// Code of its type.
    room_type: String,
    /// For people.
    name: String,
    /// Counts as a room of its type.
    is_active: bool,
    /// Stays in which it is blocked.
    blocks: Vec<BlockBody>,
    /// Counts changes; also the ETag.
    version: i64,
}

/// Creates or changes a physical room.
#[utoipa::path(put, path = "/v1/properties/{property}/rooms/{room}", tag = "hotel",
    params(PropertyPath, RoomPath), request_body = PhysicalRoomBody,
    responses((status = 200, body = PhysicalRoomView),
        (status = 201, body = PhysicalRoomView), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<RoomPath>,
    IfMatch(version): IfMatch,
    body: Body<PhysicalRoomBody>,
) -> Result<Versioned<PhysicalRoomView>, Problem> {
    let body = body.value;
    let mut wrongs = Wrongs::default();
    wrongs.line(body.name.as_deref(), 200, "/name");
    wrongs.finish()?;
    let force = at.caller.force(body.force)?;
    let room = Room {
        code: path.room.clone(),
        room_type: body.room_type,
        name: body.name.unwrap_or_else(|| path.room.clone()),
        is_active: body.is_active,
        version: 0,
        blocks: Vec::new(),
    };
    let (house, by) = (&at.house, at.caller.by());
    let put = catalog::put_room(
        state.ledger(),
        house.id,
        &by,
        &path.room,
        room,
        version,
        force,
    );
    match put.await? {
        Ok((room, is_new)) => Ok(Versioned::put(room.version, is_new, room.into())),
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

/// Replaces the blocks of a room: its nights there count as out of order.
#[utoipa::path(put, path = "/v1/properties/{property}/rooms/{room}/blocks", tag = "hotel",
    params(PropertyPath, RoomPath), request_body = BlocksBody,
    responses((status = 200, body = PhysicalRoomView), Problems))]
async fn put_blocks(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<RoomPath>,
    body: Body<BlocksBody>,
) -> Result<Versioned<PhysicalRoomView>, Problem> {
    let mut wrongs = Wrongs::default();
    wrongs.unless(body.value.blocks.len() <= 500, "/blocks", "at most 500");
    let mut blocks = Vec::new();
    for (at, block) in body.value.blocks.into_iter().enumerate() {
        let pointer = format!("/blocks/{at}");
        wrongs.longest(block.reason.as_deref(), 500, format!("{pointer}/reason"));
        match crate::wire::range(block.from, block.to) {
            Ok(nights) => blocks.push((nights, block.kind.as_str().to_owned(), block.reason)),
            Err(_) => wrongs.add(format!("{pointer}/to"), "must be after from"),
        }
    }
    wrongs.finish()?;
    let (house, by) = (&at.house, at.caller.by());
    match catalog::put_blocks(state.ledger(), house.id, &by, &path.room, blocks).await? {
        Ok(room) => Ok(Versioned::of(room.version, room.into())),
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

/// A physical room.
#[utoipa::path(get, path = "/v1/properties/{property}/rooms/{room}", tag = "hotel",
    params(PropertyPath, RoomPath), responses((status = 200, body = PhysicalRoomView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<RoomPath>,
) -> Result<Versioned<PhysicalRoomView>, Problem> {
    let mut all = catalog::rooms(state.ledger(), at.house.id)
        .await?
        .into_iter();
    let found = all.find(|one| one.code == path.room);
    let found = found.ok_or_else(|| Problem::not_found("room"))?;
    Ok(Versioned::of(found.version, found.into()))
}

/// The rooms of a property, in order of code.
#[utoipa::path(get, path = "/v1/properties/{property}/rooms", tag = "hotel",
    params(PropertyPath), responses((status = 200, body = Page<PhysicalRoomView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Json<Page<PhysicalRoomView>>, Problem> {
    let all = catalog::rooms(state.ledger(), at.house.id).await?;
    Ok(Json(Page::whole(
        all.into_iter().map(PhysicalRoomView::from).collect(),
    )))
}

impl BlockKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::OutOfOrder => "out_of_order",
            Self::Owner => "owner",
            Self::HouseUse => "house_use",
        }
    }

    fn from_name(name: &str) -> Self {
        match name {
            "owner" => Self::Owner,
            "house_use" => Self::HouseUse,
            _ => Self::OutOfOrder,
        }
    }
}

impl From<Room> for PhysicalRoomView {
    fn from(room: Room) -> Self {
        let blocks = room.blocks.into_iter();
        Self {
            code: room.code,
            room_type: room.room_type,
            name: room.name,
            is_active: room.is_active,
            blocks: blocks
                .map(|(nights, kind, reason)| BlockBody {
                    from: Day(nights.arrival()),
                    to: Day(nights.departure()),
                    kind: BlockKind::from_name(&kind),
                    reason,
                })
                .collect(),
            version: room.version,
        }
    }
}

const fn yes() -> bool {
    true
}
