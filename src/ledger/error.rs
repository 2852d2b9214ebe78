//! What can fail in the ledger, and what a failure asks of the caller. A refusal is no failure.

use thiserror::Error;

/// A failure of ours: nothing was done, or (only [`LedgerError::OutcomeUnknown`]) we cannot tell.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The database could not be reached or did not answer in time.
    #[error("the database is not available")]
    Unavailable(#[source] sqlx::Error),
    /// Others changed the same rows, again and again; tried several times inside.
    #[error("others kept changing the same rows")]
    Conflict,
    /// The connection broke after the batch was sent and the outcome could not be looked up.
    #[error("the connection broke and the outcome could not be looked up")]
    OutcomeUnknown(#[source] sqlx::Error),
    /// This process's clock is too far from the database's to make holds.
    #[error("the clock is {0} s away from the database's")]
    ClockDrift(i64),
    /// The ledger is closing.
    #[error("the ledger is closing")]
    Closing,
    /// A statement failed in a way that should not happen.
    #[error("{doing} failed")]
    Broken {
        /// What was being done.
        doing: &'static str,
        /// The database's words.
        #[source]
        source: sqlx::Error,
    },
    /// A migration failed.
    #[error("the migrations could not be applied")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// A row does not read as what it should be.
    #[error("a stored row is unreadable: {0}")]
    Unreadable(String),
}

/// Whether the same again may succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayRetry {
    /// After so many seconds.
    After(u32),
    /// No.
    Never,
}

impl LedgerError {
    /// Sorts a failure of the database by what it means to the caller.
    pub fn while_doing(doing: &'static str) -> impl Fn(sqlx::Error) -> Self {
        move |source| match &source {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::Tls(_)
            | sqlx::Error::WorkerCrashed => Self::Unavailable(source),
            sqlx::Error::Database(database) => match database.code().as_deref() {
                Some("57P01" | "57P02" | "57P03" | "53300" | "57014" | "55P03") => {
                    Self::Unavailable(source)
                }
                Some("40001" | "40P01") => Self::Conflict,
                _ => Self::Broken { doing, source },
            },
            _ => Self::Broken { doing, source },
        }
    }

    /// The same failure for another caller of the batch; its source was told to the first.
    pub(crate) fn alike(&self) -> Self {
        match self {
            Self::Unavailable(_) => Self::Unavailable(sqlx::Error::WorkerCrashed),
            Self::OutcomeUnknown(_) => Self::OutcomeUnknown(sqlx::Error::WorkerCrashed),
            Self::ClockDrift(seconds) => Self::ClockDrift(*seconds),
            Self::Closing => Self::Closing,
            Self::Broken { doing, .. } => Self::Broken {
                doing,
                source: sqlx::Error::WorkerCrashed,
            },
            Self::Unreadable(what) => Self::Unreadable(what.clone()),
            Self::Conflict | Self::Migration(_) => Self::Conflict,
        }
    }

    /// Whether the same again may succeed.
    pub fn may_retry(&self) -> MayRetry {
        match self {
            Self::Conflict => MayRetry::After(1),
            Self::Unavailable(_) | Self::OutcomeUnknown(_) | Self::Closing => MayRetry::After(2),
            Self::ClockDrift(_) => MayRetry::After(10),
            Self::Broken { .. } | Self::Migration(_) | Self::Unreadable(_) => MayRetry::Never,
        }
    }
}
