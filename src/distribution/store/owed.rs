//! The table unacknowledged: what is recorded, while the channel has not taken our word for it.

use jiff::Timestamp;
use keyrack_model::adapter::Goal;
use keyrack_model::id::{AccountId, ConnectionId, MessageId};
use sqlx::PgPool;

use crate::error::DistributionError;
use crate::store::poll::name_of;

/// Recorded, and not yet acknowledged: written before the acknowledgement leaves.
pub(crate) async fn owe(
    pool: &PgPool,
    connection: ConnectionId,
    goal: Goal,
    message: MessageId,
    recorded: &[(AccountId, String)],
) -> Result<(), DistributionError> {
    let accounts: Vec<i64> = recorded.iter().map(|(account, _)| account.0).collect();
    let references: Vec<&str> = recorded.iter().map(|(_, name)| name.as_str()).collect();
    sqlx::query(
        "insert into unacknowledged (connection_id, reference, account_id, message_id, goal,
             recorded_at, seen_at)
         select distinct on (told.reference) $1, told.reference, told.account_id, $2, $5,
             ledger_now(), ledger_now()
         from unnest($3::bigint[], $4::text[]) as told (account_id, reference)
         on conflict (connection_id, reference)
         do update set message_id = excluded.message_id, goal = excluded.goal,
             seen_at = excluded.seen_at",
    )
    .bind(connection.0)
    .bind(message.0)
    .bind(accounts)
    .bind(references)
    .bind(name_of(goal))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing(
        "noting what is to be acknowledged",
    ))?;
    Ok(())
}

/// The channel took our word for these.
pub(crate) async fn acknowledged(
    pool: &PgPool,
    connection: ConnectionId,
    references: &[String],
) -> Result<(), DistributionError> {
    sqlx::query("delete from unacknowledged where connection_id = $1 and reference = any($2)")
        .bind(connection.0)
        .bind(references)
        .execute(pool)
        .await
        .map_err(DistributionError::while_doing("noting an acknowledgement"))?;
    Ok(())
}

/// A complete poll that began after these were seen no longer held them: the channel has our word
/// for them, though its answer was lost.
pub(crate) async fn gone(
    pool: &PgPool,
    connection: ConnectionId,
    goal: Goal,
    begun_at: Timestamp,
) -> Result<(), DistributionError> {
    sqlx::query(
        "delete from unacknowledged where connection_id = $1 and goal = $2 and seen_at < $3",
    )
    .bind(connection.0)
    .bind(name_of(goal))
    .bind(jiff_sqlx::Timestamp::from(begun_at))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing(
        "noting what was acknowledged",
    ))?;
    Ok(())
}

/// The channel did not take our word for these, for now.
pub(crate) async fn not_acknowledged(
    pool: &PgPool,
    connection: ConnectionId,
    references: &[String],
    why: &str,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update unacknowledged set last_error = $3
         where connection_id = $1 and reference = any($2)",
    )
    .bind(connection.0)
    .bind(references)
    .bind(why)
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing(
        "noting a failed acknowledgement",
    ))?;
    Ok(())
}

/// Recorded and not acknowledged for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owed {
    pub(crate) connection: ConnectionId,
    pub(crate) account: AccountId,
    pub(crate) reference: String,
    pub(crate) message: MessageId,
    pub(crate) last_error: Option<String>,
}

/// What is recorded and not acknowledged for so many seconds or more, oldest first.
pub(crate) async fn owed(
    pool: &PgPool,
    seconds: u32,
    limit: u32,
) -> Result<Vec<Owed>, DistributionError> {
    let rows: Vec<(i64, i64, String, i64, Option<String>)> = sqlx::query_as(
        "select connection_id, account_id, reference, message_id, last_error
         from unacknowledged
         where recorded_at <= (select ledger_now()) - $1::bigint * interval '1 second'
         order by recorded_at
         limit $2",
    )
    .bind(i64::from(seconds))
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing(
        "looking for what is not acknowledged",
    ))?;
    Ok(rows
        .into_iter()
        .map(
            |(connection, account, reference, message, last_error)| Owed {
                connection: ConnectionId(connection),
                account: AccountId(account),
                reference,
                message: MessageId(message),
                last_error,
            },
        )
        .collect())
}
