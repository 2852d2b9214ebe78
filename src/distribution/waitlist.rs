//! The waitlist's loop: the feed says when something has moved, and a timer sees to what nobody
//! says.

use std::time::Duration;

use keyrack_ledger::waitlist;

use crate::error::DistributionError;
use crate::handle::Distribution;

/// Runs until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    let inner = &distribution.inner;
    while !inner.cancel.is_cancelled() {
        if let Err(error) = look(&distribution).await {
            tracing::warn!(error = %error.chain(), "the waitlist could not be looked at");
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE_MIN) => {}
            () = inner.cancel.cancelled() => {}
        }
        tokio::select! {
            () = inner.wakes.waitlist.notified() => {}
            () = tokio::time::sleep(PAUSE_MAX) => {}
            () = inner.cancel.cancelled() => {}
        }
    }
}

/// Looks at every queue once; says how many wishes were offered something.
///
/// # Errors
///
/// Failures of the database.
pub async fn look(distribution: &Distribution) -> Result<u32, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let mut offered = 0;
    for property in waitlist::properties(ledger).await? {
        if distribution.inner.cancel.is_cancelled() {
            break;
        }
        offered += waitlist::look(ledger, property).await?;
    }
    if offered > 0 {
        metrics::counter!("waitlist_offers_total").increment(offered.into());
    }
    Ok(offered)
}

/// However much moves, queues are looked at so seldom.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// Holds die and days turn without a word.
const PAUSE_MAX: Duration = Duration::from_secs(30);
