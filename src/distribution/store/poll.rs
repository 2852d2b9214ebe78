//! The table poll_state: what is asked when, and how it went.

use jiff::Timestamp;
use keyrack_model::adapter::Goal;
use keyrack_model::id::ConnectionId;
use sqlx::PgPool;

use crate::error::DistributionError;

/// Where the asking of one connection stands, for one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollState {
    /// Which connection.
    pub connection: ConnectionId,
    /// Which question: [`Goal::Poll`] or [`Goal::PollMissed`].
    pub goal: Goal,
    /// When it is asked next.
    pub due_at: Timestamp,
    /// Failures in a row.
    pub attempt: i32,
    /// When the last poll began, complete or not.
    pub last_begun_at: Option<Timestamp>,
    /// When the last complete poll began: what was marked before may rise.
    pub last_complete_begun_at: Option<Timestamp>,
    /// When the last complete poll ended.
    pub last_complete_at: Option<Timestamp>,
    /// Since when every poll fails.
    pub failing_since: Option<Timestamp>,
    /// Seconds since then by the database's clock.
    pub failing_seconds: Option<i64>,
    /// Why the last one failed.
    pub last_error: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    connection_id: i64,
    goal: String,
    due_at: jiff_sqlx::Timestamp,
    attempt: i32,
    last_begun_at: Option<jiff_sqlx::Timestamp>,
    last_complete_begun_at: Option<jiff_sqlx::Timestamp>,
    last_complete_at: Option<jiff_sqlx::Timestamp>,
    failing_since: Option<jiff_sqlx::Timestamp>,
    failing_seconds: Option<i64>,
    last_error: Option<String>,
}

impl From<Row> for PollState {
    fn from(row: Row) -> Self {
        let instant = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
        Self {
            connection: ConnectionId(row.connection_id),
            goal: goal_of(&row.goal),
            due_at: row.due_at.to_jiff(),
            attempt: row.attempt,
            last_begun_at: instant(row.last_begun_at),
            last_complete_begun_at: instant(row.last_complete_begun_at),
            last_complete_at: instant(row.last_complete_at),
            failing_since: instant(row.failing_since),
            failing_seconds: row.failing_seconds,
            last_error: row.last_error,
        }
    }
}

/// The goal as the table spells it; only what is asked again and again has a row.
pub(crate) fn name_of(goal: Goal) -> &'static str {
    match goal {
        Goal::PollMissed => "missed",
        Goal::Poll | Goal::SignIn | Goal::Test => "poll",
    }
}

fn goal_of(name: &str) -> Goal {
    if name == "missed" {
        Goal::PollMissed
    } else {
        Goal::Poll
    }
}

/// Makes sure that the question is asked; due at once where it is new.
pub(crate) async fn ensure(
    pool: &PgPool,
    connection: ConnectionId,
    goal: Goal,
) -> Result<(), DistributionError> {
    sqlx::query(
        "insert into poll_state (connection_id, goal, due_at)
         values ($1, $2, ledger_now())
         on conflict (connection_id, goal) do nothing",
    )
    .bind(connection.0)
    .bind(name_of(goal))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("planning a poll"))?;
    Ok(())
}

/// What is due, longest overdue first.
pub(crate) async fn due(
    pool: &PgPool,
    limit: u32,
) -> Result<Vec<(ConnectionId, Goal)>, DistributionError> {
    let rows: Vec<(i64, String)> = sqlx::query_as(
        "select connection_id, goal
         from poll_state
         where due_at <= (select ledger_now())
         order by due_at
         limit $1",
    )
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing(
        "looking for polls that are due",
    ))?;
    Ok(rows
        .into_iter()
        .map(|(id, goal)| (ConnectionId(id), goal_of(&goal)))
        .collect())
}

/// Makes every question due now: after a start, and on demand. A ring during a poll is heard after
/// it.
pub(crate) async fn ring(
    pool: &PgPool,
    connection: Option<ConnectionId>,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update poll_state set due_at = ledger_now(), rung_at = ledger_now()
         where $1::bigint is null or connection_id = $1",
    )
    .bind(connection.map(|connection| connection.0))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("ringing for a poll"))?;
    Ok(())
}

/// A poll begins: says when, by the database's clock, and how many failed in a row before it. Due
/// again in a minute even if this process dies with it.
pub(crate) async fn begin(
    pool: &PgPool,
    connection: ConnectionId,
    goal: Goal,
) -> Result<(Timestamp, u32), DistributionError> {
    let (begun, attempt): (jiff_sqlx::Timestamp, i32) = sqlx::query_as(
        "insert into poll_state (connection_id, goal, due_at, last_begun_at)
         values ($1, $2, ledger_now() + interval '1 minute', ledger_now())
         on conflict (connection_id, goal)
         do update set last_begun_at = ledger_now(), due_at = excluded.due_at
         returning last_begun_at, attempt",
    )
    .bind(connection.0)
    .bind(name_of(goal))
    .fetch_one(pool)
    .await
    .map_err(DistributionError::while_doing("beginning a poll"))?;
    Ok((begun.to_jiff(), attempt.unsigned_abs()))
}

/// Every round went through.
pub(crate) async fn complete(
    pool: &PgPool,
    connection: ConnectionId,
    goal: Goal,
    begun_at: Timestamp,
    again_seconds: u32,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update poll_state
         set last_complete_begun_at = greatest(last_complete_begun_at, $3),
             last_complete_at = ledger_now(), attempt = 0, failing_since = null,
             last_error = null,
             due_at = case when rung_at > last_begun_at then ledger_now()
                 else ledger_now() + $4::bigint * interval '1 second' end
         where connection_id = $1 and goal = $2",
    )
    .bind(connection.0)
    .bind(name_of(goal))
    .bind(jiff_sqlx::Timestamp::from(begun_at))
    .bind(i64::from(again_seconds))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("completing a poll"))?;
    Ok(())
}

/// It did not go through; asked again after a while.
pub(crate) async fn fail(
    pool: &PgPool,
    connection: ConnectionId,
    goal: Goal,
    why: &str,
    again_ms: u64,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update poll_state
         set attempt = attempt + 1, failing_since = coalesce(failing_since, ledger_now()),
             last_error = $3, due_at = ledger_now() + $4::bigint * interval '1 millisecond'
         where connection_id = $1 and goal = $2",
    )
    .bind(connection.0)
    .bind(name_of(goal))
    .bind(why)
    .bind(i64::try_from(again_ms).unwrap_or(i64::MAX))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("noting a failed poll"))?;
    Ok(())
}

/// Not asked now, and that is no failure: nobody stands behind the connection, or another daemon
/// is asking.
pub(crate) async fn postpone(
    pool: &PgPool,
    connection: ConnectionId,
    goal: Goal,
    seconds: u32,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update poll_state set due_at = ledger_now() + $3::bigint * interval '1 second'
         where connection_id = $1 and goal = $2",
    )
    .bind(connection.0)
    .bind(name_of(goal))
    .bind(i64::from(seconds))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("postponing a poll"))?;
    Ok(())
}

/// Where the asking of a connection stands; one row a question.
pub(crate) async fn states(
    pool: &PgPool,
    connection: ConnectionId,
) -> Result<Vec<PollState>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select connection_id, goal, due_at, attempt, last_begun_at, last_complete_begun_at,
                last_complete_at, failing_since,
                extract(epoch from ledger_now() - failing_since)::bigint as failing_seconds,
                last_error
         from poll_state
         where connection_id = $1
         order by goal desc",
    )
    .bind(connection.0)
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("loading the state of polls"))?;
    Ok(rows.into_iter().map(PollState::from).collect())
}

/// Whether a question fails for so many seconds or more.
pub(crate) async fn failing(
    pool: &PgPool,
    seconds: u32,
) -> Result<Vec<PollState>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select connection_id, goal, due_at, attempt, last_begun_at, last_complete_begun_at,
                last_complete_at, failing_since,
                extract(epoch from ledger_now() - failing_since)::bigint as failing_seconds,
                last_error
         from poll_state
         where failing_since <= (select ledger_now()) - $1::bigint * interval '1 second'
         order by connection_id, goal",
    )
    .bind(i64::from(seconds))
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("looking for failing polls"))?;
    Ok(rows.into_iter().map(PollState::from).collect())
}
