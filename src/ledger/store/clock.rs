//! The one clock that decides.

use jiff::Timestamp;
use sqlx::PgConnection;

use crate::error::LedgerError;

/// The database's clock.
pub(crate) async fn now(conn: &mut PgConnection) -> Result<Timestamp, LedgerError> {
    let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select ledger_now()")
        .fetch_one(conn)
        .await
        .map_err(LedgerError::while_doing("reading the clock"))?;
    Ok(now.to_jiff())
}
