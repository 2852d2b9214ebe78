//! Messages per change, where many come at once on the same accounts.

use anyhow::Result;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

use super::super::arguments::BenchArguments;
use super::super::contender::Ask;
use super::super::report::{Report, Row};
use super::stage::{ACCOUNTS, ROOM_TYPES, Stage, at_most};

const CHANGES: usize = 2_000;
const HOTELS: usize = 4;
/// The nights of a month.
const NIGHTS: i32 = 30;

pub fn in_words() -> String {
    format!(
        "{CHANGES} holds at once, over {NIGHTS} nights of {HOTELS} hotels of {ACCOUNTS} accounts \
         each"
    )
}

/// Rounds after a warm-up; says how it went.
pub async fn measure(
    arguments: &BenchArguments,
    stage: &Stage,
    report: &mut Report,
) -> Result<String> {
    let engine = stage.workplace.start().await?;
    stage.workplace.told().await?;
    let (mut figures, mut sum, mut bytes) = (Vec::new(), 0, 0);
    for number in 0..=arguments.rounds {
        let mut dice = SmallRng::seed_from_u64(u64::try_from(number)?);
        let asks: Vec<Ask> = (0..CHANGES)
            .map(|_| Ask {
                property: dice.random_range(0..HOTELS),
                room_type: dice.random_range(0..ROOM_TYPES),
                from: dice.random_range(0..NIGHTS),
            })
            .collect();
        let (messages_before, bytes_before) = (stage.endpoint.messages(), stage.endpoint.bytes());
        stage.hold_all(asks).await?;
        stage.workplace.told().await?;
        if number > 0 {
            let messages = stage.endpoint.messages() - messages_before;
            sum += messages;
            bytes += stage.endpoint.bytes() - bytes_before;
            let messages = f64::from(u32::try_from(messages)?);
            figures.push((messages / f64::from(u32::try_from(CHANGES)?), 1.0));
        }
    }
    stage.workplace.must_be_true().await?;
    engine.stop().await;
    stage.endpoint.take();
    report.add(Row::of(
        at_most("messages per change in a burst", CHANGES, "", 0.2, 0.1),
        &figures,
    ));
    let kib = bytes / sum.max(1) / 1_024;
    Ok(format!("bursts: {sum} messages of {kib} KiB each"))
}
