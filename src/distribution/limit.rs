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
    by_connection: Mutex<HashMap<ConnectionId, Arc<DefaultDirectRateLimiter>>>,
}

impl Limits {
    /// Waits until the connection may send once more.
    pub(crate) async fn until_ready(&self, connection: ConnectionId, capabilities: &Capabilities) {
        let limiter = self.limiter(connection, capabilities.requests_per_minute);
        limiter.until_ready().await;
    }

    fn limiter(
        &self,
        connection: ConnectionId,
        requests_per_minute: u32,
    ) -> Arc<DefaultDirectRateLimiter> {
        let mut limiters = self
            .by_connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let limiter = limiters.entry(connection).or_insert_with(|| {
            let per_minute = NonZeroU32::new(requests_per_minute).unwrap_or(NonZeroU32::MIN);
            // A tenth of a minute at once: a quota is meant as a pace, not as one burst a minute.
            let burst = NonZeroU32::new(requests_per_minute / 10).unwrap_or(NonZeroU32::MIN);
            Arc::new(RateLimiter::direct(
                Quota::per_minute(per_minute).allow_burst(burst),
            ))
        });
        Arc::clone(limiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_bursts_for_a_tenth_of_its_minute_and_no_more() {
        let limits = Limits::default();
        let limiter = limits.limiter(ConnectionId(1), 100);
        let passed = (0..50).filter(|_| limiter.check().is_ok()).count();
        assert!((10..=12).contains(&passed), "{passed}");
        assert!(limits.limiter(ConnectionId(2), 100).check().is_ok());
    }
}
