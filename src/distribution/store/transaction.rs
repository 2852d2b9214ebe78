//! Transactions over this floor's tables: no table.

use sqlx::{PgPool, Postgres, Transaction};

use crate::error::DistributionError;

/// Begins one.
pub(crate) async fn begin(
    pool: &PgPool,
) -> Result<Transaction<'static, Postgres>, DistributionError> {
    pool.begin()
        .await
        .map_err(DistributionError::while_doing("beginning a transaction"))
}

/// Ends it with all that was done.
pub(crate) async fn commit(tx: Transaction<'static, Postgres>) -> Result<(), DistributionError> {
    tx.commit()
        .await
        .map_err(DistributionError::while_doing("committing"))
}
