//! References of channels, asked outside of a batch: `channel_reference`.

use keyrack_model::id::AccountId;
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Those of the accounts that know a reference.
pub(crate) async fn accounts(
    conn: &mut PgConnection,
    accounts: &[AccountId],
    reference: &str,
) -> Result<Vec<AccountId>, LedgerError> {
    let accounts: Vec<i64> = accounts.iter().map(|account| account.0).collect();
    let known: Vec<i64> = sqlx::query_scalar(
        "select known.account_id
         from account
         join channel_reference as known using (property_id, account_id)
         where account.account_id = any($1) and known.reference = $2
         order by known.account_id",
    )
    .bind(accounts)
    .bind(reference)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking a reference up"))?;
    Ok(known.into_iter().map(AccountId).collect())
}
