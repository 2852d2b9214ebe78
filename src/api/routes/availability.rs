//! Availability: what is free to the desk, night by night.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use jiff::Timestamp;
use keyrack_ledger::inventory::{self, NightLine};
use keyrack_ledger::moves::{self, Stamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks};
use crate::extract::Ask;
use crate::kept::{Kept, Question};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{Day, range};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(availability))
}

/// Which nights.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AvailabilityAsk {
    /// First night.
    #[param(value_type = String, format = Date)]
    from: Day,
    /// The morning after the last night.
    #[param(value_type = String, format = Date)]
    to: Day,
    /// Only this room type.
    room_type: Option<String>,
    /// True of now, asked of the database. Else it may lie behind what other daemons did by a
    /// moment: `as_of` says of when it is; what was done here before is in it in any case.
    #[serde(default)]
    #[param(required = false)]
    fresh: bool,
}

/// What is free to the desk.
#[derive(Debug, Serialize, ToSchema)]
struct AvailabilityView {
    /// The instant that it is true of.
    as_of: Timestamp,
    /// In order of code.
    room_types: Vec<TypeNightsView>,
}

/// The nights of a room type.
#[derive(Debug, Serialize, ToSchema)]
struct TypeNightsView {
    /// Code of the room type.
    room_type: String,
    /// In order of date.
    nights: Vec<NightView>,
}

/// One night of one room type, in rooms (or beds).
#[derive(Debug, Serialize, ToSchema)]
struct NightView {
    /// The night.
    stay_date: Day,
    /// Rooms that exist.
    physical: i32,
    /// Of these, what cannot be sold.
    out_of_order: i32,
    /// How far beyond physical the hotel means to sell.
    overbooking_limit: i32,
    /// Kept in allotments.
    allotted: i32,
    /// Taken by holds that are alive.
    held: i32,
    /// Taken by confirmed stays.
    sold: i32,
    /// What a wish may still take.
    free: i32,
    /// The overdraft.
    oversold: i32,
}

impl From<NightLine> for NightView {
    fn from(line: NightLine) -> Self {
        let balance = line.balance;
        Self {
            stay_date: Day(line.night),
            physical: balance.physical,
            out_of_order: balance.out_of_order,
            overbooking_limit: balance.overbooking_limit,
            allotted: balance.allotted,
            held: balance.held,
            sold: balance.sold,
            free: line.free,
            oversold: balance.oversold,
        }
    }
}

/// What is free to the desk, night by night.
#[utoipa::path(get, path = "/v1/properties/{property}/availability", tag = "hotel",
    params(PropertyPath, AvailabilityAsk),
    responses((status = 200, body = AvailabilityView), Problems))]
async fn availability(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<AvailabilityAsk>,
) -> Result<Response, Problem> {
    let nights = range(ask.from, ask.to)?;
    let room_type = match &ask.room_type {
        None => None,
        Some(code) => Some(at.house.room_type(code, "/room_type").await?),
    };
    let age = match ask.fresh {
        true => Duration::ZERO,
        false => Duration::from_millis(state.settings().availability_age_ms.into()),
    };
    let house = &at.house;
    let stamp = moves::look(state.ledger(), house.id, age).await?;
    let stamp = stamp.ok_or_else(|| Problem::not_found("property"))?;
    let question = Question {
        property: house.id,
        nights,
        room_type,
    };
    let body = match state.kept().answer(state.ledger(), &question, stamp) {
        Some(body) => body,
        None => read(&state, question, stamp).await?,
    };
    let json = (header::CONTENT_TYPE, "application/json");
    Ok(([json], body).into_response())
}

/// Reads it, and keeps it until something moves or a hold dies.
async fn read(state: &ApiState, question: Question, stamp: Stamp) -> Result<Bytes, Problem> {
    let (ledger, property) = (state.ledger(), question.property);
    let until = inventory::next_death(ledger, property, stamp.at).await?;
    let (nights, room_type) = (question.nights, question.room_type);
    let (as_of, found) = inventory::availability(ledger, property, nights, room_type).await?;
    let room_types = found.into_iter().map(|one| TypeNightsView {
        room_type: one.room_type,
        nights: one.nights.into_iter().map(NightView::from).collect(),
    });
    let view = AvailabilityView {
        as_of,
        room_types: room_types.collect(),
    };
    let json = serde_json::to_vec(&view).expect("names and counts are JSON");
    let whole = Bytes::from(json);
    if let Some(kept) = Kept::of(&whole, stamp, until) {
        state.kept().keep(question, kept);
    }
    Ok(whole)
}
