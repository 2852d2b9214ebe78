//! The overbooking-resolution queue: cases that nights open and close by themselves, and what
//! people do with them.
//!
//! Whatever moves a guest is a command of the lanes, and ends the case in the same transaction. The
//! other verbs change only the case's own row, under its lock. Nothing is ever closed silently.

pub mod advice;
mod around;
pub mod case;
pub mod escalation;
pub mod ground;
pub mod limits;
pub mod report;
mod resolve;
pub mod suggestion;
pub mod transfer;

use jiff::Timestamp;
use keyrack_model::id::{CaseId, PropertyId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange};
use serde_json::{Value, json};

use crate::command::{Asked, By, Command};
use crate::decide::overbooking::end::CaseEnd;
use crate::decide::overbooking::sheet::closed;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::case::{Case, load};
use crate::store::overbooking::{Locked, Set};
use crate::store::{connection, overbooking as store};

/// Adds what distribution knows (told, sent, acknowledged) to a case's evidence, and the cause
/// where it follows from it.
pub async fn add_evidence(
    ledger: &Ledger,
    property: PropertyId,
    id: CaseId,
    evidence: Value,
    cause: Option<keyrack_model::overbooking::Cause>,
) -> Result<(), LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    let cause = cause.map(keyrack_model::overbooking::Cause::as_str);
    if store::add_evidence(&mut tx, property, id, &evidence, cause).await? {
        let detail = match cause {
            Some(cause) => json!({"cause": cause, "evidence": evidence}),
            None => json!({"evidence": evidence}),
        };
        let by = "worker:evidence";
        store::insert_event(&mut tx, property, id, "evidence", by, &detail).await?;
        connection::commit(tx).await?;
    }
    Ok(())
}

/// A person opens a case for nights that are beyond what can be slept in, though they were meant to
/// be. The case that is there is no refusal, but is named in one.
pub async fn open_by_hand(
    ledger: &Ledger,
    property: PropertyId,
    by: By,
    (room_type, nights): (RoomTypeId, StayRange),
    note: Option<&str>,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let dates: Vec<StayDate> = nights.nights().collect();
    let mut conn = connection::reader(ledger).await?;
    if let Some((id, is_open)) = store::of_night(&mut conn, property, room_type, &dates).await? {
        let words = if is_open {
            format!("overbooking case {id} is open for these nights: work on that one")
        } else {
            format!("overbooking case {id} was accepted as it is: open that one again")
        };
        return Ok(Err(Refusal::IllegalTransition(words)));
    }
    drop(conn);
    let actor = by.actor.clone();
    let command = Command::OpenCase { room_type, nights };
    if let Err(refusal) = ledger.ask(Asked::new(property, by.into(), command)).await? {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    let opened = store::of_night(&mut tx, property, room_type, &dates).await?;
    let Some((id, _)) = opened else {
        // Cured between the two.
        return Ok(Err(Refusal::IllegalTransition(
            "nothing is oversold on these nights any more: no case is needed".to_owned(),
        )));
    };
    if let Some(note) = note {
        let detail = json!({ "text": note });
        store::insert_event(&mut tx, property, id, "note", &actor, &detail).await?;
    }
    connection::commit(tx).await?;
    shown(ledger, property, id).await
}

/// Who works a case, and until when.
pub async fn assign(
    ledger: &Ledger,
    work: Work<'_>,
    owner: &str,
    deadline: Option<Timestamp>,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let set = Set {
        owner: Some(owner),
        deadline,
        ..Set::default()
    };
    let detail = json!({ "owner": owner, "deadline": deadline.map(|at| at.to_string()) });
    change(ledger, work, "assigned", detail, |_| Ok(set)).await
}

/// A way out is proposed: who would be moved, and what it would cost.
pub async fn propose(
    ledger: &Ledger,
    work: Work<'_>,
    proposal: Value,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let set = Set {
        proposal: Some(&proposal),
        ..Set::default()
    };
    change(ledger, work, "proposed", proposal.clone(), |_| Ok(set)).await
}

/// A manager approves a cost: so much, or what was proposed.
pub async fn approve(
    ledger: &Ledger,
    work: Work<'_>,
    up_to_minor: Option<i64>,
    note: Option<&str>,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let (property, id) = (work.property, work.case);
    let mut tx = connection::begin(ledger).await?;
    let case = match locked(&mut tx, work).await? {
        Ok(case) => case,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let Some(up_to) = up_to_minor.or(case.proposed_minor) else {
        let words = "say up to which cost: nothing with a cost has been proposed";
        return Ok(Err(Refusal::invalid("/up_to", words)));
    };
    let approval = json!({ "up_to_minor": up_to, "by": work.by.actor, "note": note });
    let set = Set {
        approval: Some(&approval),
        ..Set::default()
    };
    store::set(&mut tx, property, id, &set).await?;
    let actor = &work.by.actor;
    store::insert_event(&mut tx, property, id, "approved", actor, &approval).await?;
    connection::commit(tx).await?;
    shown(ledger, property, id).await
}

/// Something is written down; the same words of the same person at once again are a repeat.
pub async fn note(
    ledger: &Ledger,
    work: Work<'_>,
    text: &str,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let (property, id) = (work.property, work.case);
    let mut tx = connection::begin(ledger).await?;
    let Some(case) = store::lock(&mut tx, property, id).await? else {
        return Ok(Err(Refusal::NotFound("overbooking case".to_owned())));
    };
    if let Err(refusal) = read(&case, work) {
        return Ok(Err(refusal));
    }
    let detail = json!({ "text": text });
    let actor = &work.by.actor;
    if store::is_last_event(&mut tx, property, id, ("note", actor, &detail)).await? {
        // Sent again, since its answer was lost: it stands there.
        drop(tx);
        return shown(ledger, property, id).await;
    }
    store::set(&mut tx, property, id, &Set::default()).await?;
    store::insert_event(&mut tx, property, id, "note", actor, &detail).await?;
    connection::commit(tx).await?;
    shown(ledger, property, id).await
}

/// A case that was accepted as it was is worked again.
pub async fn reopen(
    ledger: &Ledger,
    work: Work<'_>,
    reason: &str,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let (property, id) = (work.property, work.case);
    let mut tx = connection::begin(ledger).await?;
    let Some(case) = store::lock(&mut tx, property, id).await? else {
        return Ok(Err(Refusal::NotFound("overbooking case".to_owned())));
    };
    if let Err(refusal) = read(&case, work) {
        return Ok(Err(refusal));
    }
    if case.is_open {
        return shown(ledger, property, id).await;
    }
    if case.nights_beyond == 0 {
        let words = "none of its nights has more sold than there is: there is nothing to resolve. \
                     A new case opens by itself if that changes";
        return Ok(Err(Refusal::IllegalTransition(words.to_owned())));
    }
    store::open_again(&mut tx, property, id).await?;
    let detail = json!({ "why": reason });
    store::insert_event(&mut tx, property, id, "reopened", &work.by.actor, &detail).await?;
    // Why it came about is known already: no evidence is to be gathered anew.
    escalation::tell(&mut tx, property, id, work.by, "overbooking_reopened").await?;
    connection::commit(tx).await?;
    shown(ledger, property, id).await
}

/// Ends a case: the moves of its guests and its end are one transaction.
pub async fn end(
    ledger: &Ledger,
    property: PropertyId,
    by: By,
    end: CaseEnd,
) -> Result<Result<Case, Refusal>, LedgerError> {
    resolve::end(ledger, property, by, end).await
}

/// Whose case is worked by whom, in which version where the caller says.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Whose.
    pub property: PropertyId,
    /// Which.
    pub case: CaseId,
    /// Who.
    pub by: &'a By,
    /// The version that was read.
    pub version: Option<i64>,
}

async fn change<'a>(
    ledger: &Ledger,
    work: Work<'_>,
    kind: &str,
    detail: Value,
    set: impl FnOnce(&Locked) -> Result<Set<'a>, Refusal>,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let (property, id) = (work.property, work.case);
    let mut tx = connection::begin(ledger).await?;
    let case = match locked(&mut tx, work).await? {
        Ok(case) => case,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let set = match set(&case) {
        Ok(set) => set,
        Err(refusal) => return Ok(Err(refusal)),
    };
    store::set(&mut tx, property, id, &set).await?;
    store::insert_event(&mut tx, property, id, kind, &work.by.actor, &detail).await?;
    connection::commit(tx).await?;
    shown(ledger, property, id).await
}

/// The case's row locked, if it is open and as it was read.
async fn locked(
    conn: &mut sqlx::PgConnection,
    work: Work<'_>,
) -> Result<Result<Locked, Refusal>, LedgerError> {
    let Some(case) = store::lock(conn, work.property, work.case).await? else {
        return Ok(Err(Refusal::NotFound("overbooking case".to_owned())));
    };
    if let Err(refusal) = read(&case, work) {
        return Ok(Err(refusal));
    }
    if !case.is_open {
        return Ok(Err(closed(work.case)));
    }
    Ok(Ok(case))
}

fn read(case: &Locked, work: Work<'_>) -> Result<(), Refusal> {
    match work.version {
        Some(read) if read != case.version => Err(Refusal::VersionMismatch {
            current: case.version,
        }),
        _ => Ok(()),
    }
}

async fn shown(
    ledger: &Ledger,
    property: PropertyId,
    id: CaseId,
) -> Result<Result<Case, Refusal>, LedgerError> {
    let case = load(ledger, property, id).await?;
    Ok(case.ok_or_else(|| Refusal::NotFound("overbooking case".to_owned())))
}
