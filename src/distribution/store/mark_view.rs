//! What staff see of the marks: how many, how old, what was refused. The table mark.

use std::collections::HashMap;

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::ari::AriKey;
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange};
use sqlx::PgExecutor;

use crate::error::DistributionError;
use crate::store::mark::key;

/// The queue of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Cells that are still to be told.
    pub(crate) depth: i64,
    /// Of these, changes (the others are repeats of a resync).
    pub(crate) changes: i64,
    /// Since when the oldest change is untold.
    pub(crate) oldest_at: Option<jiff::Timestamp>,
    /// Of these, refused by the channel.
    pub(crate) refused: i64,
}

#[derive(sqlx::FromRow)]
struct QueueRow {
    depth: i64,
    changes: i64,
    oldest_at: Option<Timestamp>,
    refused: i64,
}

/// How long the queue of an account is.
pub(crate) async fn queue(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<Queue, DistributionError> {
    let row: QueueRow = sqlx::query_as(
        "select count(*) as depth, count(*) filter (where not is_full) as changes,
                min(first_marked_at) filter (where not is_full) as oldest_at,
                count(*) filter (where last_error is not null) as refused
         from mark where account_id = $1",
    )
    .bind(account.0)
    .fetch_one(db)
    .await
    .map_err(DistributionError::while_doing("counting marks"))?;
    Ok(Queue {
        depth: row.depth,
        changes: row.changes,
        oldest_at: row.oldest_at.map(|at| at.to_jiff()),
        refused: row.refused,
    })
}

/// For how many milliseconds the oldest change has been untold that waits for nothing: no poll, no
/// gathering, no person who looks at why this very cell is refused.
pub(crate) async fn untold_ms(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<Option<i64>, DistributionError> {
    sqlx::query_scalar(
        "select (extract(epoch from ledger_now() - min(changed_at)) * 1000)::bigint
         from mark where account_id = $1 and not waits_for_poll and not is_full
                         and last_error is null and due_at <= (select ledger_now())",
    )
    .bind(account.0)
    .fetch_one(db)
    .await
    .map_err(DistributionError::while_doing("looking at the oldest mark"))
}

/// The queue of every account that has one, for the metrics.
pub(crate) async fn depths(
    db: impl PgExecutor<'_>,
) -> Result<Vec<(AccountId, i64)>, DistributionError> {
    let rows: Vec<(i64, i64)> =
        sqlx::query_as("select account_id, count(*) from mark group by account_id")
            .fetch_all(db)
            .await
            .map_err(DistributionError::while_doing("counting marks"))?;
    Ok(rows
        .into_iter()
        .map(|(account, depth)| (AccountId(account), depth))
        .collect())
}

/// Since when the rooms of a type are still to be told, by night.
pub(crate) async fn pending(
    db: impl PgExecutor<'_>,
    account: AccountId,
    room_type: RoomTypeId,
    nights: StayRange,
) -> Result<HashMap<StayDate, jiff::Timestamp>, DistributionError> {
    let rows: Vec<(Date, Timestamp)> = sqlx::query_as(
        "select stay_date, first_marked_at from mark
         where account_id = $1 and room_type_id = $2 and rate_plan_id = 0
               and stay_date >= $3 and stay_date < $4",
    )
    .bind(account.0)
    .bind(room_type.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading marks of nights"))?;
    Ok(rows
        .into_iter()
        .map(|(night, at)| (night.to_jiff(), at.to_jiff()))
        .collect())
}

#[derive(sqlx::FromRow)]
struct RefusedRow {
    room_type_id: i64,
    rate_plan_id: i64,
    stay_date: Date,
    attempt: i32,
    last_error: String,
    due_at: Timestamp,
}

/// A cell that the channel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedMark {
    /// Which.
    pub(crate) key: AriKey,
    /// How often.
    pub(crate) attempt: i32,
    /// The channel's words.
    pub(crate) why: String,
    /// When it is tried again.
    pub(crate) due_at: jiff::Timestamp,
}

/// Cells that the channel refused, nearest nights first.
pub(crate) async fn refused(
    db: impl PgExecutor<'_>,
    account: AccountId,
    limit: i64,
) -> Result<Vec<RefusedMark>, DistributionError> {
    let rows: Vec<RefusedRow> = sqlx::query_as(
        "select room_type_id, rate_plan_id, stay_date, attempt, last_error, due_at
         from mark where account_id = $1 and last_error is not null
         order by stay_date, room_type_id, rate_plan_id limit $2",
    )
    .bind(account.0)
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading refused marks"))?;
    Ok(rows
        .into_iter()
        .map(|row| RefusedMark {
            key: key(row.room_type_id, row.rate_plan_id, row.stay_date),
            attempt: row.attempt,
            why: row.last_error,
            due_at: row.due_at.to_jiff(),
        })
        .collect())
}
