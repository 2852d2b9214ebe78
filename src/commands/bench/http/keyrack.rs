//! Our side: the router that the daemon serves, over the ledger's lanes, as the daemon serves it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context, Result};
use keyrack_api::serve::serve;
use keyrack_api::settings::Settings as ApiSettings;
use keyrack_api::state::{ApiState, Outside};
use keyrack_distribution::Distribution;
use keyrack_distribution::channels::Channels;
use keyrack_distribution::seal::Seal;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::keys::{self, Role};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::ground::Ground;
use crate::config::{LogConfig, LogFormat};
use crate::{startup, telemetry};

/// A server that listens.
pub struct Ours {
    pub address: SocketAddr,
    /// A key of the front desk.
    pub key: String,
    ledger: Ledger,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    upkeep: JoinHandle<()>,
}

pub async fn open(ground: &Ground) -> Result<Ours> {
    telemetry::log(&LogConfig {
        filter: "info,sqlx=warn,hyper=warn,reqwest=warn".to_owned(),
        format: LogFormat::Human,
    })?;
    let metrics = telemetry::metrics()?;
    let settings = keyrack_ledger::settings::Settings::default();
    let ledger = Ledger::open(ground.options.clone(), settings).await?;
    let (_, key) = keys::create(&ledger, Role::FrontDesk, None, "bench").await?;
    let seal = Seal::new(&Seal::fresh_key()).context("a fresh key")?;
    let engine = Distribution::assemble(
        ledger.clone(),
        ground.pool.clone(),
        Channels::new(keyrack_adapters::all()),
        seal,
        keyrack_distribution::settings::Settings::default(),
    )?;
    let settings = ApiSettings {
        requests_per_second: const { NonZeroU32::new(1_000_000).expect("a million is not 0") },
        ..ApiSettings::default()
    };
    let header_timeout = Duration::from_millis(settings.header_timeout_ms);
    let rendered = metrics.clone();
    let outside = Outside {
        metrics: Box::new(move || rendered.render()),
        clock: startup::clock,
    };
    let router = keyrack_api::router(ApiState::new(engine, settings, outside));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    Ok(Ours {
        address,
        key,
        ledger,
        stop,
        serving: tokio::spawn(serve(listener, router, header_timeout, stopped)),
        upkeep: tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(5)).await;
                metrics.run_upkeep();
            }
        }),
    })
}

impl Ours {
    pub async fn close(self) {
        self.stop.cancel();
        // Its callers are gone; if one is not, it ends with the process.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.serving).await;
        self.upkeep.abort();
        self.ledger.close().await;
    }
}
