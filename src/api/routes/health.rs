//! Alive, ready, measured.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use keyrack_ledger::tail;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::state::ApiState;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(alive))
        .routes(routes!(ready))
        .routes(routes!(metrics))
}

/// The daemon answers.
#[derive(Debug, Serialize, ToSchema)]
struct AliveView {
    /// `alive`.
    status: &'static str,
}

/// The daemon can work.
#[derive(Debug, Serialize, ToSchema)]
struct ReadyView {
    /// `ready`.
    status: &'static str,
    /// Seconds that this process's clock is ahead of the database's.
    clock_ahead_seconds: i64,
    /// Age of the oldest transaction that writes, in seconds: it holds the feed back.
    oldest_writer_seconds: i64,
}

/// Whether the daemon is alive.
#[utoipa::path(get, path = "/healthz", tag = "running", security(()),
    responses((status = 200, body = AliveView)))]
async fn alive() -> Json<AliveView> {
    Json(AliveView { status: "alive" })
}

/// Whether the daemon can work: the database answers, is migrated, and its clock is near.
#[utoipa::path(get, path = "/readyz", tag = "running", security(()),
    responses((status = 200, body = ReadyView), Problems))]
async fn ready(State(state): State<ApiState>) -> Result<Json<ReadyView>, Problem> {
    let (_, database, oldest_writer_seconds) = tail::cluster(state.ledger()).await?;
    let here = (state.outside().clock)();
    let clock_ahead_seconds = here.as_second() - database.as_second();
    if clock_ahead_seconds.abs() >= DRIFT_MAX {
        let detail = format!("the clock is {clock_ahead_seconds} s ahead of the database's");
        return Err(Problem::new(Kind::ClockDrift, detail).after(10));
    }
    Ok(Json(ReadyView {
        status: "ready",
        clock_ahead_seconds,
        oldest_writer_seconds,
    }))
}

/// What is counted, as Prometheus text.
#[utoipa::path(get, path = "/metrics", tag = "running", security(()),
    responses((status = 200, body = String, content_type = "text/plain")))]
async fn metrics(State(state): State<ApiState>) -> Response {
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4");
    ([kind], (state.outside().metrics)()).into_response()
}

/// Ledger rule: from 30 s on the process makes no holds.
const DRIFT_MAX: i64 = 30;
