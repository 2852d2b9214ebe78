//! What the process tells of itself: its log on standard error, and its metrics.

use std::io::IsTerminal as _;

use anyhow::{Context as _, Result};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};

/// Starts the log of this process; once.
pub fn log(config: &LogConfig) -> Result<()> {
    let filter = EnvFilter::builder()
        .parse(&config.filter)
        .with_context(|| format!("log.filter cannot be used: {:?}", config.filter))?;
    let writer = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let started = match config.format {
        LogFormat::Human => writer.with_target(false).try_init(),
        LogFormat::Json => writer.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log cannot be started: {error}"))
}

/// Starts the metrics of this process; once.
pub fn metrics() -> Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("seconds".to_owned()), &SECONDS)
        .and_then(PrometheusBuilder::install_recorder)
        .context("the metrics cannot be started")
}

/// From a lone batch to a push that waited for its channel to come back.
const SECONDS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0,
];
