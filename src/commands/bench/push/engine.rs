//! The daemon's own engine, beside the ledger that it distributes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use keyrack_distribution::Distribution;
use keyrack_distribution::channels::Channels;
use keyrack_distribution::connections::{self, ConnectionSetup, Credentials};
use keyrack_distribution::seal::Seal;
use keyrack_distribution::settings::Settings;
use keyrack_ledger::catalog;
use keyrack_ledger::handle::{Ledger, pool_options};
use keyrack_ledger::tail::{self, Listing};
use keyrack_model::ari::AriKey;
use keyrack_model::id::{ChannelCode, PropertyId};
use keyrack_model::stay::StayDate;
use secrecy::SecretString;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::super::ground::Ground;

/// The dialect that is pushed.
pub const CHANNEL: &str = "booking_com";
/// What each connection may send in a minute: more than it ever does, so that the figures are the
/// engine's and not the quota's.
const REQUESTS_PER_MINUTE: u32 = 600_000;

/// What it takes to start the engine again and again.
pub struct Workplace {
    pub ledger: Ledger,
    pub pool: PgPool,
    key: SecretString,
}

impl Workplace {
    pub async fn open(ground: &Ground) -> Result<Self> {
        let ledger = Ledger::open(
            ground.options.clone(),
            keyrack_ledger::settings::Settings::default(),
        );
        let pool = pool_options()
            .max_connections(settings().database_connections)
            .connect_with(ground.options.clone());
        Ok(Self {
            ledger: ledger.await?,
            pool: pool.await?,
            key: Seal::fresh_key(),
        })
    }

    /// The engine with all its loops.
    pub async fn start(&self) -> Result<Distribution> {
        let (ledger, pool) = (self.ledger.clone(), self.pool.clone());
        let channels = Channels::new(keyrack_adapters::all());
        let seal = Seal::new(&self.key)?;
        Ok(Distribution::start(ledger, pool, channels, seal, settings()).await?)
    }

    /// So many connections to a channel.
    pub async fn connect(&self, url: &str, count: usize) -> Result<()> {
        let channels = Channels::new(keyrack_adapters::all());
        let (ledger, pool) = (self.ledger.clone(), self.pool.clone());
        let seal = Seal::new(&self.key)?;
        let engine = Distribution::assemble(ledger, pool, channels, seal, settings())?;
        for number in 1..=count {
            let setup = ConnectionSetup {
                channel: ChannelCode::from(CHANNEL.to_owned()),
                endpoint: Some(url.to_owned()),
                credentials: Some(Credentials {
                    user: "bench".to_owned(),
                    secret: SecretString::from("bench"),
                }),
                settings: json!({ "requests_per_minute": REQUESTS_PER_MINUTE }),
            };
            let code = format!("channel-{number}");
            let put = connections::put(&engine, &code, setup, None).await?;
            ensure!(put.is_ok(), "a connection was refused");
        }
        Ok(())
    }

    /// What a plan of a hotel is told of a night, as its row keeps it.
    pub async fn plan_told(&self, property: i64, night: StayDate) -> Result<Value> {
        let rows = catalog::accounts(&self.ledger, PropertyId(property)).await?;
        let account = &rows.first().context("an account")?.account;
        let (mappings, _) = catalog::mappings(&self.ledger, account.id).await?;
        let channels = Channels::new(keyrack_adapters::all());
        let capabilities = channels.adapter(&account.channel)?.capabilities();
        let mapping = mappings.first().context("a mapping")?;
        let key = AriKey {
            room_type: mapping.room_type,
            rate_plan: mapping.rate_plan,
            night,
        };
        let listing = Listing {
            account,
            mappings: &mappings,
            capabilities,
        };
        let cells = tail::cells(&self.ledger, &listing, &[key]).await?;
        let cell = cells.first().context("a cell")?;
        ensure!(!cell.values.closed, "a plan that is closed");
        Ok(serde_json::to_value(&cell.values)?)
    }

    /// What is not told, and what its accounts wait for.
    async fn waiting(&self) -> Result<String> {
        let lines: Vec<String> = sqlx::query_scalar(
            "with clock as materialized (select ledger_now() as now)
             select format('%s of account %s (full: %s, wait for a poll: %s, due in %s s, '
                           'tries: %s; the account is next in %s s, waits %s s for a poll)',
                           count(*), account_id, is_full, waits_for_poll,
                           round(extract(epoch from min(due_at) - now), 3), max(attempt),
                           round(extract(epoch from min(next_at) - now), 3),
                           round(extract(epoch from now - min(waits_since)), 3))
               from mark natural left join push_state, clock
              group by account_id, is_full, waits_for_poll, now
              limit 8",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(lines.join("; "))
    }

    /// Until the tail is read and nothing is left to be told; an error where that takes too long.
    pub async fn told(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let (unread, marks, turns): (bool, i64, i64) = sqlx::query_as(
                "select exists (select from ledger_entry, feed_cursor
                                 where (tx, seq) > (entry_tx::text::xid8, entry_seq)),
                        (select count(*) from mark),
                        (select count(*) from push_state where claimed_by is not null)",
            )
            .fetch_one(&self.pool)
            .await?;
            if !unread && marks == 0 && turns == 0 {
                return Ok(());
            }
            if begun.elapsed() >= PATIENCE {
                let waiting = self.waiting().await?;
                bail!(
                    "after {PATIENCE:?} {marks} marks are not told (turns: {turns}, unread: \
                     {unread}): {waiting}"
                );
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Everything that was told last and is not what the ledger has.
    pub async fn must_be_true(&self) -> Result<()> {
        let untrue: Vec<String> = sqlx::query_scalar("select * from bench_untrue() limit 5")
            .fetch_all(&self.pool)
            .await?;
        ensure!(untrue.is_empty(), "{}", untrue.join("; "));
        Ok(())
    }

    pub async fn close(&self) {
        self.ledger.close().await;
        self.pool.close().await;
    }
}

/// As they come, but that nobody replays the ledger while it is measured.
pub fn settings() -> Settings {
    Settings {
        verify_seconds: 0,
        ..Settings::default()
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);
