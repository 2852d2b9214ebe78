//! Closed nights as they were proved, and where the entries of the others begin:
//! `night_checkpoint`, `entry_beginning`.

use std::collections::BTreeSet;

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Whether any night before a day has no checkpoint or has changed since.
pub(crate) async fn is_due(
    conn: &mut PgConnection,
    property: PropertyId,
    end: StayDate,
) -> Result<bool, LedgerError> {
    sqlx::query_scalar(include_str!("sql/checkpoint_due.sql"))
        .bind(property.0)
        .bind(Date::from(end))
        .fetch_one(conn)
        .await
        .map_err(LedgerError::while_doing("looking for closed nights"))
}

/// Writes down the nights before a day that have no checkpoint or have changed since, without those
/// that could not be proved; how many.
pub(crate) async fn write(
    conn: &mut PgConnection,
    property: PropertyId,
    end: StayDate,
    left_out: &BTreeSet<(RoomTypeId, StayDate)>,
) -> Result<u64, LedgerError> {
    let done = sqlx::query(include_str!("sql/checkpoint.sql"))
        .bind(property.0)
        .bind(Date::from(end))
        .bind(left_out.iter().map(|key| key.0.0).collect::<Vec<_>>())
        .bind(
            left_out
                .iter()
                .map(|key| Date::from(key.1))
                .collect::<Vec<_>>(),
        )
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("writing checkpoints"))?;
    Ok(done.rows_affected())
}

/// Forgets where the entries of nights began so many days before a day.
pub(crate) async fn forget_beginnings(
    conn: &mut PgConnection,
    property: PropertyId,
    end: StayDate,
    days: i32,
) -> Result<(), LedgerError> {
    sqlx::query("delete from entry_beginning where property_id = $1 and night < $2::date - $3")
        .bind(property.0)
        .bind(Date::from(end))
        .bind(days)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("forgetting where entries began"))?;
    Ok(())
}

/// Writes down where the entries begin that the nights without a checkpoint need.
pub(crate) async fn begin(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<(), LedgerError> {
    sqlx::query(include_str!("sql/entry_beginning.sql"))
        .bind(property.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("looking for the first open entry"))?;
    Ok(())
}
