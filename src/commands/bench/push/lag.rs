//! Commit to message, under an open loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::{RngCore as _, SeedableRng as _, rngs::SmallRng};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::super::arguments::BenchArguments;
use super::super::contender::Shape;
use super::super::report::{Report, Row};
use super::stage::{ACCOUNTS, Stage, at_most, hold};
use super::telling::{Change, Telling};

/// Changes in a second, whether or not those before were answered.
pub const PER_SECOND: u32 = 1_000;

/// Rounds after a warm-up; says how it went.
pub async fn measure(
    arguments: &BenchArguments,
    stage: &Stage,
    report: &mut Report,
) -> Result<String> {
    let engine = stage.workplace.start().await?;
    let length = Duration::from_secs_f64(arguments.seconds * 2.0);
    let (mut figures, mut middles) = (Vec::new(), Vec::new());
    let (mut telling, mut changes, mut slowest) = (Telling::default(), 0, f64::MAX);
    let before = stage.endpoint.messages();
    for number in 0..=arguments.rounds {
        let begun = Instant::now();
        let round = open_loop(stage, number, length).await?;
        let rate = f64::from(u32::try_from(round.len())?) / begun.elapsed().as_secs_f64();
        stage.workplace.told().await?;
        telling.hear(&stage.endpoint.take())?;
        let lags = telling.lags(&stage.ground.pool, &round).await?;
        ensure!(
            lags.len() == round.len() * ACCOUNTS,
            "an account is missing"
        );
        changes += round.len();
        if number > 0 {
            slowest = slowest.min(rate);
            figures.push((ms_of(&lags, 99), 1.0));
            middles.push((ms_of(&lags, 50), 1.0));
        }
    }
    let messages = stage.endpoint.messages() - before;
    let cells = telling.must_be_true(&stage.ground.pool).await?;
    stage.workplace.must_be_true().await?;
    engine.stop().await;
    let callers = usize::try_from(PER_SECOND)?;
    report.add(Row::of(
        at_most(
            "commit to message, p99, 1000/s",
            callers,
            "ms",
            500.0,
            100.0,
        ),
        &figures,
    ));
    let middle = at_most("commit to message, median", callers, "ms", 0.0, 0.0);
    report.add(Row::of(middle.shown(), &middles));
    ensure!(
        slowest > 0.8 * f64::from(PER_SECOND),
        "only {slowest:.0} changes were answered in a second: too few to say anything"
    );
    Ok(format!(
        "{changes} changes in {messages} messages, none lost; {slowest:.0} answered in a second \
         and more; the last number of each of {cells} cells is the ledger's"
    ))
}

/// Holds at their time, spread over the hotels, each asked by a caller of its own.
async fn open_loop(stage: &Stage, number: usize, length: Duration) -> Result<Vec<Change>> {
    let mut dice = SmallRng::seed_from_u64(u64::try_from(number)?);
    let mut clock = tokio::time::interval(Duration::from_secs(1) / PER_SECOND);
    clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut callers = JoinSet::new();
    let count = length.as_millis() * u128::from(PER_SECOND) / 1_000;
    for _ in 0..count {
        clock.tick().await;
        let (ours, ask) = (
            Arc::clone(&stage.ours),
            stage.ground.ask(Shape::Spread, dice.next_u64()),
        );
        callers.spawn(async move { hold(&ours, ask).await });
    }
    let mut changes = Vec::new();
    while let Some(answered) = callers.join_next().await {
        changes.push(answered.context("a caller")??);
    }
    Ok(changes)
}

/// The lag below which so many hundredths lie.
fn ms_of(lags: &[Duration], hundredths: usize) -> f64 {
    let mut lags = lags.to_vec();
    lags.sort_unstable();
    let at = lags.len() * hundredths / 100;
    lags.get(at).map_or(0.0, |lag| lag.as_secs_f64() * 1_000.0)
}
