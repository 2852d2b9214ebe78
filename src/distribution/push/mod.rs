//! The loop of `push`.

pub(crate) mod backoff;

use crate::handle::Distribution;

/// Runs until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    distribution.inner.cancel.cancelled().await;
}
