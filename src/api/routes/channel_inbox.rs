//! Where push channels deliver: the bytes go to the engine, the channel's own words come back.

use axum::body::Body as RawBody;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use keyrack_distribution::inbox::{self, Answer};
use keyrack_ledger::tail;
use keyrack_model::adapter::{Inbound, Outbound};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::extract::{Arrived, Segments, arrived};
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
/// credentials) and is answered in its own words. Of one that is too long the beginning is kept for
/// staff, and the answer is 413 in the channel's own words.
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
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let headers: Vec<(String, String)> = headers.collect();
    let (engine, connection) = (state.distribution(), path.connection_key.as_str());
    // Whoever may not deliver is not listened to.
    if let Some(answer) = inbox::turned_away(engine, connection, &headers).await? {
        return answered(answer, &state);
    }
    let bytes_max = state.settings().inbox_bytes_max;
    let arrived = arrived(&parts.headers, body, &state, bytes_max).await?;
    let (_, received_at, _) = tail::cluster(state.ledger()).await?;
    let inbound = |bytes| Inbound {
        bytes,
        headers,
        topic: "inbox".to_owned(),
        received_at,
        time_zone: None,
    };
    let answer = match arrived {
        Arrived::Whole(bytes) => inbox::deliver(engine, connection, inbound(bytes)).await?,
        Arrived::Beginning(bytes) => {
            inbox::refuse_long(engine, connection, inbound(bytes), bytes_max).await?
        }
    };
    answered(answer, &state)
}

fn answered(answer: Answer, state: &ApiState) -> Result<Response, Problem> {
    match answer {
        Answer::Said(said) => Ok(words(said)),
        // The status says that nothing was taken, whatever the dialect can say.
        Answer::TooLong(said) if said.iter().any(|one| !one.body.is_empty()) => {
            let mut response = words(said);
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            Ok(response)
        }
        Answer::TooLong(_) => {
            let bytes_max = state.settings().inbox_bytes_max;
            let detail = format!("a delivery has at most {bytes_max} bytes here");
            Err(Problem::new(Kind::TooLarge, detail))
        }
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
