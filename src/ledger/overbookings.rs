//! The overbooking-resolution queue: cases opened and closed by the nights themselves; read here.

use jiff::Timestamp;
use keyrack_model::id::{CaseId, PropertyId, ReservationId};
use keyrack_model::stay::StayDate;

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::{connection, overbooking as store};

/// A case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its id.
    pub id: CaseId,
    /// Code of the room type.
    pub room_type: String,
    /// `open` or `closed`.
    pub status: String,
    /// Why, as far as known.
    pub cause: String,
    /// What is known, as JSON: what was told when, when the guest booked, when we heard.
    pub evidence: serde_json::Value,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// How it ended: `cured` …
    pub outcome: Option<String>,
    /// Night, rooms beyond, when cured.
    pub nights: Vec<(StayDate, i32, Option<Timestamp>)>,
    /// Who sleeps on its nights, in order of booking.
    pub concerned: Vec<ReservationId>,
    /// Kind, actor, detail, instant: in order.
    pub events: Vec<(String, String, serde_json::Value, Timestamp)>,
    /// Counts changes.
    pub version: i64,
}

/// Cases of a property, newest first; only open ones where asked.
pub async fn list(
    ledger: &Ledger,
    property: PropertyId,
    only_open: bool,
    limit: u32,
) -> Result<Vec<Case>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::list(&mut conn, property, None, only_open, limit).await
}

/// One case.
pub async fn load(
    ledger: &Ledger,
    property: PropertyId,
    id: CaseId,
) -> Result<Option<Case>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    Ok(store::list(&mut conn, property, Some(id), false, 1)
        .await?
        .pop())
}

/// Adds what distribution knows (told, sent, acknowledged) to a case's evidence, and the cause
/// where it follows from it.
pub async fn add_evidence(
    ledger: &Ledger,
    property: PropertyId,
    id: CaseId,
    evidence: serde_json::Value,
    cause: Option<keyrack_model::overbooking::Cause>,
) -> Result<(), LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    let cause = cause.map(keyrack_model::overbooking::Cause::as_str);
    if store::add_evidence(&mut tx, property, id, &evidence, cause).await? {
        let detail = match cause {
            Some(cause) => serde_json::json!({"cause": cause, "evidence": evidence}),
            None => serde_json::json!({"evidence": evidence}),
        };
        store::insert_event(
            &mut tx,
            property,
            id,
            "evidence",
            "worker:evidence",
            &detail,
        )
        .await?;
        connection::commit(tx).await?;
    }
    Ok(())
}
