//! A group's rooming list: one reservation a line, drawn from the group's blocks.

mod line;
mod wish;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use keyrack_ledger::allotments;
use keyrack_ledger::command::{Asked, By, Command, Idempotency, Wish};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::reservations;
use keyrack_model::id::{PropertyId, ReservationId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Books};
use crate::extract::{Ask, Segments, read};
use crate::idempotency::Repeat;
use crate::problem::sentence::sentence;
use crate::problem::{FieldError, Problem, Problems};
use crate::refusal::in_words;
use crate::refused::refused_without_nights;
use crate::routes::groups::{GroupPath, found};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;

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
        let bytes_max = state.settings().body_bytes_max;
        let bytes = read(&parts.headers, body, state, bytes_max).await?;
        Ok(Self(bytes.to_vec()))
    }
}

/// What became of a list.
#[derive(Debug, Serialize, ToSchema)]
struct RoomingListView {
    /// Lines that became reservations.
    made: usize,
    /// Lines that did not.
    refused: usize,
    /// Every line, in order.
    lines: Vec<RoomingLineView>,
}

/// What became of a line.
#[derive(Debug, Serialize, ToSchema)]
struct RoomingLineView {
    /// Its number in the file, from 1; the columns are line 1.
    line: u64,
    /// Its reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reservation: Option<Uuid>,
    /// Its short number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    number: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
}

/// Takes a group's rooming list in: CSV in UTF-8 with the columns `guest_name`, `arrival`,
/// `departure`, and where they are wanted `room_type`, `allotment`, `adults`, `email`, `note`. Each
/// line becomes a confirmed reservation of one room, drawn from the group's block of its type. At
/// most 300 lines. An `Idempotency-Key` is required: the same list under the same key goes on where
/// it broke off, and no line is booked twice. Front desk.
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
    let asked = repeat.required(&at.caller, &bytes)?;
    let blocks = allotments::of_group(ledger, house.id, group.id).await?;
    let names = house.names_of_blocks(&blocks).await?;
    let lines = line::read(&bytes).map_err(|why| Problem::invalid("", why))?;
    let list = List {
        house: house.id,
        by: at.caller.by(),
        asked,
    };
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
    let outcomes = match mode {
        Mode::AllOrNothing => all(&state, &list, lines).await?,
        Mode::GoodOnes => good_ones(&state, &list, lines).await?,
    };
    let made = outcomes.iter().filter(|one| one.why.is_none()).count();
    Ok(Json(RoomingListView {
        made,
        refused: outcomes.len() - made,
        lines: outcomes,
    }))
}

/// A list that is taken.
struct List {
    house: PropertyId,
    by: By,
    /// How a repeat is known.
    asked: Idempotency,
}

impl List {
    /// The reservation that a line becomes, of the instant at which the list was first taken: a
    /// repeat finds them again by that of any of them.
    fn id_of(&self, begun: Uuid, line: u64) -> ReservationId {
        let mut hash = Sha256::new();
        for part in [&self.asked.scope, &self.asked.key, &self.asked.fingerprint] {
            hash.update(part.as_bytes());
            hash.update(b"\n");
        }
        hash.update(line.to_be_bytes());
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&hash.finalize()[..10]);
        let millis = u64::try_from(begun.as_u128() >> 80).unwrap_or(0);
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &bytes);
        ReservationId(id.into_uuid())
    }

    fn ask(&self, command: Command, idempotency: Idempotency) -> Asked {
        let asked = Asked::new(self.house, self.by.clone().into(), command);
        Asked {
            idempotency: Some(idempotency),
            ..asked
        }
    }

    /// Each line has a key of its own.
    fn of_line(&self, line: u64) -> Idempotency {
        let asked = self.asked.clone();
        Idempotency {
            scope: format!("{} line {line}", asked.scope),
            ..asked
        }
    }
}

/// A line with its number: a wish, or what is wrong with it.
type Wished = Result<(u64, Wish), (u64, String)>;

/// All of them in one piece, or a problem that names each line that is in the way.
async fn all(
    state: &ApiState,
    list: &List,
    lines: Vec<Wished>,
) -> Result<Vec<RoomingLineView>, Problem> {
    let wrong: Vec<FieldError> = lines
        .iter()
        .filter_map(|line| line.as_ref().err())
        .map(|(number, why)| at_line(*number, why.clone()))
        .collect();
    if !wrong.is_empty() {
        return Err(Problem::invalid_fields(wrong));
    }
    let (numbers, wishes): (Vec<u64>, Vec<Wish>) = lines.into_iter().flatten().unzip();
    let begun = wishes.first().map(|wish| wish.reservation);
    let asked = list.ask(Command::RequestAll(wishes), list.asked.clone());
    let receipt = match state.ledger().ask(asked).await? {
        Ok(receipt) => receipt,
        Err(refusal) => return Err(refused(refusal, &numbers)),
    };
    let first = receipt.reservation.map(|first| first.id).or(begun);
    let begun = first.map_or(Uuid::nil(), |id| id.0);
    let ids: Vec<_> = numbers
        .iter()
        .map(|line| list.id_of(begun, *line))
        .collect();
    let folios = reservations::load_all(state.ledger(), list.house, &ids).await?;
    let views = numbers.into_iter().zip(ids).map(|(line, id)| {
        let made = folios.iter().find(|folio| folio.reservation.id == id);
        RoomingLineView {
            line,
            reservation: Some(id.0),
            number: made.map(|folio| folio.reservation.number.to_string()),
            why: None,
        }
    });
    Ok(views.collect())
}

/// What stands in the way, line by line.
fn refused(refusal: Refusal, numbers: &[u64]) -> Problem {
    let errors = match &refusal {
        Refusal::Several(all) => all
            .iter()
            .map(|(index, why)| at_line(numbers[*index], in_words(why)))
            .collect(),
        _ => Vec::new(),
    };
    Problem {
        errors,
        ..refused_without_nights(refusal)
    }
}

fn at_line(number: u64, message: String) -> FieldError {
    FieldError {
        pointer: format!("/line/{number}"),
        message,
    }
}

/// Each for itself.
async fn good_ones(
    state: &ApiState,
    list: &List,
    lines: Vec<Wished>,
) -> Result<Vec<RoomingLineView>, Problem> {
    let mut views = Vec::new();
    for line in lines {
        let not_made = |line, why: String| RoomingLineView {
            line,
            reservation: None,
            number: None,
            why: Some(sentence(&why)),
        };
        let (line, wish) = match line {
            Ok(line) => line,
            Err((number, why)) => {
                views.push(not_made(number, why));
                continue;
            }
        };
        let command = Command::Request(Box::new(wish));
        let asked = list.ask(command, list.of_line(line));
        views.push(match state.ledger().ask(asked).await? {
            Ok(receipt) => RoomingLineView {
                line,
                reservation: receipt.reservation.as_ref().map(|made| made.id.0),
                number: receipt.reservation.map(|made| made.number.to_string()),
                why: None,
            },
            Err(refusal) => not_made(line, in_words(&refusal)),
        });
    }
    Ok(views)
}
