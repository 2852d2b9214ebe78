//! The desk's sheet of a day: JSON for programs, plain text to print before an outage.

use std::fmt::Write;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use keyrack_ledger::reservations::{self, DaySheet, Folio};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks};
use crate::extract::Ask;
use crate::names::{House, Names};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::view::{Persons, ReservationView};
use crate::state::ApiState;
use crate::wire::{Day, leaves_its_line};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(day_sheet))
}

/// Which day.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DayAsk {
    /// The day.
    #[param(value_type = String, format = Date)]
    date: Day,
}

/// The desk's sheet of a day.
#[derive(Debug, Serialize, ToSchema)]
struct DaySheetView {
    /// The day.
    date: Day,
    /// Who arrives.
    arrivals: Vec<ReservationView>,
    /// Who leaves.
    departures: Vec<ReservationView>,
    /// Who sleeps here and came before.
    in_house: Vec<ReservationView>,
    /// Who arrives without a room.
    unassigned: Vec<ReservationView>,
    /// Whose departure is past and who did not check out.
    overdue: Vec<ReservationView>,
    /// Room types with more taken than can be slept in tonight.
    oversold: Vec<OversoldView>,
}

/// A room type with more taken than can be slept in.
#[derive(Debug, Serialize, ToSchema)]
struct OversoldView {
    /// Code of the room type.
    room_type: String,
    /// Rooms beyond.
    rooms: i32,
}

/// The desk's sheet of a day. `Accept: text/plain` gets a sheet to print.
#[utoipa::path(get, path = "/v1/properties/{property}/day-sheet", tag = "reservations",
    params(PropertyPath, DayAsk),
    responses((status = 200, content(
        (DaySheetView = "application/json"), (String = "text/plain"))), Problems))]
async fn day_sheet(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<DayAsk>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let house = &at.house;
    let sheet = reservations::day_sheet(state.ledger(), house.id, ask.date.0).await?;
    let view = shown(house, sheet).await?;
    if prefers_text(&headers) {
        let kind = (header::CONTENT_TYPE, "text/plain; charset=utf-8");
        return Ok(([kind], printed(&house.code, &view)).into_response());
    }
    Ok(Json(view).into_response())
}

/// Whether plain text is named before JSON.
fn prefers_text(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut kinds = accept.split(',').map(|kind| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    });
    let first = kinds.find(|kind| kind == "text/plain" || kind == "application/json");
    first.as_deref() == Some("text/plain")
}

async fn shown(house: &House, sheet: DaySheet) -> Result<DaySheetView, Problem> {
    let lists = [
        &sheet.arrivals,
        &sheet.departures,
        &sheet.in_house,
        &sheet.unassigned,
        &sheet.overdue,
    ];
    let all: Vec<_> = lists
        .into_iter()
        .flatten()
        .map(|folio| &folio.reservation)
        .collect();
    let names = house.names_of(&all).await?;
    let oversold = sheet.oversold.into_iter();
    Ok(DaySheetView {
        date: Day(sheet.date),
        arrivals: views(sheet.arrivals, &names),
        departures: views(sheet.departures, &names),
        in_house: views(sheet.in_house, &names),
        unassigned: views(sheet.unassigned, &names),
        overdue: views(sheet.overdue, &names),
        oversold: oversold
            .map(|(room_type, rooms)| OversoldView { room_type, rooms })
            .collect(),
    })
}

fn views(folios: Vec<Folio>, names: &Names) -> Vec<ReservationView> {
    let views = folios.into_iter().map(|folio| {
        let (now, reservation) = (folio.now, folio.reservation.clone());
        ReservationView::new(&reservation, Persons::of(folio), now, names)
    });
    views.collect()
}

fn printed(property: &str, view: &DaySheetView) -> String {
    let mut text = format!("{property}  {}\n", view.date);
    let lists = [
        ("ARRIVALS", &view.arrivals),
        ("DEPARTURES", &view.departures),
        ("IN HOUSE", &view.in_house),
        ("WITHOUT A ROOM", &view.unassigned),
        ("OVERDUE", &view.overdue),
    ];
    for (title, list) in lists {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "\n{title} ({})", list.len());
        for reservation in list {
            let _ = writeln!(text, "{}", on_one_line(&reservation.heading()));
            for room in reservation.rooms() {
                let _ = writeln!(text, "{}", on_one_line(&room.line()));
            }
        }
    }
    let _ = writeln!(text, "\nOVERSOLD TONIGHT ({})", view.oversold.len());
    for one in &view.oversold {
        let _ = writeln!(text, "{:<14} {} too many", one.room_type, one.rooms);
    }
    text
}

/// What a channel told is kept as it came: here it must not forge lines nor command a terminal.
fn on_one_line(text: &str) -> String {
    let plain = |letter| match leaves_its_line(letter) {
        true => char::REPLACEMENT_CHARACTER,
        false => letter,
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_name_stays_on_its_line() {
        let name = "Ada\r\nDEPARTURES (0)\u{1b}[2J\u{202e}x\u{2066}\u{2028}\u{85}Müller";
        let line = on_one_line(name);
        assert_eq!(line.lines().count(), 1);
        assert!(!line.chars().any(leaves_its_line), "{line:?}");
        assert!(line.starts_with("Ada") && line.ends_with("Müller"));
    }

    #[test]
    fn what_is_named_first_is_served() {
        for (accept, text) in [
            ("text/plain", true),
            ("text/plain;q=0.9, application/json", true),
            ("application/json, text/plain", false),
            ("*/*", false),
            ("text/html", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(prefers_text(&headers), text, "{accept}");
        }
        assert!(!prefers_text(&HeaderMap::new()));
    }
}
