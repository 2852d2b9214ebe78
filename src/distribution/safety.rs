//! Rules of safety: how each account listens is measured here, the ledger works out what is kept
//! back. An account that fails or lags behind is not told more than it was until it recovers.
//!
//! All of it off the booking path, from what is written down anyway, and as rows: any daemon may
//! measure, and all tell the same.

use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_ledger::decide::estimate::Ear;
use keyrack_ledger::decide::lags::Lags;
use keyrack_ledger::safety;
use keyrack_model::adapter::Goal;
use keyrack_model::channel::{AccountState, Capabilities};
use keyrack_model::id::{AccountId, PropertyId};

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::lag::LAG_OF_LAST;
use crate::push::look;
use crate::store::push_state::Bell;
use crate::store::{clock, mark_view, poll, push_health, push_state, told_history, transaction};

/// Measures every property that has a rule of safety and was not measured just now; says how many.
///
/// # Errors
///
/// Failures of the database.
pub async fn measure_due(
    distribution: &Distribution,
    every_seconds: u32,
) -> Result<usize, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let mut measured = 0;
    for property in safety::due(ledger, every_seconds).await? {
        if distribution.inner.cancel.is_cancelled() {
            break;
        }
        measured += usize::from(measure(distribution, property, every_seconds).await?);
    }
    let_go(distribution).await?;
    Ok(measured)
}

async fn measure(
    distribution: &Distribution,
    property: PropertyId,
    every_seconds: u32,
) -> Result<bool, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let rules = safety::rules(ledger, property).await?;
    let mut ears = Vec::new();
    for row in catalog::accounts(ledger, property).await? {
        let Some(adapter) = distribution.inner.channels.find(&row.account.channel) else {
            continue;
        };
        let ear = listen(distribution, &row, adapter.capabilities()).await?;
        let is_bound = rules
            .iter()
            .any(|rule| rule.account.is_none_or(|account| account == ear.account));
        let is_behind = ear.deaf_ms > 0 || ear.mute_ms > 0;
        let is_live = row.account.state == AccountState::Live;
        throttle(
            distribution,
            Bell::from(&row.account),
            is_bound && is_behind && is_live,
        )
        .await?;
        ears.push(ear);
    }
    let runs = safety::measure(ledger, property, ears, every_seconds).await?;
    if let Some(runs) = runs.filter(|runs| *runs > 0) {
        tracing::info!(property.id = %property, runs, "another number of rooms is kept back");
        crate::feed::wake(distribution);
    }
    Ok(runs.is_some())
}

/// How an account listens and speaks, as far as it is measured.
async fn listen(
    distribution: &Distribution,
    row: &AccountRow,
    capabilities: &Capabilities,
) -> Result<Ear, DistributionError> {
    let pool = &distribution.inner.pool;
    let account = row.account.id;
    let told = Lags::of(told_history::lags(pool, account, LAG_OF_LAST).await?);
    let now = clock::now(pool).await?;
    let since = |at: jiff::Timestamp| now.duration_since(at).as_millis();
    let since = |at| i64::try_from(since(at)).unwrap_or(i64::MAX);

    let patience = PATIENCE_MS.max(told.quantile_ms(990).saturating_mul(2));
    let untold_ms = mark_view::untold_ms(pool, account).await?.unwrap_or(0);
    let health = push_health::health(pool, account).await?;
    let failing_ms = health.and_then(|health| health.failing_since).map(since);
    let deaf_ms = match failing_ms {
        Some(failing_ms) => failing_ms.max(untold_ms).max(1),
        None if untold_ms > patience => untold_ms,
        None => 0,
    };

    let states = poll::states(pool, row.account.connection).await?;
    let polled = states.into_iter().find(|state| state.goal == Goal::Poll);
    let failing = polled.filter(|state| state.failing_since.is_some());
    let unheard_ms = failing.map_or(0, |state| {
        let heard_at = state.last_complete_begun_at.or(state.failing_since);
        heard_at.map_or(0, since)
    });
    let patience = PATIENCE_MS.max(i64::from(capabilities.poll_seconds) * 3_000);
    Ok(Ear {
        account,
        told,
        declared_ms: declared_ms(capabilities),
        deaf_ms,
        mute_ms: if capabilities.is_polled && unheard_ms > patience {
            unheard_ms
        } else {
            0
        },
    })
}

/// The lag that a channel declares: until it is quiet, where it cannot be asked; else from one
/// question to the next.
fn declared_ms(capabilities: &Capabilities) -> i64 {
    let seconds = if capabilities.is_polled {
        capabilities.poll_seconds + capabilities.settle_after_acknowledge_seconds
    } else {
        look::settle_seconds(capabilities)
    };
    i64::from(seconds) * 1_000
}

/// Keeps an account at what it was told, or lets it go: then what waited is looked at again.
async fn throttle(
    distribution: &Distribution,
    bell: Bell,
    is_throttled: bool,
) -> Result<(), DistributionError> {
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    let is_new = push_health::throttle(&mut tx, bell.account, is_throttled).await?;
    if is_new && !is_throttled {
        push_state::ring(&mut tx, &[bell]).await?;
    }
    transaction::commit(tx).await?;
    if is_new {
        tracing::info!(account.id = %bell.account, is_throttled,
                       "an account is kept at what it was told, or let go again");
        distribution.inner.wakes.push.notify_one();
    }
    Ok(())
}

/// Lets accounts go that no rule binds any more.
async fn let_go(distribution: &Distribution) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    for (account, property, connection) in push_health::throttled(&inner.pool).await? {
        let rules = safety::rules(&inner.ledger, property).await?;
        let binds = |bound: Option<AccountId>| bound.is_none_or(|bound| bound == account);
        if !rules.iter().any(|rule| binds(rule.account)) {
            let bell = Bell {
                account,
                property,
                connection,
            };
            throttle(distribution, bell, false).await?;
        }
    }
    Ok(())
}

/// Nobody is behind who is late for less.
const PATIENCE_MS: i64 = 60_000;
