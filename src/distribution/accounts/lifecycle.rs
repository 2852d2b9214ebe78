//! Pausing, resuming, closing, ending an account, and telling it everything again.

use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_ledger::command::By;
use keyrack_ledger::tail;
use keyrack_model::channel::AccountState;

use crate::error::DistributionError;
use crate::feed;
use crate::handle::Distribution;
use crate::store::push_state::Bell;
use crate::store::{poll, push_health, push_state, told, transaction};

/// Why an account's state does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateRefusal {
    /// From this state there is no such step.
    WrongState(AccountState),
    /// So many nights stand told open: paused, they would be sold on stale numbers. Close, or
    /// force.
    OpenNightsTold(i64),
}

/// Stops pushes, never intake. Refused without force while open nights stand told.
///
/// # Errors
///
/// Failures of the database.
pub async fn pause(
    distribution: &Distribution,
    row: &AccountRow,
    by: &By,
    reason: Option<&str>,
    force: bool,
) -> Result<Result<(), StateRefusal>, DistributionError> {
    match row.account.state {
        AccountState::Paused => return Ok(Ok(())),
        AccountState::Live => {}
        state => return Ok(Err(StateRefusal::WrongState(state))),
    }
    let inner = &distribution.inner;
    let (day, _) = tail::business_day(&inner.ledger, row.account.property).await?;
    let open = told::open_nights(&inner.pool, row.account.id, day).await?;
    if open > 0 && !force {
        return Ok(Err(StateRefusal::OpenNightsTold(open)));
    }
    step(distribution, row, by, AccountState::Paused, reason).await?;
    Ok(Ok(()))
}

/// Tells again; nothing rises before a complete poll begun from now on.
///
/// # Errors
///
/// Failures of the database.
pub async fn resume(
    distribution: &Distribution,
    row: &AccountRow,
    by: &By,
) -> Result<Result<(), StateRefusal>, DistributionError> {
    match row.account.state {
        AccountState::Live => return Ok(Ok(())),
        AccountState::Paused => {}
        state => return Ok(Err(StateRefusal::WrongState(state))),
    }
    step(distribution, row, by, AccountState::Live, None).await?;
    let inner = &distribution.inner;
    poll::ring(&inner.pool, Some(row.account.connection)).await?;
    inner.wakes.poll.notify_one();
    Ok(Ok(()))
}

/// Tells zero and closed everywhere, and keeps taking bookings in.
///
/// # Errors
///
/// Failures of the database.
pub async fn close(
    distribution: &Distribution,
    row: &AccountRow,
    by: &By,
    reason: Option<&str>,
) -> Result<Result<(), StateRefusal>, DistributionError> {
    match row.account.state {
        AccountState::Closed => return Ok(Ok(())),
        AccountState::Setup => return Ok(Err(StateRefusal::WrongState(AccountState::Setup))),
        AccountState::Live | AccountState::Paused => {}
    }
    step(distribution, row, by, AccountState::Closed, reason).await?;
    Ok(Ok(()))
}

/// What a removal did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It was never told anything: gone at once.
    AtOnce,
    /// Closed; it ends once that is acknowledged and the channel has been polled once more.
    UnderWay,
}

/// Ends an account: closes it, waits for the acknowledgement, polls once more, and removes it.
///
/// # Errors
///
/// Failures of the database.
pub async fn remove(
    distribution: &Distribution,
    row: &AccountRow,
    by: &By,
) -> Result<Removed, DistributionError> {
    let inner = &distribution.inner;
    if row.account.state == AccountState::Setup {
        catalog::remove_account(&inner.ledger, row.account.id, by).await?;
        return Ok(Removed::AtOnce);
    }
    ring(distribution, row).await?;
    push_health::remove(&inner.pool, row.account.id, &by.actor).await?;
    if row.account.state != AccountState::Closed {
        step(
            distribution,
            row,
            by,
            AccountState::Closed,
            Some("being removed"),
        )
        .await?;
    }
    inner.wakes.resync.notify_one();
    Ok(Removed::UnderWay)
}

/// Tells an account everything again, soon.
///
/// # Errors
///
/// Failures of the database.
pub async fn resync(
    distribution: &Distribution,
    row: &AccountRow,
) -> Result<Result<(), StateRefusal>, DistributionError> {
    if row.account.state == AccountState::Setup {
        return Ok(Err(StateRefusal::WrongState(AccountState::Setup)));
    }
    let inner = &distribution.inner;
    ring(distribution, row).await?;
    push_health::resync_soon(&inner.pool, row.account.id).await?;
    inner.wakes.resync.notify_one();
    Ok(Ok(()))
}

async fn step(
    distribution: &Distribution,
    row: &AccountRow,
    by: &By,
    state: AccountState,
    reason: Option<&str>,
) -> Result<(), DistributionError> {
    let ledger = &distribution.inner.ledger;
    catalog::set_account_state(ledger, row.account.id, by, state, reason).await?;
    // Its turn looks at the state anew, also where no mark follows.
    ring(distribution, row).await?;
    feed::wake(distribution);
    Ok(())
}

async fn ring(distribution: &Distribution, row: &AccountRow) -> Result<(), DistributionError> {
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    push_state::ring(&mut tx, &[Bell::from(&row.account)]).await?;
    transaction::commit(tx).await?;
    distribution.inner.wakes.push.notify_one();
    Ok(())
}
