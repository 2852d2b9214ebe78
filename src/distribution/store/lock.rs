//! Advisory locks of the database: no table.

use sqlx::PgConnection;

use crate::error::DistributionError;

/// Tries to take a lock; it goes when the connection ends.
pub(crate) async fn take(conn: &mut PgConnection, key: i64) -> Result<bool, DistributionError> {
    sqlx::query_scalar("select pg_try_advisory_lock($1)")
        .bind(key)
        .fetch_one(conn)
        .await
        .map_err(DistributionError::while_doing("taking a lease"))
}

/// Gives a lock back.
pub(crate) async fn give(conn: &mut PgConnection, key: i64) -> Result<(), DistributionError> {
    sqlx::query("select pg_advisory_unlock($1)")
        .bind(key)
        .execute(conn)
        .await
        .map_err(DistributionError::while_doing("giving a lease back"))?;
    Ok(())
}
