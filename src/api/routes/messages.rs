//! The raw messages of channels, card data masked: listed, shown, read again.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use keyrack_distribution::intake::IntakeOutcome;
use keyrack_distribution::messages::{self, MessageView, Which};
use keyrack_ledger::catalog;
use keyrack_model::adapter::ParseFault;
use keyrack_model::id::{AccountId, MessageId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Books, Looks, Sets};
use crate::extract::{Ask, Segments};
use crate::names::{House, Names};
use crate::page::{self, Page};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(replay))
}

/// Which message.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MessagePath {
    /// Its id.
    pub id: i64,
}

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MessagesAsk {
    /// Only those that speak of this account.
    account: Option<String>,
    /// At most so many; 100 where it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A raw message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub struct MessageShown {
    /// Its id.
    id: i64,
    /// Code of the connection that it came through; only where an operator asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    connection: Option<String>,
    /// Codes of the accounts that it speaks of.
    accounts: Vec<String>,
    /// `in` or `out`.
    direction: String,
    /// What it is, in the channel's words.
    topic: String,
    /// The walk's id, as in the logs.
    span: Uuid,
    /// When it came first.
    received_at: Timestamp,
    /// When the same came again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    repeated_at: Option<Timestamp>,
    /// How often the same came.
    copies: i32,
    /// What became of it.
    status: String,
    /// Reports in it.
    reports: i32,
    /// The channel's references in it.
    references: Vec<String>,
    /// What could not be read.
    faults: Vec<FaultView>,
    /// A code in it has no mapping.
    is_unmapped: bool,
    /// Bytes of the body as it came.
    body_bytes: i64,
    /// Only the beginning is kept.
    is_cut: bool,
    /// The channel's own id of the exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    trace: Option<String>,
    /// The body, card data masked; absent in lists, and where it speaks of other hotels as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    body: Option<String>,
}

/// Something in a message that could not be read.
#[derive(Debug, Serialize, ToSchema)]
struct FaultView {
    /// Where.
    at: String,
    /// Why, and what would have been right.
    why: String,
    /// The channel's reference that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reference: Option<String>,
}

/// What reading a message again did.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayView {
    /// What the ledger has now.
    recorded: Vec<RecordedView>,
    /// What could not be read.
    faults: Vec<FaultView>,
    /// Reports that the ledger could not take.
    failed: usize,
}

/// A report that the ledger has.
#[derive(Debug, Serialize, ToSchema)]
struct RecordedView {
    /// The channel's reference.
    reference: String,
    /// What the ledger did, in one word.
    did: String,
}

/// Messages that speak of the property's accounts, newest first, without their bodies.
#[utoipa::path(get, path = "/v1/properties/{property}/messages", tag = "channels",
    params(PropertyPath, MessagesAsk),
    responses((status = 200, body = Page<MessageShown>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<MessagesAsk>,
) -> Result<Json<Page<MessageShown>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let before: Option<i64> = page::after(ask.cursor.as_deref())?;
    let accounts = match &ask.account {
        Some(code) => vec![at.house.account(code, "/account").await?],
        None => own(&state, &at.house).await?,
    };
    let before = before.map(MessageId);
    let which = Which {
        accounts: Some(&accounts),
        ..Which::default()
    };
    let found = messages::list(state.distribution(), which, before, limit).await?;
    let page = page::cut(found, limit, |last| last.id.to_string());
    let names = at.house.read_names().await?;
    Ok(Json(Page {
        items: page
            .items
            .into_iter()
            .map(|one| shown(one, &names))
            .collect(),
        next_cursor: page.next_cursor,
    }))
}

/// A message with its body. It holds guests' data: a key that only looks does not see it.
#[utoipa::path(get, path = "/v1/properties/{property}/messages/{id}", tag = "channels",
    params(PropertyPath, MessagePath), responses((status = 200, body = MessageShown), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<MessagePath>,
) -> Result<Json<MessageShown>, Problem> {
    let message = found(&state, &at.house, &path).await?;
    let names = at.house.read_names().await?;
    Ok(Json(shown(message, &names)))
}

/// Reads a kept message again; what the ledger has already changes nothing.
#[utoipa::path(post, path = "/v1/properties/{property}/messages/{id}/replay", tag = "channels",
    params(PropertyPath, MessagePath), responses((status = 200, body = ReplayView), Problems))]
async fn replay(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<MessagePath>,
) -> Result<Json<ReplayView>, Problem> {
    let message = found(&state, &at.house, &path).await?;
    let outcome = messages::replay(state.distribution(), message.id).await?;
    let own = own(&state, &at.house).await?;
    // What the message says of other hotels is not shown.
    Ok(Json(ReplayView::new(outcome, |id| own.contains(&id))))
}

async fn found(
    state: &ApiState,
    house: &House,
    path: &MessagePath,
) -> Result<MessageView, Problem> {
    let own = own(state, house).await?;
    let found = messages::load(state.distribution(), MessageId(path.id), Some(&own)).await?;
    found.ok_or_else(|| Problem::not_found("message"))
}

/// The accounts of the property: whatever speaks of none of them is not its business.
async fn own(state: &ApiState, house: &House) -> Result<Vec<AccountId>, Problem> {
    let rows = catalog::accounts(state.ledger(), house.id).await?;
    Ok(rows.into_iter().map(|row| row.account.id).collect())
}

/// A message under the codes of its property.
fn shown(view: MessageView, names: &Names) -> MessageShown {
    let accounts = view.accounts.iter();
    let accounts = accounts.filter_map(|id| names.accounts.code(*id).map(str::to_owned));
    let accounts = accounts.collect();
    MessageShown::new(view, accounts, None)
}

impl ReplayView {
    /// What came of a replay, as far as its accounts may be seen.
    pub fn new(outcome: IntakeOutcome, sees: impl Fn(AccountId) -> bool) -> Self {
        let recorded = outcome.recorded.into_iter();
        let recorded = recorded.filter(|one| sees(one.account));
        Self {
            recorded: recorded
                .map(|one| RecordedView {
                    reference: one.reference,
                    did: one.did,
                })
                .collect(),
            faults: outcome.faults.into_iter().map(FaultView::from).collect(),
            failed: outcome.failed,
        }
    }
}

impl MessageShown {
    /// A message with the codes of its accounts.
    pub fn new(view: MessageView, accounts: Vec<String>, connection: Option<String>) -> Self {
        Self {
            id: view.id.0,
            connection,
            accounts,
            direction: view.direction,
            topic: view.topic,
            span: view.span,
            received_at: view.received_at,
            repeated_at: view.repeated_at,
            copies: view.copies,
            status: view.status,
            reports: view.reports,
            references: view.references,
            faults: view.faults.into_iter().map(FaultView::from).collect(),
            is_unmapped: view.is_unmapped,
            body_bytes: view.body_bytes,
            is_cut: view.is_cut,
            trace: view.trace,
            body: view
                .body
                .map(|body| String::from_utf8_lossy(&body.0).into_owned()),
        }
    }
}

impl From<ParseFault> for FaultView {
    fn from(fault: ParseFault) -> Self {
        Self {
            at: fault.at,
            why: fault.why,
            reference: fault.reference,
        }
    }
}
