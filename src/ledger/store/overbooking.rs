//! The overbooking-resolution queue: `overbooking_case`, its nights and events.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{CaseId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::decide::overbooking::sheet::{SeenCase, SeenCases};
use crate::error::LedgerError;
use crate::overbookings::case::Case;

type NightRow = (jiff::civil::Date, i32, Option<jiff::Timestamp>, Option<i32>);
type EventRow = (String, String, serde_json::Value, jiff::Timestamp);

#[derive(sqlx::FromRow)]
struct Row {
    case_id: i64,
    room_type_id: i64,
    room_type: String,
    status: String,
    cause: String,
    evidence: Json<serde_json::Value>,
    owner: Option<String>,
    deadline: Option<Timestamp>,
    opened_at: Timestamp,
    closed_at: Option<Timestamp>,
    escalated_at: Option<Timestamp>,
    outcome: Option<String>,
    by_hand: bool,
    proposal: Option<Json<serde_json::Value>>,
    approval: Option<Json<serde_json::Value>>,
    cost_minor: Option<i64>,
    cost_currency: Option<String>,
    resolution: Option<Json<serde_json::Value>>,
    version: i64,
    nights: Json<Vec<NightRow>>,
    concerned: Vec<Uuid>,
    events: Json<Vec<EventRow>>,
}

/// Which cases are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Which {
    /// Only this one.
    pub only: Option<CaseId>,
    /// Only open, or only closed ones.
    pub is_open: Option<bool>,
    /// Only those made before this one.
    pub before: Option<CaseId>,
    /// At most so many.
    pub limit: u32,
}

/// Cases of a property, newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
    which: Which,
) -> Result<Vec<Case>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(include_str!("sql/overbooking_cases.sql"))
        .bind(property.0)
        .bind(which.only.map(|id| id.0))
        .bind(which.is_open)
        .bind(i64::from(which.limit))
        .bind(which.before.map(|id| id.0))
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("reading overbooking cases"))?;
    Ok(rows.into_iter().map(Case::from).collect())
}

#[derive(sqlx::FromRow)]
struct SeenRow {
    property_id: i64,
    case_id: i64,
    version: i64,
    status: String,
    room_type_id: i64,
    approved_minor: Option<i64>,
    nights: Vec<Date>,
}

/// The cases that commands end, as they are now. Whoever changes one meanwhile counts its version
/// up.
pub(crate) async fn seen(
    conn: &mut PgConnection,
    named: &[(PropertyId, CaseId)],
) -> Result<SeenCases, LedgerError> {
    if named.is_empty() {
        return Ok(SeenCases::new());
    }
    let rows: Vec<SeenRow> = sqlx::query_as(
        "select c.property_id, c.case_id, c.version, c.status, c.room_type_id,
                (c.approval ->> 'up_to_minor')::bigint as approved_minor,
                coalesce((select array_agg(n.stay_date order by n.stay_date)
                            from overbooking_case_night n
                           where n.property_id = c.property_id and n.case_id = c.case_id
                             and n.cured_at is null), '{}') as nights
           from (select distinct * from unnest($1::bigint[], $2::bigint[])) k(property_id, case_id)
           join overbooking_case c using (property_id, case_id)",
    )
    .bind(named.iter().map(|(id, _)| id.0).collect::<Vec<_>>())
    .bind(named.iter().map(|(_, id)| id.0).collect::<Vec<_>>())
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading cases"))?;
    let each = |row: SeenRow| {
        let id = CaseId(row.case_id);
        let seen = SeenCase {
            id,
            version: row.version,
            is_open: row.status == "open",
            room_type: RoomTypeId(row.room_type_id),
            nights: row.nights.into_iter().map(Date::to_jiff).collect(),
            approved_minor: row.approved_minor,
        };
        ((PropertyId(row.property_id), id), seen)
    };
    Ok(rows.into_iter().map(each).collect())
}

/// The case of a night, where one is not cured: its id and whether it is open.
pub(crate) async fn of_night(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    nights: &[StayDate],
) -> Result<Option<(CaseId, bool)>, LedgerError> {
    let found: Option<(i64, bool)> = sqlx::query_as(
        "select c.case_id, c.status = 'open'
           from overbooking_case_night n join overbooking_case c using (property_id, case_id)
          where n.property_id = $1 and n.room_type_id = $2 and n.stay_date = any($3)
            and n.cured_at is null
          order by n.stay_date limit 1",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(nights.iter().copied().map(Date::from).collect::<Vec<_>>())
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("looking for a night's case"))?;
    Ok(found.map(|(id, is_open)| (CaseId(id), is_open)))
}

/// Locks a case, its nights that are not cured first; says how it stands. `None` where there is
/// none.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    property: PropertyId,
    id: CaseId,
) -> Result<Option<Locked>, LedgerError> {
    let doing = LedgerError::while_doing("locking a case");
    let nights: Vec<(Date,)> = sqlx::query_as(
        "select stay_date from overbooking_case_night
          where property_id = $1 and case_id = $2 and cured_at is null
          order by stay_date for update",
    )
    .bind(property.0)
    .bind(id.0)
    .fetch_all(&mut *conn)
    .await
    .map_err(&doing)?;
    let row: Option<LockedRow> = sqlx::query_as(
        "select version, status, outcome, proposal from overbooking_case
          where property_id = $1 and case_id = $2 for update",
    )
    .bind(property.0)
    .bind(id.0)
    .fetch_optional(conn)
    .await
    .map_err(&doing)?;
    Ok(row.map(|row| Locked {
        version: row.version,
        is_open: row.status == "open",
        outcome: row.outcome,
        proposed_minor: row
            .proposal
            .and_then(|proposal| proposal.0.get("cost_minor")?.as_i64()),
        nights_beyond: nights.len(),
    }))
}

#[derive(sqlx::FromRow)]
struct LockedRow {
    version: i64,
    status: String,
    outcome: Option<String>,
    proposal: Option<Json<serde_json::Value>>,
}

/// A case whose row is locked.
pub(crate) struct Locked {
    pub version: i64,
    pub is_open: bool,
    /// How it ended.
    pub outcome: Option<String>,
    pub proposed_minor: Option<i64>,
    /// Nights with more sold than can be slept in.
    pub nights_beyond: usize,
}

/// What a person sets in a case; `None` leaves what is there.
#[derive(Debug, Default)]
pub(crate) struct Set<'a> {
    pub owner: Option<&'a str>,
    pub deadline: Option<jiff::Timestamp>,
    pub proposal: Option<&'a serde_json::Value>,
    pub approval: Option<&'a serde_json::Value>,
}

/// Sets it, in the transaction that has locked the case. Another deadline may pass once more.
pub(crate) async fn set(
    conn: &mut PgConnection,
    property: PropertyId,
    id: CaseId,
    set: &Set<'_>,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update overbooking_case
            set owner = coalesce($3, owner), deadline = coalesce($4, deadline),
                escalated_at = case when $4 > ledger_now() then null else escalated_at end,
                escalation_told_at = case when $4 > ledger_now() then null
                                          else escalation_told_at end,
                proposal = coalesce($5, proposal), approval = coalesce($6, approval),
                version = version + 1
          where property_id = $1 and case_id = $2",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(set.owner)
    .bind(set.deadline.map(Timestamp::from))
    .bind(set.proposal.map(Json))
    .bind(set.approval.map(Json))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("changing a case"))?;
    Ok(())
}

/// Opens a case again that was accepted as it was.
pub(crate) async fn open_again(
    conn: &mut PgConnection,
    property: PropertyId,
    id: CaseId,
) -> Result<(), LedgerError> {
    let doing = LedgerError::while_doing("opening a case again");
    sqlx::query(
        "update overbooking_case_night set accepted_rooms = null
          where property_id = $1 and case_id = $2 and cured_at is null",
    )
    .bind(property.0)
    .bind(id.0)
    .execute(&mut *conn)
    .await
    .map_err(&doing)?;
    sqlx::query(
        "update overbooking_case
            set status = 'open', closed_at = null, outcome = null, cost_minor = null,
                cost_currency = null, resolution = null, approval = null, deadline = null,
                escalated_at = null, escalation_told_at = null, version = version + 1
          where property_id = $1 and case_id = $2",
    )
    .bind(property.0)
    .bind(id.0)
    .execute(conn)
    .await
    .map_err(&doing)?;
    Ok(())
}

/// Says how a case that was cured by itself had been resolved, and what that cost.
pub(crate) async fn say_how(
    conn: &mut PgConnection,
    property: PropertyId,
    id: CaseId,
    outcome: &str,
    cost: Option<(i64, &str)>,
    resolution: &serde_json::Value,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update overbooking_case
            set outcome = $3, cost_minor = $4, cost_currency = $5, resolution = $6,
                version = version + 1
          where property_id = $1 and case_id = $2 and status = 'closed'",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(outcome)
    .bind(cost.map(|cost| cost.0))
    .bind(cost.map(|cost| cost.1))
    .bind(Json(resolution))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("saying how a case ended"))?;
    Ok(())
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
        let json = |json: Option<Json<serde_json::Value>>| json.map(|Json(value)| value);
        Self {
            id: CaseId(row.case_id),
            room_type_id: RoomTypeId(row.room_type_id),
            room_type: row.room_type,
            status: row.status,
            cause: row.cause,
            evidence: row.evidence.0,
            owner: row.owner,
            deadline_set: row.deadline.map(Timestamp::to_jiff),
            opened_at: row.opened_at.to_jiff(),
            closed_at: row.closed_at.map(Timestamp::to_jiff),
            escalated_at: row.escalated_at.map(Timestamp::to_jiff),
            outcome: row.outcome,
            by_hand: row.by_hand,
            proposal: json(row.proposal),
            approval: json(row.approval),
            cost: row.cost_minor.zip(row.cost_currency),
            resolution: json(row.resolution),
            nights: row.nights.0,
            concerned: row.concerned.into_iter().map(ReservationId).collect(),
            events: row.events.0,
            version: row.version,
        }
    }
}

/// Whether this is what happened to a case last.
pub(crate) async fn is_last_event(
    conn: &mut PgConnection,
    property: PropertyId,
    id: CaseId,
    (kind, actor, detail): (&str, &str, &serde_json::Value),
) -> Result<bool, LedgerError> {
    let is_it: Option<bool> = sqlx::query_scalar(
        "select kind = $3 and actor = $4 and detail = $5 from overbooking_case_event
          where property_id = $1 and case_id = $2 order by seq desc limit 1",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(kind)
    .bind(actor)
    .bind(Json(detail))
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading what happened to a case"))?;
    Ok(is_it == Some(true))
}
