//! `keyrack bench`: our ledger beside the plain way, interleaved, in one run.
//!
//! A private Postgres with `fsync` and `synchronous_commit` on is made for it and thrown away.
//! Each contender
//! runs in rounds after a warm-up, A B A B, so that a noisy machine is noisy for both; a row shows
//! the median ratio of its rounds with the spread. A fast run that oversells is a failure.

mod contender;
mod ground;
mod keyrack;
mod measure;
mod plain;
mod point;
mod report;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use contender::{Contender, Shape};
use ground::Ground;
use measure::{Round, rounds};
use point::points;
use report::{Report, Row};

/// Arguments of `keyrack bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    which: Which,
    /// The same figures as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// Seconds that each contender runs in each round.
    #[arg(long, global = true, default_value_t = 1.0)]
    seconds: f64,
    /// Measured rounds after the warm-up.
    #[arg(long, global = true, default_value_t = 3)]
    rounds: usize,
}

#[derive(Debug, Subcommand)]
enum Which {
    /// Holds per second against one plain transaction per reservation.
    Ledger,
}

/// Runs a bench; an error where a gate falls or a sum is wrong.
pub async fn bench(arguments: &BenchArguments) -> Result<()> {
    match arguments.which {
        Which::Ledger => ledger(arguments).await,
    }
}

/// A load and its callers, with the rounds of both contenders.
type Measured = ((Shape, usize), Vec<(Round, Round)>);

async fn ledger(arguments: &BenchArguments) -> Result<()> {
    let ground = Ground::prepare().await?;
    let mut report = Report::new("ledger", ground.settings().await?);
    let ours = keyrack::open(&ground).await?;
    let plain = plain::open(&ground).await?;
    let length = std::time::Duration::from_secs_f64(arguments.seconds);
    let mut measured: Vec<Measured> = Vec::new();
    for point in points() {
        let of = (point.shape, point.callers);
        if !measured.iter().any(|(known, _)| *known == of) {
            let contenders: [&dyn Contender; 2] = [&ours, &plain];
            let pairs = rounds(
                &ground,
                contenders,
                point.shape,
                point.callers,
                arguments.rounds,
                length,
            )
            .await?;
            measured.push((of, pairs));
        }
        let pairs = measured
            .iter()
            .find(|(known, _)| *known == of)
            .map(|(_, pairs)| pairs);
        report.add(Row::of(&point, pairs.map_or(&[][..], Vec::as_slice)));
    }
    let wrong = ground.wrong_sums().await?;
    ours.close().await;
    report.print(arguments.json)?;
    ground.clear().await?;
    if !wrong.is_empty() {
        bail!("the sums do not hold: {}", wrong.join("; "));
    }
    report.judge()
}
