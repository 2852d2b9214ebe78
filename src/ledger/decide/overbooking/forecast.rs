//! What is likely: how many of the guests who are expected do not come, the chance that a case
//! cures itself, and how far beyond its rooms a hotel should sell.
//!
//! How far to sell is the newsvendor's question: a room that stays empty costs its value `u`, a
//! guest too many costs a walk `o`, and the number of guests who do not come is uncertain. The best
//! number `y` of rooms beyond is the smallest for which `P(lost <= y) >= u / (u + o)`
//! (Netessine and Shumsky, "Introduction to the Theory and Practice of Yield Management", INFORMS
//! Transactions on Education 3(1), 2002, section "Overbooking").
//!
//! Of `n` guests each is lost with the same probability and by himself, so the number of those who
//! are lost is binomial. Whole rooms and percents leave this file, never a float.
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "risk and forecasts: whole rooms and percents leave it"
)]

/// What became of stays that were expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Stays that were expected.
    pub expected: i64,
    /// Of these, cancelled afterwards or not arrived.
    pub lost: i64,
}

impl Fate {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            expected: self.expected + other.expected,
            lost: self.lost + other.lost,
        }
    }

    /// Whether anything can be concluded from it.
    pub fn is_telling(self) -> bool {
        self.expected >= STAYS_MIN
    }

    /// So many of a thousand are lost, rounded.
    pub fn permille(self) -> i64 {
        if self.expected <= 0 {
            return 0;
        }
        (self.lost * 1_000 + self.expected / 2) / self.expected
    }

    fn share(self) -> f64 {
        if self.expected <= 0 {
            return 0.0;
        }
        (self.lost as f64 / self.expected as f64).clamp(0.0, 1.0)
    }
}

/// Percent of cases in which at least `rooms` of `guests` cancel; else why that is not known.
pub fn cure_percent(guests: i32, rooms: i32, past: Fate) -> Result<i32, String> {
    if !past.is_telling() {
        return Err(too_little(past));
    }
    let (guests, rooms) = (guests.max(0) as u32, rooms.max(1) as u32);
    let fewer = at_most(guests, past.share(), rooms - 1);
    Ok(((1.0 - fewer) * 100.0).floor().clamp(0.0, 100.0) as i32)
}

/// Why nothing is concluded.
pub fn too_little(past: Fate) -> String {
    format!(
        "there is too little history to say what to expect ({} stays are known, {STAYS_MIN} are \
         needed)",
        past.expected
    )
}

/// Guests of `n` who are lost on average, in hundredths.
pub fn lost_hundredths(n: i32, past: Fate) -> i64 {
    (f64::from(n) * past.share() * 100.0).round() as i64
}

/// The best number of rooms to sell beyond `rooms`, by the value of a sold room and the cost of a
/// walk (both in minor units). `None` where both are nothing, or the history tells nothing.
pub fn limit(rooms: i32, past: Fate, value_minor: i64, walk_minor: i64) -> Option<i32> {
    let both = value_minor.checked_add(walk_minor)?;
    if both <= 0 || value_minor < 0 || walk_minor < 0 || !past.is_telling() {
        return None;
    }
    let ratio = value_minor as f64 / both as f64;
    let rooms = rooms.max(0) as u32;
    let lost = |beyond: u32| at_most(rooms + beyond, past.share(), beyond);
    i32::try_from(smallest(ratio, lost, rooms)).ok()
}

/// The critical ratio in thousandths, for people.
pub fn ratio_permille(value_minor: i64, walk_minor: i64) -> i64 {
    let both = value_minor.saturating_add(walk_minor).max(1);
    value_minor.saturating_mul(1_000) / both
}

/// The smallest number up to `max` whose distribution function reaches the ratio.
fn smallest(ratio: f64, at_most: impl Fn(u32) -> f64, max: u32) -> u32 {
    (0..max)
        .find(|number| at_most(*number) >= ratio)
        .unwrap_or(max)
}

/// P(X <= k) of a binomial X of n tries with the probability q.
fn at_most(n: u32, q: f64, k: u32) -> f64 {
    if k >= n || q <= 0.0 {
        return 1.0;
    }
    if q >= 1.0 {
        return 0.0;
    }
    // In logarithms: (1 - q)^n is nothing for a large house.
    let odds = q.ln() - (1.0 - q).ln();
    let mut log = f64::from(n) * (1.0 - q).ln();
    let mut sum = log.exp();
    for hit in 0..k {
        log += odds + f64::from(n - hit).ln() - f64::from(hit + 1).ln();
        sum += log.exp();
    }
    sum.min(1.0)
}

/// Fewer stays than that tell nothing: one guest more would move the share by two percent.
pub const STAYS_MIN: i64 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn past(lost: i64, expected: i64) -> Fate {
        Fate { expected, lost }
    }

    /// Published examples, of other distributions than ours: the rule is the same.
    #[test]
    fn the_rule_finds_what_is_published() {
        // A textbook hotel: no-shows are Poisson with the mean 8.5, a room is worth 159, a walk
        // costs 350, the ratio is 0.3124: seven rooms.
        let poisson = |k: u32| {
            let mut each = (-8.5_f64).exp();
            let mut sum = each;
            for hit in 1..=k {
                each *= 8.5 / f64::from(hit);
                sum += each;
            }
            sum
        };
        assert_eq!(smallest(159.0 / (159.0 + 350.0), poisson, 100), 7);
        assert_eq!(ratio_permille(159, 350), 312);
    }

    #[test]
    fn how_far_to_sell() {
        // rooms, lost, expected, value, walk, and what a table of the binomial says.
        for (rooms, lost, expected, value, walk, beyond) in [
            (100, 0, 1_000, 100, 300, Some(0)),
            (100, 100, 1_000, 100, 300, Some(9)),
            (100, 100, 1_000, 100, 100, Some(11)),
            (100, 100, 1_000, 300, 100, Some(13)),
            (20, 100, 1_000, 100, 300, Some(1)),
            (5, 50, 1_000, 100, 300, Some(0)),
            (1_000, 100, 1_000, 100, 300, Some(104)),
            (10, 100, 1_000, 0, 300, Some(0)),
            (10, 5, 49, 100, 300, None),
            (10, 100, 1_000, 0, 0, None),
        ] {
            let found = limit(rooms, past(lost, expected), value, walk);
            assert_eq!(
                found, beyond,
                "{rooms} rooms, {lost} of {expected}, {value}:{walk}"
            );
        }
    }

    #[test]
    fn the_binomial_sums_to_one_and_holds_for_a_large_house() {
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        assert!(near(at_most(10, 0.1, 0), 0.348_678_440_1));
        assert!(near(at_most(10, 0.1, 1), 0.736_098_930_1));
        assert!(near(at_most(4, 0.5, 2), 0.687_5));
        assert!((at_most(20_000, 0.5, 10_000) - 0.502_8).abs() < 1e-3);
        assert!(near(at_most(3, 0.2, 3), 1.0) && near(at_most(3, 1.0, 2), 0.0));
    }

    #[test]
    fn the_chance_of_a_cure() {
        for (guests, rooms, lost, percent) in [
            (10, 1, 100, Ok(65)),
            (10, 2, 100, Ok(26)),
            (3, 1, 0, Ok(0)),
            (2, 3, 500, Ok(0)),
        ] {
            assert_eq!(cure_percent(guests, rooms, past(lost, 1_000)), percent);
        }
        let why = cure_percent(10, 1, past(1, 12)).expect_err("too little");
        assert!(why.contains("12 stays are known, 50 are needed"), "{why}");
    }
}
