//! Properties at which somebody else writes too, and how long that is remembered.

use std::collections::HashMap;
use std::time::Duration;

use keyrack_model::id::PropertyId;
use tokio::time::Instant;

/// When each was found out, and how long it is doubted.
#[derive(Debug)]
pub(super) struct Doubts {
    known: HashMap<PropertyId, (Instant, Duration)>,
    shortest: Duration,
    longest: Duration,
}

impl Doubts {
    /// None yet; the first of a property lasts `shortest`, one that comes again and again
    /// `longest`.
    pub fn lasting(shortest: Duration, longest: Duration) -> Self {
        Self {
            known: HashMap::new(),
            shortest,
            longest,
        }
    }

    /// Somebody else was first: again soon after the last time, and it is doubted twice as long.
    pub fn begin(&mut self, property: PropertyId, now: Instant) {
        let length = match self.known.get(&property) {
            Some((at, length)) if now.saturating_duration_since(*at) < *length * 3 => {
                (*length * 2).min(self.longest)
            }
            _ => self.shortest,
        };
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(property, (now, length));
    }

    /// Whether it is doubted now.
    pub fn has(&self, property: PropertyId, now: Instant) -> bool {
        let doubt = self.known.get(&property);
        doubt.is_some_and(|(at, length)| now.saturating_duration_since(*at) < *length)
    }
}

/// Properties that are kept; beyond it all are trusted anew.
const KNOWN_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_ends_and_comes_back_twice_as_long() {
        let (one, two) = (PropertyId(1), PropertyId(2));
        let (shortest, longest) = (Duration::from_millis(30), Duration::from_millis(100));
        let begin = Instant::now();
        let mut doubts = Doubts::lasting(shortest, longest);
        assert!(!doubts.has(one, begin));
        doubts.begin(one, begin);
        assert!(doubts.has(one, begin) && !doubts.has(two, begin));
        let end = begin + shortest;
        assert!(!doubts.has(one, end));
        doubts.begin(one, end);
        assert!(doubts.has(one, end + shortest));
        assert!(!doubts.has(one, end + shortest * 2));
        doubts.begin(one, end + shortest * 2);
        doubts.begin(one, end + shortest * 4);
        assert!(
            !doubts.has(one, end + shortest * 4 + longest),
            "no longer than that"
        );
        let much_later = end + longest * 10;
        doubts.begin(one, much_later);
        assert!(!doubts.has(one, much_later + shortest));
    }
}
