//! What pushing costs those who book.

use std::time::{Duration, Instant};

use anyhow::Result;
use rand::{RngCore as _, SeedableRng as _, rngs::SmallRng};

use super::super::arguments::BenchArguments;
use super::super::contender::Shape;
use super::super::report::{Report, Row};
use super::super::side::side_by_side;
use super::stage::{Stage, at_most, hold};

/// From an answer to the next question, where pushing must not be noticed: a caller who asks twenty
/// times a second asks while the engine tells of what he booked before, and both have a processor.
const THINKS: Duration = Duration::from_millis(50);
/// And where the engine's own work takes its part of a small machine: shown, not judged.
const HURRIES: Duration = Duration::from_millis(5);

pub fn in_words() -> String {
    format!(
        "the median wait of a lone caller who thinks for {THINKS:?} (judged) and for {HURRIES:?} \
         (shown: what telling costs a small machine) between two holds, the engine telling all of \
         it meanwhile, against the same with no engine"
    )
}

/// Rounds with and without the engine.
pub async fn measure(arguments: &BenchArguments, stage: &Stage, report: &mut Report) -> Result<()> {
    let asked = at_most("a hold, against no pushing", 1, "ms", 1.03, 1.0);
    let hurried = at_most("a hold in a hurry", 1, "ms", 0.0, 0.0).shown();
    for (asked, thinks, share) in [(asked, THINKS, 2.5), (hurried, HURRIES, 0.75)] {
        let length = Duration::from_secs_f64(arguments.seconds * share);
        let pairs = side_by_side(
            arguments.rounds.max(1),
            async |number| {
                let engine = stage.workplace.start().await?;
                stage.workplace.told().await?;
                let wait = median_wait(stage, number, thinks, length).await?;
                engine.stop().await;
                Ok(wait)
            },
            async |number| median_wait(stage, number, thinks, length).await,
        );
        report.add(Row::of(asked, &pairs.await?));
    }
    let engine = stage.workplace.start().await?;
    stage.workplace.told().await?;
    stage.workplace.must_be_true().await?;
    engine.stop().await;
    stage.endpoint.take();
    Ok(())
}

/// Milliseconds.
async fn median_wait(
    stage: &Stage,
    number: usize,
    thinks: Duration,
    length: Duration,
) -> Result<f64> {
    let mut dice = SmallRng::seed_from_u64(u64::try_from(number)?);
    let (begun, mut waits) = (Instant::now(), Vec::new());
    while begun.elapsed() < length {
        let ask = stage.ground.ask(Shape::Spread, dice.next_u64());
        let asked = Instant::now();
        let change = hold(&stage.ours, ask).await?;
        waits.push(change.answered.duration_since(asked));
        tokio::time::sleep(thinks).await;
    }
    waits.sort_unstable();
    let middle = waits.get(waits.len() / 2).copied().unwrap_or_default();
    Ok(middle.as_secs_f64() * 1_000.0)
}
