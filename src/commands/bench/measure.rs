//! Closed loops: so many callers, each asking again as soon as it is answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use rand::{RngCore as _, SeedableRng as _, rngs::SmallRng};

use super::contender::{Contender, Shape};
use super::ground::Ground;

/// One contender's round.
#[derive(Clone, Debug)]
pub struct Round {
    waits: Vec<Duration>,
    length: Duration,
    accepted: u64,
}

impl Round {
    /// Answers per second.
    pub fn per_second(&self) -> f64 {
        f64::from(u32::try_from(self.waits.len()).unwrap_or(u32::MAX)) / self.length.as_secs_f64()
    }

    /// The wait in milliseconds below which the given part of the answers lies.
    pub fn wait_ms(&self, part: f64) -> f64 {
        let last = self.waits.len().saturating_sub(1);
        let index = f64::from(u32::try_from(last).unwrap_or(u32::MAX)) * part;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index"
        )]
        let wait = self.waits.get(index as usize).copied().unwrap_or_default();
        wait.as_secs_f64() * 1_000.0
    }
}

/// Rounds of two contenders, A B A B, after a warm-up that is thrown away; each begins on empty
/// hotels, and each accepted answer must be a row.
pub async fn rounds(
    ground: &Ground,
    contenders: [&dyn Contender; 2],
    shape: Shape,
    callers: usize,
    count: usize,
    length: Duration,
) -> Result<Vec<(Round, Round)>> {
    let mut pairs = Vec::new();
    for number in 0..=count {
        ground.reset().await?;
        let length = if number == 0 {
            length.mul_f64(0.3)
        } else {
            length
        };
        let seed = u64::try_from(number).unwrap_or(0);
        let first = round(contenders[0], shape, callers, length, seed).await?;
        let second = round(contenders[1], shape, callers, length, seed).await?;
        let rows = ground.rows().await?;
        ensure!(
            (
                i64::try_from(first.accepted)?,
                i64::try_from(second.accepted)?
            ) == rows,
            "accepted {} and {}, rows {rows:?} of {} and {}",
            first.accepted,
            second.accepted,
            contenders[0].name(),
            contenders[1].name(),
        );
        let wrong = ground.wrong_sums().await?;
        ensure!(
            wrong.is_empty(),
            "the sums do not hold: {}",
            wrong.join("; ")
        );
        if number > 0 {
            pairs.push((first, second));
        }
    }
    Ok(pairs)
}

async fn round(
    contender: &dyn Contender,
    shape: Shape,
    callers: usize,
    length: Duration,
    seed: u64,
) -> Result<Round> {
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let each = |caller: usize| {
        let stop = &stop;
        async move {
            let mut dice = SmallRng::seed_from_u64(seed << 32 | u64::try_from(caller).unwrap_or(0));
            let mut waits = Vec::new();
            let mut accepted = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let asked = Instant::now();
                accepted += u64::from(contender.hold(Ground::ask(shape, dice.next_u64())).await?);
                waits.push(asked.elapsed());
            }
            Ok::<_, anyhow::Error>((waits, accepted))
        }
    };
    let timer = async {
        tokio::time::sleep(length).await;
        stop.store(true, Ordering::Relaxed);
    };
    let (done, ()) = tokio::join!(try_join_all((0..callers).map(each)), timer);
    let length = begun.elapsed();
    let mut waits = Vec::new();
    let mut accepted = 0;
    for (some, taken) in done? {
        waits.extend(some);
        accepted += taken;
    }
    waits.sort_unstable();
    Ok(Round {
        waits,
        length,
        accepted,
    })
}
