//! `keyrack openapi`: the contract, as the daemon serves it.

use anyhow::Result;

use crate::say;

/// Prints the OpenAPI document.
pub fn openapi() -> Result<()> {
    say::line(&serde_json::to_string_pretty(&keyrack_api::openapi())?);
    Ok(())
}
