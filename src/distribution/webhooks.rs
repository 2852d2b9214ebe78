//! Webhooks: who wants to hear of what, signed, at least once, in order per reservation.
//!
//! A delivery is a row that the feed writes in its transaction, with its body; here it is sent
//! until the receiver takes it. Receivers know a repeat by the event's id.

mod sign;

use std::time::Duration;

use jiff::Timestamp;
use keyrack_model::adapter::{Method, Outbound};
use keyrack_model::id::{Code, PropertyId};
use secrecy::{ExposeSecret, SecretString};
use tokio::task::JoinSet;

use crate::connections::PutRefusal;
use crate::error::DistributionError;
use crate::feed::events;
use crate::handle::Distribution;
use crate::notice::{self, About, Kind};
use crate::push::backoff::due_after_ms;
use crate::seal::{Purpose, Seal};
use crate::store::clock;
use crate::store::webhook::{self, WebhookRow};
use crate::store::webhook_delivery::{self, Delivery, Tried};
use crate::transport::{self, Taken, TransportError};

/// Sends what is due until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    let inner = &distribution.inner;
    while !inner.cancel.is_cancelled() {
        match step(&distribution).await {
            Ok(0) => {}
            Ok(_) => continue,
            Err(error) => tracing::warn!(error = %error.chain(), "webhooks could not be called"),
        }
        tokio::select! {
            () = inner.wakes.webhooks.notified() => {}
            () = tokio::time::sleep(PAUSE) => {}
            () = inner.cancel.cancelled() => {}
        }
    }
}

/// Sends what is due once, side by side; says how many were tried.
///
/// # Errors
///
/// Failures of the database.
pub async fn step(distribution: &Distribution) -> Result<usize, DistributionError> {
    let inner = &distribution.inner;
    let settings = &inner.settings;
    let lease = settings
        .webhook_timeout_seconds
        .saturating_add(LEASE_SLACK_SECONDS);
    let limit = i64::from(settings.webhooks_parallel_max.max(1));
    let due = webhook_delivery::claim(&inner.pool, limit, lease).await?;
    if due.is_empty() {
        return Ok(0);
    }
    let tried = due.len();
    let webhooks = webhook::all(&inner.pool).await?;
    let mut calls = JoinSet::new();
    for delivery in due {
        let known = webhooks.iter().find(|known| known.id == delivery.webhook);
        let Some(known) = known.cloned() else {
            continue;
        };
        let distribution = distribution.clone();
        calls.spawn(async move { deliver(&distribution, &known, &delivery).await });
    }
    while let Some(done) = calls.join_next().await {
        if let Ok(Err(error)) = done {
            tracing::warn!(error = %error.chain(), "a webhook delivery was not noted");
        }
    }
    Ok(tried)
}

async fn deliver(
    distribution: &Distribution,
    webhook: &WebhookRow,
    delivery: &Delivery,
) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let outbound = outbound(distribution, webhook, delivery).await?;
    let (tried, status, why) = match inner.transport.send_guarded(&outbound).await {
        Ok(reply) => {
            let asked = reply
                .header("retry-after")
                .and_then(|text| text.trim().parse().ok());
            let (tried, why) = match transport::taken(&reply) {
                Taken::Yes => (Tried::Delivered, None),
                Taken::NotNow => (again(distribution, delivery, asked), Some("not taken")),
                Taken::Never => (Tried::Failed, Some("the receiver is gone for good")),
            };
            (tried, Some(reply.status), why.map(str::to_owned))
        }
        Err(error @ (TransportError::PrivateTarget | TransportError::BadAddress)) => {
            (Tried::Failed, None, Some(error.to_string()))
        }
        Err(error) => {
            let tried = again(distribution, delivery, None);
            (tried, None, Some(DistributionError::from(error).chain()))
        }
    };
    let outcome = match tried {
        Tried::Delivered => "delivered",
        Tried::Again(_) => "again",
        Tried::Failed => "failed",
    };
    metrics::counter!("webhook_deliveries_total", "outcome" => outcome).increment(1);
    match tried {
        Tried::Delivered => {
            notice::clear(distribution, Kind::House, &given_up_key(&webhook.code)).await?;
        }
        Tried::Again(_) => {}
        Tried::Failed => {
            let why = why.as_deref().unwrap_or("no reason is known");
            say_given_up(distribution, webhook, delivery, why).await?;
        }
    }
    webhook_delivery::tried(&inner.pool, delivery.id, &tried, status, why.as_deref()).await
}

/// One notice a webhook, however many of its deliveries are given up.
async fn say_given_up(
    distribution: &Distribution,
    webhook: &WebhookRow,
    delivery: &Delivery,
    why: &str,
) -> Result<(), DistributionError> {
    let (code, id) = (&webhook.code, delivery.id);
    let text = format!(
        "Deliveries of the webhook {code} are given up, the last of them {id}: {why}. Change its \
         address or remove it; what was given up can be replayed."
    );
    let about = About {
        property: webhook.property,
        account: None,
    };
    notice::raise(distribution, Kind::House, &given_up_key(code), about, &text).await
}

fn given_up_key(code: &str) -> String {
    format!("webhook:{code}")
}

/// Once more after a while, or never again.
fn again(distribution: &Distribution, delivery: &Delivery, asked: Option<u32>) -> Tried {
    let attempt = u32::try_from(delivery.attempt).unwrap_or(1);
    if attempt >= distribution.inner.settings.webhook_attempts_max {
        return Tried::Failed;
    }
    let seed = u64::try_from(delivery.webhook).unwrap_or(0);
    Tried::Again(due_after_ms(attempt, asked, seed))
}

async fn outbound(
    distribution: &Distribution,
    webhook: &WebhookRow,
    delivery: &Delivery,
) -> Result<Outbound, DistributionError> {
    let inner = &distribution.inner;
    let secret = inner.seal.open(Purpose::Webhook, &webhook.secret)?;
    // The machine's clock, not the ledger's: the receiver compares it with its own.
    let timestamp = clock::machine(&inner.pool).await?.as_second();
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("keyrack-event", delivery.event.clone()),
        ("keyrack-delivery", delivery.id.to_string()),
        ("keyrack-timestamp", timestamp.to_string()),
        (
            "keyrack-signature",
            sign::signature(&secret, timestamp, &delivery.body),
        ),
    ];
    Ok(Outbound {
        topic: "webhook".into(),
        method: Method::Post,
        url: webhook.url.clone(),
        headers: headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        body: delivery.body.clone().into_bytes(),
        timeout_seconds: inner.settings.webhook_timeout_seconds,
    })
}

/// What a caller says of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSetup {
    /// Where it is called: `https://` or `http://`.
    pub url: String,
    /// Names of events, of [`event_names`]; empty is all.
    pub events: Vec<String>,
    /// Only of this property.
    pub property: Option<PropertyId>,
}

/// A webhook as it is shown: without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookView {
    /// Its code.
    pub code: String,
    /// Where it is called.
    pub url: String,
    /// Names of events; empty is all.
    pub events: Vec<String>,
    /// Only of this property.
    pub property: Option<PropertyId>,
    /// Counts changes.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A webhook that was put.
#[derive(Clone, Debug)]
pub struct Put {
    /// As it is now.
    pub webhook: WebhookView,
    /// The signing secret, of a new one: shown this once.
    pub secret: Option<SecretString>,
}

/// Every event that a webhook may name.
pub fn event_names() -> Vec<&'static str> {
    events::names()
}

/// Makes or changes a webhook. A new one gets a signing secret, which is given back this once; a
/// change keeps it. What is put as it stands changes nothing.
///
/// # Errors
///
/// Failures of the database or the seal.
pub async fn put(
    distribution: &Distribution,
    code: &str,
    setup: WebhookSetup,
    version: Option<i64>,
) -> Result<Result<Put, PutRefusal>, DistributionError> {
    let inner = &distribution.inner;
    if let Err(refusal) = check(distribution, code, &setup) {
        return Ok(Err(refusal));
    }
    let (url, events, property) = (&setup.url, &setup.events, setup.property);
    let known = webhook::by_code(&inner.pool, code).await?;
    let (done, secret) = match &known {
        Some(row) if version.is_some_and(|version| version != row.version) => (false, None),
        Some(row) if (&row.url, &row.events, row.property) == (url, events, property) => {
            (true, None)
        }
        Some(row) => {
            let (pool, version) = (&inner.pool, row.version);
            (
                webhook::update(pool, code, version, url, events, property).await?,
                None,
            )
        }
        None => {
            let secret = Seal::fresh_key();
            let bytes = secret.expose_secret().as_bytes();
            let sealed = inner.seal.seal(Purpose::Webhook, bytes)?;
            let pool = &inner.pool;
            let done = webhook::insert(pool, code, url, events, property, &sealed).await?;
            (done, Some(secret))
        }
    };
    let row = webhook::by_code(&inner.pool, code)
        .await?
        .ok_or_else(|| DistributionError::Invalid(format!("there is no webhook {code}")))?;
    if !done {
        return Ok(Err(PutRefusal::VersionMismatch(row.version)));
    }
    Ok(Ok(Put {
        webhook: view(row),
        secret,
    }))
}

fn check(distribution: &Distribution, code: &str, setup: &WebhookSetup) -> Result<(), PutRefusal> {
    let invalid = |at, why: String| Err(PutRefusal::Invalid(at, why));
    if Code::new(code).is_none() {
        return invalid(
            "",
            "a code is 1 to 40 of the characters A-Z a-z 0-9 . _ -".into(),
        );
    }
    if let Err(error) = distribution.inner.transport.check_target(&setup.url) {
        return invalid("/url", error.to_string());
    }
    let names = events::names();
    let unknown = setup
        .events
        .iter()
        .find(|name| !names.contains(&name.as_str()));
    match unknown {
        Some(name) => invalid("/events", format!("there is no event {name}")),
        None => Ok(()),
    }
}

/// The webhook of a code.
///
/// # Errors
///
/// Failures of the database.
pub async fn find(
    distribution: &Distribution,
    code: &str,
) -> Result<Option<WebhookView>, DistributionError> {
    let row = webhook::by_code(&distribution.inner.pool, code).await?;
    Ok(row.map(view))
}

/// Every webhook, in order of code.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(distribution: &Distribution) -> Result<Vec<WebhookView>, DistributionError> {
    let rows = webhook::all(&distribution.inner.pool).await?;
    Ok(rows.into_iter().map(view).collect())
}

/// Removes a webhook and what was still to be said to it; `false` where there is none.
///
/// # Errors
///
/// Failures of the database.
pub async fn remove(distribution: &Distribution, code: &str) -> Result<bool, DistributionError> {
    let is_gone = webhook::remove(&distribution.inner.pool, code).await?;
    notice::clear(distribution, Kind::House, &given_up_key(code)).await?;
    Ok(is_gone)
}

/// A delivery as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryView {
    /// Its id: the cursor of the list.
    pub id: i64,
    /// The event's id: how a receiver knows a repeat.
    pub event_id: String,
    /// The event's name.
    pub event: String,
    /// `pending`, `delivered`, `failed`.
    pub status: String,
    /// How often it was tried.
    pub attempts: i32,
    /// When it is tried again, while it is pending.
    pub due_at: Timestamp,
    /// When it was written.
    pub created_at: Timestamp,
    /// When the receiver took it.
    pub delivered_at: Option<Timestamp>,
    /// The receiver's last status.
    pub last_status: Option<i32>,
    /// Why it was not taken.
    pub last_error: Option<String>,
    /// What is said, as JSON.
    pub body: String,
}

/// Deliveries of a webhook, newest first, before the id `before`; `None` where there is no such
/// webhook.
///
/// # Errors
///
/// Failures of the database.
pub async fn deliveries(
    distribution: &Distribution,
    code: &str,
    before: Option<i64>,
    limit: u32,
) -> Result<Option<Vec<DeliveryView>>, DistributionError> {
    let pool = &distribution.inner.pool;
    let Some(row) = webhook::by_code(pool, code).await? else {
        return Ok(None);
    };
    let rows = webhook_delivery::list(pool, row.id, before, i64::from(limit)).await?;
    Ok(Some(rows.into_iter().map(delivery_view).collect()))
}

/// Sends a delivery again, whatever became of it; `false` where the webhook has none of this id.
///
/// # Errors
///
/// Failures of the database.
pub async fn replay(
    distribution: &Distribution,
    code: &str,
    id: i64,
) -> Result<bool, DistributionError> {
    let inner = &distribution.inner;
    let Some(row) = webhook::by_code(&inner.pool, code).await? else {
        return Ok(false);
    };
    let found = webhook_delivery::replay(&inner.pool, row.id, id).await?;
    inner.wakes.webhooks.notify_one();
    Ok(found)
}

fn view(row: WebhookRow) -> WebhookView {
    WebhookView {
        code: row.code,
        url: row.url,
        events: row.events,
        property: row.property,
        version: row.version,
        created_at: row.created_at,
    }
}

fn delivery_view(row: Delivery) -> DeliveryView {
    DeliveryView {
        id: row.id,
        event_id: row.event_id,
        event: row.event,
        status: row.status,
        attempts: row.attempt,
        due_at: row.due_at,
        created_at: row.created_at,
        delivered_at: row.delivered_at,
        last_status: row.last_status,
        last_error: row.last_error,
        body: row.body,
    }
}

/// From one look to the next where nobody rings.
const PAUSE: Duration = Duration::from_secs(1);
/// What a lease lasts longer than the call.
const LEASE_SLACK_SECONDS: u32 = 30;
