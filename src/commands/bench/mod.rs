//! `keyrack bench`: our ledger beside the plain way, interleaved, in one run.
//!
//! A private Postgres with `fsync` and `synchronous_commit` on is made for it and thrown away. Each contender
//! runs in rounds after a warm-up, A B A B, so that a noisy machine is noisy for both; a row shows the
//! median ratio of its rounds with the spread. A fast run that oversells is a failure.

mod contender;
mod ground;
mod keyrack;
mod measure;
mod plain;
mod report;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use contender::{Contender, Shape};
use ground::Ground;
use measure::{Round, rounds};
use report::{Better, Report, Row};

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

/// What is asked of a row of the table: at least (or at most) the gate; the goal is the aim.
struct Point {
    name: &'static str,
    shape: Shape,
    callers: usize,
    figure: fn(&Round) -> f64,
    unit: &'static str,
    gate: f64,
    goal: f64,
    better: Better,
}

fn points() -> Vec<Point> {
    let per_second = |name, shape, callers, gate, goal| Point {
        name,
        shape,
        callers,
        figure: Round::per_second,
        unit: "answers/s",
        gate,
        goal,
        better: Better::Higher,
    };
    vec![
        per_second("spread", Shape::Spread, 16, 2.0, 3.0),
        per_second("spread", Shape::Spread, 64, 4.0, 6.5),
        per_second("spread", Shape::Spread, 256, 6.0, 10.0),
        Point {
            name: "lone caller, median wait",
            shape: Shape::Spread,
            callers: 1,
            figure: |round| round.wait_ms(0.5),
            unit: "ms",
            gate: 1.0,
            goal: 0.6,
            better: Better::Lower,
        },
        per_second("hot night", Shape::Hot, 64, 20.0, 40.0),
        Point {
            name: "hot night, p99 wait",
            shape: Shape::Hot,
            callers: 64,
            figure: |round| round.wait_ms(0.99),
            unit: "ms",
            gate: 0.15,
            goal: 0.05,
            better: Better::Lower,
        },
        per_second("sold out", Shape::SoldOut, 64, 8.0, 17.0),
    ]
}

/// Runs a bench; an error where a gate falls or a sum is wrong.
pub async fn bench(arguments: &BenchArguments) -> Result<()> {
    match arguments.which {
        Which::Ledger => ledger(arguments).await,
    }
}

async fn ledger(arguments: &BenchArguments) -> Result<()> {
    let ground = Ground::prepare().await?;
    let mut report = Report::new("ledger", ground.settings().await?);
    let ours = keyrack::open(&ground).await?;
    let plain = plain::open(&ground).await?;
    let length = std::time::Duration::from_secs_f64(arguments.seconds);
    let mut measured: Vec<((Shape, usize), Vec<(Round, Round)>)> = Vec::new();
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
