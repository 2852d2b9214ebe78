//! The table notice: what a person must do, and whether it was mailed.

use jiff::Timestamp;
use keyrack_model::id::{AccountId, PropertyId};
use sqlx::PgPool;

use crate::error::DistributionError;

/// A notice that is raised.
pub(crate) struct Raised<'a> {
    pub(crate) kind: &'a str,
    pub(crate) key: &'a str,
    pub(crate) property: Option<PropertyId>,
    pub(crate) account: Option<AccountId>,
    pub(crate) text: &'a str,
    pub(crate) also_to: &'a [String],
}

/// Raises a notice: one that is there counts up, and is mailed again only after a day. Says how
/// often it was raised.
pub(crate) async fn raise(pool: &PgPool, raised: &Raised<'_>) -> Result<i32, DistributionError> {
    sqlx::query_scalar(
        "insert into notice as known (kind, key, property_id, account_id, text, raised_at,
             last_raised_at, due_at, also_to)
         values ($1, $2, $3, $4, $5, ledger_now(), ledger_now(), ledger_now(), $6)
         on conflict (kind, key) do update
         set times = known.times + 1, last_raised_at = ledger_now(), text = excluded.text,
             also_to = excluded.also_to,
             due_at = case when known.sent_at < ledger_now() - interval '1 day'
                 then ledger_now() else known.due_at end,
             attempt = case when known.sent_at < ledger_now() - interval '1 day'
                 then 0 else known.attempt end,
             sent_at = case when known.sent_at < ledger_now() - interval '1 day'
                 then null else known.sent_at end
         returning times",
    )
    .bind(raised.kind)
    .bind(raised.key)
    .bind(raised.property.map(|property| property.0))
    .bind(raised.account.map(|account| account.0))
    .bind(raised.text)
    .bind(raised.also_to)
    .fetch_one(pool)
    .await
    .map_err(DistributionError::while_doing("raising a notice"))
}

/// The trouble is over: the next time it is mailed at once.
pub(crate) async fn clear(pool: &PgPool, kind: &str, key: &str) -> Result<bool, DistributionError> {
    let done = sqlx::query("delete from notice where kind = $1 and key = $2")
        .bind(kind)
        .bind(key)
        .execute(pool)
        .await
        .map_err(DistributionError::while_doing("clearing a notice"))?;
    Ok(done.rows_affected() > 0)
}

/// Of a kind, among the keys that begin so, only these still stand; says how many went.
pub(crate) async fn clear_others(
    pool: &PgPool,
    kind: &str,
    beginning: &str,
    standing: &[String],
) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from notice where kind = $1 and starts_with(key, $2) and key <> all($3)",
    )
    .bind(kind)
    .bind(beginning)
    .bind(standing)
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("clearing notices"))?;
    Ok(done.rows_affected())
}

/// A notice as it lies in its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoticeRow {
    pub(crate) id: i64,
    pub(crate) kind: String,
    pub(crate) property: Option<PropertyId>,
    pub(crate) account: Option<AccountId>,
    pub(crate) text: String,
    pub(crate) times: i32,
    pub(crate) raised_at: Timestamp,
    pub(crate) sent_at: Option<Timestamp>,
    pub(crate) attempt: i32,
    pub(crate) also_to: Vec<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    notice_id: i64,
    kind: String,
    property_id: Option<i64>,
    account_id: Option<i64>,
    text: String,
    times: i32,
    raised_at: jiff_sqlx::Timestamp,
    sent_at: Option<jiff_sqlx::Timestamp>,
    attempt: i32,
    also_to: Vec<String>,
}

impl From<Row> for NoticeRow {
    fn from(row: Row) -> Self {
        Self {
            id: row.notice_id,
            kind: row.kind,
            property: row.property_id.map(PropertyId),
            account: row.account_id.map(AccountId),
            text: row.text,
            times: row.times,
            raised_at: row.raised_at.to_jiff(),
            sent_at: row.sent_at.map(jiff_sqlx::Timestamp::to_jiff),
            attempt: row.attempt,
            also_to: row.also_to,
        }
    }
}

/// Takes what is to be mailed; nobody else takes it for `lease_seconds`.
pub(crate) async fn claim(
    pool: &PgPool,
    limit: u32,
    lease_seconds: u32,
) -> Result<Vec<NoticeRow>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "update notice
         set due_at = ledger_now() + $2::bigint * interval '1 second', attempt = attempt + 1
         where notice_id in (
             select notice_id from notice
             where sent_at is null and due_at <= (select ledger_now())
             order by due_at
             limit $1
             for update skip locked)
         returning notice_id, kind, property_id, account_id, text, times, raised_at, sent_at,
             attempt, also_to",
    )
    .bind(i64::from(limit))
    .bind(i64::from(lease_seconds))
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("taking notices to mail"))?;
    let mut rows: Vec<NoticeRow> = rows.into_iter().map(NoticeRow::from).collect();
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// Keeps some that were taken for `lease_seconds` more; says which of them are still ours. What
/// took too long may have been taken by another, who mails it.
pub(crate) async fn keep(
    pool: &PgPool,
    rows: &[NoticeRow],
    lease_seconds: u32,
) -> Result<Vec<i64>, DistributionError> {
    sqlx::query_scalar(
        "update notice n set due_at = ledger_now() + $3::bigint * interval '1 second'
         from unnest($1::bigint[], $2::integer[]) k(notice_id, attempt)
         where n.notice_id = k.notice_id and n.attempt = k.attempt and n.sent_at is null
         returning n.notice_id",
    )
    .bind(rows.iter().map(|row| row.id).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.attempt).collect::<Vec<_>>())
    .bind(i64::from(lease_seconds))
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("keeping notices to mail"))
}

/// It was mailed.
pub(crate) async fn sent(pool: &PgPool, id: i64) -> Result<(), DistributionError> {
    sqlx::query("update notice set sent_at = ledger_now(), last_error = null where notice_id = $1")
        .bind(id)
        .execute(pool)
        .await
        .map_err(DistributionError::while_doing("noting a mail"))?;
    Ok(())
}

/// It was not mailed; again after a while.
pub(crate) async fn not_sent(
    pool: &PgPool,
    id: i64,
    why: &str,
    again_ms: u64,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update notice
         set last_error = $2, due_at = ledger_now() + $3::bigint * interval '1 millisecond'
         where notice_id = $1",
    )
    .bind(id)
    .bind(why)
    .bind(i64::try_from(again_ms).unwrap_or(i64::MAX))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("noting a failed mail"))?;
    Ok(())
}

/// Notices that stand, newest first: of one property, or all.
pub(crate) async fn list(
    pool: &PgPool,
    property: Option<PropertyId>,
    limit: u32,
) -> Result<Vec<NoticeRow>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select notice_id, kind, property_id, account_id, text, times, raised_at, sent_at, attempt,
                also_to
         from notice
         where $1::bigint is null or property_id = $1
         order by last_raised_at desc
         limit $2",
    )
    .bind(property.map(|property| property.0))
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("listing notices"))?;
    Ok(rows.into_iter().map(NoticeRow::from).collect())
}

/// Takes away notices that were not raised again for so many days.
pub(crate) async fn purge(pool: &PgPool, days: u32) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from notice
         where last_raised_at < (select ledger_now()) - $1::bigint * interval '1 day'",
    )
    .bind(i64::from(days))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("purging notices"))?;
    Ok(done.rows_affected())
}
