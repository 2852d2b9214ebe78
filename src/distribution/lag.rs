//! The lag of each account as figures for the metrics: from a change of the ledger to its
//! acknowledgement by the channel.
//!
//! Only accounts that were told something since the last look are measured, a bounded number at a
//! look: among ten thousand hotels most rest.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyrack_model::id::AccountId;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::store::told_history;

/// Accounts whose channel took a change since they were measured.
#[derive(Debug, Default)]
pub(crate) struct Lagging(Mutex<BTreeSet<AccountId>>);

impl Lagging {
    /// A channel took a change.
    pub(crate) fn note(&self, account: AccountId) {
        self.accounts().insert(account);
    }

    fn take(&self, limit: usize) -> Vec<AccountId> {
        let mut accounts = self.accounts();
        let taken: Vec<AccountId> = accounts.iter().copied().take(limit).collect();
        taken.iter().for_each(|account| {
            accounts.remove(account);
        });
        taken
    }

    fn accounts(&self) -> MutexGuard<'_, BTreeSet<AccountId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures the accounts that were told something, as gauges.
pub(crate) async fn gauge(distribution: &Distribution) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let accounts = inner.lagging.take(ACCOUNTS_AT_ONCE);
    if accounts.is_empty() {
        return Ok(());
    }
    for row in told_history::lags(&inner.pool, &accounts, LAG_OF_LAST).await? {
        let quantiles = [
            ("0.5", row.p50_ms),
            ("0.95", row.p95_ms),
            ("0.99", row.p99_ms),
        ];
        for (quantile, millis) in quantiles {
            let labels = [
                ("property", row.property.clone()),
                ("account", row.account.clone()),
                ("quantile", quantile.to_owned()),
            ];
            let millis = u32::try_from(millis).unwrap_or(u32::MAX);
            metrics::gauge!("account_lag_seconds", &labels).set(f64::from(millis) / 1_000.0);
        }
    }
    Ok(())
}

const ACCOUNTS_AT_ONCE: usize = 200;
/// Changes that the lag of an account is measured over.
pub(crate) const LAG_OF_LAST: i64 = 1_000;
