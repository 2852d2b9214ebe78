//! Webhooks: who wants to hear of what, and what was said to them.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use jiff::Timestamp;
use keyrack_distribution::webhooks::{self, DeliveryView, WebhookSetup, WebhookView};
use keyrack_ledger::catalog;
use keyrack_model::id::PropertyId;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Anywhere, Caller, Founds};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body, Segments};
use crate::page::{self, Page, PageAsk};
use crate::problem::{Problem, Problems};
use crate::state::ApiState;
use crate::wire::Wrongs;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put, remove))
        .routes(routes!(deliveries))
        .routes(routes!(replay))
}

/// Which webhook.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct WebhookPath {
    /// Code of the webhook: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    webhook: String,
}

/// Which delivery.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct DeliveryPath {
    /// Its id.
    id: i64,
}

/// Who wants to hear of what.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WebhookBody {
    /// Where it is called; addresses inside the house are refused unless the daemon allows them.
    url: String,
    /// Names of events; empty is all.
    #[serde(default)]
    #[schema(required = false, example = json!(["reservation.confirmed", "overbooking.opened"]))]
    events: Vec<String>,
    /// Code of the property; left out, all.
    property: Option<String>,
}

/// A webhook as it is shown.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Webhook)]
struct WebhookShown {
    /// Its code.
    code: String,
    /// Where it is called.
    url: String,
    /// Names of events; empty is all.
    events: Vec<String>,
    /// Code of the property; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    property: Option<String>,
    /// The signing secret: of a new webhook, this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    secret: Option<String>,
    /// When it was made.
    created_at: Timestamp,
    /// Counts changes; also the ETag.
    version: i64,
}

/// Something said, or still to be said.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Delivery)]
struct DeliveryShown {
    /// Its id.
    id: i64,
    /// The event's id: how a receiver knows a repeat.
    event_id: String,
    /// The event's name.
    event: String,
    /// `pending`, `delivered`, `failed`.
    status: String,
    /// How often it was tried.
    attempts: i32,
    /// When it is tried again, while it is pending.
    due_at: Timestamp,
    /// When it was written.
    created_at: Timestamp,
    /// When the receiver took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    delivered_at: Option<Timestamp>,
    /// The receiver's last status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_status: Option<i32>,
    /// Why it was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_error: Option<String>,
    /// What is said.
    #[schema(value_type = Object)]
    body: Value,
}

/// What asking for a delivery again did.
#[derive(Debug, Serialize, ToSchema)]
struct ReplayedView {
    /// `pending`.
    status: &'static str,
}

/// Makes or changes a webhook. A new one's signing secret is in this answer and in no other.
#[utoipa::path(put, path = "/v1/webhooks/{webhook}", tag = "events", params(WebhookPath),
    request_body = WebhookBody,
    responses((status = 200, body = WebhookShown), (status = 201, body = WebhookShown), Problems))]
async fn put(
    State(state): State<ApiState>,
    founder: Anywhere<Founds>,
    Segments(path): Segments<WebhookPath>,
    IfMatch(version): IfMatch,
    body: Result<Body<WebhookBody>, Problem>,
) -> Result<Versioned<WebhookShown>, Problem> {
    if let Some(known) = webhooks::find(state.distribution(), &path.webhook).await? {
        must_see(&founder.caller, known.property)?;
    }
    let body = body?.value;
    let mut wrongs = Wrongs::default();
    wrongs.named(&body.url, 2_000, "/url");
    wrongs.unless(body.events.len() <= 100, "/events", "at most 100");
    wrongs.finish()?;
    let property = property(&state, &founder.caller, body.property.as_deref()).await?;
    let setup = WebhookSetup {
        url: body.url,
        events: body.events,
        property,
    };
    let put = webhooks::put(state.distribution(), &path.webhook, setup, version);
    let put = put.await??;
    let secret = put
        .secret
        .as_ref()
        .map(|text| text.expose_secret().to_owned());
    let (version, is_new) = (put.webhook.version, secret.is_some());
    let shown = shown(&state, put.webhook, secret).await?;
    Ok(Versioned::put(version, is_new, shown))
}

/// A webhook.
#[utoipa::path(get, path = "/v1/webhooks/{webhook}", tag = "events", params(WebhookPath),
    responses((status = 200, body = WebhookShown), Problems))]
async fn show(
    State(state): State<ApiState>,
    founder: Anywhere<Founds>,
    Segments(path): Segments<WebhookPath>,
) -> Result<Versioned<WebhookShown>, Problem> {
    let found = found(&state, &founder.caller, &path).await?;
    Ok(Versioned::of(
        found.version,
        shown(&state, found, None).await?,
    ))
}

/// The webhooks that the key may see, in order of code.
#[utoipa::path(get, path = "/v1/webhooks", tag = "events",
    responses((status = 200, body = Page<WebhookShown>), Problems))]
async fn list(
    State(state): State<ApiState>,
    founder: Anywhere<Founds>,
) -> Result<Json<Page<WebhookShown>>, Problem> {
    let mut items = Vec::new();
    for webhook in webhooks::list(state.distribution()).await? {
        if must_see(&founder.caller, webhook.property).is_ok() {
            items.push(shown(&state, webhook, None).await?);
        }
    }
    Ok(Json(Page::whole(items)))
}

/// Removes a webhook, and what was still to be said to it.
#[utoipa::path(delete, path = "/v1/webhooks/{webhook}", tag = "events", params(WebhookPath),
    responses((status = 204), Problems))]
async fn remove(
    State(state): State<ApiState>,
    founder: Anywhere<Founds>,
    Segments(path): Segments<WebhookPath>,
) -> Result<Response, Problem> {
    found(&state, &founder.caller, &path).await?;
    webhooks::remove(state.distribution(), &path.webhook).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// What was said to a webhook, and what is still to be said; newest first.
#[utoipa::path(get, path = "/v1/webhooks/{webhook}/deliveries", tag = "events",
    params(WebhookPath, PageAsk), responses((status = 200, body = Page<DeliveryShown>), Problems))]
async fn deliveries(
    State(state): State<ApiState>,
    founder: Anywhere<Founds>,
    Segments(path): Segments<WebhookPath>,
    Ask(ask): Ask<PageAsk>,
) -> Result<Json<Page<DeliveryShown>>, Problem> {
    found(&state, &founder.caller, &path).await?;
    let limit = page::limit(ask.limit)?;
    let before: Option<i64> = page::after(ask.cursor.as_deref())?;
    let listed = webhooks::deliveries(state.distribution(), &path.webhook, before, limit).await?;
    let page = page::cut(listed.unwrap_or_default(), limit, |last| {
        last.id.to_string()
    });
    Ok(Json(Page {
        items: page.items.into_iter().map(DeliveryShown::from).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// Says it again, whatever became of it.
#[utoipa::path(post, path = "/v1/webhooks/{webhook}/deliveries/{id}/replay", tag = "events",
    params(WebhookPath, DeliveryPath), responses((status = 202, body = ReplayedView), Problems))]
async fn replay(
    State(state): State<ApiState>,
    founder: Anywhere<Founds>,
    Segments(path): Segments<WebhookPath>,
    Segments(delivery): Segments<DeliveryPath>,
) -> Result<Response, Problem> {
    found(&state, &founder.caller, &path).await?;
    match webhooks::replay(state.distribution(), &path.webhook, delivery.id).await? {
        true => {
            let view = ReplayedView { status: "pending" };
            Ok((StatusCode::ACCEPTED, Json(view)).into_response())
        }
        false => Err(Problem::not_found("delivery")),
    }
}

async fn found(
    state: &ApiState,
    caller: &Caller,
    path: &WebhookPath,
) -> Result<WebhookView, Problem> {
    let found = webhooks::find(state.distribution(), &path.webhook).await?;
    let found = found.ok_or_else(|| Problem::not_found("webhook"))?;
    must_see(caller, found.property)?;
    Ok(found)
}

/// A key of one property sees that property's webhooks only.
fn must_see(caller: &Caller, property: Option<PropertyId>) -> Result<(), Problem> {
    match caller.key.property {
        Some(own) if property != Some(own) => Err(Problem::not_found("webhook")),
        _ => Ok(()),
    }
}

/// The property that is meant; a key of one property means its own.
async fn property(
    state: &ApiState,
    caller: &Caller,
    code: Option<&str>,
) -> Result<Option<PropertyId>, Problem> {
    let Some(code) = code else {
        return Ok(caller.key.property);
    };
    let house = state.directory().house(code).await?;
    let theirs = |id: PropertyId| caller.key.property.is_none_or(|own| own == id);
    let found = house.map(|house| house.id).filter(|id| theirs(*id));
    let found = found.ok_or_else(|| Problem::invalid("/property", "no such property"))?;
    Ok(Some(found))
}

async fn shown(
    state: &ApiState,
    webhook: WebhookView,
    secret: Option<String>,
) -> Result<WebhookShown, Problem> {
    let property = match webhook.property {
        None => None,
        Some(id) => code_of(state, id).await?,
    };
    Ok(WebhookShown {
        code: webhook.code,
        url: webhook.url,
        events: webhook.events,
        property,
        secret,
        created_at: webhook.created_at,
        version: webhook.version,
    })
}

async fn code_of(state: &ApiState, id: PropertyId) -> Result<Option<String>, Problem> {
    let before = PropertyId(id.0 - 1);
    let found = catalog::properties(state.ledger(), Some(before), 1).await?;
    let found = found.into_iter().find(|property| property.id == id);
    Ok(found.map(|property| property.code))
}

impl From<DeliveryView> for DeliveryShown {
    fn from(view: DeliveryView) -> Self {
        Self {
            id: view.id,
            event_id: view.event_id,
            event: view.event,
            status: view.status,
            attempts: view.attempts,
            due_at: view.due_at,
            created_at: view.created_at,
            delivered_at: view.delivered_at,
            last_status: view.last_status,
            last_error: view.last_error,
            body: serde_json::from_str(&view.body).unwrap_or(Value::Null),
        }
    }
}
