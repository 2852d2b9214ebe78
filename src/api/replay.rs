//! Idempotency keys on every POST that changes something and is no command of the lanes: the first
//! success is kept and given again.

use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, ETAG, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use keyrack_ledger::answers::{self, Answer, Claimed};
use keyrack_ledger::command::Idempotency;

use crate::auth::{Anywhere, At, Caller, Looks};
use crate::extract::read;
use crate::idempotency::Repeat;
use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::state::ApiState;

/// Paths below `/v1` whose POSTs are commands of the lanes: the ledger keeps their keys in their
/// own commits.
const LANES: [&str; 8] = [
    "/v1/properties/{property}/reservations",
    "/v1/properties/{property}/reservations/{id}/confirm",
    "/v1/properties/{property}/reservations/{id}/cancel",
    "/v1/properties/{property}/reservations/{id}/extend",
    "/v1/properties/{property}/reservations/{id}/check-in",
    "/v1/properties/{property}/reservations/{id}/check-out",
    "/v1/properties/{property}/reservations/{id}/no-show",
    "/v1/properties/{property}/reservations/{id}/undo",
];

/// Whether the answer of a POST to this path is kept here.
pub fn is_kept(path: &str) -> bool {
    // What channels deliver knows its repeats by itself.
    path.starts_with("/v1/") && !path.starts_with("/v1/inbox/") && !LANES.contains(&path)
}

/// Gives a kept answer again, or lets the request through and keeps its success.
pub async fn enter(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let is_ours = request.method() == Method::POST
        && request.headers().contains_key("idempotency-key")
        && path.is_some_and(|path| is_kept(path.as_str()));
    match is_ours {
        true => answered(&state, request, next)
            .await
            .unwrap_or_else(IntoResponse::into_response),
        false => next.run(request).await,
    }
}

async fn answered(state: &ApiState, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = caller(&mut parts, state).await?;
    let repeat = Repeat::from_request_parts(&mut parts, state).await?;
    let bytes = read(&parts.headers, body, state, state.settings().body_bytes_max).await?;
    // Counted against its rate once.
    parts.extensions.insert(caller.clone());
    let asked = repeat.required(&caller, &bytes)?;
    match answers::claim(state.ledger(), &asked).await? {
        Claimed::Ours => {}
        Claimed::Before(answer) => return Ok(again(answer)),
        Claimed::AtWork { since, left } => return Err(in_use(since, left)),
        Claimed::AnotherRequests => {
            let detail = "this Idempotency-Key was used with another request";
            return Err(Problem::new(Kind::IdempotencyKeyReused, detail));
        }
    }
    let request = Request::from_parts(parts, Body::from(bytes));
    Ok(kept(state, &asked, next.run(request).await).await)
}

/// Most requests end within a moment; one that has not was likely cut off by a restart, and its key
/// is free again when it is given up.
fn in_use(since: u32, left: u32) -> Problem {
    let (detail, after) = match since < MOMENT_SECONDS {
        true => (
            "the first request with this Idempotency-Key is still at work: ask again in a moment"
                .to_owned(),
            1,
        ),
        false => (
            format!(
                "the first request with this Idempotency-Key has been at work for {since} seconds \
                 and was perhaps cut off: ask again in {left} seconds, then it is answered or done \
                 anew"
            ),
            left,
        ),
    };
    Problem::new(Kind::IdempotencyKeyInUse, detail).after(after)
}

/// Longer than a request takes that nothing is wrong with.
const MOMENT_SECONDS: u32 = 5;

/// The caller, who has the property of the path where there is one.
async fn caller(parts: &mut Parts, state: &ApiState) -> Result<Caller, Problem> {
    let params = RawPathParams::from_request_parts(parts, state).await;
    let is_at_a_property =
        params.is_ok_and(|params| params.iter().any(|(name, _)| name == "property"));
    Ok(match is_at_a_property {
        true => At::<Looks>::from_request_parts(parts, state).await?.caller,
        false => {
            let anywhere = Anywhere::<Looks>::from_request_parts(parts, state).await?;
            anywhere.caller
        }
    })
}

/// Keeps a success, lets go of the key otherwise. The change stands either way: where neither can
/// be written down, the caller gets his answer all the same.
async fn kept(state: &ApiState, asked: &Idempotency, response: Response) -> Response {
    let (head, body) = response.into_parts();
    let bytes = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            tracing::error!(%error, "an answer broke off");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    let text = |name: HeaderName| {
        let value = head.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let written = match head.status.is_success() {
        true => {
            let answer = Answer {
                status: head.status.as_u16(),
                content_type: text(CONTENT_TYPE),
                etag: text(ETAG),
                body: bytes.to_vec(),
            };
            answers::keep(state.ledger(), asked, answer).await
        }
        false => answers::release(state.ledger(), asked).await,
    };
    if let Err(error) = written {
        tracing::warn!(%error, "what became of an idempotency key could not be kept");
    }
    Response::from_parts(head, Body::from(bytes))
}

fn again(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or_default();
    let mut response = (status, Body::from(answer.body)).into_response();
    let told = [(CONTENT_TYPE, answer.content_type), (ETAG, answer.etag)];
    for (name, text) in told {
        if let Some(Ok(value)) = text.map(|text| HeaderValue::from_str(&text)) {
            response.headers_mut().insert(name, value);
        }
    }
    let is_replay = HeaderValue::from_static("true");
    response
        .headers_mut()
        .insert("idempotent-replay", is_replay);
    response
}
