//! `keyrack doctor`: looks at everything that an operator can set right, and says how.

mod accounts;
mod database;
mod finding;

use std::time::Duration;

use anyhow::{Context as _, Result};
use keyrack_distribution::seal::Seal;
use keyrack_ledger::keys::{self, Role};
use sqlx::{Connection as _, PgConnection};

use crate::config::Config;
use crate::database::Database;
use crate::place::Place;
use crate::seal_key;
use crate::startup::{assemble_engine, open_ledger};
use finding::Finding;

/// Tells every finding; says whether nothing was wrong.
pub async fn doctor(place: &Place) -> Result<bool> {
    let mut found = Vec::new();
    match place.config() {
        Ok(config) => {
            found.extend(configuration(&config));
            if let Err(error) = look(&config, &mut found).await {
                found.push(Finding::wrong(
                    "database",
                    format!("{error:#}"),
                    "set DATABASE_URL (or database.url), or leave it out for a private PostgreSQL",
                ));
            }
        }
        Err(error) => found.push(Finding::wrong(
            "configuration",
            format!("{error:#}"),
            "correct it; config/default.toml says what every key means",
        )),
    }
    for finding in &found {
        finding.tell();
    }
    Ok(!found.iter().any(Finding::is_wrong))
}

fn configuration(config: &Config) -> Vec<Finding> {
    let unwise = config.unwise();
    if unwise.is_empty() {
        return vec![Finding::well(
            "configuration",
            "every key is known and fits the others",
        )];
    }
    let remedy = "change it, unless it is meant so";
    let unwise = unwise.into_iter();
    unwise
        .map(|what| Finding::unwise("configuration", what, remedy))
        .collect()
}

async fn look(config: &Config, found: &mut Vec<Finding>) -> Result<()> {
    let database = Database::that_is_there(config).await?;
    found.push(Finding::well("database", database.place()));
    let looked = inside(config, &database, found).await;
    database.close().await?;
    looked
}

async fn inside(config: &Config, database: &Database, found: &mut Vec<Finding>) -> Result<()> {
    let options = database.options();
    let connecting = PgConnection::connect_with(&options);
    let connected = tokio::time::timeout(PATIENCE, connecting).await;
    let mut conn = connected
        .context("no answer within 10 s")
        .and_then(|connected| Ok(connected?))
        .with_context(|| format!("cannot use {}", database.place()))?;
    found.extend(database::server(&mut conn, config).await?);
    found.push(database::clocks(&mut conn).await?);
    found.extend(database::oldest_writer(&mut conn).await?);
    let migrations = database::migrations(&mut conn).await?;
    let is_migrated = !migrations.is_wrong();
    found.push(migrations);
    if !is_migrated {
        // What follows asks tables that may not be there; and a doctor changes nothing.
        return Ok(());
    }
    let seal = match seal_key::find(config) {
        Ok(seal) => seal,
        Err(error) => {
            let remedy = "make it 64 hexadecimal digits (`openssl rand -hex 32`), mode 600";
            found.push(Finding::wrong("seal key", format!("{error:#}"), remedy));
            return Ok(());
        }
    };
    found.extend(database::logins(&mut conn, seal.as_ref()).await?);
    conn.close().await?;
    let ledger = open_ledger(config, database).await?;
    found.push(may_ask(&keys::list(&ledger).await?));
    // Nothing is sealed or opened here: any key will do.
    let seal = seal.map_or_else(|| Seal::new(&Seal::fresh_key()), Ok)?;
    let distribution = assemble_engine(config, database, &ledger, seal)?;
    found.extend(accounts::accounts(&distribution).await?);
    ledger.close().await;
    Ok(())
}

fn may_ask(keys: &[keys::ApiKey]) -> Finding {
    let is_admin = |key: &keys::ApiKey| key.role == Role::Admin && key.property.is_none();
    if keys.iter().any(is_admin) {
        return Finding::well("keys", format!("known and not revoked: {}", keys.len()));
    }
    let remedy = "make one with `keyrack key create --role admin`";
    Finding::unwise("keys", "no key may set up hotels", remedy)
}

const PATIENCE: Duration = Duration::from_secs(10);
