//! The flags that say which configuration and which database a command works with.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::config::Config;

/// Flags of every command that works on a database.
#[derive(Debug, Args)]
pub struct Place {
    /// File of settings; what it leaves out stays as in config/default.toml.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of the private PostgreSQL, which is used where no DATABASE_URL is given.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl Place {
    /// The configuration that the flags ask for.
    pub fn config(&self) -> Result<Config> {
        let mut config = Config::load(self.config.as_deref())?;
        if let Some(folder) = &self.data_dir {
            config.data_dir.clone_from(folder);
        }
        Ok(config)
    }
}
