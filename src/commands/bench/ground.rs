//! The ground of a bench: a private Postgres that keeps its promises, and a chain of hotels.

use anyhow::{Context, Result};
use jiff::civil::{Date, date};
use keyrack_embedded::{Server, Settings as ServerSettings, temporary_state_dir};
use keyrack_ledger::handle::MIGRATOR;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{PgPool, Row as _};

use super::contender::{Ask, NIGHTS, Shape};
use super::cpu;

pub const PROPERTIES: usize = 20;
pub const ROOM_TYPES: usize = 10;
const NIGHTS_OPEN: i32 = 365;
/// The first night that is sold.
pub const FIRST: Date = date(2030, 1, 10);
/// Rooms that never end.
pub const ROOMS: i32 = 1_000_000;
/// The type of the first property that has no room left.
pub const FULL: usize = ROOM_TYPES;

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub properties: usize,
    pub room_types: usize,
    /// Rooms of each type.
    pub rooms: i32,
    /// The other contenders have their nights as well.
    pub with_plain: bool,
}

/// A private Postgres with the hotels in it.
pub struct Ground {
    server: Server,
    state_dir: std::path::PathBuf,
    pub options: PgConnectOptions,
    pub pool: PgPool,
    /// Ids of the properties, and of their types.
    pub hotels: Vec<(i64, Vec<i64>)>,
}

impl Ground {
    pub async fn prepare() -> Result<Self> {
        Self::of(Size {
            properties: PROPERTIES,
            room_types: ROOM_TYPES,
            rooms: ROOMS,
            with_plain: true,
        })
        .await
    }

    /// A chain of this size, each type with a year of nights.
    pub async fn of(size: Size) -> Result<Self> {
        let state_dir = temporary_state_dir("bench")?;
        let settings = ServerSettings {
            state_dir: state_dir.clone(),
            postgres_bin: None,
            durable: true,
            extra: [
                ("shared_buffers", "1GB"),
                ("max_wal_size", "8GB"),
                ("checkpoint_timeout", "30min"),
                ("autovacuum", "off"),
                ("max_connections", "100"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        };
        let server = Server::start(&settings)
            .await
            .context("a private Postgres for the bench")?;
        let options = server.database("bench").await?;
        let pool = PgPool::connect_with(options.clone()).await?;
        MIGRATOR.run(&pool).await?;
        sqlx::raw_sql(include_str!("ground.sql"))
            .execute(&pool)
            .await?;
        let hotels = Self::hotels(&pool, size).await?;
        Ok(Self {
            server,
            state_dir,
            options,
            pool,
            hotels,
        })
    }

    async fn hotels(pool: &PgPool, size: Size) -> Result<Vec<(i64, Vec<i64>)>> {
        sqlx::query("select bench_ground($1, $2, $3, $4, $5, $6)")
            .bind(i32::try_from(size.properties)?)
            .bind(i32::try_from(size.room_types)?)
            .bind(jiff_sqlx::Date::from(FIRST))
            .bind(NIGHTS_OPEN)
            .bind(size.rooms)
            .bind(size.with_plain)
            .execute(pool)
            .await?;
        let rows = sqlx::query(
            "select property_id, array_agg(room_type_id order by room_type_id) as types
               from room_type group by property_id order by property_id",
        )
        .fetch_all(pool)
        .await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// The nth hold that a caller asks for.
    pub fn ask(&self, shape: Shape, dice: u64) -> Ask {
        ask(self.hotels.len(), shape, dice)
    }

    /// Empties what holds have written and puts the disk at rest, so that rounds begin alike.
    pub async fn reset(&self) -> Result<()> {
        sqlx::raw_sql("select bench_reset(); checkpoint")
            .execute(&self.pool)
            .await?;
        for table in ["night", "plain_night", "twin_night", "ledger_entry"] {
            sqlx::raw_sql(sqlx::AssertSqlSafe(format!("vacuum {table}")))
                .execute(&self.pool)
                .await?;
        }
        Ok(())
    }

    /// So many holds of one night that are dead and not swept.
    pub async fn kill_holds(&self, holds: i32) -> Result<()> {
        sqlx::query("select bench_dead_holds($1, $2)")
            .bind(holds)
            .bind(jiff_sqlx::Date::from(FIRST))
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// So many million stays of earlier years, in parts that fit a transaction.
    pub async fn write_history(&self, millions: i32) -> Result<()> {
        for _ in 0..millions * 4 {
            sqlx::query("select bench_history($1, $2)")
                .bind(250_000)
                .bind(jiff_sqlx::Date::from(FIRST))
                .execute(&self.pool)
                .await?;
        }
        sqlx::raw_sql("vacuum analyze reservation, room_stay, ledger_entry")
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Whether the server tidies up by itself, as an ordinary one does.
    pub async fn set_autovacuum(&self, on: bool) -> Result<()> {
        let set = if on {
            "alter system set autovacuum = on"
        } else {
            "alter system set autovacuum = off"
        };
        sqlx::query(set).execute(&self.pool).await?;
        sqlx::query("select pg_reload_conf()")
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Everything that would make the figures worthless.
    pub async fn wrong_sums(&self) -> Result<Vec<String>> {
        let rows = sqlx::query("select * from bench_wrong_sums()")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Rows of a table: one for each accepted hold.
    pub async fn rows(&self, table: &'static str) -> Result<i64> {
        let count = format!("select count(*) from {table}");
        let row = sqlx::query(sqlx::AssertSqlSafe(count));
        Ok(row.fetch_one(&self.pool).await?.get(0))
    }

    /// Bytes of the write-ahead log so far.
    pub async fn wal_bytes(&self) -> Result<i64> {
        let row = sqlx::query("select (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint");
        Ok(row.fetch_one(&self.pool).await?.get(0))
    }

    /// Milliseconds of processor time that the server has used so far.
    pub fn server_cpu_ms(&self) -> Result<u64> {
        cpu::of_server(self.server.pid().context("a server that runs")?)
    }

    /// `kill -9` of the server, and its start on the same data.
    pub async fn crash(&mut self) -> Result<()> {
        let pid = self.server.pid().context("a server that runs")?;
        let killed = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()?;
        anyhow::ensure!(killed.success(), "the server could not be killed");
        self.server.restart().await?;
        Ok(())
    }

    /// The machine and the settings that the figures hold for; refuses a database that does not
    /// keep its promises.
    pub async fn settings(&self) -> Result<Value> {
        let row = sqlx::query(
            "select version(), current_setting('fsync'), current_setting('synchronous_commit'),
                    current_setting('full_page_writes'), current_setting('shared_buffers')",
        )
        .fetch_one(&self.pool)
        .await?;
        let (fsync, commit): (String, String) = (row.get(1), row.get(2));
        anyhow::ensure!(
            fsync == "on" && commit == "on",
            "fsync and synchronous_commit must be on, or the figures say nothing"
        );
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        Ok(json!({
            "postgres": row.get::<String, _>(0), "fsync": fsync, "synchronous_commit": commit,
            "full_page_writes": row.get::<String, _>(3),
            "shared_buffers": row.get::<String, _>(4),
            "cores": cores, "properties": self.hotels.len(),
            "room_types": self.hotels.last().map_or(0, |(_, types)| types.len()),
            "nights": NIGHTS_OPEN, "nights_per_hold": NIGHTS,
            "plain": "one transaction per reservation, prepared statements, a pool of 16 (which \
                      asks for a sign of life after each)",
        }))
    }

    /// Stops the server and takes its folder away.
    pub async fn clear(self) -> Result<()> {
        self.pool.close().await;
        self.server.stop().await?;
        std::fs::remove_dir_all(&self.state_dir).context("taking the bench's folder away")
    }
}

/// What is asked for where dice fell so, in so many hotels.
pub fn ask(hotels: usize, shape: Shape, dice: u64) -> Ask {
    let pick = |shift: u32, of: usize| {
        let sides = u64::try_from(of).unwrap_or(1);
        usize::try_from((dice >> shift) % sides).unwrap_or(0)
    };
    match shape {
        Shape::Spread | Shape::Mixed => Ask {
            property: pick(0, hotels),
            room_type: pick(16, ROOM_TYPES),
            from: i32::try_from((dice >> 32) % 360).unwrap_or(0),
        },
        Shape::Hot => Ask {
            property: 0,
            room_type: 0,
            from: 0,
        },
        Shape::SoldOut => Ask {
            property: 0,
            room_type: FULL,
            from: 0,
        },
    }
}
