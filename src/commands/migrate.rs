//! `keyrack migrate`: brings the database to this program's state.

use anyhow::Result;
use keyrack_ledger::handle::MIGRATOR;

use crate::database::Database;
use crate::place::Place;
use crate::say;
use crate::startup::open_ledger;

/// Applies what migrations are missing; says which state the database is in.
pub async fn migrate(place: &Place) -> Result<()> {
    let config = place.config()?;
    let database = Database::for_command(&config).await?;
    let ledger = open_ledger(&config, &database).await?;
    ledger.close().await;
    let last = MIGRATOR.iter().map(|migration| migration.version).max();
    let last = last.unwrap_or_default();
    say::line(&format!("Migrated to {last:04}: {}.", database.place()));
    database.close().await
}
