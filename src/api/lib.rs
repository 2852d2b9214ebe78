//! The HTTP contract for programs.
//!
//! Floor 4. Handlers translate and nothing more: body in, one call of a floor below, view out.
//! What they share stands beside them: [`problem`] is the only file that knows the status codes of
//! errors, [`auth`] says who asks, `extract` reads strictly. Nothing here decides, and nothing here
//! speaks to the database.

pub mod auth;
mod conditional;
mod docs;
mod edge;
mod extract;
mod idempotency;
mod kept;
mod keys;
mod names;
mod page;
pub mod problem;
mod refusal;
mod refused;
mod replay;
mod routes;
pub mod serve;
pub mod settings;
pub mod state;
mod wire;

use axum::{Router, middleware};

pub use docs::openapi;

use crate::state::ApiState;

/// Every route of the contract, ready to be served.
pub fn router(state: ApiState) -> Router {
    let (routes, _) = docs::routes().split_for_parts();
    routes
        .merge(docs::pages())
        .fallback(edge::no_such_path)
        .method_not_allowed_fallback(edge::no_such_verb)
        .layer(middleware::from_fn_with_state(state.clone(), replay::enter))
        .layer(middleware::from_fn_with_state(state.clone(), edge::enter))
        .with_state(state)
}
