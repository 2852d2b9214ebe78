//! How fast the sweeper may work: it tidies up and has time, callers have none.
//!
//! A fifth of the time at most (ledger, section 8). The pause tells more than the size: a small
//! batch costs a commit for fewer holds. So where callers wait noticeably longer while it sweeps,
//! first the pause grows, and only then the batch shrinks; and back in the other order.

use std::time::Duration;

/// The sweeper's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Holds in one batch.
    pub batch: u32,
    /// So many times as long at rest as at work.
    pub rest: u32,
    batch_max: u32,
}

impl Pace {
    /// The fastest: batches of this size, a fifth of the time.
    pub fn fastest(batch_max: u32) -> Self {
        let batch_max = batch_max.max(1);
        Self {
            batch: batch_max,
            rest: REST_LEAST,
            batch_max,
        }
    }

    /// How long to rest after a batch that took so long.
    pub fn pause(self, worked: Duration) -> Duration {
        worked * self.rest
    }

    /// Learns from the wait that 95 % of the callers did not exceed, with sweeping and without.
    #[must_use]
    pub fn after(self, sweeping: Duration, free: Duration) -> Self {
        let worse_by_percent =
            (sweeping.as_micros() * 100 / free.as_micros().max(1)).saturating_sub(100);
        match worse_by_percent {
            21.. => self.slower(),
            10..=20 => self,
            _ => self.faster(),
        }
    }

    fn slower(self) -> Self {
        if self.rest < REST_MOST {
            let rest = (self.rest * 2).min(REST_MOST);
            return Self { rest, ..self };
        }
        let batch = (self.batch / 2).max(BATCH_LEAST.min(self.batch_max));
        Self { batch, ..self }
    }

    fn faster(self) -> Self {
        if self.batch < self.batch_max {
            let batch = (self.batch * 2).min(self.batch_max);
            return Self { batch, ..self };
        }
        let rest = (self.rest / 2).max(REST_LEAST);
        Self { rest, ..self }
    }
}

/// A duty of 20 %.
const REST_LEAST: u32 = 4;
/// A duty of 5 %.
const REST_MOST: u32 = 19;
/// Below it commits cost more than the holds.
const BATCH_LEAST: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn callers_who_wait_longer_make_the_pause_longer_and_then_the_batch_smaller() {
        let mut pace = Pace::fastest(500);
        let mut seen = Vec::new();
        for _ in 0..8 {
            pace = pace.after(ms(13), ms(10));
            seen.push((pace.rest, pace.batch));
        }
        let slower = [
            (8, 500),
            (16, 500),
            (19, 500),
            (19, 250),
            (19, 125),
            (19, 62),
        ];
        assert_eq!(seen[..6], slower);
        assert_eq!(seen[6..], [(19, 50), (19, 50)]);
        seen.clear();
        for _ in 0..8 {
            pace = pace.after(ms(10), ms(10));
            seen.push((pace.rest, pace.batch));
        }
        assert_eq!(seen[..4], [(19, 100), (19, 200), (19, 400), (19, 500)]);
        assert_eq!(seen[4..], [(9, 500), (4, 500), (4, 500), (4, 500)]);
    }

    #[test]
    fn between_a_tenth_and_a_fifth_it_stays() {
        let pace = Pace::fastest(500).after(ms(20), ms(10));
        for sweeping in [110, 115, 120] {
            assert_eq!(pace.after(ms(sweeping), ms(100)), pace);
        }
        assert_ne!(pace.after(ms(121), ms(100)), pace);
        assert_ne!(pace.after(ms(109), ms(100)), pace);
    }

    #[test]
    fn callers_who_wait_less_than_a_microsecond_break_nothing() {
        let pace = Pace::fastest(1);
        assert_eq!(pace.after(Duration::ZERO, Duration::ZERO), pace);
        assert_eq!(pace.after(ms(1), Duration::ZERO).batch, 1);
        assert_eq!(pace.pause(ms(3)), ms(12));
    }
}
