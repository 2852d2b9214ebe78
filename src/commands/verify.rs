//! `keyrack verify`: replays the ledger against the sums, from the checkpoints of closed nights or
//! whole.

use anyhow::{Context as _, Result};
use clap::Args;
use keyrack_ledger::catalog;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::verify::{self, Difference, Extent, Verification};

use crate::database::Database;
use crate::place::Place;
use crate::say;
use crate::startup::open_ledger;

/// Arguments of `keyrack verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Only this property, by its code.
    #[arg(long, value_name = "CODE")]
    property: Option<String>,
    /// Replays everything, archived reservations too, and proves the checkpoints.
    #[arg(long)]
    full: bool,
    /// The outcome as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Proves every number; says whether all could be proved.
pub async fn verify(arguments: &VerifyArguments) -> Result<bool> {
    let config = arguments.place.config()?;
    let database = Database::that_is_there(&config).await?;
    let ledger = open_ledger(&config, &database).await?;
    let extent = if arguments.full {
        Extent::Whole
    } else {
        Extent::FromCheckpoints
    };
    let verified = prove(&ledger, arguments.property.as_deref(), extent).await;
    ledger.close().await;
    database.close().await?;
    let verification = verified?;
    if arguments.json {
        say::line(&serde_json::to_string_pretty(&verification)?);
    } else {
        tell(&verification);
    }
    Ok(verification.differences.is_empty())
}

async fn prove(ledger: &Ledger, property: Option<&str>, extent: Extent) -> Result<Verification> {
    let id = match property {
        None => None,
        Some(code) => {
            let found = catalog::property(ledger, code).await?;
            Some(
                found
                    .with_context(|| format!("there is no property {code}"))?
                    .id,
            )
        }
    };
    Ok(verify::verify(ledger, id, extent).await?)
}

fn tell(verification: &Verification) {
    for difference in &verification.differences {
        say::line(&sentence(difference));
    }
    let (nights, reservations) = (verification.nights, verification.reservations);
    let count = verification.differences.len();
    say::line(&format!(
        "{count} differences ({nights} nights and {reservations} reservations compared)"
    ));
}

/// Property, type, night, and both numbers.
fn sentence(difference: &Difference) -> String {
    let room_type = difference.room_type.as_deref();
    let night = difference.night.map(|night| night.to_string());
    let parts = [
        Some(difference.property.as_str()),
        room_type,
        night.as_deref(),
    ];
    let place: Vec<&str> = parts.into_iter().flatten().collect();
    format!("{}: {}", place.join(" "), difference.what)
}
