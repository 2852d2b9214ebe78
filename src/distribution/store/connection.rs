//! The table connection.

use jiff::Timestamp;
use keyrack_model::id::{ChannelCode, ConnectionId};
use serde_json::Value;
use sqlx::PgPool;

use crate::error::DistributionError;

/// A connection as it lies in its row, its secrets sealed.
#[derive(Clone)]
pub(crate) struct ConnectionRow {
    pub(crate) id: ConnectionId,
    pub(crate) code: String,
    pub(crate) channel: ChannelCode,
    pub(crate) endpoint: Option<String>,
    pub(crate) credentials: Vec<u8>,
    pub(crate) settings: Value,
    pub(crate) learned: Option<Vec<u8>>,
    pub(crate) learned_at: Option<Timestamp>,
    /// Seconds since `learned_at` by the database's clock.
    pub(crate) learned_seconds: Option<i64>,
    pub(crate) version: i64,
    pub(crate) created_at: Timestamp,
}

/// What is written of a connection.
pub(crate) struct ConnectionChange<'a> {
    pub(crate) code: &'a str,
    pub(crate) channel: &'a str,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) credentials: &'a [u8],
    pub(crate) settings: &'a Value,
}

#[derive(sqlx::FromRow)]
struct Row {
    connection_id: i64,
    code: String,
    channel: String,
    endpoint: Option<String>,
    credentials: Vec<u8>,
    settings: Value,
    learned: Option<Vec<u8>>,
    learned_at: Option<jiff_sqlx::Timestamp>,
    learned_seconds: Option<i64>,
    version: i64,
    created_at: jiff_sqlx::Timestamp,
}

impl From<Row> for ConnectionRow {
    fn from(row: Row) -> Self {
        Self {
            id: ConnectionId(row.connection_id),
            code: row.code,
            channel: ChannelCode::from(row.channel),
            endpoint: row.endpoint,
            credentials: row.credentials,
            settings: row.settings,
            learned: row.learned,
            learned_at: row.learned_at.map(jiff_sqlx::Timestamp::to_jiff),
            learned_seconds: row.learned_seconds,
            version: row.version,
            created_at: row.created_at.to_jiff(),
        }
    }
}

/// The connection of a code.
pub(crate) async fn by_code(
    pool: &PgPool,
    code: &str,
) -> Result<Option<ConnectionRow>, DistributionError> {
    let row: Option<Row> = sqlx::query_as(
        "select connection_id, code, channel, endpoint, credentials, settings, learned, learned_at,
                extract(epoch from ledger_now() - learned_at)::bigint as learned_seconds,
                version, created_at
         from connection
         where code = $1",
    )
    .bind(code)
    .fetch_optional(pool)
    .await
    .map_err(DistributionError::while_doing("loading a connection"))?;
    Ok(row.map(ConnectionRow::from))
}

/// The connection of an id.
pub(crate) async fn by_id(
    pool: &PgPool,
    id: ConnectionId,
) -> Result<Option<ConnectionRow>, DistributionError> {
    let row: Option<Row> = sqlx::query_as(
        "select connection_id, code, channel, endpoint, credentials, settings, learned, learned_at,
                extract(epoch from ledger_now() - learned_at)::bigint as learned_seconds,
                version, created_at
         from connection
         where connection_id = $1",
    )
    .bind(id.0)
    .fetch_optional(pool)
    .await
    .map_err(DistributionError::while_doing("loading a connection"))?;
    Ok(row.map(ConnectionRow::from))
}

/// Every connection, in order of code.
pub(crate) async fn all(pool: &PgPool) -> Result<Vec<ConnectionRow>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select connection_id, code, channel, endpoint, credentials, settings, learned, learned_at,
                extract(epoch from ledger_now() - learned_at)::bigint as learned_seconds,
                version, created_at
         from connection
         order by code",
    )
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("listing the connections"))?;
    Ok(rows.into_iter().map(ConnectionRow::from).collect())
}

/// Makes a connection; `false` where the code is taken.
pub(crate) async fn insert(
    pool: &PgPool,
    change: &ConnectionChange<'_>,
) -> Result<bool, DistributionError> {
    let done = sqlx::query(
        "insert into connection (code, channel, endpoint, credentials, settings)
         values ($1, $2, $3, $4, $5)
         on conflict (code) do nothing",
    )
    .bind(change.code)
    .bind(change.channel)
    .bind(change.endpoint)
    .bind(change.credentials)
    .bind(change.settings)
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("making a connection"))?;
    Ok(done.rows_affected() == 1)
}

/// Changes a connection where it still has the version; what signing in learned is forgotten.
pub(crate) async fn update(
    pool: &PgPool,
    change: &ConnectionChange<'_>,
    version: i64,
) -> Result<bool, DistributionError> {
    let done = sqlx::query(
        "update connection
         set endpoint = $2, credentials = $3, settings = $4,
             learned = null, learned_at = null, version = version + 1
         where code = $1 and version = $5",
    )
    .bind(change.code)
    .bind(change.endpoint)
    .bind(change.credentials)
    .bind(change.settings)
    .bind(version)
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("changing a connection"))?;
    Ok(done.rows_affected() == 1)
}

/// Keeps what signing in learned, unless the connection was changed meanwhile.
pub(crate) async fn save_learned(
    pool: &PgPool,
    id: ConnectionId,
    version: i64,
    learned: &[u8],
) -> Result<bool, DistributionError> {
    let done = sqlx::query(
        "update connection
         set learned = $3, learned_at = ledger_now()
         where connection_id = $1 and version = $2",
    )
    .bind(id.0)
    .bind(version)
    .bind(learned)
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing(
        "keeping what signing in learned",
    ))?;
    Ok(done.rows_affected() == 1)
}
