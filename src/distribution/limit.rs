//! One governor per connection, from the channel's stated quota.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use keyrack_model::channel::Capabilities;
use keyrack_model::id::ConnectionId;

/// The quota of each connection, shared by its poller and its pushes.
#[derive(Default)]
pub(crate) struct Limits {
    by_connection: Mutex<HashMap<ConnectionId, Limit>>,
}

/// The quota of one connection.
struct Limit {
    requests_per_minute: u32,
    /// Of its settings, and not of its channel.
    is_own: bool,
    limiter: Arc<DefaultDirectRateLimiter>,
}

impl Limits {
    /// Waits until the connection may send once more.
    pub(crate) async fn until_ready(&self, connection: ConnectionId, capabilities: &Capabilities) {
        let limiter = self.limiter(connection, capabilities.requests_per_minute);
        limiter.until_ready().await;
    }

    /// Gives a connection a quota of its own in place of its channel's, or (`None`) takes it back.
    pub(crate) fn agree(&self, connection: ConnectionId, requests_per_minute: Option<u32>) {
        let mut limits = self
            .by_connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = limits.get(&connection);
        let is_agreed = match requests_per_minute {
            Some(agreed) => {
                known.is_some_and(|limit| limit.is_own && limit.requests_per_minute == agreed)
            }
            None => known.is_none_or(|limit| !limit.is_own),
        };
        if is_agreed {
            return;
        }
        limits.remove(&connection);
        if let Some(agreed) = requests_per_minute {
            limits.insert(connection, Limit::new(agreed, true));
        }
    }

    fn limiter(
        &self,
        connection: ConnectionId,
        requests_per_minute: u32,
    ) -> Arc<DefaultDirectRateLimiter> {
        let mut limits = self
            .by_connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let limit = limits
            .entry(connection)
            .or_insert_with(|| Limit::new(requests_per_minute, false));
        Arc::clone(&limit.limiter)
    }
}

impl Limit {
    fn new(requests_per_minute: u32, is_own: bool) -> Self {
        let per_minute = NonZeroU32::new(requests_per_minute).unwrap_or(NonZeroU32::MIN);
        // A tenth of a minute at once: a quota is meant as a pace, not as one burst a minute.
        let burst = NonZeroU32::new(requests_per_minute / 10).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_minute(per_minute).allow_burst(burst);
        Self {
            requests_per_minute,
            is_own,
            limiter: Arc::new(RateLimiter::direct(quota)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(limits: &Limits, connection: i64) -> usize {
        let limiter = limits.limiter(ConnectionId(connection), 100);
        (0..200).filter(|_| limiter.check().is_ok()).count()
    }

    #[test]
    fn a_connection_bursts_for_a_tenth_of_its_minute_and_no_more() {
        let limits = Limits::default();
        let first = passed(&limits, 1);
        assert!((10..=12).contains(&first), "{first}");
        assert!(passed(&limits, 2) >= 10);
    }

    #[test]
    fn a_connection_may_agree_on_a_quota_of_its_own() {
        let limits = Limits::default();
        limits.agree(ConnectionId(1), Some(1_000));
        limits.agree(ConnectionId(1), Some(1_000));
        let own = passed(&limits, 1);
        assert!((100..=105).contains(&own), "{own}");
        limits.agree(ConnectionId(1), None);
        assert!(passed(&limits, 1) <= 12);
    }
}
