//! Idempotency keys past their time: `idempotency_key`. They are read and written with a batch.

use sqlx::PgConnection;

use crate::error::LedgerError;

/// Takes away keys that are older than so many hours, at most `limit`; says how many.
pub(crate) async fn purge(
    conn: &mut PgConnection,
    hours: u32,
    limit: u32,
) -> Result<u32, LedgerError> {
    let done = sqlx::query(
        "delete from idempotency_key
         where ctid = any(array(
             select ctid from idempotency_key
             where created_at < (select ledger_now()) - $1::bigint * interval '1 hour'
             order by created_at
             limit $2))",
    )
    .bind(i64::from(hours))
    .bind(i64::from(limit))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("purging idempotency keys"))?;
    Ok(u32::try_from(done.rows_affected()).unwrap_or(u32::MAX))
}
