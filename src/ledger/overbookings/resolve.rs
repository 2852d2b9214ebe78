//! A case ends.

use keyrack_model::id::PropertyId;
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::Status;
use serde_json::{Value, json};

use crate::command::{Asked, By, Command};
use crate::decide::overbooking::end::CaseEnd;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::case::{Case, load};
use crate::store::{connection, folio, overbooking as store, property as properties};

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
    if is_repeat(&before, &end) {
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

/// Whether a closed case has ended as it is asked to: the same ending, and the same guests moved.
fn is_repeat(case: &Case, end: &CaseEnd) -> bool {
    let moved = |case: &Case| -> Option<Vec<String>> {
        let moves = case.resolution.as_ref()?.get("moves")?.as_array()?;
        let id = |one: &Value| one.get("reservation")?.as_str().map(str::to_owned);
        let mut ids: Vec<String> = moves.iter().filter_map(id).collect();
        ids.sort_unstable();
        Some(ids)
    };
    let mut asked: Vec<String> = end
        .moves
        .iter()
        .map(|m| m.reservation.to_string())
        .collect();
    asked.sort_unstable();
    asked.dedup();
    !case.is_open()
        && case.outcome.as_deref() == Some(end.ending.as_str())
        && moved(case).unwrap_or_default() == asked
}

/// A case closed by itself, since the guest's reservation was cancelled: where he went, and what
/// that cost, is written down afterwards.
async fn say_how(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    case: &Case,
    end: &CaseEnd,
) -> Result<Result<Case, Refusal>, LedgerError> {
    if end.version.is_some_and(|read| read != case.version) {
        return Ok(Err(Refusal::VersionMismatch {
            current: case.version,
        }));
    }
    let mut tx = connection::begin(ledger).await?;
    let ids: Vec<_> = end.moves.iter().map(|one| one.reservation.0).collect();
    let gone = folio::by_ids(&mut tx, property, &ids).await?;
    for (at, one) in end.moves.iter().enumerate() {
        let known = gone.iter().find(|f| f.reservation.id == one.reservation);
        match known.map(|folio| folio.reservation.status) {
            None => return Ok(Err(Refusal::NotFound("reservation".to_owned()))),
            Some(Status::Cancelled) => {}
            Some(status) => {
                let words = format!(
                    "the case is cured, and this reservation is {}: cancel it by itself if it \
                     leaves, too",
                    status.as_str()
                );
                return Ok(Err(Refusal::invalid(format!("/moves/{at}"), words)));
            }
        }
    }
    let Some(house) = properties::by_id(&mut tx, property).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let moves: Vec<Value> = gone
        .iter()
        .map(|folio| {
            let id = folio.reservation.id;
            let told = end.moves.iter().find(|one| one.reservation == id);
            json!({
                "reservation": id, "number": folio.reservation.number,
                "elsewhere": told.and_then(|one| one.elsewhere.clone()),
            })
        })
        .collect();
    let resolution = json!({ "moves": moves, "note": end.note });
    let currency = house.setup.currency.code();
    let cost = end.cost_minor.map(|minor| (minor, currency));
    let outcome = end.ending.as_str();
    if store::lock(&mut tx, property, case.id).await?.is_none() {
        return Ok(Err(Refusal::NotFound("overbooking case".to_owned())));
    }
    store::say_how(&mut tx, property, case.id, outcome, cost, &resolution).await?;
    let detail = json!({ "outcome": outcome, "cost_minor": end.cost_minor, "moves": moves });
    store::insert_event(
        &mut tx,
        property,
        case.id,
        "outcome_told",
        &by.actor,
        &detail,
    )
    .await?;
    connection::commit(tx).await?;
    let case = load(ledger, property, case.id).await?;
    Ok(case.ok_or_else(|| Refusal::NotFound("overbooking case".to_owned())))
}
