//! `keyrack bench http`: holds through the whole API beside an axum server with the plain way in
//! it.
//!
//! Both listen on a socket of their own in this process and are asked by the same generator: 64
//! connections that stay open. Whoever is asked, each answer must be 201 and each accepted hold a
//! row, nothing oversold.

mod client;
mod keyrack;
mod plain;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::arguments::BenchArguments;
use super::contender::{Contender, Shape};
use super::ground::Ground;
use super::measure::{Round, rounds};
use super::report::{Asked, Better, Report, Row};
use client::Client;

/// Runs the bench.
pub async fn run(arguments: &BenchArguments) -> Result<Report> {
    let ground = Ground::prepare().await?;
    let measured = measure(arguments, &ground).await;
    ground.clear().await?;
    measured
}

async fn measure(arguments: &BenchArguments, ground: &Ground) -> Result<Report> {
    let ours = keyrack::open(ground).await?;
    let plain = plain::open(ground).await?;
    let mut report = Report::new("http", settings(ground.settings().await?));
    let length = Duration::from_secs_f64(arguments.seconds);
    let client = |table, address, key: &str| -> Arc<dyn Contender> {
        Arc::new(Client::open(table, address, key.to_owned()))
    };
    let clients = [
        client("reservation", ours.address, &ours.key),
        client("plain_reservation", plain.address, &plain.key),
    ];
    for callers in [64, 1] {
        let contenders = [&clients[0], &clients[1]];
        let (shape, count) = (Shape::Spread, arguments.rounds);
        let pairs = rounds(ground, contenders, shape, callers, count, length).await?;
        for (asked, figure) in rows(callers) {
            let figures = |(ours, plain): &(Round, Round)| (figure(ours), figure(plain));
            let figures: Vec<(f64, f64)> = pairs.iter().map(figures).collect();
            report.add(Row::of(asked, &figures));
        }
    }
    drop(clients);
    plain.close().await;
    ours.close().await;
    Ok(report)
}

type Figure = fn(&Round) -> f64;

/// The rows of a number of callers.
fn rows(callers: usize) -> Vec<(Asked, Figure)> {
    let shown = |name, unit, better| Asked {
        name,
        callers,
        unit,
        gate: None,
        goal: None,
        better,
    };
    let wait = shown("a hold's median wait", "ms", Better::Lower);
    if callers == 1 {
        return vec![(wait, |round| round.wait_ms(0.5))];
    }
    let judged = Asked {
        gate: Some(3.5),
        goal: Some(6.0),
        ..shown("holds through the API", "/s", Better::Higher)
    };
    let slow = shown("a hold's p99 wait", "ms", Better::Lower);
    // Says what stands behind the rate, also on a machine whose processors others use.
    let server = shown("server's time for a hold", "us", Better::Lower);
    vec![
        (judged, Round::per_second),
        (server, Round::server_cpu_us_per_hold),
        (wait, |round| round.wait_ms(0.5)),
        (slow, |round| round.wait_ms(0.99)),
    ]
}

fn settings(mut ground: Value) -> Value {
    if let Some(ground) = ground.as_object_mut() {
        let plain = "axum with one transaction per reservation inside, prepared, a pool of 16; the \
                     same check of a key; it keeps the guest and the idempotency key, in the same \
                     transaction";
        ground.insert("plain".to_owned(), json!(plain));
        let ours = "the daemon's router with key, Idempotency-Key and guest, log and metrics on; \
                    requests_per_second raised so that it does not bite; the engine's loops still";
        ground.insert("keyrack".to_owned(), json!(ours));
        let asked = "HTTP/1.1 over raw sockets that stay open, in this process, the same for both";
        ground.insert("load".to_owned(), json!(asked));
    }
    ground
}
