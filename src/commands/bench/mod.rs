//! `keyrack bench`: our ledger beside the plain way, interleaved, in one run.
//!
//! A private Postgres with `fsync` and `synchronous_commit` on is made for it and thrown away.
//! Each contender
//! runs in rounds after a warm-up, A B A B, so that a noisy machine is noisy for both; a row shows
//! the median ratio of its rounds with the spread. A fast run that oversells is a failure.

pub mod arguments;
mod contender;
mod cpu;
mod crash;
mod ground;
mod growth;
mod http;
mod keyrack;
mod measure;
mod plain;
mod point;
mod push;
mod read;
mod report;
mod router;
mod side;
mod sweep;
mod twin;
mod xml;

use std::sync::Arc;

use anyhow::{Result, ensure};

use arguments::{BenchArguments, Which};
use contender::Contender;
use ground::Ground;
use measure::{Round, rounds};
use point::{Against, Load, points};
use report::Report;

/// Runs a bench; an error where a gate falls or a sum is wrong.
pub async fn bench(arguments: &BenchArguments) -> Result<()> {
    match &arguments.which {
        Which::Ledger { only } => ledger(arguments, only).await,
        Which::Read => read::bench(arguments).await,
        Which::Push => push::bench(arguments).await,
        Which::Sweep => sweep::bench(arguments).await,
        Which::Growth(growth) => growth::bench(arguments, *growth).await,
        Which::Http => shown(http::run(arguments).await?, arguments),
        Which::Xml => shown(xml::run(arguments).await?, arguments),
    }
}

fn shown(report: Report, arguments: &BenchArguments) -> Result<()> {
    report.print(arguments.json)?;
    report.judge()
}

/// A load with the rounds of both contenders.
type Measured = (Load, Vec<(Round, Round)>);

async fn ledger(arguments: &BenchArguments, only: &str) -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let mut report = Report::new("ledger", ground.settings().await?);
    let measured = measure(arguments, only, &ground, &mut report).await;
    let survived = match &measured {
        Ok(()) => crash::survive(&mut ground).await,
        Err(_) => Ok(crash::Survived::default()),
    };
    ground.clear().await?;
    measured?;
    report.print(arguments.json)?;
    let survived = survived?;
    if !arguments.json {
        crate::say::line(&survived.in_words());
    }
    report.judge()
}

async fn measure(
    arguments: &BenchArguments,
    only: &str,
    ground: &Ground,
    report: &mut Report,
) -> Result<()> {
    let one = Arc::new(keyrack::open(ground, 1).await?);
    let two = Arc::new(keyrack::open(ground, 2).await?);
    let plain: Arc<dyn Contender> = Arc::new(plain::open(ground).await?);
    let twin: Arc<dyn Contender> = Arc::new(twin::open(ground).await?);
    let length = std::time::Duration::from_secs_f64(arguments.seconds);
    let mut measured: Vec<Measured> = Vec::new();
    let points = points()
        .into_iter()
        .filter(|point| point.name().contains(only));
    let points: Vec<_> = points.collect();
    ensure!(
        !points.is_empty(),
        "no row of this bench is called anything like {only:?}"
    );
    for point in points {
        let load = point.load;
        if !measured.iter().any(|(known, _)| *known == load) {
            let ours = if load.daemons == 1 { &one } else { &two };
            let ours = Arc::clone(ours) as Arc<dyn Contender>;
            let other = match load.against {
                Against::Plain => &plain,
                Against::Twin => &twin,
            };
            let (shape, callers, count) = (load.shape, load.callers, arguments.rounds);
            let pairs = rounds(ground, [&ours, other], shape, callers, count, length).await?;
            measured.push((load, pairs));
        }
        let pairs = measured.iter().find(|(known, _)| *known == load);
        let pairs = pairs.map_or(&[][..], |(_, pairs)| pairs.as_slice());
        report.add(point.row(pairs));
    }
    one.close().await;
    two.close().await;
    Ok(())
}
