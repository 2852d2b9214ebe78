//! Where another process was first a moment ago.
//!
//! Two daemons that sell one night at once meet at every batch: whoever reads without locks then
//! decides in vain and begins anew. So for a moment after such a meeting the batches of those
//! properties begin with their locks, and wait where they would have failed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keyrack_model::id::PropertyId;
use tokio::time::Instant;

/// Properties of which somebody was first, and when.
#[derive(Default)]
pub(crate) struct Contention(Mutex<HashMap<PropertyId, Instant>>);

impl Contention {
    /// Somebody was first on a row of one of these. Of many nobody knows which it was.
    pub(super) fn met(&self, properties: impl Iterator<Item = PropertyId>) {
        let properties: BTreeSet<PropertyId> = properties.collect();
        if properties.len() > NAMED_MAX {
            return;
        }
        let now = Instant::now();
        let mut met = self.lock();
        met.retain(|_, at| now.duration_since(*at) < REMEMBERED);
        met.extend(properties.into_iter().map(|property| (property, now)));
    }

    /// Whether it is worth beginning with locks: where all of them were met at, for the others
    /// would wait for nothing.
    pub(super) fn is_likely(&self, mut properties: impl Iterator<Item = PropertyId>) -> bool {
        let met = self.lock();
        if met.is_empty() {
            return false;
        }
        let is_fresh = |at: &Instant| at.elapsed() < REMEMBERED;
        properties.all(|property| met.get(&property).is_some_and(is_fresh))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PropertyId, Instant>> {
        // A guess, whole after every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Properties of a batch from which one may conclude at which of them it was.
const NAMED_MAX: usize = 4;
/// Some batches long: then one tries without locks again.
const REMEMBERED: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_meeting_is_remembered_for_a_moment() {
        let (one, two) = (PropertyId(1), PropertyId(2));
        let contention = Contention::default();
        let is_likely = |property| contention.is_likely(std::iter::once(property));
        assert!(!is_likely(one));
        contention.met(std::iter::once(one));
        assert!(is_likely(one) && !is_likely(two));
        assert!(!contention.is_likely([one, two].into_iter()));
        contention.met((3..9).map(PropertyId));
        assert!(!is_likely(PropertyId(3)), "of many it is not known which");
        tokio::time::sleep(REMEMBERED).await;
        assert!(!is_likely(one));
    }
}
