//! The database's clock: no table.

use jiff::Timestamp;
use sqlx::PgPool;

use crate::error::DistributionError;

/// The clock that decides: moved by tests and the demo.
pub(crate) async fn now(pool: &PgPool) -> Result<Timestamp, DistributionError> {
    let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select ledger_now()")
        .fetch_one(pool)
        .await
        .map_err(DistributionError::while_doing("asking for the time"))?;
    Ok(now.to_jiff())
}

/// The clock of the machine that the database runs on, which nobody moves.
pub(crate) async fn machine(pool: &PgPool) -> Result<Timestamp, DistributionError> {
    let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select clock_timestamp()")
        .fetch_one(pool)
        .await
        .map_err(DistributionError::while_doing("asking for the time"))?;
    Ok(now.to_jiff())
}
