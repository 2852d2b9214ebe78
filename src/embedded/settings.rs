//! What a private server needs to know before it starts.

use std::path::PathBuf;

/// Where a private server keeps its state, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The state folder: lock, password, log and data live in it. Made if it is missing.
    pub state_dir: PathBuf,
    /// The folder of `postgres` and `initdb`. When given, no other is looked at.
    pub postgres_bin: Option<PathBuf>,
    /// `true` for data that must outlive a loss of power. `false` switches off `fsync` and
    /// `full_page_writes` and skips the sync of `initdb`; what was committed still outlives the
    /// death of any process.
    pub durable: bool,
    /// More settings of the server, as `(name, value)`; they win over our own.
    pub extra: Vec<(String, String)>,
}

impl Settings {
    /// Durable, binaries looked for, nothing extra.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            postgres_bin: None,
            durable: true,
            extra: Vec::new(),
        }
    }
}
