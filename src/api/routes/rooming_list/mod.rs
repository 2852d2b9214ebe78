//! A group's rooming list: one reservation a line, drawn from the group's blocks.

mod known;
mod line;
mod list;
mod taker;
mod view;
mod wish;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use keyrack_ledger::allotments;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Books};
use crate::extract::{Ask, Segments, read};
use crate::idempotency::Repeat;
use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::routes::groups::{GroupPath, found};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;

use self::list::List;
use self::taker::{Taker, Wished};
use self::view::{RoomingLineView, RoomingListView};
use self::wish::wish;

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
        must_be_csv(&parts.headers)?;
        let bytes_max = state.settings().body_bytes_max;
        let bytes = read(&parts.headers, body, state, bytes_max).await?;
        Ok(Self(bytes.to_vec()))
    }
}

/// What is sent as something else is perhaps a spreadsheet's own format.
fn must_be_csv(headers: &HeaderMap) -> Result<(), Problem> {
    let told = headers
        .get(CONTENT_TYPE)
        .and_then(|told| told.to_str().ok());
    let kind = told
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    if ["text/csv", "application/csv", "text/plain"].contains(&kind.as_str()) {
        return Ok(());
    }
    let detail = "send the list as text/csv: save it as CSV in UTF-8";
    Err(Problem::new(Kind::UnsupportedMediaType, detail))
}

/// Takes a group's rooming list in: CSV in UTF-8 with the columns `guest_name`, `arrival`,
/// `departure`, and where they are wanted `room_type`, `allotment`, `adults`, `email`, `note`. Each
/// line becomes a confirmed reservation of one room, drawn from the group's block of its type. At
/// most 300 lines. An `Idempotency-Key` is required: the same list under the same key goes on where
/// it broke off, and no line is booked twice. Under another key, a guest who has a reservation of
/// the group for these nights is left as he is (`already`), so that a list that was mended may be
/// sent again as a whole. Front desk.
#[utoipa::path(post, path = "/v1/properties/{property}/groups/{group}/rooming-list", tag = "pools",
    params(PropertyPath, GroupPath, TakeAsk,
        ("Idempotency-Key" = String, Header, description = "Fresh for each list")),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, body = RoomingListView), Problems))]
async fn take(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<GroupPath>,
    Ask(TakeAsk { mode }): Ask<TakeAsk>,
    repeat: Repeat,
    Text(bytes): Text,
) -> Result<Json<RoomingListView>, Problem> {
    let (ledger, house) = (state.ledger(), &at.house);
    let group = found(&state, house, &path.group).await?;
    let repeat = repeat.required(&at.caller, &bytes)?;
    let blocks = allotments::of_group(ledger, house.id, group.id).await?;
    let names = house.names_of_blocks(&blocks).await?;
    let lines = line::read(&bytes).map_err(|why| Problem::invalid("", why))?;
    let list = List(repeat);
    let begun = Uuid::now_v7();
    let lines: Vec<Wished> = lines
        .into_iter()
        .map(|line| {
            let line = line?;
            let number = line.number;
            let wish = wish(line, list.id_of(begun, number), &blocks, &names);
            Ok((number, wish.map_err(|why| (number, why))?))
        })
        .collect();
    let taker = Taker {
        state: &state,
        property: house.id,
        group: group.id,
        by: at.caller.by(),
        list,
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
