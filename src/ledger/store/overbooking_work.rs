//! The overbooking-resolution queue, as the workers see it: `overbooking_case`, its nights, and the
//! entries that tell of it.

use jiff::tz::TimeZone;
use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{CaseId, PropertyId};
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::command::By;
use crate::decide::rules::Policies;
use crate::error::LedgerError;
use crate::store::clock;

/// An open case that has not escalated, with what its deadline follows from.
pub(crate) struct Open {
    pub property: PropertyId,
    pub case: CaseId,
    pub owner: Option<String>,
    pub deadline_set: Option<jiff::Timestamp>,
    pub opened_at: jiff::Timestamp,
    pub first_night: StayDate,
    pub zone: TimeZone,
    pub policies: Policies,
}

#[derive(sqlx::FromRow)]
struct OpenRow {
    property_id: i64,
    case_id: i64,
    owner: Option<String>,
    deadline: Option<Timestamp>,
    opened_at: Timestamp,
    first_night: Option<Date>,
    time_zone: String,
    policies: Json<Policies>,
}

/// The open cases of all properties that have not escalated, and the clock.
pub(crate) async fn to_escalate(
    conn: &mut PgConnection,
) -> Result<(jiff::Timestamp, Vec<Open>), LedgerError> {
    let now = clock::now(conn).await?;
    let rows: Vec<OpenRow> = sqlx::query_as(
        "select c.property_id, c.case_id, c.owner, c.deadline, c.opened_at, p.time_zone, p.policies,
                (select min(n.stay_date) from overbooking_case_night n
                  where n.property_id = c.property_id and n.case_id = c.case_id
                    and n.cured_at is null) as first_night
           from overbooking_case c join property p using (property_id)
          where c.status = 'open' and c.escalated_at is null
          order by c.property_id, c.case_id",
    )
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for deadlines"))?;
    let open = rows.into_iter().filter_map(|row| {
        Some(Open {
            property: PropertyId(row.property_id),
            case: CaseId(row.case_id),
            owner: row.owner,
            deadline_set: row.deadline.map(Timestamp::to_jiff),
            opened_at: row.opened_at.to_jiff(),
            first_night: row.first_night?.to_jiff(),
            zone: TimeZone::get(&row.time_zone).ok()?,
            policies: row.policies.0,
        })
    });
    Ok((now, open.collect()))
}

/// Notes that a deadline has passed; `false` where somebody was first, or the case is closed.
pub(crate) async fn escalate(
    conn: &mut PgConnection,
    property: PropertyId,
    case: CaseId,
) -> Result<bool, LedgerError> {
    let done = sqlx::query(
        "update overbooking_case set escalated_at = ledger_now(), version = version + 1
          where property_id = $1 and case_id = $2 and status = 'open' and escalated_at is null",
    )
    .bind(property.0)
    .bind(case.0)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("escalating a case"))?;
    Ok(done.rows_affected() == 1)
}

/// An escalated case of which nobody has been told.
pub(crate) struct Told {
    pub property: PropertyId,
    pub case: CaseId,
    pub room_type: String,
    pub owner: Option<String>,
    pub policies: Policies,
    pub first_night: StayDate,
    pub last_night: StayDate,
}

#[derive(sqlx::FromRow)]
struct ToldRow {
    property_id: i64,
    case_id: i64,
    room_type: String,
    owner: Option<String>,
    policies: Json<Policies>,
    first_night: Date,
    last_night: Date,
}

/// Escalated cases of all properties of which nobody has been told.
pub(crate) async fn to_tell(conn: &mut PgConnection) -> Result<Vec<Told>, LedgerError> {
    let rows: Vec<ToldRow> = sqlx::query_as(
        "select c.property_id, c.case_id, t.code as room_type, c.owner, p.policies,
                n.first_night, n.last_night
           from overbooking_case c
           join property p using (property_id)
           join room_type t using (property_id, room_type_id)
           cross join lateral (select min(stay_date) as first_night, max(stay_date) as last_night
                                 from overbooking_case_night n
                                where n.property_id = c.property_id and n.case_id = c.case_id) n
          where c.escalated_at is not null and c.escalation_told_at is null and c.status = 'open'
          order by c.property_id, c.case_id limit 100",
    )
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for escalated cases"))?;
    let each = |row: ToldRow| Told {
        property: PropertyId(row.property_id),
        case: CaseId(row.case_id),
        room_type: row.room_type,
        owner: row.owner,
        policies: row.policies.0,
        first_night: row.first_night.to_jiff(),
        last_night: row.last_night.to_jiff(),
    };
    Ok(rows.into_iter().map(each).collect())
}

/// Its notice stands.
pub(crate) async fn escalation_told(
    conn: &mut PgConnection,
    property: PropertyId,
    case: CaseId,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update overbooking_case set escalation_told_at = ledger_now()
          where property_id = $1 and case_id = $2 and escalation_told_at is null",
    )
    .bind(property.0)
    .bind(case.0)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("noting an escalation"))?;
    Ok(())
}

/// Writes an entry that tells of a case, with its nights; its id stands in the reason.
pub(crate) async fn write_entry(
    conn: &mut PgConnection,
    property: PropertyId,
    case: CaseId,
    by: &By,
    kind: &str,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from,
                                   night_until, actor, request_id, reason, at)
         select c.property_id,
                ledger_command_id(clock_timestamp(), substring(uuid_send($6) from 7)), 0,
                $3, c.room_type_id, min(n.stay_date), max(n.stay_date) + 1, $4, $5,
                c.case_id::text, ledger_now()
           from overbooking_case c join overbooking_case_night n using (property_id, case_id)
          where c.property_id = $1 and c.case_id = $2
          group by c.property_id, c.case_id, c.room_type_id",
    )
    .bind(property.0)
    .bind(case.0)
    .bind(kind)
    .bind(&by.actor)
    .bind(&by.request_id)
    .bind(Uuid::now_v7())
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("telling of a case"))?;
    Ok(())
}
