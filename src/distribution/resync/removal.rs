//! The end of an account: closed, told so, polled once more, gone.

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::catalog;
use keyrack_ledger::command::By;
use keyrack_model::channel::AccountState;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::look::polled_at;
use crate::store::push_health::{self, Removal};
use crate::store::push_state::{self, Bell};
use crate::store::{clock, mark, mark_view, retired_code, told, transaction};

/// Ends every account that may end.
pub(super) async fn step(distribution: &Distribution) -> Result<(), DistributionError> {
    for removal in push_health::removals(&distribution.inner.pool, AT_ONCE).await? {
        if is_over(distribution, &removal).await? {
            end(distribution, &removal).await?;
        }
    }
    Ok(())
}

/// Told closed everywhere, acknowledged, and polled completely since.
async fn is_over(
    distribution: &Distribution,
    removal: &Removal,
) -> Result<bool, DistributionError> {
    let inner = &distribution.inner;
    let rows = catalog::accounts(&inner.ledger, removal.property).await?;
    let Some(row) = rows
        .into_iter()
        .find(|row| row.account.id == removal.account)
    else {
        return Ok(true);
    };
    if row.account.state != AccountState::Closed {
        return Ok(false);
    }
    let now = clock::now(&inner.pool).await?;
    let day = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let from = keyrack_model::stay::plus_days(day, -1);
    let queue = mark_view::queue(&inner.pool, removal.account).await?;
    let open = told::open_nights(&inner.pool, removal.account, from).await?;
    let retired = retired_code::pending(&inner.pool, removal.account, None).await?;
    if queue.depth > 0 || open > 0 || !retired.is_empty() {
        return Ok(false);
    }
    let since = removal
        .last_pushed_at
        .unwrap_or(removal.since)
        .max(removal.since);
    let adapter = inner.channels.find(&row.account.channel);
    let Some(capabilities) = adapter.map(|adapter| adapter.capabilities()) else {
        return Ok(true);
    };
    if !capabilities.is_polled {
        let lag = capabilities
            .settle_seconds
            .unwrap_or(capabilities.fallback_seconds);
        return Ok(has_passed(since, now, lag));
    }
    let bell = Bell {
        account: removal.account,
        property: removal.property,
        connection: removal.connection,
    };
    let polled = polled_at(distribution, bell).await?;
    Ok(polled.is_some_and(|polled| polled > since))
}

fn has_passed(since: Timestamp, now: Timestamp, seconds: u32) -> bool {
    now.duration_since(since) >= SignedDuration::from_secs(seconds.into())
}

async fn end(distribution: &Distribution, removal: &Removal) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let by = By {
        actor: removal.by.clone(),
        request_id: None,
    };
    catalog::remove_account(&inner.ledger, removal.account, &by).await?;
    let mut tx = transaction::begin(&inner.pool).await?;
    push_state::lock(&mut tx, removal.account).await?;
    mark::forget(&mut tx, removal.account).await?;
    retired_code::forget(&mut *tx, removal.account).await?;
    push_health::forget(&mut *tx, removal.account).await?;
    transaction::commit(tx).await?;
    tracing::info!(account.id = %removal.account, "an account has ended");
    Ok(())
}

/// Removals that are looked at at once.
const AT_ONCE: i64 = 50;
