//! Holds whose time is over.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use keyrack_model::id::PropertyId;

use crate::command::{Asked, By, Command};
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store;

/// Lets go at most `limit` dead holds of a property, in one batch; says how many it let go. It is
/// right also when several sweep at once: a hold expires once.
pub async fn expire_due(
    ledger: &Ledger,
    property: PropertyId,
    limit: u32,
) -> Result<u32, LedgerError> {
    let connecting = LedgerError::while_doing("connecting");
    let mut conn = ledger.pool().acquire().await.map_err(connecting)?;
    let only = BTreeSet::from([property]);
    let dead = store::read::dead_holds(&mut conn, &only, i64::from(limit)).await?;
    drop(conn);
    let by = Arc::new(By {
        actor: "worker:sweeper".to_owned(),
        request_id: None,
    });
    let asks = dead.into_iter().map(|(property, reservation)| {
        ledger.ask(Asked::new(
            property,
            Arc::clone(&by),
            Command::Expire { reservation },
        ))
    });
    let mut expired = 0;
    for answer in join_all(asks).await {
        expired += u32::from(answer?.is_ok());
    }
    Ok(expired)
}

/// Properties that have dead holds now, with how long the oldest is dead, in seconds.
pub async fn due(ledger: &Ledger) -> Result<Vec<(PropertyId, i64)>, LedgerError> {
    store::read::properties_with_dead_holds(ledger.pool()).await
}
