//! What the ledger would not or could not do, as problems.

use std::error::Error;

use keyrack_distribution::connections::PutRefusal;
use keyrack_distribution::error::DistributionError;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::error::{LedgerError, MayRetry};
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::StayDate;

use crate::names::House;
use crate::problem::kind::Kind;
use crate::problem::{FieldError, NightRef, Problem};
use crate::refusal::{in_words, nights, told};
use crate::wire::Day;

impl From<LedgerError> for Problem {
    /// The caller learns what it means; the log gets the whole chain, once, here.
    fn from(error: LedgerError) -> Self {
        log(&error);
        let (kind, detail) = match &error {
            LedgerError::Conflict => (
                Kind::Conflict,
                "others kept changing the same nights, and nothing was done: try again in a moment",
            ),
            LedgerError::Unavailable(_) => (
                Kind::Unavailable,
                "the database is not available: try again in a moment",
            ),
            LedgerError::OutcomeUnknown(_) => (
                Kind::Unavailable,
                "the connection broke: the same again with the same Idempotency-Key tells what \
                 became of it",
            ),
            LedgerError::Closing => (
                Kind::Unavailable,
                "the program is being stopped: try again in a moment",
            ),
            LedgerError::ClockDrift(_) => (
                Kind::ClockDrift,
                "the clock of this machine is wrong, so no hold is made: set it, and try again",
            ),
            _ => (
                Kind::Internal,
                "a fault of ours, which has been logged: tell support the request id",
            ),
        };
        let problem = Self::new(kind, detail);
        match error.may_retry() {
            MayRetry::After(seconds) => problem.after(seconds),
            MayRetry::Never => problem,
        }
    }
}

impl From<DistributionError> for Problem {
    fn from(error: DistributionError) -> Self {
        let (kind, detail) = match error {
            DistributionError::Ledger(error) => return error.into(),
            DistributionError::UnknownConnection(_) => return Self::not_found("connection"),
            DistributionError::UnknownMessage(_) => return Self::not_found("message"),
            DistributionError::NotReadAgain(_) => {
                let detail = "only a message that came in, and was kept whole, is read again: \
                              what is told goes out anew by a resync of the account";
                return Self::new(Kind::Invalid, detail);
            }
            DistributionError::UnknownChannel(channel) => {
                return Self::invalid(
                    "/channel",
                    format!("there is no channel {channel}: look at the list of channels"),
                );
            }
            DistributionError::Invalid(why) => return Self::new(Kind::Invalid, why),
            DistributionError::Stopping => (
                Kind::Unavailable,
                "the program is being stopped: try again in a moment",
            ),
            DistributionError::Database { .. } => {
                tracing::error!(error = %error.chain(), "the engine failed");
                (
                    Kind::Unavailable,
                    "the database is not available: try again in a moment",
                )
            }
            DistributionError::Transport(_) | DistributionError::SignIn(_) => {
                tracing::info!(error = %error.chain(), "a channel did not answer");
                (
                    Kind::Unavailable,
                    "the channel does not answer as it should: try again in a moment",
                )
            }
            _ => {
                tracing::error!(error = %error.chain(), "the engine failed");
                return Self::new(
                    Kind::Internal,
                    "a fault of ours, which has been logged: tell support the request id",
                );
            }
        };
        Self::new(kind, detail).after(2)
    }
}

impl From<PutRefusal> for Problem {
    fn from(refusal: PutRefusal) -> Self {
        match refusal {
            PutRefusal::Invalid(pointer, message) => Self::invalid(pointer, message),
            PutRefusal::VersionMismatch(current) => {
                refused_without_nights(Refusal::VersionMismatch { current })
            }
        }
    }
}

fn log(error: &LedgerError) {
    let mut chain = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        chain.push_str(": ");
        chain.push_str(&error.to_string());
        cause = error.source();
    }
    match error {
        LedgerError::Conflict | LedgerError::Closing => tracing::info!(error = %chain, "refused"),
        _ => tracing::error!(error = %chain, "the ledger failed"),
    }
}

impl House {
    /// A refusal as the caller sees it, its nights under the codes of this property.
    pub async fn refused(&self, refusal: Refusal) -> Problem {
        match self.shown(nights(&refusal)).await {
            Ok(nights) => Problem {
                nights,
                ..refused_without_nights(refusal)
            },
            Err(error) => error.into(),
        }
    }

    async fn shown(&self, nights: &[(RoomTypeId, StayDate)]) -> Result<Vec<NightRef>, LedgerError> {
        let names = self
            .names_with(|names| {
                let known = |(id, _): &(RoomTypeId, _)| names.room_types.code(*id).is_some();
                nights.iter().all(known)
            })
            .await?;
        let shown = nights.iter().map(|(room_type, night)| NightRef {
            room_type: names.room_types.shown(*room_type),
            stay_date: Day(*night),
        });
        Ok(shown.collect())
    }
}

/// A refusal that names no nights, as the caller sees it.
pub fn refused_without_nights(refusal: Refusal) -> Problem {
    let (kind, detail) = told(&refusal);
    let errors = match refusal {
        Refusal::Invalid(errors) => errors
            .into_iter()
            .map(|(pointer, message)| FieldError { pointer, message })
            .collect(),
        Refusal::NeedsToldChannel => vec![FieldError {
            pointer: "/told_channel".to_owned(),
            message: "must be true: tell the channel first, it holds this reservation".to_owned(),
        }],
        Refusal::Several(all) => all
            .into_iter()
            .map(|(index, refusal)| FieldError {
                pointer: format!("/{index}"),
                message: in_words(&refusal),
            })
            .collect(),
        _ => Vec::new(),
    };
    Problem {
        errors,
        ..Problem::new(kind, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passing_trouble_says_when_to_come_again_and_a_fault_does_not() {
        let busy = Problem::from(LedgerError::Conflict);
        assert_eq!(
            (busy.kind, busy.retry_after_seconds),
            (Kind::Conflict, Some(1))
        );
        let drift = Problem::from(LedgerError::ClockDrift(40));
        assert_eq!(drift.kind.row().code, "clock_drift");
        let fault = Problem::from(LedgerError::Unreadable("a row".into()));
        assert_eq!(
            (fault.kind, fault.retry_after_seconds),
            (Kind::Internal, None)
        );
        assert!(!fault.detail.contains("row"));
    }
}
