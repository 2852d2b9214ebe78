//! Guests who go to a hotel of the same owner: their rooms are taken there first, then given back
//! here, joined by a row.
//!
//! Each step is known again by a key of its own, so that whoever takes up what another has left
//! does nothing twice: a kill between two steps leaves a row that the next look of any daemon goes
//! on from.

pub(crate) mod leg;
mod rehearsal;
mod steps;

use keyrack_model::id::{PropertyId, ReservationId, RoomStayId};
use keyrack_model::overbooking::Ending;
use uuid::Uuid;

use self::leg::{Leg, Terms};
use self::rehearsal::{has_rooms, may_leave};
use self::steps::go_on;
use crate::command::By;
use crate::decide::overbooking::end::CaseEnd;
use crate::decide::overbooking::sheet::closed;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::around::sister;
use crate::overbookings::case::{Case, load};
use crate::store::overbooking_transfer::{self as store, Step, Transfer};
use crate::store::{connection, folio, property, room_type};

/// A guest goes to a hotel of the same owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Which reservation.
    pub reservation: ReservationId,
    /// Which of its rooms; `None` is all of them.
    pub room_stay: Option<RoomStayId>,
    /// The version that was read, where the caller says.
    pub version: Option<i64>,
    /// Code of the hotel.
    pub property: String,
    /// Code of a room type there.
    pub room_type: String,
}

/// Ends a case by guests who go to hotels of the same owner.
pub async fn end(
    ledger: &Ledger,
    property: PropertyId,
    by: By,
    end: CaseEnd,
    departures: &[Departure],
) -> Result<Result<Case, Refusal>, LedgerError> {
    let missing = || Refusal::NotFound("overbooking case".to_owned());
    let Some(case) = load(ledger, property, end.case).await? else {
        return Ok(Err(missing()));
    };
    let leaving = departures
        .iter()
        .map(|one| (one.reservation, one.room_stay));
    if case.has_ended_by(Ending::SisterProperty, leaving) {
        return Ok(Ok(case));
    }
    if let Err(refusal) = check(&case, &end) {
        return Ok(Err(refusal));
    }
    let legs = match legs(ledger, property, departures).await? {
        Ok(legs) => legs,
        Err(refusal) => return Ok(Err(refusal)),
    };
    // What would be refused here is refused before anything is taken there.
    if let Err(refusal) = may_leave(ledger, property, &end, &legs).await? {
        return Ok(Err(refusal));
    }
    if end.rehearses {
        let there = has_rooms(ledger, property, &legs).await?;
        return Ok(there.map(|()| case));
    }
    let transfer = Transfer {
        property,
        id: Uuid::now_v7(),
        case: case.id,
        step: Step::Taking,
        version: None,
        legs,
        terms: Terms {
            cost_minor: end.cost_minor,
            note: end.note,
            told_channel: end.told_channel,
            may_approve: end.may_approve,
        },
        actor: by.actor,
        why: None,
    };
    let mut conn = connection::reader(ledger).await?;
    if !store::insert(&mut conn, &transfer).await? {
        let words = "guests of this case are on their way to another hotel already: look at the \
                     case again in a minute";
        return Ok(Err(Refusal::IllegalTransition(words.to_owned())));
    }
    drop(conn);
    match go_on(ledger, transfer).await? {
        Some(refusal) => Ok(Err(refusal)),
        None => Ok(load(ledger, property, case.id).await?.ok_or_else(missing)),
    }
}

/// Takes up what daemons have left half done; says how many. One that fails is tried again at the
/// next look, and holds up nobody else.
pub async fn resume_due(ledger: &Ledger) -> Result<u32, LedgerError> {
    let mut resumed = 0;
    loop {
        let mut conn = connection::reader(ledger).await?;
        let Some(transfer) = store::claim(&mut conn).await? else {
            return Ok(resumed);
        };
        drop(conn);
        tracing::info!(case = %transfer.case, "guests on their way are taken up");
        let case = transfer.case;
        match go_on(ledger, transfer).await {
            Ok(_) => resumed += 1,
            Err(error) => tracing::warn!(%case, %error, "guests are still on their way"),
        }
    }
}

fn check(case: &Case, end: &CaseEnd) -> Result<(), Refusal> {
    if end.version.is_some_and(|read| read != case.version) {
        return Err(Refusal::VersionMismatch {
            current: case.version,
        });
    }
    if !case.is_open() {
        return Err(closed(case.id));
    }
    Ok(())
}

/// Where each goes, by id.
async fn legs(
    ledger: &Ledger,
    property: PropertyId,
    departures: &[Departure],
) -> Result<Result<Vec<Leg>, Refusal>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(own) = property::by_id(&mut conn, property).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let mut legs = Vec::new();
    for (at, one) in departures.iter().enumerate() {
        let wrong = |field: &str, words: &str| {
            Ok(Err(Refusal::invalid(format!("/moves/{at}/{field}"), words)))
        };
        let Some(there) = sister(&mut conn, &own.code, &one.property).await? else {
            let words = "no hotel of the same owner: both hotels must name each other as \
                         sister properties in their overbooking policies";
            return wrong("property", words);
        };
        let types = room_type::list(&mut conn, there.id).await?;
        let Some(kind) = types.into_iter().find(|kind| kind.code == one.room_type) else {
            return wrong(
                "room_type",
                "there is no such room type in that hotel: give the code of one of its types",
            );
        };
        let found = folio::by_ids(&mut conn, property, &[one.reservation.0]).await?;
        let Some(guest) = found.first() else {
            return Ok(Err(Refusal::NotFound("reservation".to_owned())));
        };
        legs.push(Leg {
            reservation: one.reservation,
            room_stay: one.room_stay,
            version: one.version.unwrap_or(guest.reservation.version),
            property: there.id,
            code: there.code,
            room_type: kind.id,
            taken_as: ReservationId(Uuid::now_v7()),
        });
    }
    Ok(Ok(legs))
}
