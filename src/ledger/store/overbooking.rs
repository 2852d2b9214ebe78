//! The overbooking-resolution queue: `overbooking_case`, its nights and events.

use jiff_sqlx::Timestamp;
use keyrack_model::id::{CaseId, PropertyId, ReservationId};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::overbookings::Case;

type NightRow = (jiff::civil::Date, i32, Option<jiff::Timestamp>);
type EventRow = (String, String, serde_json::Value, jiff::Timestamp);

#[derive(sqlx::FromRow)]
struct Row {
    case_id: i64,
    room_type: String,
    status: String,
    cause: String,
    evidence: Json<serde_json::Value>,
    opened_at: Timestamp,
    closed_at: Option<Timestamp>,
    outcome: Option<String>,
    version: i64,
    nights: Json<Vec<NightRow>>,
    concerned: Vec<Uuid>,
    events: Json<Vec<EventRow>>,
}

/// Cases of a property, newest first; only open ones, only one, where asked.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
    only: Option<CaseId>,
    only_open: bool,
    limit: u32,
) -> Result<Vec<Case>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(include_str!("sql/overbooking_cases.sql"))
        .bind(property.0)
        .bind(only.map(|id| id.0))
        .bind(only_open)
        .bind(i64::from(limit))
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("reading overbooking cases"))?;
    Ok(rows.into_iter().map(Case::from).collect())
}

/// Adds to a case's evidence, and its cause where one is given; says whether it is there.
pub(crate) async fn add_evidence(
    conn: &mut PgConnection,
    property: PropertyId,
    id: CaseId,
    evidence: &serde_json::Value,
    cause: Option<&str>,
) -> Result<bool, LedgerError> {
    sqlx::query(
        "update overbooking_case
         set evidence = evidence || $3, cause = coalesce($4, cause), version = version + 1
         where property_id = $1 and case_id = $2",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(Json(evidence))
    .bind(cause)
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
    .map_err(LedgerError::while_doing("adding evidence to a case"))
}

/// Writes what happened to a case.
pub(crate) async fn insert_event(
    conn: &mut PgConnection,
    property: PropertyId,
    id: CaseId,
    kind: &str,
    actor: &str,
    detail: &serde_json::Value,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into overbooking_case_event (property_id, case_id, kind, actor, detail, at)
         values ($1, $2, $3, $4, $5, ledger_now())",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(kind)
    .bind(actor)
    .bind(Json(detail))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("writing what happened to a case"))?;
    Ok(())
}

impl From<Row> for Case {
    fn from(row: Row) -> Self {
        Self {
            id: CaseId(row.case_id),
            room_type: row.room_type,
            status: row.status,
            cause: row.cause,
            evidence: row.evidence.0,
            opened_at: row.opened_at.to_jiff(),
            closed_at: row.closed_at.map(Timestamp::to_jiff),
            outcome: row.outcome,
            nights: row.nights.0,
            concerned: row.concerned.into_iter().map(ReservationId).collect(),
            events: row.events.0,
            version: row.version,
        }
    }
}
