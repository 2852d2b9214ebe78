//! The raw messages of every connection, for whoever runs the house: also those that no hotel sees,
//! since they cannot be read or speak of a hotel that has no account here.

use std::collections::{BTreeSet, HashMap};

use axum::Json;
use axum::extract::State;
use keyrack_distribution::connections;
use keyrack_distribution::messages::{self, MessageView, Which};
use keyrack_ledger::catalog;
use keyrack_model::id::{AccountId, ConnectionId, MessageId, PropertyId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::WholeHouse;
use crate::extract::{Ask, Segments};
use crate::page::{self, Page};
use crate::problem::{Problem, Problems};
use crate::routes::messages::{MessagePath, MessageShown, ReplayView};
use crate::state::ApiState;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(replay))
}

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AllMessagesAsk {
    /// Only those of this connection.
    connection: Option<String>,
    /// `true`: only those that speak of no account here, which no hotel sees.
    of_no_account: Option<bool>,
    /// At most so many; 100 where it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Messages of every connection, newest first, without their bodies; for an admin's key of no
/// property. Accounts have their property in front: `seehof/booking`.
#[utoipa::path(get, path = "/v1/messages", tag = "channels", params(AllMessagesAsk),
    responses((status = 200, body = Page<MessageShown>), Problems))]
async fn list(
    State(state): State<ApiState>,
    _: WholeHouse,
    Ask(ask): Ask<AllMessagesAsk>,
) -> Result<Json<Page<MessageShown>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let before: Option<i64> = page::after(ask.cursor.as_deref())?;
    let connection = match &ask.connection {
        None => None,
        Some(code) => {
            let found = connections::find(state.distribution(), code).await?;
            let wrong = || Problem::invalid("/connection", "no such connection");
            Some(found.ok_or_else(wrong)?.id)
        }
    };
    let which = Which {
        accounts: None,
        connection,
        of_no_account: ask.of_no_account.unwrap_or(false),
    };
    let before = before.map(MessageId);
    let found = messages::list(state.distribution(), which, before, limit).await?;
    let page = page::cut(found, limit, |last| last.id.to_string());
    let codes = Codes::of(&state, &page.items).await?;
    Ok(Json(Page {
        items: page.items.into_iter().map(|one| codes.shown(one)).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// A message of any connection with its body; for an admin's key of no property.
#[utoipa::path(get, path = "/v1/messages/{id}", tag = "channels", params(MessagePath),
    responses((status = 200, body = MessageShown), Problems))]
async fn show(
    State(state): State<ApiState>,
    _: WholeHouse,
    Segments(path): Segments<MessagePath>,
) -> Result<Json<MessageShown>, Problem> {
    let found = messages::load(state.distribution(), MessageId(path.id), None).await?;
    let found = found.ok_or_else(|| Problem::not_found("message"))?;
    let codes = Codes::of(&state, std::slice::from_ref(&found)).await?;
    Ok(Json(codes.shown(found)))
}

/// Reads a message of any connection again, such as one of a hotel that has its account only now;
/// what the ledger has already changes nothing.
#[utoipa::path(post, path = "/v1/messages/{id}/replay", tag = "channels", params(MessagePath),
    responses((status = 200, body = ReplayView), Problems))]
async fn replay(
    State(state): State<ApiState>,
    _: WholeHouse,
    Segments(path): Segments<MessagePath>,
) -> Result<Json<ReplayView>, Problem> {
    let outcome = messages::replay(state.distribution(), MessageId(path.id)).await?;
    Ok(Json(ReplayView::new(outcome, |_| true)))
}

/// Codes of what some messages name.
struct Codes {
    connections: HashMap<ConnectionId, String>,
    accounts: HashMap<AccountId, String>,
}

impl Codes {
    async fn of(state: &ApiState, messages: &[MessageView]) -> Result<Self, Problem> {
        let named: BTreeSet<AccountId> = messages
            .iter()
            .flat_map(|message| message.accounts.iter().copied())
            .collect();
        let mut accounts = HashMap::new();
        let mut hotels: HashMap<PropertyId, String> = HashMap::new();
        let rows = match named.is_empty() {
            true => Vec::new(),
            false => catalog::all_accounts(state.ledger()).await?,
        };
        for row in rows
            .into_iter()
            .filter(|row| named.contains(&row.account.id))
        {
            let property = row.account.property;
            let hotel = match hotels.get(&property) {
                Some(known) => known.clone(),
                None => hotel(state, property).await?,
            };
            let code = format!("{hotel}/{}", row.account.code);
            hotels.insert(property, hotel);
            accounts.insert(row.account.id, code);
        }
        let connections = connections::list(state.distribution()).await?;
        Ok(Self {
            connections: connections
                .into_iter()
                .map(|one| (one.id, one.code))
                .collect(),
            accounts,
        })
    }

    fn shown(&self, view: MessageView) -> MessageShown {
        let accounts = view.accounts.iter();
        let accounts = accounts.filter_map(|id| self.accounts.get(id).cloned());
        let (accounts, connection) = (accounts.collect(), self.connections.get(&view.connection));
        MessageShown::new(view, accounts, connection.cloned())
    }
}

/// The code of a property.
async fn hotel(state: &ApiState, id: PropertyId) -> Result<String, Problem> {
    let before = PropertyId(id.0.saturating_sub(1));
    let found = catalog::properties(state.ledger(), Some(before), 1).await?;
    let found = found.into_iter().find(|found| found.id == id);
    Ok(found.map(|found| found.code).unwrap_or_default())
}
