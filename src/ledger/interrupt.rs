//! Long work in the database that is given up at once when the house closes.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::connection;
use crate::store::verify as store;

/// Sees work through unless `stopped` ends first: then `None`, and what the database is doing for
/// it is ended there too. `backend` says which process of the server is at work; 0 is none.
pub(crate) async fn unless<T>(
    ledger: &Ledger,
    backend: &AtomicI32,
    work: impl Future<Output = Result<T, LedgerError>>,
    stopped: impl Future<Output = ()>,
) -> Result<Option<T>, LedgerError> {
    let mut work = pin!(work);
    tokio::select! {
        done = &mut work => return done.map(Some),
        () = stopped => {}
    }
    loop {
        // Again and again: between two questions there is nothing to interrupt.
        let at = backend.load(Ordering::Relaxed);
        if at == 0 {
            return Ok(None);
        }
        tokio::select! {
            _ = &mut work => return Ok(None),
            interrupted = interrupt(ledger, at) => interrupted?,
        }
    }
}

async fn interrupt(ledger: &Ledger, backend: i32) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::interrupt(&mut conn, backend).await?;
    drop(conn);
    tokio::time::sleep(INTERRUPT_PAUSE).await;
    Ok(())
}

const INTERRUPT_PAUSE: Duration = Duration::from_millis(50);
