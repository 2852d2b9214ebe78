//! Holds whose time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use keyrack_model::id::PropertyId;
use uuid::Uuid;

use crate::command::{Asked, By, Command};
use crate::decide::draft::ReservationKey;
use crate::error::{LedgerError, MayRetry};
use crate::handle::Ledger;
use crate::store::{connection, expiry};

/// What a batch of the sweeper did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Those that it let go; others were quicker with the rest.
    pub let_go: u32,
    /// How long those that it let go had been dead.
    pub lags: Vec<Duration>,
    /// Those that could not be let go for a failure of their own.
    pub failed: Vec<ReservationKey>,
}

/// Lets go dead holds of properties, the longest dead first and of each its share at most, in one
/// transaction. It is right also when several sweep at once: a hold expires once.
///
/// # Errors
///
/// Failures of the database that may pass. What one hold is to blame for keeps no other from being
/// let go: then they are let go one by one, and `failed` names it.
pub async fn expire_due(
    ledger: &Ledger,
    shares: &BTreeMap<PropertyId, u32>,
) -> Result<Swept, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let expired = expiry::expire(&mut conn, shares, Uuid::now_v7(), ACTOR).await;
    drop(conn);
    match expired {
        Ok(expired) => {
            let moved: BTreeSet<PropertyId> = expired.iter().map(|((id, _), _)| *id).collect();
            let gone: BTreeSet<ReservationKey> = expired.iter().map(|(key, _)| *key).collect();
            ledger.memory().forget(&gone);
            ledger.moves().touch(moved.into_iter());
            metrics::counter!("ledger_commands_total", "did" => "expired")
                .increment(expired.len() as u64);
            let asked: u64 = shares.values().copied().map(u64::from).sum();
            let mut swept = Swept {
                let_go: u32::try_from(expired.len()).unwrap_or(u32::MAX),
                lags: expired.into_iter().map(|(_, dead_for)| dead_for).collect(),
                failed: Vec::new(),
            };
            if u64::from(swept.let_go) < asked {
                // What drew from an allotment goes back there, and some turn switches: by commands.
                let mut conn = connection::reader(ledger).await?;
                let drawn = expiry::drawn(&mut conn, shares).await?;
                drop(conn);
                by_commands(ledger, &drawn, &mut swept).await?;
            }
            Ok(swept)
        }
        Err(error) if error.may_retry() == MayRetry::Never => {
            tracing::warn!(%error, "dead holds cannot be let go together: one by one");
            one_by_one(ledger, shares).await
        }
        Err(error) => Err(error),
    }
}

/// The same by commands of the lanes.
async fn one_by_one(
    ledger: &Ledger,
    shares: &BTreeMap<PropertyId, u32>,
) -> Result<Swept, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let properties: BTreeSet<PropertyId> = shares.keys().copied().collect();
    let most = shares.values().copied().max().unwrap_or(0);
    let bounds = (i64::MAX, i64::from(most));
    let dead = expiry::dead_holds(&mut conn, &properties, bounds).await?;
    drop(conn);
    let mut swept = Swept::default();
    by_commands(ledger, &dead, &mut swept).await?;
    Ok(swept)
}

async fn by_commands(
    ledger: &Ledger,
    dead: &[(ReservationKey, Duration)],
    swept: &mut Swept,
) -> Result<(), LedgerError> {
    let by = Arc::new(By {
        actor: ACTOR.to_owned(),
        request_id: None,
    });
    // Not all at once: whoever comes meanwhile waits for one batch and not for all.
    for part in dead.chunks(AT_ONCE) {
        let asks = part.iter().map(|((property, reservation), _)| {
            let reservation = *reservation;
            let expire = Command::Expire { reservation };
            ledger.ask(Asked::new(*property, Arc::clone(&by), expire))
        });
        for ((key, dead_for), answer) in part.iter().zip(join_all(asks).await) {
            match answer {
                Ok(Ok(_)) => {
                    swept.let_go += 1;
                    swept.lags.push(*dead_for);
                }
                Ok(Err(_)) => {}
                Err(error) if error.may_retry() != MayRetry::Never => return Err(error),
                Err(_) => swept.failed.push(*key),
            }
        }
    }
    Ok(())
}

/// Who lets dead holds go, in the entries.
const ACTOR: &str = "worker:sweeper";
/// Commands in one batch of the lanes.
const AT_ONCE: usize = 128;

/// Dead holds of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Whose.
    pub property: PropertyId,
    /// How many there are.
    pub holds: u32,
    /// How long the oldest is dead.
    pub oldest_seconds: i64,
}

/// Properties that have dead holds now, the oldest death first; those that wait for a person count.
pub async fn due(ledger: &Ledger) -> Result<Vec<Due>, LedgerError> {
    expiry::properties_with_dead_holds(ledger.pool()).await
}

/// Shows a person that a hold cannot be let go: the flag `expiry_failed`. No sweeper tries it
/// again.
pub async fn give_up(ledger: &Ledger, hold: ReservationKey) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    expiry::flag_failed(&mut conn, hold).await
}
