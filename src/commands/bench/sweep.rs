//! `bench sweep`: dead holds let go per second, and how much longer callers wait for it.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::holds;
use keyrack_ledger::settings::Settings;
use keyrack_ledger::sweeper::Sweeper;
use rand::{RngCore as _, SeedableRng as _, rngs::SmallRng};

use super::arguments::BenchArguments;
use super::contender::{Contender as _, Shape};
use super::ground::Ground;
use super::keyrack;
use super::report::{Asked, Better, Report, Row};
use super::side::side_by_side;

const CALLERS: usize = 4;
/// Between an answer and the next question.
const THINKS: Duration = Duration::from_millis(1);
/// Callers alone, before anything is measured: a sweeper knows how long they wait undisturbed.
const ALONE: Duration = Duration::from_millis(700);
/// More than a round lets go.
const DEAD_HOLDS: i32 = 30_000;

pub async fn bench(arguments: &BenchArguments) -> Result<()> {
    let ground = Ground::prepare().await?;
    let mut report = Report::new("sweep", ground.settings().await?);
    let measured = measure(arguments, &ground, &mut report).await;
    ground.clear().await?;
    let pace = measured?;
    report.print(arguments.json)?;
    if !arguments.json {
        crate::say::line(&pace);
    }
    report.judge()
}

async fn measure(
    arguments: &BenchArguments,
    ground: &Ground,
    report: &mut Report,
) -> Result<String> {
    let ledger = Ledger::open(ground.options.clone(), Settings::default()).await?;
    let callers = keyrack::of(ground, vec![ledger.clone()]);
    let mut sweeper = Sweeper::new(&ledger);
    let length = Duration::from_secs_f64(arguments.seconds.max(1.0) * 2.0);
    let pairs = side_by_side(
        arguments.rounds,
        async |number| {
            prepare(ground, &callers, number).await?;
            let sweeping = async {
                let began = Instant::now();
                let stopped = tokio::time::sleep(length);
                let due = holds::due(&ledger).await?;
                let let_go = sweeper.pass(&ledger, &due, stopped).await?;
                Ok::<_, anyhow::Error>(f64::from(let_go) / began.elapsed().as_secs_f64())
            };
            let (waits, released) = tokio::join!(watch(ground, &callers, number, length), sweeping);
            let wrong = ground.wrong_sums().await?;
            let words = wrong.join("; ");
            ensure!(wrong.is_empty(), "the sums do not hold: {words}");
            Ok((p95_ms(waits?), released?))
        },
        async |number| {
            prepare(ground, &callers, number).await?;
            Ok(p95_ms(watch(ground, &callers, number, length).await?))
        },
    );
    add(report, &pairs.await?);
    // Those that are left are let go as well, so that the pace has its end.
    let due = holds::due(&ledger).await?;
    let left = sweeper.pass(&ledger, &due, pending()).await?;
    let pace = sweeper.pace();
    ledger.close().await;
    Ok(format!(
        "the pace at the end: batches of {}, at rest {} times as long as at work; {left} were left",
        pace.batch, pace.rest
    ))
}

/// Dead holds, and callers alone for a while.
async fn prepare(ground: &Ground, callers: &keyrack::Ours, number: usize) -> Result<()> {
    ground.reset().await?;
    callers.begin();
    ground.kill_holds(DEAD_HOLDS).await?;
    let alone = watch(ground, callers, number, ALONE).await?;
    ensure!(!alone.is_empty(), "nobody was answered");
    Ok(())
}

/// Of each round: the callers' wait and the holds let go, and the wait without sweeping.
fn add(report: &mut Report, pairs: &[((f64, f64), f64)]) {
    let asked = Asked {
        name: "holds let go (in a second)",
        callers: CALLERS,
        unit: "/s",
        gate: Some(2_000.0),
        goal: Some(4_000.0),
        better: Better::Higher,
    };
    let released: Vec<_> = pairs.iter().map(|((_, rate), _)| (*rate, 1.0)).collect();
    report.add(Row::of(asked, &released));
    let asked = Asked {
        name: "callers' p95, against no sweeping",
        unit: "ms",
        gate: Some(1.5),
        goal: Some(1.2),
        better: Better::Lower,
        ..asked
    };
    let waits: Vec<_> = pairs
        .iter()
        .map(|((ours, _), alone)| (*ours, *alone))
        .collect();
    report.add(Row::of(asked, &waits));
}

/// How long callers wait for holds, spread over all hotels.
async fn watch(
    ground: &Ground,
    callers: &keyrack::Ours,
    number: usize,
    length: Duration,
) -> Result<Vec<Duration>> {
    let stop = AtomicBool::new(false);
    let each = async |caller: usize| {
        let seed = u64::try_from(number * CALLERS + caller).unwrap_or(0);
        let mut dice = SmallRng::seed_from_u64(seed);
        let mut waits = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let asked = Instant::now();
            let held = callers
                .hold(ground.ask(Shape::Spread, dice.next_u64()))
                .await?;
            ensure!(held.is_some(), "refused where rooms never end");
            waits.push(asked.elapsed());
            tokio::time::sleep(THINKS).await;
        }
        Ok::<_, anyhow::Error>(waits)
    };
    let timer = async {
        tokio::time::sleep(length).await;
        stop.store(true, Ordering::Relaxed);
    };
    let (waits, ()) = tokio::join!(try_join_all((0..CALLERS).map(each)), timer);
    Ok(waits?.concat())
}

fn p95_ms(mut waits: Vec<Duration>) -> f64 {
    waits.sort_unstable();
    let at = waits.len() * 95 / 100;
    waits
        .get(at)
        .map_or(0.0, |wait| wait.as_secs_f64() * 1_000.0)
}
