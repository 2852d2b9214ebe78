//! How pushes to an account go, for staff and for back-off. The table push_state.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{AccountId, ConnectionId, PropertyId};
use sqlx::{PgConnection, PgExecutor};

use crate::error::DistributionError;

/// A failure of a whole exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// `later`, `refused`, `unauthenticated`, `unknown`, `not_sent`.
    pub(crate) outcome: &'static str,
    /// In the channel's words, or the network's.
    pub(crate) why: String,
    /// The channel is left in peace for so long.
    pub(crate) wait_ms: u64,
    /// A person must look: counts as failing from the first time on.
    pub(crate) needs_person: bool,
}

/// Notes a failure; says whether the account is failing since just now.
pub(crate) async fn failed(
    conn: &mut PgConnection,
    account: AccountId,
    failure: &Failure,
    failures_max: u32,
) -> Result<bool, DistributionError> {
    let wait_ms = i64::try_from(failure.wait_ms).unwrap_or(i64::MAX);
    let failures_max = i32::try_from(failures_max).unwrap_or(i32::MAX);
    let since: (Option<Timestamp>, Timestamp) = sqlx::query_as(
        "update push_state
         set failures = failures + 1, last_outcome = $2, last_why = $3, last_failed_at = clock.now,
             backoff_until = clock.now + $4 * interval '1 millisecond',
             failing_since = coalesce(failing_since,
                 case when $5 or failures + 1 >= $6 then clock.now end)
         from (select ledger_now() as now) clock
         where account_id = $1
         returning failing_since, clock.now",
    )
    .bind(account.0)
    .bind(failure.outcome)
    .bind(&failure.why)
    .bind(wait_ms)
    .bind(failure.needs_person)
    .bind(failures_max)
    .fetch_one(conn)
    .await
    .map_err(DistributionError::while_doing("noting a failure"))?;
    Ok(since.0.map(|at| at.to_jiff()) == Some(since.1.to_jiff()))
}

/// Notes a success, whole or in part; says whether the account was failing until now.
pub(crate) async fn succeeded(
    conn: &mut PgConnection,
    account: AccountId,
    outcome: &'static str,
    why: Option<&str>,
) -> Result<bool, DistributionError> {
    let was_failing: bool = sqlx::query_scalar(
        "with before as (
             select account_id, failing_since is not null as was_failing
             from push_state where account_id = $1 for update)
         update push_state state
         set failures = 0, failing_since = null, backoff_until = null, last_outcome = $2,
             last_why = $3, last_pushed_at = ledger_now()
         from before where state.account_id = before.account_id
         returning was_failing",
    )
    .bind(account.0)
    .bind(outcome)
    .bind(why)
    .fetch_one(conn)
    .await
    .map_err(DistributionError::while_doing("noting a success"))?;
    Ok(was_failing)
}

/// The health of an account's pushes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    /// Failures in a row.
    pub(crate) failures: i32,
    /// Since when a person must look.
    pub(crate) failing_since: Option<jiff::Timestamp>,
    /// `accepted`, `partly`, or as in [`Failure::outcome`].
    pub(crate) last_outcome: Option<String>,
    /// In words.
    pub(crate) last_why: Option<String>,
    /// The last failure.
    pub(crate) last_failed_at: Option<jiff::Timestamp>,
    /// The last success.
    pub(crate) last_pushed_at: Option<jiff::Timestamp>,
    /// The channel is left in peace until then.
    pub(crate) backoff_until: Option<jiff::Timestamp>,
    /// Being removed, since then.
    pub(crate) removing_since: Option<jiff::Timestamp>,
    /// It is not told more than it was, since then.
    pub(crate) throttled_since: Option<jiff::Timestamp>,
}

#[derive(sqlx::FromRow)]
struct HealthRow {
    failures: i32,
    failing_since: Option<Timestamp>,
    last_outcome: Option<String>,
    last_why: Option<String>,
    last_failed_at: Option<Timestamp>,
    last_pushed_at: Option<Timestamp>,
    backoff_until: Option<Timestamp>,
    removing_since: Option<Timestamp>,
    throttled_since: Option<Timestamp>,
}

/// How pushes to an account go; `None` where nothing was ever to be told.
pub(crate) async fn health(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<Option<Health>, DistributionError> {
    let row: Option<HealthRow> = sqlx::query_as(
        "select failures, failing_since, last_outcome, last_why, last_failed_at,
                last_pushed_at, backoff_until, removing_since, throttled_since
         from push_state where account_id = $1",
    )
    .bind(account.0)
    .fetch_optional(db)
    .await
    .map_err(DistributionError::while_doing(
        "reading an account's health",
    ))?;
    Ok(row.map(|row| Health {
        failures: row.failures,
        failing_since: row.failing_since.map(|at| at.to_jiff()),
        last_outcome: row.last_outcome,
        last_why: row.last_why,
        last_failed_at: row.last_failed_at.map(|at| at.to_jiff()),
        last_pushed_at: row.last_pushed_at.map(|at| at.to_jiff()),
        backoff_until: row.backoff_until.map(|at| at.to_jiff()),
        removing_since: row.removing_since.map(|at| at.to_jiff()),
        throttled_since: row.throttled_since.map(|at| at.to_jiff()),
    }))
}

/// How many accounts are failing.
pub(crate) async fn failing(db: impl PgExecutor<'_>) -> Result<i64, DistributionError> {
    sqlx::query_scalar("select count(*) from push_state where failing_since is not null")
        .fetch_one(db)
        .await
        .map_err(DistributionError::while_doing("counting failing accounts"))
}

/// Wants a complete set of an account.
pub(crate) async fn want_complete(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<(), DistributionError> {
    sqlx::query("update push_state set complete_wanted_at = ledger_now() where account_id = $1")
        .bind(account.0)
        .execute(db)
        .await
        .map_err(DistributionError::while_doing("wanting a complete set"))?;
    Ok(())
}

/// The complete set that was wanted at `wanted_at` has been told; a later wish stands.
pub(crate) async fn complete_told(
    db: impl PgExecutor<'_>,
    account: AccountId,
    wanted_at: jiff::Timestamp,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update push_state set complete_wanted_at = null
         where account_id = $1 and complete_wanted_at <= $2",
    )
    .bind(account.0)
    .bind(Timestamp::from(wanted_at))
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("noting a complete set"))?;
    Ok(())
}

/// An account whose daily resync is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResyncDue {
    /// Whose.
    pub(crate) account: AccountId,
    /// Its property.
    pub(crate) property: PropertyId,
    /// Its login.
    pub(crate) connection: ConnectionId,
    /// The local day of the last one.
    pub(crate) resynced_on: Option<jiff::civil::Date>,
    /// The database's clock.
    pub(crate) now: jiff::Timestamp,
}

/// Accounts whose resync is due, at most `limit`; locked until the transaction ends, and left out
/// where another daemon looks at them.
pub(crate) async fn resync_due(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<ResyncDue>, DistributionError> {
    let rows: Vec<(i64, i64, i64, Option<Date>, Timestamp)> = sqlx::query_as(
        "select account_id, property_id, connection_id, resynced_on, clock.now
         from push_state, (select ledger_now() as now) clock
         where resync_next_at <= (select ledger_now())
         order by resync_next_at limit $1
         for update of push_state skip locked",
    )
    .bind(limit)
    .fetch_all(conn)
    .await
    .map_err(DistributionError::while_doing("looking for resyncs"))?;
    Ok(rows
        .into_iter()
        .map(|(account, property, connection, on, now)| ResyncDue {
            account: AccountId(account),
            property: PropertyId(property),
            connection: ConnectionId(connection),
            resynced_on: on.map(|on| on.to_jiff()),
            now: now.to_jiff(),
        })
        .collect())
}

/// When an account's next daily resync is looked at, and the local day of the last one.
pub(crate) async fn resync_next(
    conn: &mut PgConnection,
    account: AccountId,
    next_at: jiff::Timestamp,
    resynced_on: Option<jiff::civil::Date>,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update push_state set resync_next_at = $2, resynced_on = coalesce($3, resynced_on)
         where account_id = $1",
    )
    .bind(account.0)
    .bind(Timestamp::from(next_at))
    .bind(resynced_on.map(Date::from))
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("planning a resync"))?;
    Ok(())
}

/// Every account is told everything, as soon as its turn comes.
pub(crate) async fn resync_all(conn: &mut PgConnection) -> Result<(), DistributionError> {
    sqlx::query("update push_state set resynced_on = null, resync_next_at = ledger_now()")
        .execute(conn)
        .await
        .map_err(DistributionError::while_doing("planning every resync"))?;
    Ok(())
}

/// One account is told everything, as soon as its turn comes.
pub(crate) async fn resync_soon(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update push_state set resynced_on = null, resync_next_at = ledger_now()
         where account_id = $1",
    )
    .bind(account.0)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("planning a resync"))?;
    Ok(())
}

/// Keeps an account from being told more than it was, or lets it go again; says whether that is
/// another state than before.
pub(crate) async fn throttle(
    conn: &mut PgConnection,
    account: AccountId,
    is_throttled: bool,
) -> Result<bool, DistributionError> {
    let done = sqlx::query(
        "update push_state set throttled_since = case when $2 then ledger_now() end
         where account_id = $1 and (throttled_since is not null) <> $2",
    )
    .bind(account.0)
    .bind(is_throttled)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("throttling an account"))?;
    Ok(done.rows_affected() > 0)
}

/// The accounts that are kept from being told more.
pub(crate) async fn throttled(
    db: impl PgExecutor<'_>,
) -> Result<Vec<(AccountId, PropertyId, ConnectionId)>, DistributionError> {
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(
        "select account_id, property_id, connection_id from push_state
         where throttled_since is not null",
    )
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing(
        "looking for throttled accounts",
    ))?;
    let ids = |(account, property, connection)| {
        (
            AccountId(account),
            PropertyId(property),
            ConnectionId(connection),
        )
    };
    Ok(rows.into_iter().map(ids).collect())
}

/// Begins the removal of an account.
pub(crate) async fn remove(
    db: impl PgExecutor<'_>,
    account: AccountId,
    by: &str,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update push_state
         set removing_since = coalesce(removing_since, ledger_now()), removed_by = $2
         where account_id = $1",
    )
    .bind(account.0)
    .bind(by)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("beginning a removal"))?;
    Ok(())
}

/// An account that is being removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    /// Whose.
    pub(crate) account: AccountId,
    /// Its property.
    pub(crate) property: PropertyId,
    /// Its login.
    pub(crate) connection: ConnectionId,
    /// Since when.
    pub(crate) since: jiff::Timestamp,
    /// The last acknowledged push.
    pub(crate) last_pushed_at: Option<jiff::Timestamp>,
    /// Who asked.
    pub(crate) by: String,
}

#[derive(sqlx::FromRow)]
struct RemovalRow {
    account_id: i64,
    property_id: i64,
    connection_id: i64,
    removing_since: Timestamp,
    last_pushed_at: Option<Timestamp>,
    removed_by: Option<String>,
}

/// Accounts that are being removed, oldest first.
pub(crate) async fn removals(
    db: impl PgExecutor<'_>,
    limit: i64,
) -> Result<Vec<Removal>, DistributionError> {
    let rows: Vec<RemovalRow> = sqlx::query_as(
        "select account_id, property_id, connection_id, removing_since, last_pushed_at, removed_by
         from push_state where removing_since is not null order by removing_since limit $1",
    )
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("looking for removals"))?;
    Ok(rows
        .into_iter()
        .map(|row| Removal {
            account: AccountId(row.account_id),
            property: PropertyId(row.property_id),
            connection: ConnectionId(row.connection_id),
            since: row.removing_since.to_jiff(),
            last_pushed_at: row.last_pushed_at.map(|at| at.to_jiff()),
            by: row.removed_by.unwrap_or_default(),
        })
        .collect())
}

/// Forgets the turns of an account that is gone.
pub(crate) async fn forget(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<(), DistributionError> {
    sqlx::query("delete from push_state where account_id = $1")
        .bind(account.0)
        .execute(db)
        .await
        .map_err(DistributionError::while_doing("forgetting an account"))?;
    Ok(())
}
