//! `bench push`: from the commit of a change to the message that tells a channel of it, messages
//! per change, memory, and what pushing costs those who book.
//!
//! The engine is the daemon's own, with all its loops, over real sockets; the other side answers
//! success in the channel's words and notes what it was told, and when.

mod burst;
mod endpoint;
mod engine;
mod lag;
mod memory;
mod slowdown;
mod stage;
mod telling;

use anyhow::Result;
use serde_json::json;

use super::arguments::BenchArguments;
use super::report::Report;
use stage::{ACCOUNTS, PLANS, ROOMS, Stage};

pub async fn bench(arguments: &BenchArguments) -> Result<()> {
    let mut stage = Stage::open().await?;
    let mut settings = stage.ground.settings().await?;
    settings["push"] = shape();
    let mut report = Report::new("push", settings);
    let measured = measure(arguments, &mut stage, &mut report).await;
    stage.clear().await?;
    let said = measured?;
    report.print(arguments.json)?;
    if !arguments.json {
        for line in said {
            crate::say::line(&line);
        }
    }
    report.judge()
}

/// What is told to whom, for the report.
fn shape() -> serde_json::Value {
    json!({
        "channel": engine::CHANNEL, "accounts_per_hotel": ACCOUNTS, "rate_plans": PLANS,
        "rooms_per_type": ROOMS,
        "commit to message": format!(
            "an open loop of {} holds a second; for each account the wait from a hold's answer to \
             the first message that counts it in on all its nights", lag::PER_SECOND),
        "messages per change": burst::in_words(),
        "memory": memory::in_words(),
        "booking slowed": slowdown::in_words(),
    })
}

async fn measure(
    arguments: &BenchArguments,
    stage: &mut Stage,
    report: &mut Report,
) -> Result<Vec<String>> {
    let mut said = Vec::new();
    said.push(lag::measure(arguments, stage, report).await?);
    said.push(burst::measure(arguments, stage, report).await?);
    slowdown::measure(arguments, stage, report).await?;
    said.push(memory::measure(stage, report).await?);
    Ok(said)
}
