//! A case ends.

use keyrack_model::id::PropertyId;
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::Status;
use keyrack_model::stay::StayDate;
use serde_json::{Value, json};

use crate::command::{Asked, By, Command};
use crate::decide::overbooking::cost::{approved, policy_minor};
use crate::decide::overbooking::end::{CaseEnd, CaseMove};
use crate::decide::overbooking::moves::{is_concerned, is_of_channel};
use crate::decide::overbooking::sheet::closed;
use crate::decide::refusal::Refusal;
use crate::decide::state::RoomStay;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::case::{Case, load};
use crate::overbookings::ground::Ground;
use crate::reservations::Folio;
use crate::store::{connection, folio, overbooking as store};

/// Ends it by one command of the lanes. A repeat answers as the first did; one that was cured by
/// itself is told how.
pub(super) async fn end(
    ledger: &Ledger,
    property: PropertyId,
    by: By,
    end: CaseEnd,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let id = end.case;
    let missing = || Refusal::NotFound("overbooking case".to_owned());
    let Some(before) = load(ledger, property, id).await? else {
        return Ok(Err(missing()));
    };
    let moved = end.moves.iter().map(|one| (one.reservation, one.room_stay));
    if before.has_ended_by(end.ending, moved) {
        return Ok(Ok(before));
    }
    if before.outcome.as_deref() == Some(Ending::Cured.as_str()) && end.ending.lets_guests_go() {
        return say_how(ledger, property, &by, &before, &end).await;
    }
    let command = Command::EndCase(Box::new(end));
    let answer = ledger.ask(Asked::new(property, by.into(), command)).await?;
    if let Err(refusal) = answer {
        return Ok(Err(refusal));
    }
    let case = load(ledger, property, id).await?;
    Ok(case.ok_or_else(missing))
}

/// A case closed by itself, since the guest's reservation was cancelled: where he went, and what
/// that cost, is written down afterwards, once.
async fn say_how(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    case: &Case,
    end: &CaseEnd,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let Some(ground) = Ground::of(ledger, property).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let mut tx = connection::begin(ledger).await?;
    let Some(locked) = store::lock(&mut tx, property, case.id).await? else {
        return Ok(Err(Refusal::NotFound("overbooking case".to_owned())));
    };
    if end.version.is_some_and(|read| read != locked.version) {
        return Ok(Err(Refusal::VersionMismatch {
            current: locked.version,
        }));
    }
    if locked.outcome.as_deref() != Some(Ending::Cured.as_str()) {
        // Somebody else has said how since it was read.
        return Ok(Err(closed(case.id)));
    }
    let ids: Vec<_> = end.moves.iter().map(|one| one.reservation.0).collect();
    let gone = folio::by_ids(&mut tx, property, &ids).await?;
    if let Err(refusal) = have_left(case, end, &gone) {
        return Ok(Err(refusal));
    }
    let currency = ground.currency();
    let rooms = end.moves.iter().flat_map(|one| rooms_of(&gone, one));
    let expected = policy_minor(&ground.policy, end.ending, ground.today, rooms);
    let up_to = case
        .approval
        .as_ref()
        .and_then(|told| told.get("up_to_minor")?.as_i64());
    if let Err(refusal) = approved(&ground.policy, up_to, (end, expected), currency) {
        return Ok(Err(refusal));
    }
    let cost_minor = end.cost_minor.or(expected);
    if end.rehearses {
        return Ok(Ok(case.clone()));
    }
    let each = end.moves.iter().map(|one| {
        let known = gone.iter().find(|f| f.reservation.id == one.reservation);
        json!({
            "reservation": one.reservation, "number": known.map(|f| f.reservation.number),
            "room_stay_id": one.room_stay, "elsewhere": one.elsewhere,
        })
    });
    let moves: Vec<Value> = each.collect();
    let resolution = json!({ "moves": moves, "note": end.note });
    let cost = cost_minor.map(|minor| (minor, currency.code()));
    let outcome = end.ending.as_str();
    store::say_how(&mut tx, property, case.id, outcome, cost, &resolution).await?;
    let detail = json!({ "outcome": outcome, "cost_minor": cost_minor, "moves": moves });
    let (kind, actor) = ("outcome_told", &by.actor);
    store::insert_event(&mut tx, property, case.id, kind, actor, &detail).await?;
    connection::commit(tx).await?;
    let case = load(ledger, property, case.id).await?;
    Ok(case.ok_or_else(|| Refusal::NotFound("overbooking case".to_owned())))
}

/// Those who are said to have left are guests of this case, and are cancelled.
fn have_left(case: &Case, end: &CaseEnd, gone: &[Folio]) -> Result<(), Refusal> {
    if end.moves.is_empty() {
        return Err(Refusal::invalid("/moves", "say which reservation has left"));
    }
    let nights: Vec<StayDate> = case.nights.iter().map(|night| night.0).collect();
    for (at, one) in end.moves.iter().enumerate() {
        let known = gone.iter().find(|f| f.reservation.id == one.reservation);
        let Some(guest) = known.map(|folio| &folio.reservation) else {
            return Err(Refusal::NotFound("reservation".to_owned()));
        };
        let is_meant = |room: &&RoomStay| Some(room.id) == one.room_stay;
        let room = guest.rooms.iter().find(is_meant);
        let has_left = room.is_some_and(|room| room.is_given_back);
        if guest.status != Status::Cancelled && !has_left {
            let words = format!(
                "the case has cured itself, and reservation {} is {}: if its guest leaves as well, \
                 cancel it first",
                guest.number,
                guest.status.in_words()
            );
            return Err(Refusal::invalid(format!("/moves/{at}"), words));
        }
        is_concerned(guest, one.room_stay, (case.room_type_id, &nights), at)?;
        is_of_channel(guest, end.ending, at)?;
    }
    Ok(())
}

/// The rooms of those who have left that a move speaks of.
fn rooms_of<'a>(gone: &'a [Folio], one: &'a CaseMove) -> impl Iterator<Item = &'a RoomStay> {
    let guest = gone.iter().find(|f| f.reservation.id == one.reservation);
    let rooms = guest.into_iter().flat_map(|f| &f.reservation.rooms);
    rooms.filter(|room| match one.room_stay {
        Some(id) => room.id == id,
        None => !room.is_given_back,
    })
}
