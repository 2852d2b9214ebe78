//! The lag of each account as figures for the metrics: from a change of the ledger to its
//! acknowledgement by the channel.
//!
//! Only accounts that were told something since the last look are measured, a bounded number at a
//! look: among ten thousand hotels most rest.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyrack_ledger::catalog;
use keyrack_model::channel::Account;
use keyrack_model::id::{AccountId, PropertyId};

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::store::told_history;

/// Accounts whose channel took a change since they were measured, with their code and property.
#[derive(Debug, Default)]
pub(crate) struct Lagging(Mutex<Accounts>);

type Accounts = BTreeMap<AccountId, (PropertyId, String)>;

impl Lagging {
    /// A channel took a change.
    pub(crate) fn note(&self, account: &Account) {
        let about = || (account.property, account.code.clone());
        self.accounts().entry(account.id).or_insert_with(about);
    }

    fn take(&self, limit: usize) -> Accounts {
        let mut accounts = self.accounts();
        let later = accounts.keys().nth(limit).copied();
        let later = later.map(|first| accounts.split_off(&first));
        std::mem::replace(&mut *accounts, later.unwrap_or_default())
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures the accounts that were told something, as gauges.
///
/// # Errors
///
/// Failures of the database.
pub async fn gauge(distribution: &Distribution) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    for (account, (property, code)) in inner.lagging.take(ACCOUNTS_AT_ONCE) {
        let before = PropertyId(property.0.saturating_sub(1));
        let found = catalog::properties(&inner.ledger, Some(before), 1).await?;
        let Some(house) = found.into_iter().find(|found| found.id == property) else {
            continue;
        };
        let lag = told_history::lag(&inner.pool, account, false, LAG_OF_LAST).await?;
        let quantiles = [
            ("0.5", lag.p50_ms),
            ("0.95", lag.p95_ms),
            ("0.99", lag.p99_ms),
        ];
        for (quantile, millis) in quantiles {
            let labels = [
                ("property", house.code.clone()),
                ("account", code.clone()),
                ("quantile", quantile.to_owned()),
            ];
            let millis = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            metrics::gauge!("account_lag_seconds", &labels).set(millis.as_secs_f64());
        }
    }
    Ok(())
}

const ACCOUNTS_AT_ONCE: usize = 200;
/// Changes that the lag of an account is measured over.
pub(crate) const LAG_OF_LAST: i64 = 1_000;
