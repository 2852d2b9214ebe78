//! The overbooking-resolution queue: cases opened and closed by the nights themselves; read here.

use jiff::Timestamp;
use keyrack_model::id::{CaseId, PropertyId, ReservationId};
use keyrack_model::stay::StayDate;

use crate::error::LedgerError;
use crate::handle::Ledger;

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
    _ledger: &Ledger,
    _property: PropertyId,
    _only_open: bool,
    _limit: u32,
) -> Result<Vec<Case>, LedgerError> {
    Err(LedgerError::Closing)
}

/// One case.
pub async fn load(
    _ledger: &Ledger,
    _property: PropertyId,
    _id: CaseId,
) -> Result<Option<Case>, LedgerError> {
    Err(LedgerError::Closing)
}

/// Adds what distribution knows (told, sent, acknowledged) to a case's evidence, and the cause
/// where it follows from it.
pub async fn add_evidence(
    _ledger: &Ledger,
    _property: PropertyId,
    _id: CaseId,
    _evidence: serde_json::Value,
    _cause: Option<keyrack_model::overbooking::Cause>,
) -> Result<(), LedgerError> {
    Err(LedgerError::Closing)
}
