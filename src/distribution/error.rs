//! What can fail on this floor. What a channel says, however unfriendly, is a value and no failure.

use keyrack_ledger::error::{LedgerError, MayRetry};
use keyrack_model::adapter::RenderError;
use keyrack_model::id::{ChannelCode, MessageId};
use thiserror::Error;

use crate::seal::SealError;
use crate::transport::TransportError;

/// A failure: nothing was done that would not be done again.
#[derive(Debug, Error)]
pub enum DistributionError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// This floor's own tables failed.
    #[error("{doing} failed")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// The database's words.
        #[source]
        source: sqlx::Error,
    },
    /// A secret could not be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The network failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// No adapter speaks this channel.
    #[error("no adapter speaks the channel {0}")]
    UnknownChannel(ChannelCode),
    /// No connection of this code.
    #[error("there is no connection {0}")]
    UnknownConnection(String),
    /// No such raw message, or its body has been purged.
    #[error("there is no message {0} whose body is still kept")]
    UnknownMessage(MessageId),
    /// A message that went out, or of which not all was kept.
    #[error("message {0} is none that came in whole")]
    NotReadAgain(MessageId),
    /// The adapter could not say it.
    #[error("the message could not be written: {0}")]
    Render(#[from] RenderError),
    /// Signing in did not succeed; the channel's words.
    #[error("signing in failed: {0}")]
    SignIn(String),
    /// Signing in did not even begin: nobody answered just now; the network's words.
    #[error("the channel could not be reached: {0}")]
    Unreachable(String),
    /// The engine is stopping.
    #[error("the engine is stopping")]
    Stopping,
    /// A setting cannot be used.
    #[error("the settings cannot be used: {0}")]
    Settings(String),
    /// A mail did not leave.
    #[error("a mail did not leave: {0}")]
    Mail(String),
    /// Asked for something that makes no sense; what would.
    #[error("{0}")]
    Invalid(String),
    /// A stored row does not read as what it should be.
    #[error("a stored row is unreadable: {0}")]
    Unreadable(String),
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Ours.
    Ours,
    /// The channel's, or the network's between us.
    Channel,
    /// The caller's.
    Caller,
}

impl DistributionError {
    /// Names what was being done when the database failed.
    pub(crate) fn while_doing(doing: &'static str) -> impl Fn(sqlx::Error) -> Self {
        move |source| Self::Database { doing, source }
    }

    /// The failure with all its causes, in one line, for the log.
    pub fn chain(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            line.push_str(": ");
            line.push_str(&error.to_string());
            cause = error.source();
        }
        line
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Transport(_) | Self::SignIn(_) => Fault::Channel,
            Self::UnknownConnection(_)
            | Self::UnknownMessage(_)
            | Self::NotReadAgain(_)
            | Self::UnknownChannel(_)
            | Self::Invalid(_) => Fault::Caller,
            _ => Fault::Ours,
        }
    }

    /// Whether the database was away for a moment: no trouble of the channel's, so nobody has to
    /// wait longer for the next try.
    pub(crate) fn is_passing(&self) -> bool {
        self.fault() == Fault::Ours && self.may_retry() != MayRetry::Never
    }

    /// Whether the same again may succeed.
    pub fn may_retry(&self) -> MayRetry {
        match self {
            Self::Ledger(error) => error.may_retry(),
            Self::Database { .. } | Self::Stopping => MayRetry::After(2),
            Self::Transport(_) | Self::SignIn(_) | Self::Mail(_) => MayRetry::After(30),
            _ => MayRetry::Never,
        }
    }
}
