//! What has ended moves out of the hot tables: `archived_reservation` and what hangs on it.

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::tail::Cursor;

/// What must be true of a reservation that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub property: PropertyId,
    /// Departed by this day.
    pub departed_by: StayDate,
    /// Unchanged for so many days.
    pub days: i32,
    /// The feed has read this far.
    pub passed: Cursor,
}

/// Which reservations are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Among<'a> {
    /// All behind an id.
    After(Option<ReservationId>),
    /// These.
    Only(&'a [Uuid]),
}

/// Those that may leave, in order of id.
pub(crate) async fn due(
    conn: &mut PgConnection,
    bounds: &Bounds,
    among: Among<'_>,
    limit: u32,
) -> Result<Vec<Uuid>, LedgerError> {
    let (after, only) = match among {
        Among::After(after) => (after.map(|id| id.0), None),
        Among::Only(ids) => (None, Some(ids)),
    };
    sqlx::query_scalar(include_str!("sql/archive_due.sql"))
        .bind(bounds.property.0)
        .bind(only)
        .bind(after)
        .bind(Date::from(bounds.departed_by))
        .bind(bounds.days)
        .bind(bounds.passed.tx.to_string())
        .bind(bounds.passed.seq)
        .bind(i64::from(limit))
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("looking for what has ended"))
}

/// Locks those that nobody else has locked; waits for none.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    property: PropertyId,
    ids: &[Uuid],
) -> Result<Vec<Uuid>, LedgerError> {
    sqlx::query_scalar(
        "select reservation_id from reservation
          where property_id = $1 and reservation_id = any($2)
          order by property_id, reservation_id for update skip locked",
    )
    .bind(property.0)
    .bind(ids)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("locking what has ended"))
}

/// Moves reservations that are locked; how many.
pub(crate) async fn move_out(
    conn: &mut PgConnection,
    property: PropertyId,
    ids: &[Uuid],
) -> Result<i64, LedgerError> {
    sqlx::query_scalar(include_str!("sql/archive_move.sql"))
        .bind(property.0)
        .bind(ids)
        .fetch_one(conn)
        .await
        .map_err(LedgerError::while_doing("archiving reservations"))
}
