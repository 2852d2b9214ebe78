//! Answers kept under idempotency keys: `kept_answer`.

use sqlx::PgConnection;

use crate::error::LedgerError;

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct KeptRow {
    pub fingerprint: String,
    /// Seconds since its first began.
    #[sqlx(default)]
    pub age_seconds: i64,
    pub status: Option<i16>,
    pub content_type: Option<String>,
    pub etag: Option<String>,
    pub body: Option<Vec<u8>>,
}

/// Takes the key for a request, also one whose first has been at work for longer than `seconds`;
/// says whether it was to be had.
pub(crate) async fn claim(
    conn: &mut PgConnection,
    (scope, key): (&str, &str),
    fingerprint: &str,
    seconds: u32,
) -> Result<bool, LedgerError> {
    let done = sqlx::query(
        "insert into kept_answer as kept (scope, key, fingerprint, begun_at)
         values ($1, $2, $3, (select ledger_now()))
         on conflict (scope, key) do update
         set fingerprint = excluded.fingerprint, begun_at = excluded.begun_at
         where kept.status is null
           and kept.begun_at < excluded.begun_at - $4::bigint * interval '1 second'",
    )
    .bind(scope)
    .bind(key)
    .bind(fingerprint)
    .bind(i64::from(seconds))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("claiming an idempotency key"))?;
    Ok(done.rows_affected() > 0)
}

/// What stands under the key.
pub(crate) async fn find(
    conn: &mut PgConnection,
    (scope, key): (&str, &str),
) -> Result<Option<KeptRow>, LedgerError> {
    sqlx::query_as(
        "select fingerprint, status, content_type, etag, body,
                extract(epoch from (select ledger_now()) - begun_at)::bigint as age_seconds
         from kept_answer where scope = $1 and key = $2",
    )
    .bind(scope)
    .bind(key)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading a kept answer"))
}

/// Keeps the answer of the request that holds the key.
pub(crate) async fn keep(
    conn: &mut PgConnection,
    (scope, key): (&str, &str),
    row: &KeptRow,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update kept_answer
         set status = $4, content_type = $5, etag = $6, body = $7
         where scope = $1 and key = $2 and fingerprint = $3 and status is null",
    )
    .bind(scope)
    .bind(key)
    .bind(&row.fingerprint)
    .bind(row.status)
    .bind(&row.content_type)
    .bind(&row.etag)
    .bind(&row.body)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("keeping an answer"))?;
    Ok(())
}

/// Lets go of a key whose request was refused.
pub(crate) async fn release(
    conn: &mut PgConnection,
    (scope, key): (&str, &str),
    fingerprint: &str,
) -> Result<(), LedgerError> {
    sqlx::query(
        "delete from kept_answer
         where scope = $1 and key = $2 and fingerprint = $3 and status is null",
    )
    .bind(scope)
    .bind(key)
    .bind(fingerprint)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("letting go of an idempotency key"))?;
    Ok(())
}

/// Takes away answers that are older than so many hours, at most `limit`; says how many.
pub(crate) async fn purge(
    conn: &mut PgConnection,
    hours: u32,
    limit: u32,
) -> Result<u32, LedgerError> {
    let done = sqlx::query(
        "delete from kept_answer
         where ctid = any(array(
             select ctid from kept_answer
             where begun_at < (select ledger_now()) - $1::bigint * interval '1 hour'
             order by begun_at
             limit $2))",
    )
    .bind(i64::from(hours))
    .bind(i64::from(limit))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("purging kept answers"))?;
    Ok(u32::try_from(done.rows_affected()).unwrap_or(u32::MAX))
}
