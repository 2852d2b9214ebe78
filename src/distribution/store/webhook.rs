//! Who wants to hear of what. The table webhook.

use jiff_sqlx::Timestamp;
use keyrack_model::id::PropertyId;
use sqlx::PgExecutor;

use crate::error::DistributionError;

/// A webhook as stored: its secret is sealed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WebhookRow {
    /// Inside.
    pub(crate) id: i64,
    /// Outside.
    pub(crate) code: String,
    /// Where it is called.
    pub(crate) url: String,
    /// Names of events; empty is all.
    pub(crate) events: Vec<String>,
    /// Only of this property.
    pub(crate) property: Option<PropertyId>,
    /// Sealed.
    pub(crate) secret: Vec<u8>,
    /// Counts changes.
    pub(crate) version: i64,
    /// When it was made.
    pub(crate) created_at: jiff::Timestamp,
}

impl WebhookRow {
    /// Whether it wants to hear of an event.
    pub(crate) fn wants(&self, event: &str, property: PropertyId) -> bool {
        let is_its_property = self.property.is_none_or(|only| only == property);
        let is_named = self.events.is_empty() || self.events.iter().any(|name| name == event);
        is_its_property && is_named
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    webhook_id: i64,
    code: String,
    url: String,
    events: Vec<String>,
    property_id: Option<i64>,
    secret: Vec<u8>,
    version: i64,
    created_at: Timestamp,
}

impl From<Row> for WebhookRow {
    fn from(row: Row) -> Self {
        Self {
            id: row.webhook_id,
            code: row.code,
            url: row.url,
            events: row.events,
            property: row.property_id.map(PropertyId),
            secret: row.secret,
            version: row.version,
            created_at: row.created_at.to_jiff(),
        }
    }
}

/// Every webhook, in order of code.
pub(crate) async fn all(db: impl PgExecutor<'_>) -> Result<Vec<WebhookRow>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select webhook_id, code, url, events, property_id, secret, version, created_at
         from webhook order by code",
    )
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading webhooks"))?;
    Ok(rows.into_iter().map(WebhookRow::from).collect())
}

/// The webhook of a code.
pub(crate) async fn by_code(
    db: impl PgExecutor<'_>,
    code: &str,
) -> Result<Option<WebhookRow>, DistributionError> {
    let row: Option<Row> = sqlx::query_as(
        "select webhook_id, code, url, events, property_id, secret, version, created_at
         from webhook where code = $1",
    )
    .bind(code)
    .fetch_optional(db)
    .await
    .map_err(DistributionError::while_doing("reading a webhook"))?;
    Ok(row.map(WebhookRow::from))
}

/// Makes a webhook; `false` where the code is taken meanwhile.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    code: &str,
    url: &str,
    events: &[String],
    property: Option<PropertyId>,
    secret: &[u8],
) -> Result<bool, DistributionError> {
    let done = sqlx::query(
        "insert into webhook (code, url, events, property_id, secret) values ($1, $2, $3, $4, $5)
         on conflict (code) do nothing",
    )
    .bind(code)
    .bind(url)
    .bind(events)
    .bind(property.map(|property| property.0))
    .bind(secret)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("making a webhook"))?;
    Ok(done.rows_affected() == 1)
}

/// Changes a webhook that is still of `version`; its secret stays.
pub(crate) async fn update(
    db: impl PgExecutor<'_>,
    code: &str,
    version: i64,
    url: &str,
    events: &[String],
    property: Option<PropertyId>,
) -> Result<bool, DistributionError> {
    let done = sqlx::query(
        "update webhook set url = $3, events = $4, property_id = $5, version = version + 1
         where code = $1 and version = $2",
    )
    .bind(code)
    .bind(version)
    .bind(url)
    .bind(events)
    .bind(property.map(|property| property.0))
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("changing a webhook"))?;
    Ok(done.rows_affected() == 1)
}

/// Removes a webhook and what was still to be said to it.
pub(crate) async fn remove(db: impl PgExecutor<'_>, code: &str) -> Result<bool, DistributionError> {
    let done = sqlx::query("delete from webhook where code = $1")
        .bind(code)
        .execute(db)
        .await
        .map_err(DistributionError::while_doing("removing a webhook"))?;
    Ok(done.rows_affected() == 1)
}
