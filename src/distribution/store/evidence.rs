//! Overbookings whose evidence is still to be gathered. The table evidence_due.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{CaseId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::stay::StayRange;
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::error::DistributionError;

/// An overbooking whose evidence is still to be gathered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EvidenceDue {
    /// Whose.
    pub(crate) property: PropertyId,
    /// Which case.
    pub(crate) case: CaseId,
    /// Of which type.
    pub(crate) room_type: RoomTypeId,
    /// From its first night to its last.
    pub(crate) nights: StayRange,
    /// What oversold them, where it was a reservation.
    pub(crate) reservation: Option<ReservationId>,
    /// When.
    pub(crate) opened_at: jiff::Timestamp,
    /// How often it has been gathered.
    pub(crate) attempt: i32,
}

/// Asks for evidence, in the feed's transaction.
pub(crate) async fn ask(
    conn: &mut PgConnection,
    due: &EvidenceDue,
) -> Result<(), DistributionError> {
    sqlx::query(
        "insert into evidence_due (property_id, case_id, room_type_id, night_from, night_until,
                                   reservation_id, opened_at, due_at)
         values ($1, $2, $3, $4, $5, $6, $7, ledger_now())
         on conflict (property_id, case_id) do nothing",
    )
    .bind(due.property.0)
    .bind(due.case.0)
    .bind(due.room_type.0)
    .bind(Date::from(due.nights.arrival()))
    .bind(Date::from(due.nights.departure()))
    .bind(due.reservation.map(|id| id.0))
    .bind(Timestamp::from(due.opened_at))
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("asking for evidence"))?;
    Ok(())
}

#[derive(sqlx::FromRow)]
struct Row {
    property_id: i64,
    case_id: i64,
    room_type_id: i64,
    night_from: Date,
    night_until: Date,
    reservation_id: Option<Uuid>,
    opened_at: Timestamp,
    attempt: i32,
}

/// Takes what is due; nobody else takes it for a minute.
pub(crate) async fn claim(
    db: impl PgExecutor<'_>,
    limit: i64,
) -> Result<Vec<EvidenceDue>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "update evidence_due due set due_at = ledger_now() + interval '1 minute'
         from (select property_id, case_id from evidence_due
               where due_at <= (select ledger_now())
               order by due_at limit $1 for update skip locked) taken
         where due.property_id = taken.property_id and due.case_id = taken.case_id
         returning due.property_id, due.case_id, room_type_id, night_from, night_until,
                   reservation_id, opened_at, attempt",
    )
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("taking evidence to gather"))?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(EvidenceDue {
                property: PropertyId(row.property_id),
                case: CaseId(row.case_id),
                room_type: RoomTypeId(row.room_type_id),
                nights: StayRange::new(row.night_from.to_jiff(), row.night_until.to_jiff())?,
                reservation: row.reservation_id.map(ReservationId),
                opened_at: row.opened_at.to_jiff(),
                attempt: row.attempt,
            })
        })
        .collect())
}

/// Gathered; once more in `again_seconds`, or never again.
pub(crate) async fn gathered(
    db: impl PgExecutor<'_>,
    due: &EvidenceDue,
    again_seconds: Option<u32>,
) -> Result<(), DistributionError> {
    sqlx::query(
        "with over as (
             delete from evidence_due
             where property_id = $1 and case_id = $2 and $3::integer is null)
         update evidence_due
         set attempt = attempt + 1, due_at = ledger_now() + $3 * interval '1 second'
         where property_id = $1 and case_id = $2 and $3 is not null",
    )
    .bind(due.property.0)
    .bind(due.case.0)
    .bind(again_seconds.map(|seconds| i32::try_from(seconds).unwrap_or(i32::MAX)))
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("noting evidence"))?;
    Ok(())
}
