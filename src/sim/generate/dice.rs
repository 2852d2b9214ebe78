//! Chance, from a seed.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A seeded source of chance.
#[derive(Clone, Debug)]
pub struct Dice(SmallRng);

impl Dice {
    /// The same seed, the same throws.
    pub fn from_seed(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    /// One of `0..end`; 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            self.0.random_range(0..end)
        }
    }

    /// One of `from..=to`.
    pub fn between(&mut self, from: i32, to: i32) -> i32 {
        self.0.random_range(from..=to.max(from))
    }

    /// So many times out of a hundred.
    pub fn percent(&mut self, chance: u32) -> bool {
        self.0.random_range(0..100) < chance
    }

    /// One of these, which are some.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
