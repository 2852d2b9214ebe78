//! Holds whose time is over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use keyrack_model::id::PropertyId;

use crate::command::{Asked, By, Command};
use crate::decide::draft::ReservationKey;
use crate::error::{LedgerError, MayRetry};
use crate::handle::Ledger;
use crate::store::{connection, expiry};

/// What a batch of the sweeper did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Some property may have more.
    pub may_be_more: bool,
    /// Those that it let go; others were quicker with the rest.
    pub let_go: u32,
    /// How long those that it let go had been dead.
    pub lags: Vec<Duration>,
    /// Those that could not be let go for a failure of their own.
    pub failed: Vec<ReservationKey>,
}

/// Lets go at most `limit` dead holds of properties, of each its share, the longest dead first. It
/// is right also when several sweep at once: a hold expires once.
pub async fn expire_due(
    ledger: &Ledger,
    properties: &BTreeSet<PropertyId>,
    limit: u32,
) -> Result<Swept, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let count = u32::try_from(properties.len().max(1)).unwrap_or(u32::MAX);
    let share = limit.div_ceil(count).max(1);
    let bounds = (i64::from(limit), i64::from(share));
    let dead = expiry::dead_holds(&mut conn, properties, bounds).await?;
    drop(conn);
    let by = Arc::new(By {
        actor: "worker:sweeper".to_owned(),
        request_id: None,
    });
    let mut swept = Swept {
        may_be_more: u32::try_from(dead.len()).unwrap_or(u32::MAX) >= share,
        ..Swept::default()
    };
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
    Ok(swept)
}

/// Commands in one batch of the lanes.
const AT_ONCE: usize = 128;

/// Properties that have dead holds now, with how long the oldest is dead, in seconds.
pub async fn due(ledger: &Ledger) -> Result<Vec<(PropertyId, i64)>, LedgerError> {
    expiry::properties_with_dead_holds(ledger.pool()).await
}

/// Shows a person that a hold cannot be let go: the flag `expiry_failed`. No sweeper tries it
/// again.
pub async fn give_up(ledger: &Ledger, hold: ReservationKey) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    expiry::flag_failed(&mut conn, hold).await
}
