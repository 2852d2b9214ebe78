//! The locks of what may not be there yet: idempotency keys and references. A row that is inserted
//! and deleted again keeps the name for its transaction, and whoever writes it waits, as at a row
//! lock. Without it a transaction with its nights locked could wait for a name whose writer waits
//! for these nights.

use keyrack_model::id::{AccountId, PropertyId};
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Claims the names of idempotency keys, in the order in which they are written. One that is kept
/// already stays as it is.
pub(crate) async fn keys<'a>(
    conn: &mut PgConnection,
    keys: impl Iterator<Item = &'a (String, String)>,
) -> Result<(), LedgerError> {
    let (scopes, names): (Vec<String>, Vec<String>) = keys.cloned().unzip();
    if names.is_empty() {
        return Ok(());
    }
    let claiming = LedgerError::while_doing("claiming idempotency keys");
    let claimed: Vec<(String, String)> = sqlx::query_as(
        "insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
         select scope, key, '', 'null', ledger_now()
           from unnest($1::text[], $2::text[]) k(scope, key)
             on conflict do nothing returning scope, key",
    )
    .bind(scopes)
    .bind(names)
    .fetch_all(&mut *conn)
    .await
    .map_err(&claiming)?;
    let (scopes, names): (Vec<String>, Vec<String>) = claimed.into_iter().unzip();
    sqlx::query(
        "delete from idempotency_key
          where (scope, key) in (select * from unnest($1::text[], $2::text[]))",
    )
    .bind(scopes)
    .bind(names)
    .execute(conn)
    .await
    .map_err(claiming)?;
    Ok(())
}

/// Locks references, or claims their names, in the order in which they are written.
pub(crate) async fn references<'a>(
    conn: &mut PgConnection,
    references: impl Iterator<Item = &'a (PropertyId, AccountId, String)>,
) -> Result<(), LedgerError> {
    let mut all: Vec<&(PropertyId, AccountId, String)> = references.collect();
    all.sort_unstable_by_key(|key| (key.1, &key.2));
    for (property, account, reference) in all {
        one(conn, *property, *account, reference)
            .await
            .map_err(LedgerError::while_doing("claiming references"))?;
    }
    Ok(())
}

async fn one(
    conn: &mut PgConnection,
    property: PropertyId,
    account: AccountId,
    reference: &str,
) -> Result<(), sqlx::Error> {
    let inserted = sqlx::query(
        "insert into channel_reference (property_id, account_id, reference, last_kind, last_hash)
         select property_id, account_id, $3, '', '' from account
          where property_id = $1 and account_id = $2
             on conflict do nothing",
    )
    .bind(property.0)
    .bind(account.0)
    .bind(reference)
    .execute(&mut *conn)
    .await?;
    let what = if inserted.rows_affected() > 0 {
        "delete from channel_reference
          where property_id = $1 and account_id = $2 and reference = $3"
    } else {
        "select from channel_reference
          where property_id = $1 and account_id = $2 and reference = $3 for update"
    };
    sqlx::query(what)
        .bind(property.0)
        .bind(account.0)
        .bind(reference)
        .execute(conn)
        .await?;
    Ok(())
}
