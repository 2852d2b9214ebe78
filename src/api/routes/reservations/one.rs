//! One reservation: how it is named, read and shown.

use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::reservations::{self, Folio};
use keyrack_model::id::ReservationId;
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::conditional::Versioned;
use crate::names::House;
use crate::problem::Problem;
use crate::routes::reservations::view::{Persons, ReservationView};
use crate::state::ApiState;

/// Which reservation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ReservationPath {
    /// Its id.
    pub id: Uuid,
}

impl ReservationPath {
    /// Its id.
    pub fn id(&self) -> ReservationId {
        ReservationId(self.id)
    }
}

/// A reservation, or that there is none.
pub async fn folio(state: &ApiState, house: &House, id: ReservationId) -> Result<Folio, Problem> {
    let folio = reservations::load(state.ledger(), house.id, id).await?;
    folio.ok_or_else(|| Problem::not_found("reservation"))
}

/// A reservation as it is.
pub async fn shown(house: &House, folio: Folio) -> Result<Versioned<ReservationView>, Problem> {
    let names = house.names_of(&[&folio.reservation]).await?;
    let (now, reservation) = (folio.now, folio.reservation.clone());
    let view = ReservationView::new(&reservation, Persons::of(folio), now, &names);
    Ok(Versioned::of(reservation.version, view))
}

/// A reservation as a command left it, with its guests as they are.
///
/// What a repeat is told is told from the kept receipt, so that it reads as the first answer did.
pub async fn answered(
    state: &ApiState,
    house: &House,
    reservation: Reservation,
    is_replay: bool,
) -> Result<Versioned<ReservationView>, Problem> {
    let folio = folio(state, house, reservation.id).await?;
    let names = house.names_of(&[&reservation]).await?;
    let now = reservation.updated_at;
    let view = ReservationView::new(&reservation, Persons::of(folio), now, &names);
    Ok(Versioned {
        is_replay,
        ..Versioned::of(reservation.version, view)
    })
}
