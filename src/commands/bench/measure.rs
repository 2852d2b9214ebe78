//! Closed loops: so many callers, each asking again as soon as it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use rand::{Rng as _, RngCore as _, SeedableRng as _, rngs::SmallRng};

use super::contender::{Contender, Shape, Taken};
use super::ground::{Ground, ask};
use super::side::side_by_side;

/// One contender's round.
#[derive(Clone, Debug)]
pub struct Round {
    waits: Vec<Duration>,
    length: Duration,
    accepted: u64,
    wal_bytes: i64,
    server_cpu_ms: u64,
}

impl Round {
    /// Answers per second.
    pub fn per_second(&self) -> f64 {
        real(self.waits.len()) / self.length.as_secs_f64()
    }

    /// The wait in milliseconds below which the given part of the answers lies.
    pub fn wait_ms(&self, part: f64) -> f64 {
        let index = real(self.waits.len().saturating_sub(1)) * part;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index"
        )]
        let wait = self.waits.get(index as usize).copied().unwrap_or_default();
        wait.as_secs_f64() * 1_000.0
    }

    /// Bytes of the write-ahead log for each accepted hold.
    pub fn wal_bytes_per_hold(&self) -> f64 {
        real(self.wal_bytes) / real(self.accepted)
    }

    /// Microseconds of the server's processor time for each accepted hold.
    pub fn server_cpu_us_per_hold(&self) -> f64 {
        real(self.server_cpu_ms) * 1_000.0 / real(self.accepted)
    }
}

fn real(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

/// Rounds of two contenders, A B A B, on hotels that were empty before a warm-up that is thrown
/// away; each accepted answer must be a row.
pub async fn rounds(
    ground: &Ground,
    contenders: [&Arc<dyn Contender>; 2],
    shape: Shape,
    callers: usize,
    count: usize,
    length: Duration,
) -> Result<Vec<(Round, Round)>> {
    ground.reset().await?;
    contenders.iter().for_each(|contender| contender.begin());
    let run = async |contender, number| {
        let seed = u64::try_from(number).unwrap_or(0);
        round(ground, contender, shape, callers, length, seed).await
    };
    let ours = async |number| run(contenders[0], number).await;
    let plain = async |number| run(contenders[1], number).await;
    let rounds = side_by_side(count, ours, plain).await?;
    // All rounds wrote to the same rows.
    let wrong = ground.wrong_sums().await?;
    ensure!(
        wrong.is_empty(),
        "the sums do not hold: {}",
        wrong.join("; ")
    );
    Ok(rounds)
}

/// One contender alone.
pub async fn round(
    ground: &Ground,
    contender: &Arc<dyn Contender>,
    shape: Shape,
    callers: usize,
    length: Duration,
    seed: u64,
) -> Result<Round> {
    let stop = Arc::new(AtomicBool::new(false));
    let rows_before = ground.rows(contender.table()).await?;
    let (wal_before, cpu_before) = (ground.wal_bytes().await?, ground.server_cpu_ms()?);
    let begun = Instant::now();
    let hotels = ground.hotels.len();
    let each = |caller: usize| {
        let seed = seed << 32 | u64::try_from(caller).unwrap_or(0);
        let caller = Caller::new(hotels, Arc::clone(contender), shape, seed);
        // A task each, as the daemon's handlers are.
        let asking = tokio::spawn(caller.ask_until(Arc::clone(&stop)));
        async { asking.await? }
    };
    let asking: Vec<_> = (0..callers).map(each).collect();
    tokio::time::sleep(length).await;
    stop.store(true, Ordering::Relaxed);
    let done = try_join_all(asking).await;
    let length = begun.elapsed();
    let (wal_after, cpu_after) = (ground.wal_bytes().await?, ground.server_cpu_ms()?);
    let mut waits = Vec::new();
    let mut accepted = 0;
    for caller in done? {
        waits.extend(caller.waits);
        accepted += caller.accepted;
    }
    waits.sort_unstable();
    let rows = ground.rows(contender.table()).await? - rows_before;
    ensure!(
        i64::try_from(accepted)? == rows,
        "{}: accepted {accepted}, rows {rows}",
        contender.name()
    );
    Ok(Round {
        waits,
        length,
        accepted,
        wal_bytes: wal_after - wal_before,
        server_cpu_ms: cpu_after - cpu_before,
    })
}

/// One of those who ask.
struct Caller {
    hotels: usize,
    contender: Arc<dyn Contender>,
    shape: Shape,
    dice: SmallRng,
    /// What it has, where it does more than hold.
    mine: Vec<Taken>,
    /// How long each answer took.
    waits: Vec<Duration>,
    accepted: u64,
}

impl Caller {
    fn new(hotels: usize, contender: Arc<dyn Contender>, shape: Shape, seed: u64) -> Self {
        Self {
            hotels,
            contender,
            shape,
            dice: SmallRng::seed_from_u64(seed),
            mine: Vec::new(),
            waits: Vec::new(),
            accepted: 0,
        }
    }

    async fn ask_until(mut self, stop: Arc<AtomicBool>) -> Result<Self> {
        while !stop.load(Ordering::Relaxed) {
            let asked = Instant::now();
            self.ask().await?;
            self.waits.push(asked.elapsed());
        }
        Ok(self)
    }

    async fn ask(&mut self) -> Result<()> {
        let what = match self.shape {
            Shape::Mixed => self.dice.random_range(0..100_u32),
            _ => 0,
        };
        let held = self.mine.iter().position(|mine| !mine.is_confirmed);
        match (what, held) {
            (60..85, Some(at)) => {
                self.mine[at] = self.contender.confirm(self.mine[at]).await?;
            }
            (85..95, _) if !self.mine.is_empty() => {
                let mine = self.one();
                let taken = self.mine.swap_remove(mine);
                self.contender.cancel(taken).await?;
            }
            (95.., _) if !self.mine.is_empty() => {
                let mine = self.one();
                let from = self.mine[mine].ask.from;
                let from = if from == 0 { 1 } else { from - 1 };
                self.mine[mine] = self.contender.shift(self.mine[mine], from).await?;
            }
            _ => self.hold().await?,
        }
        Ok(())
    }

    fn one(&mut self) -> usize {
        self.dice.random_range(0..self.mine.len())
    }

    async fn hold(&mut self) -> Result<()> {
        let ask = ask(self.hotels, self.shape, self.dice.next_u64());
        if let Some(taken) = self.contender.hold(ask).await? {
            self.accepted += 1;
            if self.shape == Shape::Mixed {
                self.mine.push(taken);
            }
        }
        Ok(())
    }
}
