//! The chance to sell a scarce room twice, and the fewest rooms to keep back so that it stays
//! small.
//!
//! # The model
//!
//! An account is told `free - k`. At the instant at which it sells its last told room, others have
//! sold `N` rooms of the same night that its number does not show yet; the hotel has sold twice
//! where `N > k`. `N` counts the rooms sold within the *exposed window* `W` before that instant:
//! from the booking at another seller to our hearing of it, and from there to the account's
//! acknowledgement of the lower number. So the chance is `P(N >= k + 1)`, and it is asked of every
//! account with its own window; over all accounts it is no greater than of the worst, since the
//! last room of a night is sold once. Who sells by the ledger itself, the desk, has no number: what
//! it sells *after* that instant until the ledger hears of the account's sale counts to `N` as
//! well, so its window is as long as if its own sales were heard of so late.
//!
//! For a window of known length and sellers of a known pace, `N` is Poisson. Neither is known:
//!
//! * *The window* is averaged over its whole measured distribution,
//!   `P = Σ share(w) P(N_w >= k + 1)`, and not put in as its mean or a percentile: the chance is
//!   made by the rare long lags, and is convex in `w` where it is small, so that any mean would
//!   understate it (Jensen). That is the Poisson law mixed over its exposure (Feller, An
//!   Introduction to Probability Theory, vol. 2, II.7).
//! * *The pace* is counted where it matters: the rooms that were sold within a short (and a long)
//!   time before each sale of such nights, which is the reduced second moment measure of the point
//!   process (Ripley's K; Cox and Isham, Point Processes, 2.4) and holds the bursts in which people
//!   book. It differs from sale to sale, and what little was counted leaves it uncertain: it is a
//!   Gamma with the mean of the counts, a weak prior among them, and as wide as they scatter beyond
//!   Poisson or as few they are, whichever is wider; so `N` becomes a negative binomial (Greenwood
//!   and Yule, 1920), whose tail is the longer the more people book in bursts.
#![expect(
    clippy::float_arithmetic,
    reason = "the chances are fractions; they leave as whole rooms"
)]

use std::collections::BTreeMap;

use super::lags::{Lags, rounded_up_ms};

/// How closely sales follow one another, of nights of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Sales that were looked back from.
    pub sales: u32,
    /// Within [`SHORT_MS`] before them.
    pub short: Counted,
    /// Within [`LONG_MS`] before them.
    pub long: Counted,
}

/// Rooms sold within some time before sales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Rooms, of all sales.
    pub rooms: u32,
    /// Their squares, sale by sale.
    pub squares: u32,
}

impl Counted {
    /// Before one sale.
    pub fn one(rooms: u32) -> Self {
        let squares = rooms.saturating_mul(rooms);
        Self { rooms, squares }
    }

    fn add(&mut self, other: Self) {
        self.rooms = self.rooms.saturating_add(other.rooms);
        self.squares = self.squares.saturating_add(other.squares);
    }
}

impl Pace {
    /// Adds what was seen before other sales.
    pub fn add(&mut self, other: Self) {
        self.sales = self.sales.saturating_add(other.sales);
        self.short.add(other.short);
        self.long.add(other.long);
    }

    /// The Gamma of the pace, shape and rate (in milliseconds), for a window of so many
    /// milliseconds: a short one is judged by what happens shortly before a sale, where bursts
    /// show.
    fn of_window(self, window_ms: f64) -> (f64, f64) {
        let (counted, within_ms) = if window_ms <= whole(SHORT_MS) {
            (self.short, whole(SHORT_MS))
        } else {
            (self.long, whole(LONG_MS))
        };
        let sales = f64::from(self.sales);
        let shape = f64::from(counted.rooms) + PRIOR_ROOMS;
        let watched_ms = within_ms * sales + PRIOR_ROOMS * whole(PRIOR_MS);
        let mean = f64::from(counted.rooms) / sales.max(1.0);
        let beyond = f64::from(counted.squares) / sales.max(1.0) - mean * mean - mean;
        let scattered = if beyond > 0.0 {
            (mean * mean / beyond).max(SHAPE_MIN)
        } else {
            shape
        };
        let part = (scattered / shape).min(1.0);
        (shape * part, watched_ms * part)
    }
}

/// The exposed window of an account: the lag of each seller's bookings (with the seller's share of
/// the sales, in any unit), and the lag of what the account is told.
pub fn windows(heard: &[(u64, Lags)], told: &Lags) -> Windows {
    let all: u64 = heard.iter().map(|(share, _)| share).sum();
    // Windows that are nearly alike are one, of their mean length.
    let mut alike: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for (share, lags) in heard {
        #[expect(clippy::cast_precision_loss, reason = "counts of some thousands")]
        let weight = *share as f64 / all.max(1) as f64;
        for (heard_ms, of_heard) in lags.shares() {
            for (told_ms, of_told) in told.shares() {
                let window = heard_ms + told_ms;
                let share = weight * of_heard * of_told;
                let sum = alike.entry(rounded_up_ms(window)).or_default();
                *sum = (sum.0 + share * whole(window), sum.1 + share);
            }
        }
    }
    let windows = alike.into_values();
    Windows(windows.map(|(sum, share)| (sum / share, share)).collect())
}

/// Windows in milliseconds, in order of length, with their shares, which sum up to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Windows(Vec<(f64, f64)>);

impl Windows {
    /// The window that so much of them does not exceed, for people.
    pub fn quantile(&self, part: f64) -> String {
        let mut below = 0.0;
        let found = self.0.iter().find(|(_, share)| {
            below += share;
            below >= part - 1e-9
        });
        let millis = found.or(self.0.last()).map_or(0.0, |(window, _)| *window);
        match millis {
            ..1e3 => format!("{millis:.0} ms"),
            ..120e3 => format!("{:.0} s", millis / 1e3),
            _ => format!("{:.0} min", millis / 60e3),
        }
    }

    /// The chance that others sell more than `kept` rooms within the window.
    pub fn chance(&self, pace: Pace, kept: u32) -> f64 {
        let each = self.0.iter().map(|(window, share)| {
            let (rooms, watched) = pace.of_window(*window);
            share * tail(kept + 1, *window, rooms, watched)
        });
        each.sum()
    }
}

/// `P(N >= least)` where `N` is Poisson of `window` times a pace that is Gamma of shape `rooms` and
/// rate `watched`: a negative binomial.
fn tail(least: u32, window: f64, rooms: f64, watched: f64) -> f64 {
    let part = window / (window + watched);
    let mut term = (1.0 - part).powf(rooms);
    let mut below = 0.0;
    for n in 0..least {
        below += term;
        term *= (rooms + f64::from(n)) / f64::from(n + 1) * part;
    }
    (1.0 - below).max(0.0)
}

/// How many rooms to keep back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keep {
    /// So many.
    pub rooms: u32,
    /// The chance to sell twice that remains.
    pub chance: f64,
}

/// The fewest rooms to keep back so that at most one of `one_in` scarce room nights is sold twice,
/// and at least `least`.
///
/// A number once given (`before`) rises at once, and falls only where the chance of the lower one
/// is half of what is allowed: so that what an account is told does not flutter with each
/// measurement.
pub fn keep(windows: &Windows, pace: Pace, one_in: u32, least: u32, before: Option<u32>) -> Keep {
    let allowed = 1.0 / f64::from(one_in.max(1));
    let fewest = |allowed: f64| {
        let all = least..KEPT_MAX;
        let mut all = all.map(|rooms| Keep {
            rooms,
            chance: windows.chance(pace, rooms),
        });
        all.find(|keep| keep.chance <= allowed).unwrap_or(Keep {
            rooms: KEPT_MAX.max(least),
            chance: windows.chance(pace, KEPT_MAX.max(least)),
        })
    };
    let needed = fewest(allowed);
    let Some(before) = before.filter(|before| needed.rooms < *before) else {
        return needed;
    };
    let eased = fewest(allowed / 2.0);
    if eased.rooms <= before {
        return eased;
    }
    Keep {
        rooms: before,
        chance: windows.chance(pace, before),
    }
}

/// A chance as people read it: once in so many.
pub fn once_in(chance: f64) -> String {
    if chance < 1e-9 {
        "less than once in a thousand million".to_owned()
    } else {
        format!("once in {:.0}", 1.0 / chance)
    }
}

/// Milliseconds as a fraction can hold them.
fn whole(millis: i64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "less than 2^53 for 285,000 years"
    )]
    let millis = millis as f64;
    millis
}

/// Ten minutes: what is sold in one burst.
pub const SHORT_MS: i64 = 600_000;
/// Two hours.
pub const LONG_MS: i64 = 7_200_000;
/// What is assumed before anything was counted: half a room…
const PRIOR_ROOMS: f64 = 0.5;
/// …at a pace of one room in two hours.
const PRIOR_MS: i64 = 7_200_000;
/// Wider no pace is taken to be: beyond lies what few bursts make of few counts.
const SHAPE_MIN: f64 = 0.02;
/// More is never kept back: by then the night is closed to channels in all but name.
pub const KEPT_MAX: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, meant: f64) -> bool {
        (found - meant).abs() <= meant * 1e-3
    }

    #[test]
    fn the_tail_is_that_of_the_negative_binomial_and_of_poisson_where_much_was_counted() {
        // Geometric: shape 1, part 1/4.
        for (least, meant) in [(0, 1.0), (1, 0.25), (2, 0.0625), (3, 0.015_625)] {
            assert!(near(tail(least, 1.0, 1.0, 3.0), meant), "{least}");
        }
        // Shape 2, part 1/3: 1 - 4/9, 1 - 4/9 - 8/27.
        assert!(near(tail(1, 1.0, 2.0, 2.0), 5.0 / 9.0));
        assert!(near(tail(2, 1.0, 2.0, 2.0), 7.0 / 27.0));
        // Poisson of mean 0.1: 1 - e^-0.1, and without its second term.
        let much = 1e7;
        assert!(near(tail(1, 0.1, much, much), 0.095_163));
        assert!(near(tail(2, 0.1, much, much), 0.004_679));
    }

    fn point(ms: i64) -> Windows {
        Windows(vec![(whole(ms), 1.0)])
    }

    fn busy() -> Pace {
        // A room within ten minutes before every tenth sale.
        Pace {
            sales: 1_000,
            short: even(100, 110),
            long: even(600, 960),
        }
    }

    fn even(rooms: u32, squares: u32) -> Counted {
        Counted { rooms, squares }
    }

    #[test]
    fn the_longer_the_window_the_faster_the_pace_and_the_rarer_the_fault_the_more_is_kept() {
        let quiet = Pace {
            sales: 1_000,
            ..Pace::default()
        };
        for (window_ms, pace, one_in, kept) in [
            (1_000, quiet, 1_000, 0),
            (60_000, quiet, 1_000, 0),
            (1_000, busy(), 1_000, 0),
            (10_000, busy(), 1_000, 1),
            (60_000, busy(), 1_000, 1),
            (60_000, busy(), 100, 0),
            (60_000, busy(), 200, 1),
            (60_000, busy(), 100_000, 2),
            (600_000, busy(), 1_000, 2),
            (7_200_000, busy(), 1_000, 4),
            (7 * 86_400_000, busy(), 1_000, KEPT_MAX),
        ] {
            let found = keep(&point(window_ms), pace, one_in, 0, None);
            assert_eq!(found.rooms, kept, "{window_ms} {pace:?} {one_in} {found:?}");
        }
    }

    #[test]
    fn the_rare_long_lag_makes_the_chance_and_no_mean_would_see_it() {
        let mut told = Lags::of([1_000; 98]);
        told.add(7_200_000, 2);
        let windows = windows(&[(1, Lags::of([0]))], &told);
        assert_eq!(keep(&windows, busy(), 1_000, 0, None).rooms, 2);
        let mean = point((98 * 1_250 + 2 * 7_200_000) / 100);
        assert_eq!(keep(&mean, busy(), 1_000, 0, None).rooms, 1);
        assert_eq!(windows.quantile(0.5), "1 s");
        assert_eq!(windows.quantile(0.99), "137 min");
    }

    #[test]
    fn sellers_weigh_by_their_share_of_the_sales() {
        let slow = (1, Lags::of([3_600_000]));
        let quick = (99, Lags::of([1_000]));
        let told = Lags::of([1_000]);
        let both = windows(&[slow.clone(), quick], &told);
        let alone = windows(&[slow], &told);
        let (both, alone) = (both.chance(busy(), 0), alone.chance(busy(), 0));
        assert!(
            both > alone / 100.0 && both < alone / 10.0,
            "{both} {alone}"
        );
    }

    #[test]
    fn the_less_was_counted_the_longer_the_tail() {
        let little = Pace {
            sales: 10,
            short: Counted::one(1),
            long: even(6, 8),
        };
        let window = point(60_000);
        assert!(window.chance(little, 0) < window.chance(busy(), 0) * 1.1);
        assert!(window.chance(little, 2) > window.chance(busy(), 2) * 2.0);
        assert!(keep(&window, Pace::default(), 1_000, 0, None).rooms >= 1);
    }

    #[test]
    fn who_books_in_bursts_needs_more_kept_back_than_who_books_evenly_as_often() {
        let bursts = Pace {
            short: even(100, 400),
            ..busy()
        };
        let window = point(60_000);
        assert!(window.chance(bursts, 1) > window.chance(busy(), 1) * 10.0);
        assert_eq!(keep(&window, bursts, 1_000, 0, None).rooms, 2);
        let even = point(7_200_000);
        assert!(
            even.chance(bursts, 0) < even.chance(busy(), 0) * 1.01,
            "of a long window"
        );
    }

    #[test]
    fn a_number_rises_at_once_and_falls_only_with_room_to_spare() {
        let window = |ms| point(ms);
        // Just allowed for nothing kept back is not enough to fall from one.
        let (edge, easy) = (5_500, 2_000);
        assert_eq!(keep(&window(edge), busy(), 1_000, 0, None).rooms, 0);
        assert_eq!(keep(&window(edge), busy(), 1_000, 0, Some(0)).rooms, 0);
        assert_eq!(keep(&window(edge), busy(), 1_000, 0, Some(1)).rooms, 1);
        assert_eq!(keep(&window(easy), busy(), 1_000, 0, Some(1)).rooms, 0);
        assert_eq!(keep(&window(60_000), busy(), 1_000, 0, Some(0)).rooms, 1);
        assert_eq!(
            keep(&window(easy), busy(), 1_000, 1, None).rooms,
            1,
            "at least"
        );
    }
}
