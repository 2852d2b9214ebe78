//! Closed nights are proved once and written down: a verification begins there.
//!
//! A night is closed when it is long before the business day. What still comes to it, a forced
//! change of the past or a late fact, a verification adds to what the checkpoint says, and the next
//! look proves the night anew.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicI32, Ordering};

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{StayDate, plus_days};

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::interrupt;
use crate::store::verify::{self as proof, From};
use crate::store::{checkpoint as store, connection, property};

/// Nights so many days before the business day are closed: hardly anything comes to them.
pub const CLOSED_AFTER_DAYS: i32 = 7;

/// What comes later than that to a closed night has the whole history of the property read, once.
const BEGINNINGS_KEPT_DAYS: i32 = 60;

/// Proves the closed nights of a property that have no checkpoint or have changed since, and writes
/// down those that could be proved; says how many. Proof and writing are one transaction with one
/// picture of the ledger. Where two do it at once, one of them does nothing.
pub async fn close_nights(
    ledger: &Ledger,
    property: PropertyId,
    closed_after_days: i32,
) -> Result<u64, LedgerError> {
    let backend = AtomicI32::new(0);
    write(ledger, property, closed_after_days, &backend).await
}

/// The same, given up at once when `stopped` ends: then `None`.
pub async fn close_nights_until(
    ledger: &Ledger,
    property: PropertyId,
    closed_after_days: i32,
    stopped: impl Future<Output = ()>,
) -> Result<Option<u64>, LedgerError> {
    let backend = AtomicI32::new(0);
    let work = write(ledger, property, closed_after_days, &backend);
    interrupt::unless(ledger, &backend, work, stopped).await
}

async fn write(
    ledger: &Ledger,
    id: PropertyId,
    closed_after: i32,
    backend: &AtomicI32,
) -> Result<u64, LedgerError> {
    let written = prove_and_write(ledger, id, closed_after, backend).await;
    backend.store(0, Ordering::Relaxed);
    match written {
        Err(LedgerError::Conflict) => Ok(0),
        written => written,
    }
}

async fn prove_and_write(
    ledger: &Ledger,
    id: PropertyId,
    closed_after: i32,
    backend: &AtomicI32,
) -> Result<u64, LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    proof::one_snapshot(&mut tx).await?;
    proof::without_time_limit(&mut tx).await?;
    backend.store(proof::backend(&mut tx).await?, Ordering::Relaxed);
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(0);
    };
    let end = plus_days(calendar.business_day, closed_after.saturating_neg());
    if !store::is_due(&mut tx, id, end).await? {
        return Ok(0);
    }
    let unproven = proof::nights(&mut tx, id, From::Checkpoints).await?;
    let unclaimed = proof::claims(&mut tx, id, From::Checkpoints).await?;
    let left_out: BTreeSet<(RoomTypeId, StayDate)> = unproven
        .iter()
        .chain(&unclaimed)
        .map(|night| (RoomTypeId(night.room_type_id), night.stay_date.to_jiff()))
        .collect();
    let written = store::write(&mut tx, id, end, &left_out).await?;
    store::begin(&mut tx, id).await?;
    store::forget_beginnings(&mut tx, id, end, BEGINNINGS_KEPT_DAYS).await?;
    connection::commit(tx).await?;
    Ok(written)
}
