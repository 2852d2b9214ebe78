//! Where push channels deliver: the bytes go to the engine, the channel's own words come back.

use axum::body::{Body as RawBody, Bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, header};
use keyrack_distribution::inbox::{self, Answer};
use keyrack_ledger::tail;
use keyrack_model::adapter::{Inbound, Outbound};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::extract::{Segments, read};
use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::state::ApiState;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(deliver))
}

/// Whose inbox.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct InboxPath {
    /// Code of the connection.
    connection_key: String,
}

/// Takes a channel's delivery in. The channel signs in its own way (basic, with the connection's
/// credentials) and is answered in its own words.
#[utoipa::path(post, path = "/v1/inbox/{connection_key}", tag = "channels", security(()),
    params(InboxPath),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 200, body = String, content_type = "application/octet-stream"),
        Problems))]
async fn deliver(
    State(state): State<ApiState>,
    Segments(path): Segments<InboxPath>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body): (_, RawBody) = request.into_parts();
    let bytes_max = state.settings().inbox_bytes_max;
    let bytes: Bytes = read(&parts.headers, body, &state, bytes_max).await?;
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let (_, received_at, _) = tail::cluster(state.ledger()).await?;
    let inbound = Inbound {
        bytes: bytes.to_vec(),
        headers: headers.collect(),
        topic: "inbox".to_owned(),
        received_at,
        time_zone: None,
    };
    match inbox::deliver(state.distribution(), &path.connection_key, inbound).await? {
        Answer::Said(said) => Ok(words(said)),
        Answer::NotFound => Err(Problem::not_found("inbox")),
        Answer::Unauthenticated => Err(Problem::new(
            Kind::Unauthenticated,
            "the login is not this connection's",
        )),
        Answer::Again => Err(Problem::new(Kind::Unavailable, "deliver it again").after(5)),
    }
}

/// The first message that the dialect says; nothing where it says nothing.
fn words(said: Vec<Outbound>) -> Response {
    let Some(first) = said.into_iter().next() else {
        return ().into_response();
    };
    let mut response = first.body.into_response();
    let kind = first
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        .and_then(|(_, value)| HeaderValue::from_str(value).ok());
    let name: HeaderName = header::CONTENT_TYPE;
    if let Some(kind) = kind {
        response.headers_mut().insert(name, kind);
    }
    response
}
