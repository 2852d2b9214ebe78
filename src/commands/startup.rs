//! Builds the floors bottom-up, serves, and takes them down top-down.
//!
//! # The end
//!
//! Stop accepting and answer what was accepted; stop claiming and polling, finish the intake in
//! hand and wait for pushes in flight; carry out what lies in the lanes; stop the private
//! PostgreSQL. Each step has a bound, all together stay below `LEAVE`: what is cut off by one
//! is in the database or was never acknowledged, and comes again after the next start.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use jiff::Timestamp;
use keyrack_api::serve::serve;
use keyrack_api::state::{ApiState, Outside};
use keyrack_distribution::Distribution;
use keyrack_distribution::channels::Channels;
use keyrack_distribution::seal::Seal;
use keyrack_distribution::sealed;
use keyrack_ledger::handle::{Ledger, pool_options};
use keyrack_ledger::keys;
use secrecy::ExposeSecret as _;
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::database::Database;
use crate::{gauges, seal_key};

/// The metrics of the process as Prometheus text.
pub type Metrics = Box<dyn Fn() -> String + Send + Sync>;

/// A daemon that is built and listens, but does not answer yet.
pub struct Application {
    database: Database,
    ledger: Ledger,
    distribution: Distribution,
    pool: PgPool,
    measuring: CancellationToken,
    router: Router,
    listener: TcpListener,
    address: SocketAddr,
    header_timeout: Duration,
}

impl Application {
    /// Builds every floor on `database`: migrates, starts the engine's loops, listens.
    pub async fn build(
        config: &Config,
        database: Database,
        seal: Seal,
        metrics: Metrics,
    ) -> Result<Self> {
        // First, since it is what fails most often and costs nothing to take back.
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.listen))?;
        let address = listener.local_addr().context("asking where we listen")?;
        let ledger = open_ledger(config, &database).await?;
        if let Some(key) = config.bootstrap_key() {
            keys::ensure(&ledger, key.expose_secret(), "bootstrap")
                .await
                .context("making the bootstrap key known")?;
        }
        let pool = engine_pool(config, &database);
        if !sealed::fits(&pool, &seal).await? {
            bail!(seal_key::wrong(config, database.place()));
        }
        let channels = Channels::new(keyrack_adapters::all());
        let distribution = Distribution::start(
            ledger.clone(),
            pool.clone(),
            channels,
            seal,
            config.distribution.clone(),
        )
        .await
        .context("starting the engine")?;
        let measuring = CancellationToken::new();
        tokio::spawn(gauges::measure(pool.clone(), measuring.clone()));
        let outside = Outside { metrics, clock };
        let state = ApiState::new(distribution.clone(), config.api.clone(), outside);
        let console = keyrack_console::router(distribution.clone());
        let router = keyrack_api::router(state).merge(console);
        Ok(Self {
            database,
            ledger,
            distribution,
            pool,
            measuring,
            router,
            listener,
            address,
            header_timeout: Duration::from_millis(config.api.header_timeout_ms),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its addresses begin with.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What is true.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The engine.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// Where the database is, for people.
    pub fn place(&self) -> &str {
        self.database.place()
    }

    /// Serves until `stop` is cancelled, then takes everything down within 14 s.
    pub async fn run_until_stopped(self, stop: CancellationToken) -> Result<()> {
        let closing = stop.clone().cancelled_owned();
        let serving = serve(self.listener, self.router, self.header_timeout, closing);
        let mut serving = tokio::spawn(serving);
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            () = stop.cancelled() => None,
        };
        let end = Instant::now() + LEAVE;
        self.measuring.cancel();
        tracing::info!("stopping");
        let served = match ended {
            Some(ended) => ended.context("serving"),
            None => {
                if timeout(ANSWERING, &mut serving).await.is_err() {
                    tracing::warn!("connections were still open and are cut");
                    serving.abort();
                }
                Ok(())
            }
        };
        within(
            "the engine",
            end - Instant::now() - CLOSING,
            self.distribution.stop(),
        )
        .await;
        within("the ledger", end - Instant::now() - STOPPING, async {
            self.ledger.close().await;
            self.pool.close().await;
        })
        .await;
        let closed = self.database.close().await;
        tracing::info!("stopped");
        served.and(closed)
    }
}

/// Opens the ledger on a database, migrated.
pub async fn open_ledger(config: &Config, database: &Database) -> Result<Ledger> {
    let opened = Ledger::open(database.options(), config.ledger.clone()).await;
    opened.with_context(|| format!("cannot use {}", database.place()))
}

/// The engine as commands use it: put together, its loops not started.
pub fn assemble_engine(
    config: &Config,
    database: &Database,
    ledger: &Ledger,
    seal: Seal,
) -> Result<Distribution> {
    let pool = engine_pool(config, database);
    let channels = Channels::new(keyrack_adapters::all());
    let settings = config.distribution.clone();
    Distribution::assemble(ledger.clone(), pool, channels, seal, settings)
        .context("putting the engine together")
}

/// Connections for the engine's own tables.
pub(crate) fn engine_pool(config: &Config, database: &Database) -> PgPool {
    pool_options()
        .max_connections(config.distribution.database_connections)
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(database.options().application_name("keyrack engine"))
}

async fn within(what: &str, limit: Duration, work: impl Future<Output = ()>) {
    if timeout(limit, work).await.is_err() {
        tracing::warn!("{what} took too long to stop and is left");
    }
}

/// This process's own clock: to be measured against the database's, and for what comes from nobody.
#[expect(
    clippy::disallowed_methods,
    reason = "the roof is where the clock enters"
)]
pub(crate) fn clock() -> Timestamp {
    Timestamp::now()
}

/// From the signal to the end of the process: one second below what is promised.
const LEAVE: Duration = Duration::from_secs(14);
/// Accepted requests are answered in it; the ledger needs milliseconds.
const ANSWERING: Duration = Duration::from_secs(4);
/// Left for the lanes and the private PostgreSQL.
const CLOSING: Duration = Duration::from_secs(3);
/// Left for the private PostgreSQL.
const STOPPING: Duration = Duration::from_secs(1);
