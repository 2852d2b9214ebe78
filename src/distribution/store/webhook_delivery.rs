//! What is still to be said to webhooks, and what was. The table webhook_delivery.

use jiff_sqlx::Timestamp;
use sqlx::{PgConnection, PgExecutor};

use crate::error::DistributionError;

/// A delivery to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewDelivery {
    /// To which webhook.
    pub(crate) webhook: i64,
    /// The same for every repeat.
    pub(crate) event_id: String,
    /// Its name.
    pub(crate) event: String,
    /// What keeps its order.
    pub(crate) subject: String,
    /// What is said.
    pub(crate) body: String,
}

/// Writes deliveries, in the feed's transaction; what is there already stays.
pub(crate) async fn append(
    conn: &mut PgConnection,
    deliveries: &[NewDelivery],
) -> Result<(), DistributionError> {
    let webhooks: Vec<i64> = deliveries.iter().map(|delivery| delivery.webhook).collect();
    let ids: Vec<&str> = deliveries.iter().map(|one| one.event_id.as_str()).collect();
    let events: Vec<&str> = deliveries.iter().map(|one| one.event.as_str()).collect();
    let subjects: Vec<&str> = deliveries.iter().map(|one| one.subject.as_str()).collect();
    let bodies: Vec<&str> = deliveries.iter().map(|one| one.body.as_str()).collect();
    sqlx::query(
        "insert into webhook_delivery (webhook_id, event_id, event, subject, body, due_at,
                                       created_at)
         select w, i, e, s, b, clock.now, clock.now
         from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
              with ordinality as delivery(w, i, e, s, b, o),
              (select ledger_now() as now) clock
         order by o
         on conflict (webhook_id, event_id) do nothing",
    )
    .bind(webhooks)
    .bind(ids)
    .bind(events)
    .bind(subjects)
    .bind(bodies)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("writing webhook deliveries"))?;
    Ok(())
}

/// Those of some subjects that something is still to be said of.
pub(crate) async fn waiting(
    db: impl PgExecutor<'_>,
    subjects: &[String],
) -> Result<Vec<String>, DistributionError> {
    sqlx::query_scalar(
        "select distinct subject from webhook_delivery
         where status = 'pending' and subject = any($1)",
    )
    .bind(subjects)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing(
        "looking for waiting deliveries",
    ))
}

/// A delivery as it lies in its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Its id.
    pub(crate) id: i64,
    /// To which webhook.
    pub(crate) webhook: i64,
    /// The same for every repeat.
    pub(crate) event_id: String,
    /// Its name.
    pub(crate) event: String,
    /// What keeps its order.
    pub(crate) subject: String,
    /// What is said.
    pub(crate) body: String,
    /// `pending`, `delivered`, `failed`.
    pub(crate) status: String,
    /// How often it was tried.
    pub(crate) attempt: i32,
    /// When it is tried again.
    pub(crate) due_at: jiff::Timestamp,
    /// When it was written.
    pub(crate) created_at: jiff::Timestamp,
    /// When the receiver took it.
    pub(crate) delivered_at: Option<jiff::Timestamp>,
    /// The receiver's last status.
    pub(crate) last_status: Option<i32>,
    /// Why it was not taken.
    pub(crate) last_error: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    delivery_id: i64,
    webhook_id: i64,
    event_id: String,
    event: String,
    subject: String,
    body: String,
    status: String,
    attempt: i32,
    due_at: Timestamp,
    created_at: Timestamp,
    delivered_at: Option<Timestamp>,
    last_status: Option<i32>,
    last_error: Option<String>,
}

impl From<Row> for Delivery {
    fn from(row: Row) -> Self {
        Self {
            id: row.delivery_id,
            webhook: row.webhook_id,
            event_id: row.event_id,
            event: row.event,
            subject: row.subject,
            body: row.body,
            status: row.status,
            attempt: row.attempt,
            due_at: row.due_at.to_jiff(),
            created_at: row.created_at.to_jiff(),
            delivered_at: row.delivered_at.map(|at| at.to_jiff()),
            last_status: row.last_status,
            last_error: row.last_error,
        }
    }
}

/// Takes deliveries that are due, at most one a subject, each the oldest of its subject; nobody
/// else takes them for `lease_seconds`.
pub(crate) async fn claim(
    db: impl PgExecutor<'_>,
    limit: i64,
    lease_seconds: u32,
) -> Result<Vec<Delivery>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "update webhook_delivery delivery
         set claimed_until = ledger_now() + $2 * interval '1 second', attempt = attempt + 1
         from (select delivery_id from webhook_delivery due
               where status = 'pending' and due_at <= (select ledger_now())
                     and (claimed_until is null or claimed_until < (select ledger_now()))
                     and not exists (
                         select from webhook_delivery earlier
                         where earlier.status = 'pending'
                               and earlier.webhook_id = due.webhook_id
                               and earlier.subject = due.subject
                               and earlier.delivery_id < due.delivery_id)
               order by due_at limit $1 for update skip locked) taken
         where delivery.delivery_id = taken.delivery_id
         returning delivery.delivery_id, webhook_id, event_id, event, subject, body, status,
                   attempt, due_at, created_at, delivered_at, last_status, last_error",
    )
    .bind(limit)
    .bind(i32::try_from(lease_seconds).unwrap_or(i32::MAX))
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("taking webhook deliveries"))?;
    Ok(rows.into_iter().map(Delivery::from).collect())
}

/// What became of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    /// The receiver took it.
    Delivered,
    /// Once more after so many milliseconds.
    Again(u64),
    /// Tried often enough.
    Failed,
}

/// Notes what became of a try.
pub(crate) async fn tried(
    db: impl PgExecutor<'_>,
    id: i64,
    tried: &Tried,
    status: Option<u16>,
    why: Option<&str>,
) -> Result<(), DistributionError> {
    let (name, wait_ms) = match tried {
        Tried::Delivered => ("delivered", 0),
        Tried::Again(wait_ms) => ("pending", *wait_ms),
        Tried::Failed => ("failed", 0),
    };
    sqlx::query(
        "update webhook_delivery
         set status = $2, claimed_until = null,
             due_at = clock.now + $3 * interval '1 millisecond',
             delivered_at = case when $2 = 'delivered' then clock.now end,
             last_status = $4, last_error = $5
         from (select ledger_now() as now) clock
         where delivery_id = $1",
    )
    .bind(id)
    .bind(name)
    .bind(i64::try_from(wait_ms).unwrap_or(i64::MAX))
    .bind(status.map(i32::from))
    .bind(why)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("noting a webhook delivery"))?;
    Ok(())
}

/// Deliveries of a webhook, newest first, before `before`.
pub(crate) async fn list(
    db: impl PgExecutor<'_>,
    webhook: i64,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Delivery>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select delivery_id, webhook_id, event_id, event, subject, body, status, attempt,
                due_at, created_at, delivered_at, last_status, last_error
         from webhook_delivery
         where webhook_id = $1 and delivery_id < coalesce($2, 9223372036854775807)
         order by delivery_id desc limit $3",
    )
    .bind(webhook)
    .bind(before)
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("listing webhook deliveries"))?;
    Ok(rows.into_iter().map(Delivery::from).collect())
}

/// Makes a delivery due again, whatever became of it; `false` where the webhook has none of it.
pub(crate) async fn replay(
    db: impl PgExecutor<'_>,
    webhook: i64,
    id: i64,
) -> Result<bool, DistributionError> {
    let done = sqlx::query(
        "update webhook_delivery
         set status = 'pending', attempt = 0, due_at = ledger_now(), claimed_until = null,
             delivered_at = null
         where webhook_id = $1 and delivery_id = $2",
    )
    .bind(webhook)
    .bind(id)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing(
        "replaying a webhook delivery",
    ))?;
    Ok(done.rows_affected() == 1)
}

/// Removes what was delivered or given up `days` days ago; says how many rows went.
pub(crate) async fn purge(
    db: impl PgExecutor<'_>,
    days: u32,
    limit: i64,
) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from webhook_delivery where delivery_id = any(array(
             select delivery_id from webhook_delivery
             where status <> 'pending'
                   and created_at < (select ledger_now()) - $1 * interval '1 day'
             order by delivery_id limit $2))",
    )
    .bind(i32::try_from(days).unwrap_or(i32::MAX))
    .bind(limit)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("purging webhook deliveries"))?;
    Ok(done.rows_affected())
}
