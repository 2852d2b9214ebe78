//! Accounts: one property's listing at a channel. Made, mapped, taken live, watched, ended.

mod account;
mod explain;
mod go_live;
mod lifecycle;
pub mod mappings;
mod told;
mod view;

use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

/// The routes of this folder.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(account::routes())
        .merge(mappings::routes())
        .merge(go_live::routes())
        .merge(lifecycle::routes())
        .merge(told::routes())
        .merge(explain::routes())
}
