//! The ledger's own settings.

use serde::{Deserialize, Serialize};

/// `[ledger]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Connections that run batches. Two: one executes while the other waits for its flush.
    pub batch_connections: u32,
    /// Connections for everything that reads.
    pub read_connections: u32,
    /// Commands in one batch at most.
    pub batch_commands_max: usize,
    /// Commands that may wait before new ones are turned away.
    pub pending_commands_max: usize,
    /// Milliseconds that a statement may take.
    pub statement_timeout_ms: u32,
    /// Milliseconds that a lock may be waited for.
    pub lock_timeout_ms: u32,
    /// Seconds between two looks for dead holds.
    pub sweep_seconds: u32,
    /// Holds that one sweep of one property lets go at most.
    pub sweep_holds_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch_connections: 2,
            read_connections: 8,
            batch_commands_max: 128,
            pending_commands_max: 10_000,
            statement_timeout_ms: 15_000,
            lock_timeout_ms: 5_000,
            sweep_seconds: 5,
            sweep_holds_max: 500,
        }
    }
}
