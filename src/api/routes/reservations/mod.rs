//! Reservations: made, read, confirmed, changed, given back.

mod change;
pub mod create;
mod ledger;
mod list;
mod one;
pub mod room;
mod verbs;
pub mod view;

use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

/// The routes of this folder.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(list::routes())
        .merge(ledger::routes())
        .merge(verbs::routes())
}
