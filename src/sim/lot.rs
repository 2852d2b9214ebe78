//! What chance adds to a step when it runs on the real thing: where a round ends, which daemon is
//! asked, whether the caller hangs up, what breaks. It hangs on the seed and the step's number
//! alone, so that a step keeps it when others are left out.

use std::time::Duration;

use crate::step::{Scripted, Step};

/// The lots of a seed.
#[derive(Clone, Copy, Debug)]
pub struct Lots {
    seed: u64,
    daemons: usize,
    faults: Faults,
}

/// Whether things break.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// Nothing breaks.
    None,
    /// As chance has it.
    #[default]
    All,
}

/// What breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The connection of one backend is cut.
    CutOne,
    /// Every connection of a daemon is cut.
    CutAll {
        /// Whose.
        post: usize,
    },
    /// A backend stands still for a while, wherever it is.
    Stall {
        /// Milliseconds.
        millis: u64,
    },
    /// Others want a night as well: one after the other they lock it, hold it for a while and
    /// write it, so that whoever has locked others must wait, and then decide anew.
    Crowd {
        /// Milliseconds that each holds it.
        millis: u64,
    },
    /// A daemon is killed and started again.
    Kill {
        /// Which.
        post: usize,
    },
    /// Postgres is ended at once and started again.
    Crash,
}

impl Fault {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::CutOne => "connections cut",
            Self::CutAll { .. } => "daemons cut off",
            Self::Stall { .. } => "backends stalled",
            Self::Crowd { .. } => "nights crowded",
            Self::Kill { .. } => "daemons killed",
            Self::Crash => "restarts of Postgres",
        }
    }
}

impl Lots {
    /// The lots of a seed.
    pub fn of(seed: u64, faults: Faults) -> Self {
        Self {
            seed,
            daemons: if seed.is_multiple_of(3) { 3 } else { 2 },
            faults,
        }
    }

    /// How many daemons run.
    pub fn daemons(self) -> usize {
        self.daemons
    }

    /// Whether the round ends with this step; `size` are its steps so far, this one among them.
    pub fn ends_round(self, step: &Scripted, size: usize) -> bool {
        let wait = matches!(step.step, Step::Wait { .. });
        wait || step.step.is_alone() || size >= STEPS_MAX || self.percent(step.number, 1, 8)
    }

    /// Which daemon the first attempt asks, and which the later ones.
    pub fn post(self, number: usize, attempt: usize) -> usize {
        let first = self.below(number, 2, self.daemons);
        (first + attempt) % self.daemons
    }

    /// How many others ask the same at the same time: an impatient guest, a message told twice,
    /// several guests and one room.
    pub fn echoes(self, number: usize) -> usize {
        match self.fault(number) {
            Some((Fault::Crowd { .. }, _)) => 3,
            None if self.percent(number, 14, 4) => 2,
            _ => 0,
        }
    }

    /// After how long the caller hangs up.
    pub fn hangs_up(self, number: usize) -> Option<Duration> {
        let hangs_up = self.faults == Faults::All && self.percent(number, 3, 6);
        hangs_up.then(|| Duration::from_micros(500 * self.roll(number, 4, 12)))
    }

    /// How long after the round's begin the step is asked.
    pub fn delay(self, number: usize) -> Duration {
        if number >= ECHO {
            Duration::from_micros(250 * self.roll(number, 6, 64))
        } else if self.percent(number, 5, 70) {
            Duration::ZERO
        } else {
            Duration::from_micros(250 * self.roll(number, 6, 16))
        }
    }

    /// What breaks in the round of this step, and how long after its begin.
    pub fn fault(self, number: usize) -> Option<(Fault, Duration)> {
        if self.faults == Faults::None {
            return None;
        }
        let post = self.below(number, 7, self.daemons);
        let fault = match self.roll(number, 8, 1_000) {
            0..4 => Fault::Crash,
            4..14 => Fault::Kill { post },
            14..24 => Fault::CutAll { post },
            24..44 => Fault::CutOne,
            44..74 => Fault::Stall {
                millis: 5 + self.roll(number, 9, 36),
            },
            74..134 => Fault::Crowd {
                millis: 6 + self.roll(number, 9, 16),
            },
            _ => return None,
        };
        Some((
            fault,
            Duration::from_micros(250 * self.roll(number, 10, 40)),
        ))
    }

    /// Whether a sweeper comes by in the round of this step, and from which daemon.
    pub fn sweeps(self, number: usize) -> Option<usize> {
        let sweeps = self.percent(number, 11, 8);
        sweeps.then(|| self.below(number, 12, self.daemons))
    }

    /// Whether somebody archives and closes nights in the round of this step: from which daemon,
    /// how long after its begin, and how many days before the business day nights are closed. Far
    /// too early: what ended a moment ago leaves, and nights are closed that are yet to come.
    pub fn tidies(self, number: usize) -> Option<(usize, Duration, i32)> {
        let tidies = self.percent(number, 15, 15);
        let delay = Duration::from_micros(250 * self.roll(number, 17, 40));
        let days = i32::try_from(self.roll(number, 18, 40)).unwrap_or(0);
        tidies.then(|| (self.below(number, 16, self.daemons), delay, 3 - days))
    }

    /// One of so many, for the choice of what is hit.
    pub fn victim(self, number: usize, of: usize) -> usize {
        self.below(number, 13, of.max(1))
    }

    fn percent(self, number: usize, what: u64, chance: u64) -> bool {
        self.roll(number, what, 100) < chance
    }

    fn below(self, number: usize, what: u64, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(1);
        usize::try_from(self.roll(number, what, end)).unwrap_or(0)
    }

    /// One of `0..end`, always the same for a step and a question.
    fn roll(self, number: usize, what: u64, end: u64) -> u64 {
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        let mut z = self.seed ^ number.rotate_left(20) ^ what.rotate_left(48);
        // The finaliser of splitmix64, twice: neighbours must not look alike.
        for _ in 0..2 {
            z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
        }
        z % end
    }
}

/// Steps of one round, at most.
const STEPS_MAX: usize = 6;

/// The number of a step's first echo is so much higher, that of its second twice as much.
pub const ECHO: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_breaks_in_a_few_thousand_steps_and_always_at_the_same_one() {
        let lots = Lots::of(6, Faults::All);
        let faults = |lots: Lots| (0..3_000).filter_map(move |n| lots.fault(n));
        let seen: Vec<&str> = faults(lots).map(|(fault, _)| fault.name()).collect();
        for what in [
            "connections cut",
            "daemons cut off",
            "backends stalled",
            "nights crowded",
            "daemons killed",
            "restarts of Postgres",
        ] {
            assert!(seen.contains(&what), "{what}");
        }
        assert!(faults(lots).eq(faults(Lots::of(6, Faults::All))));
        assert!(!faults(lots).eq(faults(Lots::of(7, Faults::All))));
        assert_eq!(faults(Lots::of(6, Faults::None)).count(), 0);
    }
}
