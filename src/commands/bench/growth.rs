//! `bench growth`: the ledger's figures with many hotels, with years of history, and after a long
//! day with the autovacuum on. By hand: it fills tens of gigabytes and takes the better part of an
//! hour.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::arguments::BenchArguments;
use super::contender::{Contender, Shape};
use super::ground::{Ground, ROOMS, Size};
use super::keyrack::{self, Ours};
use super::measure::round;
use super::report::{Asked, Better, Report, Row};
use super::side::side_by_side;

const CALLERS: usize = 64;
const ROOM_TYPES: usize = 10;
/// What everything is compared with.
const SMALL: usize = 10;

/// How far it grows.
#[derive(Clone, Copy, Debug, Args)]
pub struct Growth {
    /// Hotels of the largest chain.
    #[arg(long, default_value_t = 10_000)]
    properties: usize,
    /// Millions of reservations of history.
    #[arg(long, default_value_t = 10)]
    history_millions: i32,
    /// Minutes of the long day.
    #[arg(long, default_value_t = 10)]
    soak_minutes: u64,
}

pub async fn bench(arguments: &BenchArguments, growth: Growth) -> Result<()> {
    let small = Place::of(SMALL).await?;
    let mut settings = small.ground.settings().await?;
    settings["growth"] = serde_json::json!({
        "properties": growth.properties, "history_millions": growth.history_millions,
        "soak_minutes": growth.soak_minutes,
    });
    let mut report = Report::new("growth", settings);
    let grown = grow(arguments, growth, &small, &mut report).await;
    small.clear().await?;
    grown?;
    report.print(arguments.json)?;
    report.judge()
}

/// A chain with its daemon.
struct Place {
    ground: Ground,
    ours: Arc<Ours>,
}

impl Place {
    async fn of(properties: usize) -> Result<Self> {
        let ground = Ground::of(Size {
            properties,
            room_types: ROOM_TYPES,
            rooms: ROOMS,
            with_plain: false,
        })
        .await?;
        let ours = Arc::new(keyrack::open(&ground, 1).await?);
        Ok(Self { ground, ours })
    }

    async fn clear(self) -> Result<()> {
        self.ours.close().await;
        self.ground.clear().await
    }

    /// Microseconds for each command of a load.
    async fn micros(&self, shape: Shape, length: Duration, number: usize) -> Result<f64> {
        let seed = u64::try_from(number).unwrap_or(0) + 1;
        let ours = Arc::clone(&self.ours) as Arc<dyn Contender>;
        let done = round(&self.ground, &ours, shape, CALLERS, length, seed).await?;
        Ok(1_000_000.0 / done.per_second())
    }
}

async fn grow(
    arguments: &BenchArguments,
    growth: Growth,
    small: &Place,
    report: &mut Report,
) -> Result<()> {
    let length = Duration::from_secs_f64(arguments.seconds.max(1.0) * 2.0);
    let mut beside = async |large: &Place, [hold, mixed]: [&'static str; 2]| {
        for (shape, name) in [(Shape::Spread, hold), (Shape::Mixed, mixed)] {
            let pairs = side_by_side(
                arguments.rounds,
                async |number| large.micros(shape, length, number).await,
                async |number| small.micros(shape, length, number).await,
            );
            report.add(Row::of(time(name), &pairs.await?));
        }
        Ok::<_, anyhow::Error>(())
    };
    let middle = Place::of(growth.properties.div_ceil(10)).await?;
    let names = [
        "a hold, a tenth of the hotels",
        "mixed, a tenth of the hotels",
    ];
    beside(&middle, names).await?;
    middle.clear().await?;
    let large = Place::of(growth.properties).await?;
    beside(&large, ["a hold, all hotels", "mixed, all hotels"]).await?;
    large.ground.write_history(growth.history_millions).await?;
    beside(&large, ["a hold, with history", "mixed, with history"]).await?;
    let soaked = soak(&large, growth, length).await?;
    let names = ["a hold, after the long day", "mixed, after the long day"];
    beside(&large, names).await?;
    report.add(Row::of(
        time("mixed, end of the day to its start"),
        &[soaked],
    ));
    report.add(Row::of(memory(), &[(resident_mib()?, 1.0)]));
    let wrong = large.ground.wrong_sums().await?;
    ensure!(
        wrong.is_empty(),
        "the sums do not hold: {}",
        wrong.join("; ")
    );
    large.clear().await
}

/// A long day with the autovacuum on: what a command takes at its end, and at its start.
async fn soak(large: &Place, growth: Growth, length: Duration) -> Result<(f64, f64)> {
    large.ground.set_autovacuum(true).await?;
    let first = large.micros(Shape::Mixed, length, 100).await?;
    let day = Duration::from_secs(growth.soak_minutes * 60);
    large.micros(Shape::Mixed, day, 101).await?;
    let last = large.micros(Shape::Mixed, length, 102).await?;
    large.ground.set_autovacuum(false).await?;
    Ok((last, first))
}

fn time(name: &'static str) -> Asked {
    Asked {
        name,
        callers: CALLERS,
        unit: "us",
        gate: Some(1.5),
        goal: Some(1.2),
        better: Better::Lower,
    }
}

fn memory() -> Asked {
    Asked {
        name: "memory of the daemon (in MiB)",
        unit: "MiB",
        gate: Some(1_024.0),
        goal: Some(512.0),
        ..time("")
    }
}

/// What this process has in memory, the callers' own things included.
fn resident_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib.context("VmHWM")?.parse()?;
    Ok(kib / 1_024.0)
}
