//! `keyrack bench xml`: the adapters that the daemon runs beside lxml, on the same bytes.
//!
//! What lxml reads out must equal what the adapter read, and what one writes must read the same as
//! what the other writes. Without python3-lxml there is nothing to stand beside, and it is said so.

mod lxml;
mod messages;
mod work;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::arguments::BenchArguments;
use super::cpu;
use super::report::{Asked, Better, Report, Row};
use super::side::side_by_side;
use lxml::Lxml;
use work::Work;

/// Runs the bench.
pub async fn run(arguments: &BenchArguments) -> Result<Report> {
    let Some(mut lxml) = Lxml::start()? else {
        let skipped = "python3-lxml is missing: nothing to stand beside (apt install python3-lxml)";
        let settings = json!({ "skipped": skipped });
        return Ok(Report::new("xml", settings));
    };
    let mut report = Report::new("xml", settings(lxml.versions()));
    // A figure is steady after a part of the second that a database needs.
    let length = Duration::from_secs_f64(arguments.seconds * PART_OF_SECOND);
    for work in work::all()? {
        let begun = lxml.load(&work)?;
        work.check(&begun, &mut lxml)?;
        lxml.load(&work)?;
        let pairs = side_by_side(
            arguments.rounds,
            async |_| ours(&work, length),
            async |_| lxml.per_second(length),
        )
        .await?;
        report.add(Row::of(asked(&work), &pairs));
    }
    Ok(report)
}

/// How often the adapter does the work in a second of processor time: others on the machine slow
/// the watch on the wall, and not this one.
fn ours(work: &Work, length: Duration) -> Result<f64> {
    let (begun, used) = (Instant::now(), cpu::of_thread()?);
    let mut times = 0_u32;
    while begun.elapsed() < length {
        black_box(work.once()?);
        times += 1;
    }
    let used = cpu::of_thread()?.saturating_sub(used);
    Ok(f64::from(times) / used.as_secs_f64())
}

fn asked(work: &Work) -> Asked {
    let (gate, goal) = if work.is_rendering() {
        (20.0, 100.0)
    } else {
        (5.0, 10.0)
    };
    Asked {
        name: work.name(),
        callers: 1,
        unit: "/s",
        gate: Some(gate),
        goal: Some(goal),
        better: Better::Higher,
    }
}

fn settings(versions: &Value) -> Value {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    json!({
        "cores": cores, "plain": versions, "nights": work::NIGHTS,
        "reservations": work::RESERVATIONS,
        "figure": "whole sets of messages in a second of processor time",
        "keyrack": "the adapters as the daemon calls them: headers and forms, cards masked, bounds",
    })
}

const PART_OF_SECOND: f64 = 0.4;
