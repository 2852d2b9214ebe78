//! Connections for what reads, and for the catalog's own transactions.

use sqlx::pool::PoolConnection;
use sqlx::{Postgres, Transaction};

use crate::error::LedgerError;
use crate::handle::Ledger;

/// A connection to read with.
pub(crate) async fn reader(ledger: &Ledger) -> Result<PoolConnection<Postgres>, LedgerError> {
    let connection = ledger.pool().acquire().await;
    connection.map_err(LedgerError::while_doing("taking a connection"))
}

/// A transaction of the catalog.
pub(crate) async fn begin(ledger: &Ledger) -> Result<Transaction<'static, Postgres>, LedgerError> {
    let transaction = ledger.pool().begin().await;
    transaction.map_err(LedgerError::while_doing("beginning a transaction"))
}

/// Makes it last.
pub(crate) async fn commit(transaction: Transaction<'_, Postgres>) -> Result<(), LedgerError> {
    let done = transaction.commit().await;
    done.map_err(LedgerError::while_doing("committing"))
}
