//! The staff's page: nights, reservations, accounts and their lag, to be looked at.
//!
//! Floor 4. Server-rendered, without script. It changes nothing and shows nothing that the API
//! cannot also answer; guests are not shown at all. Who looks signs in with an API key as the
//! password of HTTP Basic; a key of one property sees that property.

mod board;
mod login;
mod page;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use keyrack_distribution::Distribution;
use maud::Markup;
use serde::Deserialize;

use crate::login::{Door, Entry};

/// What the page is made from.
#[derive(Clone)]
struct Console {
    distribution: Distribution,
    door: Arc<Door>,
}

/// The page at `/`, to be merged with the other routes of a daemon.
pub fn router(distribution: Distribution) -> Router {
    let door = Arc::new(Door::new(distribution.ledger().clone()));
    let console = Console { distribution, door };
    Router::new().route("/", get(show)).with_state(console)
}

/// Which property.
#[derive(Debug, Default, Deserialize)]
struct Ask {
    property: Option<String>,
}

async fn show(
    State(console): State<Console>,
    headers: HeaderMap,
    ask: Result<Query<Ask>, QueryRejection>,
) -> Response {
    let key = match console.door.enter(&headers).await {
        Ok(Entry::Known(key)) => key,
        Ok(Entry::Unknown) => return asked_for_a_key(),
        Ok(Entry::TooMany) => {
            let words = page::words("Too many attempts", "Wait a moment and try again.");
            return sent(StatusCode::TOO_MANY_REQUESTS, words);
        }
        Err(error) => return failed(&error),
    };
    let property = ask.ok().and_then(|Query(ask)| ask.property);
    match board::load(&console.distribution, &key, property.as_deref()).await {
        Ok(board) => {
            // A house without any property is no mistake of who asks.
            let is_missing = property.is_some() && board.house.is_none();
            let status = match is_missing {
                true => StatusCode::NOT_FOUND,
                false => StatusCode::OK,
            };
            sent(status, page::board(&board))
        }
        Err(error) => failed(&error),
    }
}

fn asked_for_a_key() -> Response {
    let words = page::words(
        "A key is needed",
        "Sign in with any name, and an API key as the password.",
    );
    let mut response = sent(StatusCode::UNAUTHORIZED, words);
    let basic = HeaderValue::from_static("Basic realm=\"keyrack\", charset=\"UTF-8\"");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, basic);
    response
}

fn failed(error: &board::Trouble) -> Response {
    tracing::error!(error = %error.chain(), "the page could not be made");
    let words = page::words(
        "Not available",
        "The database does not answer; try again soon.",
    );
    sent(StatusCode::SERVICE_UNAVAILABLE, words)
}

/// The page, which no cache keeps and no other site frames.
fn sent(status: StatusCode, markup: Markup) -> Response {
    let mut response = (status, Html(markup.into_string())).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
