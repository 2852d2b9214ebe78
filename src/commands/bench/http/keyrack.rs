//! Our side: the router that the daemon serves, over the ledger's lanes, as the daemon serves it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use keyrack_api::serve::serve;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::keys::{self, Role};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::ground::Ground;
use super::super::router;
use crate::config::{LogConfig, LogFormat};
use crate::telemetry;

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
    let header_timeout = Duration::from_millis(router::settings().header_timeout_ms);
    let rendered = metrics.clone();
    let router = router::router(ground, &ledger, move || rendered.render())?;
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
