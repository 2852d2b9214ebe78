//! What can fail in the simulation itself. What it finds wrong in the ledger is no failure of
//! this kind, but a finding in words.

use keyrack_embedded::EmbeddedError;
use keyrack_ledger::error::LedgerError;
use thiserror::Error;

/// The simulation could not go on.
#[derive(Debug, Error)]
pub enum SimError {
    /// The private Postgres did not start or start again.
    #[error("the private Postgres")]
    Postgres(#[from] EmbeddedError),
    /// The simulation's own look into the database failed.
    #[error("{doing} failed")]
    Look {
        /// What was being done.
        doing: &'static str,
        /// The database's words.
        #[source]
        source: sqlx::Error,
    },
    /// A daemon could not be opened.
    #[error("a daemon did not open")]
    Daemon(#[from] LedgerError),
    /// A runtime, a folder, a signal.
    #[error("{doing} failed")]
    System {
        /// What was being done.
        doing: &'static str,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// The template of the databases could not be migrated.
    #[error("the migrations could not be applied")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

impl SimError {
    /// A failed look, with what was being done.
    pub(crate) fn look(doing: &'static str) -> impl Fn(sqlx::Error) -> Self {
        move |source| Self::Look { doing, source }
    }

    /// A failure of the system, with what was being done.
    pub(crate) fn system(doing: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}
