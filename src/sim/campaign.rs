//! Many seeds, on a few threads, each with a Postgres of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::SimError;
use crate::run::{Failure, Options, Runner};
use crate::tally::Tally;

/// Which seeds, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// The first seed.
    pub first_seed: u64,
    /// How many.
    pub seeds: u64,
    /// No seed is begun after so long.
    pub limit: Option<Duration>,
    /// At once.
    pub threads: usize,
    /// How each is run.
    pub options: Options,
}

/// What a campaign saw.
#[derive(Debug, Default)]
pub struct Summary {
    /// Seeds that were run.
    pub seeds: u64,
    /// What they saw.
    pub tally: Tally,
    /// What they found, and how long after the campaign's begin; it ends with the first.
    pub failures: Vec<(Duration, Failure)>,
    /// How long it took.
    pub took: Duration,
}

impl Campaign {
    /// Runs the seeds; `progress` hears of each that is through. Ends at the first finding.
    pub fn run(&self, progress: &(dyn Fn(&Summary) + Sync)) -> Result<Summary, SimError> {
        let began = Instant::now();
        let summary = Mutex::new(Summary::default());
        let next = AtomicU64::new(0);
        let ends = AtomicBool::new(false);
        let work = || -> Result<(), SimError> {
            let mut runner = Runner::open()?;
            loop {
                let is_late = self.limit.is_some_and(|limit| began.elapsed() > limit);
                let number = next.fetch_add(1, Ordering::Relaxed);
                if is_late || number >= self.seeds || ends.load(Ordering::Relaxed) {
                    return runner.close();
                }
                let (tally, failure) = runner.run(self.first_seed + number, self.options)?;
                let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
                summary.seeds += 1;
                summary.tally.add(tally);
                summary.took = began.elapsed();
                if let Some(failure) = failure {
                    ends.store(true, Ordering::Relaxed);
                    let after = failure.found_at.duration_since(began);
                    summary.failures.push((after, *failure));
                }
                progress(&summary);
            }
        };
        let mut results = Vec::new();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            for each in threads {
                results.push(each.join());
            }
        });
        for result in results {
            match result {
                Ok(done) => done?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let mut summary = summary.into_inner().unwrap_or_else(PoisonError::into_inner);
        summary.took = began.elapsed();
        Ok(summary)
    }
}
