//! Which listing of a channel an account stands for: made, and moved to another.
//!
//! A listing that is left behind goes on selling what it was told last, and nobody tells it
//! anything any more. So an account moves only while it is in setup, or once it is closed and its
//! channel has acknowledged that; and what the old listing was told says nothing of the new one.

use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_ledger::command::By;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::tail;
use keyrack_model::channel::{AccountSettings, AccountState};
use keyrack_model::id::{ConnectionId, PropertyId};
use keyrack_model::stay::plus_days;

use crate::accounts;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::resync;
use crate::store::{mark_view, retired_code, told, transaction};

/// An account as the hotel sets it up.
#[derive(Clone, Debug)]
pub struct AccountSetup {
    /// The login that it goes through.
    pub connection: ConnectionId,
    /// That login's channel.
    pub channel: String,
    /// The channel's code of the hotel.
    pub hotel_code: String,
    /// How it wants to be told.
    pub settings: AccountSettings,
}

/// Why an account is not put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutRefusal {
    /// The ledger would not have it.
    Ledger(Refusal),
    /// It would leave a listing behind that stands open, or may: which field says so, and the
    /// account's state.
    LeavesListing(&'static str, AccountState),
}

/// Makes an account (in setup) or changes it; says whether it is new.
///
/// # Errors
///
/// Failures of the database.
pub async fn put(
    distribution: &Distribution,
    property: PropertyId,
    by: &By,
    code: &str,
    setup: AccountSetup,
    version: Option<i64>,
) -> Result<Result<(AccountRow, bool), PutRefusal>, DistributionError> {
    let known = accounts::find(distribution, property, code).await?;
    let moved = known
        .as_ref()
        .and_then(|row| Some((row, moved(row, &setup)?)));
    if let Some((row, field)) = moved
        && !is_left_closed(distribution, row).await?
    {
        let refusal = PutRefusal::LeavesListing(field, row.account.state);
        return Ok(Err(refusal));
    }
    // What was found closed must still be so when it moves.
    let version = version.or(moved.map(|(row, _)| row.version));
    let put = catalog::put_account(
        &distribution.inner.ledger,
        property,
        by,
        code,
        setup.connection,
        &setup.channel,
        &setup.hotel_code,
        setup.settings,
        version,
    );
    let (row, is_new) = match put.await? {
        Ok(put) => put,
        Err(refusal) => return Ok(Err(PutRefusal::Ledger(refusal))),
    };
    // One that comes back after its end is new and has its old id.
    if moved.is_some() || is_new {
        begin_anew(distribution, &row).await?;
    }
    Ok(Ok((row, is_new)))
}

/// The field by which an account would stand for another listing.
fn moved(row: &AccountRow, setup: &AccountSetup) -> Option<&'static str> {
    if row.account.hotel_code != setup.hotel_code {
        return Some("/hotel_code");
    }
    (row.account.connection != setup.connection).then_some("/connection")
}

/// Whether the listing sells nothing any more when nobody tells it anything.
async fn is_left_closed(
    distribution: &Distribution,
    row: &AccountRow,
) -> Result<bool, DistributionError> {
    let (inner, account) = (&distribution.inner, &row.account);
    match account.state {
        AccountState::Setup => return Ok(true),
        AccountState::Closed => {}
        AccountState::Live | AccountState::Paused => return Ok(false),
    }
    let (day, _) = tail::business_day(&inner.ledger, account.property).await?;
    let queue = mark_view::queue(&inner.pool, account.id).await?;
    let open = told::open_nights(&inner.pool, account.id, day).await?;
    let retired = retired_code::pending(&inner.pool, account.id, None).await?;
    Ok(queue.depth == 0 && open == 0 && retired.is_empty())
}

/// Nothing is known of what the listing shows: all of it is told. Where a crash comes before this,
/// the daily resync tells it.
async fn begin_anew(
    distribution: &Distribution,
    row: &AccountRow,
) -> Result<(), DistributionError> {
    let (inner, account) = (&distribution.inner, &row.account);
    let (day, _) = tail::business_day(&inner.ledger, account.property).await?;
    let mut tx = transaction::begin(&inner.pool).await?;
    told::forget_all(&mut *tx, account.id, plus_days(day, -1)).await?;
    if account.state != AccountState::Setup {
        resync::mark_all(distribution, &mut tx, account).await?;
    }
    transaction::commit(tx).await?;
    inner.wakes.push.notify_one();
    Ok(())
}
