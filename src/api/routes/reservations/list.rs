//! Lists of reservations, and one of them.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::reservations::{self, Filter};
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::{Source, Status};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Looks};
use crate::conditional::Versioned;
use crate::extract::{Ask, Segments};
use crate::names::House;
use crate::page::{self, Page};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::change::{__path_change, change};
use crate::routes::reservations::create::{__path_create, create};
use crate::routes::reservations::one::{ReservationPath, folio, shown};
use crate::routes::reservations::view::{Persons, ReservationView, SourceShape};
use crate::state::ApiState;
use crate::wire::Day;

/// The routes of this file, and those that share their paths.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, change))
}

/// Which reservations; whatever is left out lets all through.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ReservationsAsk {
    /// Of these states, separated by commas.
    #[param(example = "held,confirmed")]
    status: Option<String>,
    /// Arriving on this date or later.
    #[param(value_type = Option<String>, format = Date)]
    arrival_from: Option<Day>,
    /// Arriving before this date.
    #[param(value_type = Option<String>, format = Date)]
    arrival_to: Option<Day>,
    /// Departing on this date or later.
    #[param(value_type = Option<String>, format = Date)]
    departure_from: Option<Day>,
    /// Departing before this date.
    #[param(value_type = Option<String>, format = Date)]
    departure_to: Option<Day>,
    /// Sleeping here on this night.
    #[param(value_type = Option<String>, format = Date)]
    staying_on: Option<Day>,
    /// From there.
    #[param(value_type = Option<SourceShape>)]
    source: Option<Source>,
    /// Code of the account that they came through.
    account: Option<String>,
    /// Number, channel reference, owner, or the beginning of a guest's name.
    q: Option<String>,
    /// At most so many; 100 where it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Reservations in order of creation.
#[utoipa::path(get, path = "/v1/properties/{property}/reservations", tag = "reservations",
    params(PropertyPath, ReservationsAsk),
    responses((status = 200, body = Page<ReservationView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<ReservationsAsk>,
) -> Result<Json<Page<ReservationView>>, Problem> {
    let house = &at.house;
    let filter = ask.filter(house).await?;
    let found = reservations::list(state.ledger(), house.id, &filter).await?;
    let page = page::cut(found, filter.limit, |last| last.reservation.id.to_string());
    let all: Vec<_> = page.items.iter().map(|folio| &folio.reservation).collect();
    let names = house.names_of(&all).await?;
    let items = page.items.into_iter().map(|folio| {
        let (now, reservation) = (folio.now, folio.reservation.clone());
        ReservationView::new(&reservation, Persons::of(folio), now, &names)
    });
    Ok(Json(Page {
        items: items.collect(),
        next_cursor: page.next_cursor,
    }))
}

/// A reservation.
#[utoipa::path(get, path = "/v1/properties/{property}/reservations/{id}", tag = "reservations",
    params(PropertyPath, ReservationPath),
    responses((status = 200, body = ReservationView, headers(("ETag" = String))), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<ReservationPath>,
) -> Result<Versioned<ReservationView>, Problem> {
    let folio = folio(&state, &at.house, path.id()).await?;
    shown(&at.house, folio).await
}

impl ReservationsAsk {
    async fn filter(self, house: &House) -> Result<Filter, Problem> {
        let words = self.status.as_deref().unwrap_or_default().split(',');
        let words = words.filter(|word| !word.is_empty());
        let wrong = |word: &str| Problem::invalid("/status", format!("{word:?} is no status"));
        let status = words
            .map(|word| Status::from_name(word).ok_or_else(|| wrong(word)))
            .collect::<Result<Vec<_>, _>>()?;
        let account = match &self.account {
            None => None,
            Some(code) => Some(house.account(code, "/account").await?),
        };
        let q = self.q.filter(|q| !q.trim().is_empty());
        if q.as_ref().is_some_and(|q| q.chars().count() > 200) {
            return Err(Problem::invalid("/q", "at most 200 characters"));
        }
        let after: Option<Uuid> = page::after(self.cursor.as_deref())?;
        Ok(Filter {
            status,
            arrival_from: self.arrival_from.map(|day| day.0),
            arrival_to: self.arrival_to.map(|day| day.0),
            departure_from: self.departure_from.map(|day| day.0),
            departure_to: self.departure_to.map(|day| day.0),
            staying_on: self.staying_on.map(|day| day.0),
            source: self.source,
            account,
            q,
            after: after.map(ReservationId),
            limit: page::limit(self.limit)?,
        })
    }
}
