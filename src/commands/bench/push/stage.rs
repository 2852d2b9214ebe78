//! Everything that the measures of pushing share: hotels, an engine, a channel, and how holds are
//! asked for.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;

use super::super::contender::{Ask, Contender as _};
use super::super::ground::{FIRST, Ground, Size};
use super::super::keyrack::{self, Ours};
use super::super::report::{Asked, Better};
use super::endpoint::Endpoint;
use super::engine::Workplace;
use super::telling::Change;

/// Hotels that are booked and told while time is measured.
pub const HOTELS: usize = 20;
pub const ROOM_TYPES: usize = 10;
/// Rooms of a type: what a channel is told of must not run out, nor pass what it can be told.
pub const ROOMS: i32 = 250;
pub const PLANS: i32 = 3;
pub const NIGHTS: i32 = 365;
/// Accounts of each hotel that is measured.
pub const ACCOUNTS: usize = 2;
/// A night's price, minor units.
pub const PRICE: i64 = 12_000;

/// Everything that the measures share.
pub struct Stage {
    pub ground: Ground,
    pub workplace: Workplace,
    pub endpoint: Endpoint,
    pub ours: Arc<Ours>,
}

impl Stage {
    /// Hotels, and their accounts told of everything.
    pub async fn open() -> Result<Self> {
        let ground = Ground::of(Size {
            properties: HOTELS,
            room_types: ROOM_TYPES,
            rooms: ROOMS,
            with_plain: false,
        })
        .await?;
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
    pub async fn list(&self, connections: usize, by_type: bool) -> Result<()> {
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
    pub async fn tell(&self, hotels: &[i64], types: usize, nights: i32) -> Result<()> {
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
    pub async fn hold_all(&self, asks: impl IntoIterator<Item = Ask>) -> Result<Vec<Change>> {
        try_join_all(asks.into_iter().map(|ask| hold(&self.ours, ask))).await
    }

    pub async fn clear(self) -> Result<()> {
        self.endpoint.close();
        self.workplace.close().await;
        self.ground.clear().await
    }
}

/// A hold, and when its caller knew of it.
pub async fn hold(ours: &Ours, ask: Ask) -> Result<Change> {
    let held = ours.hold(ask).await?;
    let answered = Instant::now();
    ensure!(held.is_some(), "refused where rooms never end");
    let id = held.map(|taken| taken.id).unwrap_or_default();
    Ok(Change { id, answered })
}

/// A row whose gate is a figure and no ratio.
pub fn at_most(
    name: &'static str,
    callers: usize,
    unit: &'static str,
    gate: f64,
    goal: f64,
) -> Asked {
    Asked {
        name,
        callers,
        unit,
        gate: Some(gate),
        goal: Some(goal),
        better: Better::Lower,
    }
}
