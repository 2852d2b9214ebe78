//! `keyrack key`: who may ask.

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use keyrack_ledger::catalog;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::keys::{self, Role};

use crate::database::Database;
use crate::place::Place;
use crate::say;
use crate::startup::open_ledger;

/// Arguments of `keyrack key`.
#[derive(Debug, Args)]
pub struct KeyArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a key; it is shown once and kept by nobody.
    Create(Create),
    /// Show all keys that are not revoked, without their secrets.
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Revoke a key by its number.
    Revoke {
        /// The number that `list` shows.
        id: i64,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Debug, Args)]
struct Create {
    /// What it may do.
    #[arg(long)]
    role: RoleName,
    /// Only this property, by its code; left out, all of them.
    #[arg(long, value_name = "CODE")]
    property: Option<String>,
    /// Whose key it is, for people.
    #[arg(long, default_value = "")]
    name: String,
    #[command(flatten)]
    place: Place,
}

/// The roles as they are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum RoleName {
    /// Everything.
    Admin,
    /// Sets rates and inventory, forces.
    Manager,
    /// Books.
    FrontDesk,
    /// Looks.
    ReadOnly,
}

/// Makes, lists or revokes keys.
pub async fn key(arguments: &KeyArguments) -> Result<()> {
    let place = match &arguments.what {
        What::Create(create) => &create.place,
        What::List { place } | What::Revoke { place, .. } => place,
    };
    let config = place.config()?;
    let database = Database::that_is_there(&config).await?;
    let ledger = open_ledger(&config, &database).await?;
    let done = match &arguments.what {
        What::Create(arguments) => create(&ledger, arguments).await,
        What::List { .. } => list(&ledger).await,
        What::Revoke { id, .. } => revoke(&ledger, *id).await,
    };
    ledger.close().await;
    database.close().await.and(done)
}

async fn create(ledger: &Ledger, arguments: &Create) -> Result<()> {
    let property = match &arguments.property {
        None => None,
        Some(code) => {
            let found = catalog::property(ledger, code).await?;
            let found = found.with_context(|| format!("there is no property {code}"))?;
            Some(found.id)
        }
    };
    let role = arguments.role.role();
    let (key, text) = keys::create(ledger, role, property, &arguments.name).await?;
    say::warn(&format!(
        "Key {} ({}). It is shown this once and kept by nobody:",
        key.id,
        role.as_str()
    ));
    say::line(&text);
    Ok(())
}

async fn list(ledger: &Ledger) -> Result<()> {
    let known = keys::list(ledger).await?;
    let properties = catalog::properties(ledger, None, u32::MAX >> 1).await?;
    say::line(&format!(
        "{:>6}  {:<10}  {:<20}  name",
        "key", "role", "property"
    ));
    for key in known {
        let code = match key.property {
            None => "all",
            Some(id) => properties
                .iter()
                .find(|property| property.id == id)
                .map_or("?", |property| property.code.as_str()),
        };
        let role = key.role.as_str();
        say::line(&format!(
            "{:>6}  {role:<10}  {code:<20}  {}",
            key.id, key.name
        ));
    }
    Ok(())
}

async fn revoke(ledger: &Ledger, id: i64) -> Result<()> {
    if !keys::revoke(ledger, id).await? {
        bail!("there is no key {id} that is not revoked");
    }
    say::line(&format!(
        "Key {id} is revoked; a running daemon forgets it within seconds."
    ));
    Ok(())
}

impl RoleName {
    fn role(self) -> Role {
        match self {
            Self::Admin => Role::Admin,
            Self::Manager => Role::Manager,
            Self::FrontDesk => Role::FrontDesk,
            Self::ReadOnly => Role::ReadOnly,
        }
    }
}
