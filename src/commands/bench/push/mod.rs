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
mod telling;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use serde_json::json;

use super::arguments::BenchArguments;
use super::contender::{Ask, Contender as _};
use super::ground::{FIRST, Ground, Size};
use super::keyrack::{self, Ours};
use super::report::{Asked, Better, Report};
use endpoint::Endpoint;
use engine::Workplace;
use telling::Change;

/// Hotels that are booked and told while time is measured.
const HOTELS: usize = 20;
const ROOM_TYPES: usize = 10;
/// Rooms of a type: what a channel is told of must not run out, nor pass what it can be told.
const ROOMS: i32 = 250;
const PLANS: i32 = 3;
const NIGHTS: i32 = 365;
/// Accounts of each hotel that is measured.
const ACCOUNTS: usize = 2;
/// A night's price, minor units.
const PRICE: i64 = 12_000;

pub async fn bench(arguments: &BenchArguments) -> Result<()> {
    let ground = Ground::of(Size {
        properties: HOTELS,
        room_types: ROOM_TYPES,
        rooms: ROOMS,
        with_plain: false,
    })
    .await?;
    let mut settings = ground.settings().await?;
    settings["push"] = shape();
    let mut report = Report::new("push", settings);
    let mut stage = Stage::open(ground).await?;
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

/// Everything that the measures share.
struct Stage {
    ground: Ground,
    workplace: Workplace,
    endpoint: Endpoint,
    ours: Arc<Ours>,
}

impl Stage {
    async fn open(ground: Ground) -> Result<Self> {
        sqlx::raw_sql(include_str!("chain.sql"))
            .execute(&ground.pool)
            .await?;
        let workplace = Workplace::open(&ground).await?;
        let endpoint = Endpoint::open().await?;
        workplace.connect(&endpoint.url, ACCOUNTS).await?;
        let ours = Arc::new(keyrack::of(&ground, vec![workplace.ledger.clone()]));
        let stage = Self {
            ground,
            workplace,
            endpoint,
            ours,
        };
        stage.list(ACCOUNTS, true).await?;
        let all: Vec<i64> = stage.ground.hotels.iter().map(|(id, _)| *id).collect();
        stage.tell(&all, ROOM_TYPES, NIGHTS).await?;
        Ok(stage)
    }

    /// Accounts for every hotel that has none, at so many connections.
    async fn list(&self, connections: usize, by_type: bool) -> Result<()> {
        sqlx::query("select bench_accounts($1, $2, $3, $4, $5, $6)")
            .bind(PLANS)
            .bind(i32::try_from(connections)?)
            .bind(jiff_sqlx::Date::from(FIRST))
            .bind(NIGHTS)
            .bind(PRICE)
            .bind(by_type)
            .execute(&self.ground.pool)
            .await?;
        Ok(())
    }

    /// Notes that the accounts of some hotels were told of so many of their types and nights, and
    /// that nothing is left to be read.
    async fn tell(&self, hotels: &[i64], types: usize, nights: i32) -> Result<()> {
        let Some(first) = hotels.first() else {
            return Ok(());
        };
        let plan = self.workplace.plan_told(*first, FIRST).await?;
        sqlx::query("select bench_told($1, $2, $3, $4, $5)")
            .bind(hotels)
            .bind(i32::try_from(types)?)
            .bind(jiff_sqlx::Date::from(FIRST))
            .bind(nights)
            .bind(plan)
            .execute(&self.ground.pool)
            .await?;
        sqlx::raw_sql("select bench_all_read()")
            .execute(&self.ground.pool)
            .await?;
        Ok(())
    }

    /// Asks for all at once.
    async fn hold_all(&self, asks: impl IntoIterator<Item = Ask>) -> Result<Vec<Change>> {
        try_join_all(asks.into_iter().map(|ask| hold(&self.ours, ask))).await
    }

    async fn clear(self) -> Result<()> {
        self.endpoint.close();
        self.workplace.close().await;
        self.ground.clear().await
    }
}

/// A hold, and when its caller knew of it.
async fn hold(ours: &Ours, ask: Ask) -> Result<Change> {
    let held = ours.hold(ask).await?;
    let answered = Instant::now();
    ensure!(held.is_some(), "refused where rooms never end");
    let id = held.map(|taken| taken.id).unwrap_or_default();
    Ok(Change { id, answered })
}

/// A row whose gate is a figure and no ratio.
fn at_most(name: &'static str, callers: usize, unit: &'static str, gate: f64, goal: f64) -> Asked {
    Asked {
        name,
        callers,
        unit,
        gate: Some(gate),
        goal: Some(goal),
        better: Better::Lower,
    }
}
