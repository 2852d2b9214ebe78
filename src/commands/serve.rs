//! `keyrack serve`: the daemon.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use keyrack_distribution::sealed;
use keyrack_ledger::keys;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::database::Database;
use crate::place::Place;
use crate::startup::{self, Application};
use crate::{say, seal_key, signal, telemetry};

/// Arguments of `keyrack serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Address and port to listen on, in place of the configuration's.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The key that sealed this database is lost: from now on the present one does, and logins and
    /// webhook secrets must be put anew.
    #[arg(long)]
    give_up_sealed: bool,
    #[command(flatten)]
    place: Place,
}

/// Serves until a signal comes.
pub async fn serve(arguments: &ServeArguments) -> Result<()> {
    let mut config = arguments.place.config()?;
    if let Some(listen) = arguments.listen {
        config.listen = listen;
    }
    telemetry::log(&config.log)?;
    let metrics = telemetry::metrics()?;
    // Before anything is begun: a signal during the start is heard after it.
    let stop = signal::stop()?;
    for warning in config.unwise() {
        tracing::warn!("{warning}");
    }
    let database = Database::for_daemon(&config).await?;
    if database.is_kept() {
        say::line(&format!("No DATABASE_URL: keeping {}.", database.place()));
    }
    let sealing = startup::engine_pool(&config, &database);
    // Not made where another one is needed: the first key that asks seals the database.
    if !arguments.give_up_sealed
        && seal_key::find(&config)?.is_none()
        && sealed::is_sealed(&sealing).await?
    {
        bail!(seal_key::wrong(&config, database.place()));
    }
    let (seal, made) = seal_key::open(&config)?;
    if arguments.give_up_sealed {
        startup::open_ledger(&config, &database)
            .await?
            .close()
            .await;
        sealed::give_up(&sealing, &seal).await?;
        tracing::warn!("what another key sealed is given up: put logins and webhook secrets anew");
    }
    sealing.close().await;
    if let Some(path) = made {
        let path = path.display();
        say::line(&format!(
            "Made {path}: logins at channels are sealed with it; keep a copy."
        ));
        if !database.is_kept() {
            tracing::warn!("every daemon on this database needs the key in {path}");
        }
    }
    let render = metrics.clone();
    let application =
        Application::build(&config, database, seal, Box::new(move || render.render())).await?;
    if keys::list(application.ledger()).await?.is_empty() {
        say::line(
            "Nobody may ask yet: make a key with `keyrack key create --role admin`, with the same \
             --data-dir or --config.",
        );
    }
    say::line(&format!("Listening on {}", application.url()));
    let upkeep = tokio::spawn(keep_up(metrics));
    let served = application.run_until_stopped(stop).await;
    upkeep.abort();
    served
}

/// Histograms keep every value until somebody sums them up.
async fn keep_up(metrics: PrometheusHandle) {
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        metrics.run_upkeep();
    }
}
