//! An account itself: put, shown, ended.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use keyrack_distribution::accounts::lifecycle::{self, Removed};
use keyrack_distribution::accounts::listing::{self, AccountSetup, PutRefusal};
use keyrack_distribution::{accounts, connections, poll};
use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_model::channel::{AccountSettings, AccountState};
use keyrack_model::id::ConnectionId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Founds, Looks};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Body, Segments};
use crate::names::House;
use crate::page::Page;
use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::routes::accounts::view::{AccountBrief, AccountSettingsShape, AccountView};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::Wrongs;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put, remove))
}

/// Which account.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct AccountPath {
    /// Code of the account: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    #[param(example = "booking")]
    pub account: String,
}

/// An account as the hotel sets it up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AccountBody {
    /// Code of the connection that it goes through.
    connection: String,
    /// The channel's code of the hotel.
    hotel_code: String,
    /// How it wants to be told.
    #[serde(default)]
    #[schema(value_type = AccountSettingsShape, required = false)]
    settings: AccountSettings,
}

/// What ending an account did.
#[derive(Debug, Serialize, ToSchema)]
struct RemovedView {
    /// `ended`; or `under_way`: closed now, it ends once that is acknowledged and polled once more.
    status: &'static str,
}

/// Makes an account, in `setup`, or changes it. `connection` and `hotel_code` change only in
/// `setup`, or once it is closed and the channel has acknowledged that: else the old listing would
/// go on selling what it was told last.
#[utoipa::path(put, path = "/v1/properties/{property}/accounts/{account}", tag = "channels",
    params(PropertyPath, AccountPath), request_body = AccountBody,
    responses((status = 200, body = AccountView), (status = 201, body = AccountView), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Founds>,
    Segments(path): Segments<AccountPath>,
    IfMatch(version): IfMatch,
    body: Body<AccountBody>,
) -> Result<Versioned<AccountView>, Problem> {
    let body = body.value;
    let mut wrongs = Wrongs::default();
    wrongs.named(&body.hotel_code, 100, "/hotel_code");
    wrongs.finish()?;
    let house = &at.house;
    let connection = connections::find(state.distribution(), &body.connection).await?;
    let connection =
        connection.ok_or_else(|| Problem::invalid("/connection", "no such connection"))?;
    if at.caller.key.property.is_some() {
        must_be_own(&state, house, connection.id).await?;
    }
    let (engine, by, code) = (state.distribution(), at.caller.by(), &path.account);
    let setup = AccountSetup {
        connection: connection.id,
        channel: connection.channel.as_str().to_owned(),
        hotel_code: body.hotel_code,
        settings: body.settings,
    };
    let put = listing::put(engine, house.id, &by, code, setup, version).await?;
    let (row, is_new) = match put {
        Ok(put) => put,
        Err(PutRefusal::Ledger(refusal)) => return Err(house.refused(refusal).await),
        Err(PutRefusal::LeavesListing(field, state)) => return Err(leaves_listing(field, state)),
    };
    // Somebody stands behind the connection now: what the channel holds for him is asked for at
    // once.
    poll::now(state.distribution(), Some(connection.id)).await?;
    let version = row.version;
    let view = AccountView::load(state.distribution(), row).await?;
    Ok(Versioned::put(version, is_new, view))
}

/// What to do where an account would leave a listing open behind it.
fn leaves_listing(field: &str, state: AccountState) -> Problem {
    let to_do = match state {
        AccountState::Closed => "wait until the channel has acknowledged the close of every night",
        _ => "close the account and wait until the channel has acknowledged it",
    };
    let detail = format!(
        "the listing at the channel would stay open with the last numbers and nobody would tell it \
         more: {to_do}, then change {}; or leave this account as it is and make another for the \
         new listing",
        field.trim_start_matches('/')
    );
    Problem::new(Kind::IllegalTransition, detail)
}

/// A key of one hotel lists it only where no other hotel goes through the same login.
async fn must_be_own(
    state: &ApiState,
    house: &House,
    connection: ConnectionId,
) -> Result<(), Problem> {
    let all = catalog::all_accounts(state.ledger()).await?;
    let through = all
        .iter()
        .filter(|row| row.account.connection == connection);
    let mut through = through.peekable();
    let is_own = through.peek().is_some() && through.all(|row| row.account.property == house.id);
    match is_own {
        true => Ok(()),
        false => Err(Problem::invalid("/connection", "no such connection")),
    }
}

/// An account, and how it does.
#[utoipa::path(get, path = "/v1/properties/{property}/accounts/{account}", tag = "channels",
    params(PropertyPath, AccountPath), responses((status = 200, body = AccountView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<AccountPath>,
) -> Result<Versioned<AccountView>, Problem> {
    let row = found(&state, &at.house, &path).await?;
    let version = row.version;
    let view = AccountView::load(state.distribution(), row).await?;
    Ok(Versioned::of(version, view))
}

/// The accounts of a property, in order of code.
#[utoipa::path(get, path = "/v1/properties/{property}/accounts", tag = "channels",
    params(PropertyPath), responses((status = 200, body = Page<AccountBrief>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Json<Page<AccountBrief>>, Problem> {
    let rows = catalog::accounts(state.ledger(), at.house.id).await?;
    Ok(Json(Page::whole(
        rows.into_iter().map(AccountBrief::from).collect(),
    )))
}

/// Ends an account: closes it, waits for the acknowledgement, polls once more.
#[utoipa::path(delete, path = "/v1/properties/{property}/accounts/{account}", tag = "channels",
    params(PropertyPath, AccountPath),
    responses((status = 200, body = RemovedView), (status = 202, body = RemovedView), Problems))]
async fn remove(
    State(state): State<ApiState>,
    at: At<Founds>,
    Segments(path): Segments<AccountPath>,
) -> Result<Response, Problem> {
    let row = found(&state, &at.house, &path).await?;
    let by = at.caller.by();
    let (code, status) = match lifecycle::remove(state.distribution(), &row, &by).await? {
        Removed::AtOnce => (StatusCode::OK, "ended"),
        Removed::UnderWay => (StatusCode::ACCEPTED, "under_way"),
    };
    Ok((code, Json(RemovedView { status })).into_response())
}

/// The account of the path.
pub async fn found(
    state: &ApiState,
    house: &House,
    path: &AccountPath,
) -> Result<AccountRow, Problem> {
    let found = accounts::find(state.distribution(), house.id, &path.account).await?;
    found.ok_or_else(|| Problem::not_found("account"))
}
