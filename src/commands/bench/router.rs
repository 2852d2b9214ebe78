//! The API as the daemon serves it, over a bench's ledger; the engine's loops stand still.

use std::num::NonZeroU32;

use anyhow::{Context, Result};
use axum::Router;
use keyrack_api::settings::Settings as ApiSettings;
use keyrack_api::state::{ApiState, Outside};
use keyrack_distribution::Distribution;
use keyrack_distribution::channels::Channels;
use keyrack_distribution::seal::Seal;
use keyrack_ledger::handle::Ledger;

use super::ground::Ground;
use crate::startup;

/// How it is set: as by default, but that no key's limit bites.
pub fn settings() -> ApiSettings {
    ApiSettings {
        requests_per_second: const { NonZeroU32::new(1_000_000).expect("a million is not 0") },
        ..ApiSettings::default()
    }
}

/// Every route, with all that stands before it.
pub fn router(
    ground: &Ground,
    ledger: &Ledger,
    metrics: impl Fn() -> String + Send + Sync + 'static,
) -> Result<Router> {
    let engine = Distribution::assemble(
        ledger.clone(),
        ground.pool.clone(),
        Channels::new(keyrack_adapters::all()),
        Seal::new(&Seal::fresh_key()).context("a fresh key")?,
        keyrack_distribution::settings::Settings::default(),
    )?;
    let outside = Outside {
        metrics: Box::new(metrics),
        clock: startup::clock,
    };
    Ok(keyrack_api::router(ApiState::new(
        engine,
        settings(),
        outside,
    )))
}
