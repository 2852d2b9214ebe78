//! A group's rooming list: one reservation a line, drawn from the group's blocks.

mod known;
mod line;
mod taker;
mod view;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use keyrack_ledger::allotments::{self, AllotmentRow};
use keyrack_ledger::command::{Wish, WishedRoom};
use keyrack_ledger::decide::allotment::Owner;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::{Guest, GuestName, Source};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Books};
use crate::extract::{Ask, Segments, read};
use crate::names::Names;
use crate::problem::{Problem, Problems};
use crate::routes::groups::{GroupPath, found};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;

use self::line::Line;
use self::taker::{Taker, Wished};
use self::view::{RoomingLineView, RoomingListView};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(take))
}

/// How a list is taken.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TakeAsk {
    /// What becomes of a list with a line that cannot be taken.
    #[param(inline)]
    mode: Mode,
}

/// What becomes of a list with a line that cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Nothing of it is taken, and every such line is named.
    AllOrNothing,
    /// The others are taken.
    GoodOnes,
}

/// A list as it came: text.
struct Text(Vec<u8>);

impl FromRequest<ApiState> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes_max = state.settings().body_bytes_max;
        let bytes = read(&parts.headers, body, state, bytes_max).await?;
        Ok(Self(bytes.to_vec()))
    }
}

/// Takes a group's rooming list in: CSV in UTF-8 with the columns `guest_name`, `arrival`,
/// `departure`, and where they are wanted `room_type`, `allotment`, `adults`, `email`, `note`. Each
/// line becomes a confirmed reservation of one room, drawn from the group's block of its type. A
/// guest who has one of the group for these nights is left as he is, so that a list may be sent
/// again as a whole. At most 300 lines.
#[utoipa::path(post, path = "/v1/properties/{property}/groups/{group}/rooming-list", tag = "pools",
    params(PropertyPath, GroupPath, TakeAsk),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, body = RoomingListView), Problems))]
async fn take(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<GroupPath>,
    Ask(TakeAsk { mode }): Ask<TakeAsk>,
    Text(bytes): Text,
) -> Result<Json<RoomingListView>, Problem> {
    let (ledger, house) = (state.ledger(), &at.house);
    let group = found(&state, house, &path.group).await?;
    let names = house.read_names().await?;
    let mut blocks = allotments::list(ledger, house.id).await?;
    blocks.retain(|one| one.owner == Owner::Group(group.id));
    let lines = line::read(&bytes).map_err(|why| Problem::invalid("", why))?;
    let lines: Vec<Wished> = lines
        .into_iter()
        .map(|line| {
            let line = line?;
            let number = line.number;
            let wish = wish(line, &blocks, &names).map_err(|why| (number, why))?;
            Ok((number, wish))
        })
        .collect();
    let taker = Taker {
        state: &state,
        property: house.id,
        group: group.id,
        by: at.caller.by(),
    };
    let lines = match mode {
        Mode::AllOrNothing => taker.all(lines).await?,
        Mode::GoodOnes => taker.good_ones(lines).await?,
    };
    let count = |is: fn(&RoomingLineView) -> bool| lines.iter().filter(|line| is(line)).count();
    Ok(Json(RoomingListView {
        made: count(|line| line.why.is_none() && !line.already),
        already: count(|line| line.why.is_none() && line.already),
        refused: count(|line| line.why.is_some()),
        lines,
    }))
}

/// The wish of a line: a room of the group's block.
fn wish(line: Line, blocks: &[AllotmentRow], names: &Names) -> Result<Wish, String> {
    let block = block(&line, blocks, names)?;
    let guest = Guest {
        name: line.guest.clone(),
        email: line.email,
        ..Guest::default()
    };
    let room = WishedRoom {
        room_stay: None,
        room_type: block.room_type,
        rate_plan: None,
        stay: line.stay,
        quantity: 1,
        price: None,
        adults: line.adults,
        children_ages: Vec::new(),
        guest_name: Some(GuestName(line.guest)),
        allotment: Some(block.id),
    };
    Ok(Wish {
        reservation: ReservationId(Uuid::now_v7()),
        hold: None,
        source: Source::Group,
        rooms: vec![room],
        guest: Some(guest),
        note: line.note,
        owner_id: None,
        payment_reference: None,
        channel: None,
        guaranteed: false,
        force: None,
    })
}

/// The block that a line draws from: the one that it names, else the first of its type.
fn block<'a>(
    line: &Line,
    blocks: &'a [AllotmentRow],
    names: &Names,
) -> Result<&'a AllotmentRow, String> {
    let codes = |pick: &dyn Fn(&AllotmentRow) -> String| {
        let mut codes: Vec<String> = blocks.iter().map(pick).collect();
        codes.dedup();
        codes.join(", ")
    };
    if let Some(code) = &line.allotment {
        let named = blocks.iter().find(|block| block.code == *code);
        let known = codes(&|block| block.code.clone());
        return named.ok_or_else(|| format!("allotment: the group has {known}"));
    }
    let of_type = |code: &str| {
        let id = names.room_types.id(code);
        blocks.iter().find(|block| Some(block.room_type) == id)
    };
    let known = codes(&|block| names.room_types.shown(block.room_type));
    match &line.room_type {
        Some(code) => of_type(code).ok_or_else(|| {
            format!("room_type: no rooms of it are kept for the group, but of {known}")
        }),
        None => match blocks {
            [only] => Ok(only),
            [] => Err("no rooms are kept for the group: agree an allotment of it first".to_owned()),
            _ => Err(format!("room_type: say which, of {known}")),
        },
    }
}
