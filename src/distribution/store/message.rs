//! The table channel_message: what came from channels and what was answered, card data masked.

use jiff::Timestamp;
use keyrack_model::adapter::ParseFault;
use keyrack_model::id::{AccountId, ConnectionId, MessageId};
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::error::DistributionError;
use crate::messages::Which;
use crate::store::unmapped::UnmappedCode;

/// A message before it is written: masked and packed.
pub(crate) struct Kept<'a> {
    pub(crate) connection: ConnectionId,
    pub(crate) topic: &'a str,
    pub(crate) span: Uuid,
    pub(crate) time_zone: Option<&'a str>,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) encoding: &'static str,
    pub(crate) body: &'a [u8],
    pub(crate) body_bytes: i64,
    pub(crate) is_cut: bool,
    pub(crate) digest: &'a [u8],
}

/// What the database said to a written message.
pub(crate) struct Written {
    pub(crate) id: MessageId,
    /// The database's clock.
    pub(crate) now: Timestamp,
    /// 1 for what never came before.
    pub(crate) copies: i32,
}

#[derive(sqlx::FromRow)]
struct WrittenRow {
    message_id: i64,
    now: jiff_sqlx::Timestamp,
    copies: i32,
}

/// Writes what came in; the same bytes a second time count up the first row.
pub(crate) async fn insert_in(
    pool: &PgPool,
    kept: &Kept<'_>,
) -> Result<Written, DistributionError> {
    let row: WrittenRow = sqlx::query_as(
        "insert into channel_message (connection_id, direction, topic, span_id, received_at, status,
             time_zone, headers, encoding, body, body_bytes, is_cut, digest)
         values ($1, 'in', $2, $3, ledger_now(), 'received', $4, $5, $6, $7, $8, $9, $10)
         on conflict (connection_id, topic, digest) where direction = 'in'
         do update set copies = channel_message.copies + 1, repeated_at = excluded.received_at,
             span_id = excluded.span_id
         returning message_id, ledger_now() as now, copies",
    )
    .bind(kept.connection.0)
    .bind(kept.topic)
    .bind(kept.span)
    .bind(kept.time_zone)
    .bind(Json(kept.headers))
    .bind(kept.encoding)
    .bind(kept.body)
    .bind(kept.body_bytes)
    .bind(kept.is_cut)
    .bind(kept.digest)
    .fetch_one(pool)
    .await
    .map_err(DistributionError::while_doing("keeping a raw message"))?;
    Ok(Written {
        id: MessageId(row.message_id),
        now: row.now.to_jiff(),
        copies: row.copies,
    })
}

/// Writes what we answer, before it leaves.
pub(crate) async fn insert_out(
    pool: &PgPool,
    kept: &Kept<'_>,
    accounts: &[AccountId],
    named: &[String],
) -> Result<MessageId, DistributionError> {
    let accounts: Vec<i64> = accounts.iter().map(|account| account.0).collect();
    let id: i64 = sqlx::query_scalar(
        "insert into channel_message (connection_id, direction, topic, span_id, received_at, status,
             headers, encoding, body, body_bytes, is_cut, digest, account_ids, named)
         values ($1, 'out', $2, $3, ledger_now(), 'sent', $4, $5, $6, $7, $8, $9, $10, $11)
         returning message_id",
    )
    .bind(kept.connection.0)
    .bind(kept.topic)
    .bind(kept.span)
    .bind(Json(kept.headers))
    .bind(kept.encoding)
    .bind(kept.body)
    .bind(kept.body_bytes)
    .bind(kept.is_cut)
    .bind(kept.digest)
    .bind(accounts)
    .bind(named)
    .fetch_one(pool)
    .await
    .map_err(DistributionError::while_doing("keeping an answer"))?;
    Ok(MessageId(id))
}

/// What became of a message.
#[derive(Default)]
pub(crate) struct Settled<'a> {
    pub(crate) status: &'a str,
    pub(crate) accounts: &'a [AccountId],
    pub(crate) reports: usize,
    pub(crate) named: &'a [String],
    pub(crate) faults: &'a [ParseFault],
    /// Codes that no mapping knows, and of which account.
    pub(crate) unmapped: &'a [(AccountId, UnmappedCode)],
    pub(crate) trace: Option<&'a str>,
}

/// A code for which a message waits, as the row keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct MissingCode {
    account: i64,
    room: String,
    rate: String,
}

impl MissingCode {
    fn of(account: AccountId, code: &UnmappedCode) -> Self {
        Self {
            account: account.0,
            room: code.channel_room_code.clone(),
            rate: code.channel_rate_code.clone(),
        }
    }
}

/// Writes what became of a message.
pub(crate) async fn settle(
    conn: &mut PgConnection,
    id: MessageId,
    settled: &Settled<'_>,
) -> Result<(), DistributionError> {
    let accounts: Vec<i64> = settled.accounts.iter().map(|account| account.0).collect();
    let missing: Vec<MissingCode> = settled
        .unmapped
        .iter()
        .map(|(account, code)| MissingCode::of(*account, code))
        .collect();
    sqlx::query(
        "update channel_message
         set status = $2, account_ids = $3, reports = $4, named = $5, faults = $6,
             is_unmapped = $7 <> '[]', unmapped_codes = $7, trace = coalesce($8, trace)
         where message_id = $1",
    )
    .bind(id.0)
    .bind(settled.status)
    .bind(accounts)
    .bind(i32::try_from(settled.reports).unwrap_or(i32::MAX))
    .bind(settled.named)
    .bind(Json(settled.faults))
    .bind(Json(missing))
    .bind(settled.trace)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("settling a raw message"))?;
    Ok(())
}

/// Writes how an answer was taken.
pub(crate) async fn settle_out(
    pool: &PgPool,
    id: MessageId,
    status: &str,
    trace: Option<&str>,
) -> Result<(), DistributionError> {
    sqlx::query("update channel_message set status = $2, trace = $3 where message_id = $1")
        .bind(id.0)
        .bind(status)
        .bind(trace)
        .execute(pool)
        .await
        .map_err(DistributionError::while_doing("settling an answer"))?;
    Ok(())
}

/// Takes away an answer that held nothing.
pub(crate) async fn forget(pool: &PgPool, id: MessageId) -> Result<(), DistributionError> {
    sqlx::query("delete from channel_message where message_id = $1")
        .bind(id.0)
        .execute(pool)
        .await
        .map_err(DistributionError::while_doing("dropping an empty message"))?;
    Ok(())
}

/// A kept message, its body still packed.
pub(crate) struct MessageRow {
    pub(crate) id: MessageId,
    pub(crate) connection: ConnectionId,
    pub(crate) accounts: Vec<AccountId>,
    pub(crate) direction: String,
    pub(crate) topic: String,
    pub(crate) span: Uuid,
    pub(crate) received_at: Timestamp,
    pub(crate) repeated_at: Option<Timestamp>,
    pub(crate) copies: i32,
    pub(crate) status: String,
    pub(crate) reports: i32,
    pub(crate) named: Vec<String>,
    pub(crate) faults: Vec<ParseFault>,
    pub(crate) is_unmapped: bool,
    pub(crate) time_zone: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) encoding: String,
    /// Empty in lists.
    pub(crate) body: Vec<u8>,
    pub(crate) body_bytes: i64,
    pub(crate) is_cut: bool,
    pub(crate) trace: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    message_id: i64,
    connection_id: i64,
    account_ids: Vec<i64>,
    direction: String,
    topic: String,
    span_id: Uuid,
    received_at: jiff_sqlx::Timestamp,
    repeated_at: Option<jiff_sqlx::Timestamp>,
    copies: i32,
    status: String,
    reports: i32,
    named: Vec<String>,
    faults: Json<Vec<ParseFault>>,
    is_unmapped: bool,
    time_zone: Option<String>,
    headers: Json<Vec<(String, String)>>,
    encoding: String,
    body: Vec<u8>,
    body_bytes: i64,
    is_cut: bool,
    trace: Option<String>,
}

impl From<Row> for MessageRow {
    fn from(row: Row) -> Self {
        Self {
            id: MessageId(row.message_id),
            connection: ConnectionId(row.connection_id),
            accounts: row.account_ids.into_iter().map(AccountId).collect(),
            direction: row.direction,
            topic: row.topic,
            span: row.span_id,
            received_at: row.received_at.to_jiff(),
            repeated_at: row.repeated_at.map(jiff_sqlx::Timestamp::to_jiff),
            copies: row.copies,
            status: row.status,
            reports: row.reports,
            named: row.named,
            faults: row.faults.0,
            is_unmapped: row.is_unmapped,
            time_zone: row.time_zone,
            headers: row.headers.0,
            encoding: row.encoding,
            body: row.body,
            body_bytes: row.body_bytes,
            is_cut: row.is_cut,
            trace: row.trace,
        }
    }
}

/// One message with its body.
pub(crate) async fn load(
    pool: &PgPool,
    id: MessageId,
) -> Result<Option<MessageRow>, DistributionError> {
    let row: Option<Row> = sqlx::query_as(
        "select message_id, connection_id, account_ids, direction, topic, span_id, received_at,
                repeated_at, copies, status, reports, named, faults, is_unmapped, time_zone,
                headers, encoding, body, body_bytes, is_cut, trace
         from channel_message
         where message_id = $1",
    )
    .bind(id.0)
    .fetch_optional(pool)
    .await
    .map_err(DistributionError::while_doing("loading a raw message"))?;
    Ok(row.map(MessageRow::from))
}

/// Messages, newest first, before an id.
pub(crate) async fn list(
    pool: &PgPool,
    which: Which<'_>,
    before: Option<MessageId>,
    limit: u32,
) -> Result<Vec<MessageRow>, DistributionError> {
    let accounts = which.accounts;
    let accounts: Option<Vec<i64>> =
        accounts.map(|accounts| accounts.iter().map(|account| account.0).collect());
    let rows: Vec<Row> = sqlx::query_as(
        "select message_id, connection_id, account_ids, direction, topic, span_id, received_at,
                repeated_at, copies, status, reports, named, faults, is_unmapped, time_zone,
                headers, encoding, ''::bytea as body, body_bytes, is_cut, trace
         from channel_message
         where ($1::bigint[] is null or account_ids && $1)
           and ($2::bigint is null or message_id < $2)
           and ($4::bigint is null or connection_id = $4)
           and (not $5 or account_ids = '{}')
         order by message_id desc
         limit $3",
    )
    .bind(accounts)
    .bind(before.map(|id| id.0))
    .bind(i64::from(limit))
    .bind(which.connection.map(|id| id.0))
    .bind(which.of_no_account)
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("listing raw messages"))?;
    Ok(rows.into_iter().map(MessageRow::from).collect())
}

/// Messages of an account that hold codes without a mapping, in the order in which they came, with
/// those codes of the account. Empty where they are not known.
pub(crate) async fn unmapped(
    pool: &PgPool,
    account: AccountId,
) -> Result<Vec<(MessageId, Vec<UnmappedCode>)>, DistributionError> {
    let rows: Vec<(i64, Json<Vec<MissingCode>>)> = sqlx::query_as(
        "select message_id, unmapped_codes
         from channel_message
         where is_unmapped and account_ids @> array[$1::bigint]
         order by coalesce(repeated_at, received_at), message_id",
    )
    .bind(account.0)
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("finding unmapped messages"))?;
    let waiting = rows.into_iter().map(|(id, Json(codes))| {
        let codes = codes.into_iter().filter(|code| code.account == account.0);
        let codes = codes.map(|code| UnmappedCode {
            channel_room_code: code.room,
            channel_rate_code: code.rate,
        });
        (MessageId(id), codes.collect())
    });
    Ok(waiting.collect())
}

/// Whether a message waits for the code.
pub(crate) async fn waits_for(
    conn: &mut PgConnection,
    account: AccountId,
    code: &UnmappedCode,
) -> Result<bool, DistributionError> {
    sqlx::query_scalar(
        "select exists (
             select from channel_message
             where is_unmapped and account_ids @> array[$1::bigint] and unmapped_codes @> $2)",
    )
    .bind(account.0)
    .bind(Json([MissingCode::of(account, code)]))
    .fetch_one(conn)
    .await
    .map_err(DistributionError::while_doing(
        "looking what waits for a code",
    ))
}

/// Accounts of which messages hold codes without a mapping.
pub(crate) async fn accounts_that_wait(pool: &PgPool) -> Result<Vec<AccountId>, DistributionError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "select distinct unnest(account_ids) from channel_message where is_unmapped",
    )
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing(
        "finding accounts with unmapped messages",
    ))?;
    Ok(ids.into_iter().map(AccountId).collect())
}

/// Those of the references of which a message tells that came after this one.
pub(crate) async fn named_later(
    pool: &PgPool,
    connection: ConnectionId,
    id: MessageId,
    received_at: Timestamp,
    references: &[String],
) -> Result<Vec<String>, DistributionError> {
    sqlx::query_scalar(
        "select distinct asked.reference
         from unnest($4::text[]) as asked (reference)
         where exists (
             select from channel_message as later
             where later.connection_id = $1 and later.direction = 'in' and later.message_id <> $2
               and coalesce(later.repeated_at, later.received_at) > $3
               and later.named @> array[asked.reference])",
    )
    .bind(connection.0)
    .bind(id.0)
    .bind(jiff_sqlx::Timestamp::from(received_at))
    .bind(references)
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("looking for later messages"))
}

/// Messages of which a daemon died before it knew what they held, in the order in which they came.
pub(crate) async fn unfinished(
    pool: &PgPool,
    older_than_seconds: u32,
) -> Result<Vec<MessageId>, DistributionError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "select message_id
         from channel_message
         where direction = 'in' and status = 'received' and not is_cut
           and coalesce(repeated_at, received_at)
               < (select ledger_now()) - $1::bigint * interval '1 second'
         order by coalesce(repeated_at, received_at), message_id
         limit 200",
    )
    .bind(i64::from(older_than_seconds))
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing(
        "finding unfinished messages",
    ))?;
    Ok(ids.into_iter().map(MessageId).collect())
}

/// Takes away what is older than its retention; at most `limit` at once. Messages that still wait
/// for a mapping are kept.
pub(crate) async fn purge(
    pool: &PgPool,
    retention_days: u32,
    limit: u32,
) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from channel_message
         where message_id = any(array(
             select message_id
             from channel_message
             where received_at < (select ledger_now()) - $1::bigint * interval '1 day'
                   and not is_unmapped
             order by received_at
             limit $2))",
    )
    .bind(i64::from(retention_days))
    .bind(i64::from(limit))
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("purging raw messages"))?;
    Ok(done.rows_affected())
}
