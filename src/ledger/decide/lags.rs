//! A measured distribution of lags, in steps of a fifth.
//!
//! A lag is counted at the upper end of its step, so that what is worked out of it errs on the safe
//! side, and does not change with every second.
#![expect(
    clippy::float_arithmetic,
    reason = "the chances are fractions; they leave as whole rooms"
)]

use std::collections::BTreeMap;

/// How long something took, how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lags {
    /// Times by step.
    steps: BTreeMap<u32, u64>,
    count: u64,
}

impl Lags {
    /// Lags in milliseconds; what took less than nothing took nothing.
    pub fn of(millis: impl IntoIterator<Item = i64>) -> Self {
        let mut lags = Self::default();
        for lag in millis {
            lags.add(lag, 1);
        }
        lags
    }

    /// Adds a lag of so many milliseconds, so many times.
    pub fn add(&mut self, millis: i64, times: u64) {
        *self.steps.entry(step(millis)).or_default() += times;
        self.count += times;
    }

    /// How many were measured.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lag in milliseconds that so many of a thousand did not exceed; 0 where none is measured.
    pub fn quantile_ms(&self, of_thousand: u64) -> i64 {
        let mut below = 0;
        for (step, times) in &self.steps {
            below += times;
            if below * 1_000 >= self.count * of_thousand {
                return end_ms(*step);
            }
        }
        0
    }

    /// Each step's upper end in milliseconds, and the share of the lags that lie in it.
    pub fn shares(&self) -> impl Iterator<Item = (i64, f64)> {
        #[expect(clippy::cast_precision_loss, reason = "counts of some thousands")]
        let share = |times: u64| times as f64 / self.count as f64;
        self.steps
            .iter()
            .map(move |(step, times)| (end_ms(*step), share(*times)))
    }
}

/// A lag in milliseconds as it is counted: at the upper end of its step.
pub fn rounded_up_ms(millis: i64) -> i64 {
    end_ms(step(millis))
}

/// The lowest step whose upper end is not below a lag.
fn step(millis: i64) -> u32 {
    let (mut low, mut high) = (0, STEPS);
    while low < high {
        let middle = (low + high) / 2;
        if end_ms(middle) >= millis {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The upper end of a step: 250 ms, then a fifth more (the fourth root of 2) each.
fn end_ms(step: u32) -> i64 {
    let doublings = step / 4;
    let base = 250_i64 << doublings.min(40);
    let thousandths = match step % 4 {
        0 => 1_000,
        1 => 1_190,
        2 => 1_415,
        _ => 1_682,
    };
    base / 10 * thousandths / 100
}

/// The last ends after 97 days.
const STEPS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_counts_at_the_upper_end_of_its_step() {
        for (millis, end) in [
            (-5, 250),
            (0, 250),
            (250, 250),
            (251, 297),
            (1_000, 1_000),
            (1_001, 1_190),
            (60_000, 64_000),
        ] {
            assert_eq!(Lags::of([millis]).quantile_ms(500), end, "{millis}");
        }
    }

    #[test]
    fn steps_grow_by_a_fifth_and_never_shrink() {
        for step in 0..STEPS {
            let (here, next) = (end_ms(step), end_ms(step + 1));
            assert!(
                next > here && next * 10 < here * 13,
                "{step}: {here} {next}"
            );
        }
    }

    #[test]
    fn quantiles_and_shares_follow_the_counts() {
        let mut lags = Lags::of([1_000; 98]);
        lags.add(60_000, 2);
        assert_eq!(lags.count(), 100);
        assert_eq!(lags.quantile_ms(500), 1_000);
        assert_eq!(lags.quantile_ms(980), 1_000);
        assert_eq!(lags.quantile_ms(990), 64_000);
        let shares: Vec<(i64, f64)> = lags.shares().collect();
        assert_eq!(shares, [(1_000, 0.98), (64_000, 0.02)]);
        assert_eq!(Lags::default().quantile_ms(990), 0);
        assert_eq!(Lags::default().shares().count(), 0);
    }
}
