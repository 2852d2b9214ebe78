//! What a run has seen.

use std::collections::BTreeMap;
use std::time::Duration;

/// Counts of a run, or of many.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Commands that were answered.
    pub commands: u64,
    /// Rounds.
    pub rounds: u64,
    /// Attempts that nobody was told the end of, and that were asked again.
    pub untold: u64,
    /// Answers that were those of an earlier attempt.
    pub replays: u64,
    /// Callers who hung up.
    pub hang_ups: u64,
    /// Holds that a sweeper let go.
    pub swept: u64,
    /// Allotments whose unsold rooms workers let go.
    pub releases: u64,
    /// Looks at all that can be proved.
    pub proofs: u64,
    /// How often all that a property's accounts are told was looked at.
    pub told: u64,
    /// Reservations that were archived.
    pub archived: u64,
    /// Of these, brought back by a later command.
    pub brought_back: u64,
    /// Nights that were written down as proved, again and again.
    pub checkpoints: u64,
    /// Entries that the feed saw, each once.
    pub entries: u64,
    /// How often what broke.
    pub faults: BTreeMap<&'static str, u64>,
    /// How often which kind of command was answered how.
    pub census: BTreeMap<(&'static str, String), u64>,
    /// How long was spent with what, of all threads.
    pub spent: BTreeMap<&'static str, Duration>,
}

impl Tally {
    /// Adds what another run has seen.
    pub fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.rounds += other.rounds;
        self.untold += other.untold;
        self.replays += other.replays;
        self.hang_ups += other.hang_ups;
        self.swept += other.swept;
        self.releases += other.releases;
        self.proofs += other.proofs;
        self.told += other.told;
        self.archived += other.archived;
        self.brought_back += other.brought_back;
        self.checkpoints += other.checkpoints;
        self.entries += other.entries;
        for (what, count) in other.faults {
            *self.faults.entry(what).or_insert(0) += count;
        }
        for (what, count) in other.census {
            *self.census.entry(what).or_insert(0) += count;
        }
        for (what, time) in other.spent {
            self.spend(what, time);
        }
    }

    /// Adds to the time that was spent with something.
    pub fn spend(&mut self, what: &'static str, time: Duration) {
        *self.spent.entry(what).or_default() += time;
    }

    /// How often a kind of command was answered, whatever the answer.
    pub fn by_kind(&self) -> BTreeMap<&'static str, u64> {
        let mut by = BTreeMap::new();
        for ((kind, _), count) in &self.census {
            *by.entry(*kind).or_insert(0) += count;
        }
        by
    }

    /// How often an answer was given, whatever was asked.
    pub fn by_answer(&self) -> BTreeMap<&str, u64> {
        let mut by = BTreeMap::new();
        for ((_, answer), count) in &self.census {
            *by.entry(answer.as_str()).or_insert(0) += count;
        }
        by
    }

    /// Everything that broke.
    pub fn broken(&self) -> u64 {
        self.faults.values().sum()
    }
}
