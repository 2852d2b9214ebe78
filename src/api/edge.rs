//! The outermost layer: request ids, time limit, panics, and the writing of problems.

use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::time::Instant;
use tracing::Instrument;
use uuid::Uuid;

use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::state::ApiState;

/// Names a request in answers, entries and logs.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Gives the request its id, runs it within its time, and writes the problem where one came out.
///
/// What changes something runs in a task of its own, which neither the time limit nor a caller who
/// hangs up can end: a change that was begun is brought to its end, and the idempotency key tells
/// later what became of it.
pub async fn enter(State(state): State<ApiState>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id(request.headers());
    request.extensions_mut().insert(RequestId(id.clone()));
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let span = tracing::info_span!("request", request.id = %id, %method);
    let limit = Duration::from_millis(state.settings().request_timeout_ms);
    // No name holds a NUL, and no text of Postgres can: it names nothing.
    let names_nothing = request.uri().path().contains("%00");
    // An answer that is there at once would be written before the connection has noticed that
    // nobody reads the body: it would be closed without a word of it in the answer.
    let run = async move {
        if names_nothing {
            drop(request);
            return Problem::not_found("path").into_response();
        }
        next.run(request).await
    };
    let run = run.instrument(span);
    let mut task = Running(
        tokio::spawn(run),
        matches!(method, Method::GET | Method::HEAD),
    );
    let response = match tokio::time::timeout(limit, &mut task.0).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            Problem::new(Kind::Internal, "a fault of ours; it has been logged").into_response()
        }
        Err(_) => Problem::new(
            Kind::Unavailable,
            "no answer within the time limit; what was begun goes on, its idempotency key tells",
        )
        .after(2)
        .into_response(),
    };
    let response = finished(response, &id);
    count(&method, route.as_ref(), &response, began);
    response
}

/// A request's task; one that only looks ends with its caller.
struct Running(tokio::task::JoinHandle<Response>, bool);

impl Drop for Running {
    fn drop(&mut self) {
        if self.1 {
            self.0.abort();
        }
    }
}

fn finished(mut response: Response, id: &str) -> Response {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let allow = response.headers_mut().remove(http::header::ALLOW);
        response = problem.written(id);
        if let Some(allow) = allow {
            response.headers_mut().insert(http::header::ALLOW, allow);
        }
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The caller's own id where it is short and plain, else a fresh one.
fn request_id(headers: &HeaderMap) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-:/+=".contains(&b);
    headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| (1..=100).contains(&id.len()) && id.bytes().all(is_plain))
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

fn count(method: &Method, route: Option<&MatchedPath>, response: &Response, began: Instant) {
    let labels = [
        ("method", method.to_string()),
        (
            "route",
            route.map_or("none", MatchedPath::as_str).to_owned(),
        ),
        ("status", response.status().as_u16().to_string()),
    ];
    metrics::counter!("http_requests_total", &labels).increment(1);
    metrics::histogram!("http_request_seconds", &labels).record(began.elapsed());
}

/// No such path.
pub async fn no_such_path() -> Problem {
    Problem::not_found("path")
}

/// The path does not know this verb.
pub async fn no_such_verb(method: Method) -> Problem {
    let detail = format!("this path does not know {method}");
    Problem::new(Kind::MethodNotAllowed, detail)
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
