//! The overbooking-resolution queue.

mod body;
mod limits;
mod list;
mod report;
mod resolve;
mod suggestion;
mod verbs;
mod view;

use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

/// The routes of this folder.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(list::routes())
        .merge(verbs::routes())
        .merge(resolve::routes())
        .merge(report::routes())
        .merge(limits::routes())
        .merge(suggestion::routes())
}
