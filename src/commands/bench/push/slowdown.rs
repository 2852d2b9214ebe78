//! What pushing costs those who book.

use std::time::{Duration, Instant};

use anyhow::Result;
use rand::{RngCore as _, SeedableRng as _, rngs::SmallRng};

use super::super::arguments::BenchArguments;
use super::super::contender::Shape;
use super::super::report::{Report, Row};
use super::super::side::side_by_side;
use super::stage::{Stage, at_most, hold};

/// From an answer to the next question.
const THINKS: Duration = Duration::from_millis(5);

pub fn in_words() -> String {
    format!(
        "the median wait of a lone caller who thinks for {THINKS:?} between two holds, the engine \
         telling all of it meanwhile, against the same with no engine"
    )
}

/// Rounds with and without the engine.
pub async fn measure(arguments: &BenchArguments, stage: &Stage, report: &mut Report) -> Result<()> {
    let length = Duration::from_secs_f64(arguments.seconds * 1.5);
    let pairs = side_by_side(
        arguments.rounds.max(1),
        async |number| {
            let engine = stage.workplace.start().await?;
            stage.workplace.told().await?;
            let wait = median_wait(stage, number, length).await?;
            engine.stop().await;
            Ok(wait)
        },
        async |number| median_wait(stage, number, length).await,
    );
    report.add(Row::of(
        at_most("a hold, against no pushing", 1, "ms", 1.03, 1.0),
        &pairs.await?,
    ));
    let engine = stage.workplace.start().await?;
    stage.workplace.told().await?;
    stage.workplace.must_be_true().await?;
    engine.stop().await;
    stage.endpoint.take();
    Ok(())
}

/// Milliseconds.
async fn median_wait(stage: &Stage, number: usize, length: Duration) -> Result<f64> {
    let mut dice = SmallRng::seed_from_u64(u64::try_from(number)?);
    let (begun, mut waits) = (Instant::now(), Vec::new());
    while begun.elapsed() < length {
        let ask = stage.ground.ask(Shape::Spread, dice.next_u64());
        let asked = Instant::now();
        let change = hold(&stage.ours, ask).await?;
        waits.push(change.answered.duration_since(asked));
        tokio::time::sleep(THINKS).await;
    }
    waits.sort_unstable();
    let middle = waits.get(waits.len() / 2).copied().unwrap_or_default();
    Ok(middle.as_secs_f64() * 1_000.0)
}
