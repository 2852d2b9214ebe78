//! Telling everything again: daily at an hour of the property's own, on demand, and after a
//! restore. A resync is nothing but marking every cell.
//!
//! The loop also works what else waits for its time: removals of accounts, evidence of
//! overbookings, what is too old to keep, and the gauges of the queues.

mod daily;
mod removal;

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use keyrack_ledger::catalog;
use keyrack_ledger::tail::{self, Listing};
use keyrack_model::channel::{Account, AccountState};
use keyrack_model::id::{AccountId, PropertyId};
use keyrack_model::stay::plus_days;
use sqlx::PgConnection;
use tokio::time::Instant;

use crate::error::DistributionError;
use crate::evidence;
use crate::handle::Distribution;
use crate::lag;
use crate::push::urgency::Repeat;
use crate::resync::daily::daily;
use crate::store::mark::NewMark;
use crate::store::push_state::Bell;
use crate::store::{
    mark, mark_view, push_attempt, push_health, push_state, told, told_history, transaction,
    webhook_delivery,
};

/// Runs until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    let inner = &distribution.inner;
    let pause = Duration::from_secs(inner.settings.resync_poll_seconds.max(1).into());
    let (mut swept_at, mut gauged_at): (Option<Instant>, Option<Instant>) = (None, None);
    while !inner.cancel.is_cancelled() {
        if let Err(error) = step(&distribution).await {
            tracing::warn!(error = %error.chain(), "resyncs could not be looked at");
        }
        if swept_at.is_none_or(|at| at.elapsed() >= SWEEP_PAUSE) {
            swept_at = Some(Instant::now());
            if let Err(error) = sweep(&distribution).await {
                tracing::warn!(error = %error.chain(), "what is old could not be purged");
            }
        }
        if gauged_at.is_none_or(|at| at.elapsed() >= GAUGE_PAUSE) {
            gauged_at = Some(Instant::now());
            if let Err(error) = gauge(&distribution).await {
                tracing::warn!(error = %error.chain(), "the queues could not be measured");
            }
            if let Err(error) = lag::gauge(&distribution).await {
                tracing::warn!(error = %error.chain(), "the lag could not be measured");
            }
        }
        tokio::select! {
            () = inner.wakes.resync.notified() => {}
            () = tokio::time::sleep(pause) => {}
            () = inner.cancel.cancelled() => {}
        }
    }
}

/// Looks once at everything that is due.
///
/// # Errors
///
/// Failures of the database.
pub async fn step(distribution: &Distribution) -> Result<(), DistributionError> {
    while resync_next(distribution).await? {
        if distribution.inner.cancel.is_cancelled() {
            return Ok(());
        }
    }
    removal::step(distribution).await?;
    evidence::step(distribution).await
}

/// Resyncs the account that is due longest, in a transaction of its own; `false` where none is.
async fn resync_next(distribution: &Distribution) -> Result<bool, DistributionError> {
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    let Some(due) = push_health::resync_due(&mut tx, 1).await?.pop() else {
        return Ok(false);
    };
    let ledger = &distribution.inner.ledger;
    let rows = catalog::accounts(ledger, due.property).await?;
    let row = rows.into_iter().find(|row| row.account.id == due.account);
    let (Some(row), Some(zone)) = (row, time_zone(distribution, due.property).await?) else {
        push_health::forget(&mut *tx, due.account).await?;
        transaction::commit(tx).await?;
        return Ok(true);
    };
    let hour = row.account.settings.resync_hour;
    let plan = daily(due.now, &zone, hour, due.account, due.resynced_on);
    let is_told = row.account.state != AccountState::Setup;
    if plan.is_due && is_told {
        let cells = mark_all(distribution, &mut tx, &row.account).await?;
        tracing::info!(account.id = %due.account, push.cells = cells, "resync");
    }
    let resynced_on = Some(plan.day).filter(|_| plan.is_due && is_told);
    push_health::resync_next(&mut tx, due.account, plan.next_at, resynced_on).await?;
    transaction::commit(tx).await?;
    distribution.inner.wakes.push.notify_one();
    if plan.is_due {
        forget_old(distribution, due.account, plan.day).await?;
    }
    Ok(true)
}

/// Marks every cell of an account to be told in full, and wants a complete set where its channel
/// takes those; says how many cells.
pub(crate) async fn mark_all(
    distribution: &Distribution,
    conn: &mut PgConnection,
    account: &Account,
) -> Result<usize, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let capabilities = distribution
        .inner
        .channels
        .adapter(&account.channel)?
        .capabilities();
    let (mappings, _) = catalog::mappings(ledger, account.id).await?;
    let listing = Listing {
        account,
        mappings: &mappings,
        capabilities,
    };
    let marks: Vec<NewMark> = tail::keys(ledger, &listing)
        .await?
        .into_iter()
        .map(|key| NewMark {
            account: account.id,
            key,
            repeat: Repeat {
                is_cancellation: false,
                is_full: true,
            },
            changed_at: None,
        })
        .collect();
    push_state::ring(conn, &[Bell::from(account)]).await?;
    for some in marks.chunks(MARKS_AT_ONCE) {
        mark::upsert(conn, some).await?;
    }
    if capabilities.takes_complete_sets {
        push_health::want_complete(conn, account.id).await?;
    }
    Ok(marks.len())
}

/// The zone of a property; UTC where the database of zones does not know it.
async fn time_zone(
    distribution: &Distribution,
    property: PropertyId,
) -> Result<Option<TimeZone>, DistributionError> {
    let before = PropertyId(property.0.saturating_sub(1));
    let found = catalog::properties(&distribution.inner.ledger, Some(before), 1).await?;
    let found = found.into_iter().find(|found| found.id == property);
    Ok(found.map(|found| TimeZone::get(&found.setup.time_zone).unwrap_or(TimeZone::UTC)))
}

/// The length of every queue, as gauges.
async fn gauge(distribution: &Distribution) -> Result<(), DistributionError> {
    let depths = mark_view::depths(&distribution.inner.pool).await?;
    let all: i64 = depths.iter().map(|(_, depth)| depth).sum();
    let deepest = depths.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
    let gauge = |depth: i64| f64::from(i32::try_from(depth).unwrap_or(i32::MAX));
    metrics::gauge!("push_queue_depth").set(gauge(all));
    metrics::gauge!("push_queue_depth_max").set(gauge(deepest));
    metrics::gauge!("push_queue_accounts")
        .set(f64::from(u32::try_from(depths.len()).unwrap_or(u32::MAX)));
    let failing = push_health::failing(&distribution.inner.pool).await?;
    metrics::gauge!("accounts_failing").set(gauge(failing));
    Ok(())
}

/// Removes what is older than its retention, a piece at a time.
async fn sweep(distribution: &Distribution) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let days = inner.settings.attempt_retention_days;
    while push_attempt::purge(&inner.pool, days, PURGE_AT_ONCE).await? > 0
        && !inner.cancel.is_cancelled()
    {}
    let told = i64::from(inner.settings.told_retention_days).saturating_add(HORIZON_DAYS_MAX);
    let unused = i32::try_from(told)
        .unwrap_or(i32::MAX)
        .min(RETENTION_DAYS_MAX);
    while told_history::purge_bases(&inner.pool, unused, PURGE_AT_ONCE).await? > 0
        && !inner.cancel.is_cancelled()
    {}
    while webhook_delivery::purge(&inner.pool, days, PURGE_AT_ONCE).await? > 0
        && !inner.cancel.is_cancelled()
    {}
    Ok(())
}

/// Once a day, what was told of an account's nights long ago.
async fn forget_old(
    distribution: &Distribution,
    account: AccountId,
    today: Date,
) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let days = i32::try_from(inner.settings.told_retention_days).unwrap_or(i32::MAX);
    let before = plus_days(today, -days.min(RETENTION_DAYS_MAX));
    while told::purge(&inner.pool, account, before, PURGE_AT_ONCE).await? > 0
        && !inner.cancel.is_cancelled()
    {}
    while told_history::purge(&inner.pool, account, before, PURGE_AT_ONCE).await? > 0
        && !inner.cancel.is_cancelled()
    {}
    Ok(())
}

/// No night is told earlier than so many days ahead, and a calculation is noted as used within a
/// month.
const HORIZON_DAYS_MAX: i64 = 2_131;
/// A hundred years: dates do not reach back for ever.
const RETENTION_DAYS_MAX: i32 = 36_500;
/// From one look at the lengths of the queues to the next.
const GAUGE_PAUSE: Duration = Duration::from_secs(60);
/// Rows of one statement at most.
const MARKS_AT_ONCE: usize = 5_000;
/// Rows that one statement purges at most.
const PURGE_AT_ONCE: i64 = 5_000;
/// From one purge to the next.
const SWEEP_PAUSE: Duration = Duration::from_secs(3_600);
