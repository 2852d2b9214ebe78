//! Where another process was first a moment ago.
//!
//! Two daemons that sell one night at once meet at every batch: whoever reads without locks then
//! decides in vain and begins anew. So for a moment after such a meeting the batches of those
//! properties begin with their locks, and wait where they would have failed.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyrack_model::id::PropertyId;
use tokio::time::Instant;

use super::doubt::Doubts;

/// Properties of which somebody was first, and when.
pub(crate) struct Contention(Mutex<Doubts>);

impl Default for Contention {
    fn default() -> Self {
        Self(Mutex::new(Doubts::lasting(SHORTEST, LONGEST)))
    }
}

impl Contention {
    /// Somebody was first on a row of each of these.
    pub(super) fn met(&self, properties: BTreeSet<PropertyId>) {
        let now = Instant::now();
        let mut met = self.lock();
        for property in properties {
            met.begin(property, now);
        }
    }

    /// Whether it is worth beginning with locks: where all of them were met at, for the others
    /// would wait for nothing.
    pub(super) fn is_likely(&self, mut properties: impl Iterator<Item = PropertyId>) -> bool {
        let now = Instant::now();
        let met = self.lock();
        properties.all(|property| met.has(property, now))
    }

    fn lock(&self) -> MutexGuard<'_, Doubts> {
        // A guess, whole after every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Some batches long: then one tries without locks again.
const SHORTEST: Duration = Duration::from_millis(30);
/// Where they meet again and again.
const LONGEST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_come_first_where_somebody_was_met_at_each_property() {
        let (one, two) = (PropertyId(1), PropertyId(2));
        let contention = Contention::default();
        let is_likely = |property| contention.is_likely(std::iter::once(property));
        assert!(!is_likely(one));
        contention.met(BTreeSet::from([one]));
        assert!(is_likely(one) && !is_likely(two));
        assert!(!contention.is_likely([one, two].into_iter()));
    }
}
