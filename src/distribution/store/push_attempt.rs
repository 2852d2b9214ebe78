//! How messages went. The table push_attempt.

use std::collections::BTreeSet;

use jiff_sqlx::Timestamp;
use keyrack_model::id::AccountId;
use sqlx::{PgConnection, PgExecutor};

use crate::error::DistributionError;

/// Notes that a message is about to leave; its id, and the instant.
pub(crate) async fn begin(
    conn: &mut PgConnection,
    account: AccountId,
    cells: usize,
    spans: usize,
    is_complete: bool,
) -> Result<(i64, jiff::Timestamp), DistributionError> {
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let (id, at): (i64, Timestamp) = sqlx::query_as(
        "insert into push_attempt (account_id, at, cells, spans, is_complete)
         values ($1, ledger_now(), $2, $3, $4) returning attempt_id, at",
    )
    .bind(account.0)
    .bind(count(cells))
    .bind(count(spans))
    .bind(is_complete)
    .fetch_one(conn)
    .await
    .map_err(DistributionError::while_doing("noting a message"))?;
    Ok((id, at.to_jiff()))
}

/// Notes how it went.
pub(crate) async fn end(
    conn: &mut PgConnection,
    attempt: i64,
    outcome: &str,
    why: Option<&str>,
    trace: Option<&str>,
    duration_ms: i64,
) -> Result<jiff::Timestamp, DistributionError> {
    let now: Timestamp = sqlx::query_scalar(
        "update push_attempt set outcome = $2, why = $3, trace = $4, duration_ms = $5
         where attempt_id = $1 returning ledger_now()",
    )
    .bind(attempt)
    .bind(outcome)
    .bind(why)
    .bind(trace)
    .bind(duration_ms)
    .fetch_one(conn)
    .await
    .map_err(DistributionError::while_doing("noting how a message went"))?;
    Ok(now.to_jiff())
}

/// Those of some messages that were never answered.
pub(crate) async fn unanswered(
    conn: &mut PgConnection,
    attempts: &[i64],
) -> Result<BTreeSet<i64>, DistributionError> {
    let rows: Vec<i64> = sqlx::query_scalar(
        "select attempt_id from push_attempt
         where attempt_id = any($1) and outcome in ('sent', 'unknown')",
    )
    .bind(attempts)
    .fetch_all(conn)
    .await
    .map_err(DistributionError::while_doing(
        "looking for unanswered messages",
    ))?;
    Ok(rows.into_iter().collect())
}

/// A message, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Its id.
    pub(crate) id: i64,
    /// When it left.
    pub(crate) at: jiff::Timestamp,
    /// Cells in it.
    pub(crate) cells: i32,
    /// `sent`, `accepted`, `partly` …
    pub(crate) outcome: String,
    /// In the channel's words.
    pub(crate) why: Option<String>,
    /// The channel's own id of the exchange.
    pub(crate) trace: Option<String>,
    /// How long the answer took.
    pub(crate) duration_ms: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct Row {
    attempt_id: i64,
    at: Timestamp,
    cells: i32,
    outcome: String,
    why: Option<String>,
    trace: Option<String>,
    duration_ms: Option<i64>,
}

/// The newest messages of an account.
pub(crate) async fn newest(
    db: impl PgExecutor<'_>,
    account: AccountId,
    limit: i64,
) -> Result<Vec<Attempt>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select attempt_id, at, cells, outcome, why, trace, duration_ms
         from push_attempt where account_id = $1 order by attempt_id desc limit $2",
    )
    .bind(account.0)
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading messages"))?;
    Ok(rows
        .into_iter()
        .map(|row| Attempt {
            id: row.attempt_id,
            at: row.at.to_jiff(),
            cells: row.cells,
            outcome: row.outcome,
            why: row.why,
            trace: row.trace,
            duration_ms: row.duration_ms,
        })
        .collect())
}

/// When messages to an account failed between two instants, oldest first.
pub(crate) async fn failed_between(
    db: impl PgExecutor<'_>,
    account: AccountId,
    from: jiff::Timestamp,
    until: jiff::Timestamp,
) -> Result<Vec<jiff::Timestamp>, DistributionError> {
    let rows: Vec<Timestamp> = sqlx::query_scalar(
        "select at from push_attempt
         where account_id = $1 and at >= $2 and at <= $3
               and outcome not in ('accepted', 'sent')
         order by attempt_id limit 1000",
    )
    .bind(account.0)
    .bind(Timestamp::from(from))
    .bind(Timestamp::from(until))
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading failed messages"))?;
    Ok(rows.into_iter().map(|at| at.to_jiff()).collect())
}

/// Removes what is older than `days` days, a piece at a time; says how many rows went.
pub(crate) async fn purge(
    db: impl PgExecutor<'_>,
    days: u32,
    limit: i64,
) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from push_attempt where attempt_id = any(array(
             select attempt_id from push_attempt
             where at < (select ledger_now()) - $1 * interval '1 day' limit $2))",
    )
    .bind(i32::try_from(days).unwrap_or(i32::MAX))
    .bind(limit)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("purging messages"))?;
    Ok(done.rows_affected())
}
