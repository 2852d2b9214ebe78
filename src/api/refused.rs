//! What the ledger would not or could not do, as problems.

use std::error::Error;

use keyrack_distribution::connections::PutRefusal;
use keyrack_distribution::error::DistributionError;
use keyrack_ledger::decide::refusal::{Force, Refusal};
use keyrack_ledger::error::{LedgerError, MayRetry};
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::StayDate;

use crate::names::House;
use crate::problem::kind::Kind;
use crate::problem::{FieldError, NightRef, Problem};
use crate::wire::Day;

impl From<LedgerError> for Problem {
    /// The caller learns what it means; the log gets the whole chain, once, here.
    fn from(error: LedgerError) -> Self {
        log(&error);
        let (kind, detail) = match &error {
            LedgerError::Conflict => (
                Kind::Conflict,
                "others kept changing the same rows; nothing was done",
            ),
            LedgerError::Unavailable(_) => (Kind::Unavailable, "the database is not available"),
            LedgerError::OutcomeUnknown(_) => (
                Kind::Unavailable,
                "the connection broke; the same again with the same key tells what became of it",
            ),
            LedgerError::Closing => (Kind::Unavailable, "the daemon is going down"),
            LedgerError::ClockDrift(_) => (
                Kind::ClockDrift,
                "the daemon's clock is too far from the database's",
            ),
            _ => (Kind::Internal, "a fault of ours; it has been logged"),
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
                let detail = "only a message that came in, and was kept whole, is read again; \
                              what is told goes out anew with POST …/accounts/{account}/resync";
                return Self::new(Kind::Invalid, detail);
            }
            DistributionError::UnknownChannel(channel) => {
                return Self::invalid("/channel", format!("no adapter speaks {channel}"));
            }
            DistributionError::Invalid(why) => return Self::new(Kind::Invalid, why),
            DistributionError::Stopping => (Kind::Unavailable, "the daemon is going down"),
            DistributionError::Database { .. } => {
                tracing::error!(error = %error.chain(), "the engine failed");
                (Kind::Unavailable, "the database is not available")
            }
            DistributionError::Transport(_) | DistributionError::SignIn(_) => {
                tracing::info!(error = %error.chain(), "a channel did not answer");
                (
                    Kind::Unavailable,
                    "the channel does not answer as it should",
                )
            }
            _ => {
                tracing::error!(error = %error.chain(), "the engine failed");
                return Self::new(Kind::Internal, "a fault of ours; it has been logged");
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

/// The nights that a refusal names.
pub fn nights(refusal: &Refusal) -> &[(RoomTypeId, StayDate)] {
    match refusal {
        Refusal::NeedsForce { nights, .. }
        | Refusal::NotYetOpen(nights)
        | Refusal::Closed(nights)
        | Refusal::Restriction { nights, .. }
        | Refusal::AllotmentExhausted(nights)
        | Refusal::SoldOut(nights) => nights,
        Refusal::Several(all) => all.first().map_or(&[], |(_, first)| nights(first)),
        _ => &[],
    }
}

/// A refusal in words, with its nights.
pub fn in_words(refusal: &Refusal) -> String {
    let (_, mut words) = told(refusal);
    let mut nights = nights(refusal).iter().map(|(_, night)| night.to_string());
    let first: Vec<String> = nights.by_ref().take(3).collect();
    if !first.is_empty() {
        let more = if nights.next().is_some() { " …" } else { "" };
        words.push_str(&format!(": {}{more}", first.join(", ")));
    }
    words
}

fn told(refusal: &Refusal) -> (Kind, String) {
    match refusal {
        Refusal::Several(all) => match all.first() {
            Some((_, first)) => told(first),
            None => (Kind::Invalid, "nothing is refused".to_owned()),
        },
        Refusal::NotFound(what) => (Kind::NotFound, format!("there is no such {what}")),
        Refusal::Invalid(errors) => {
            let first = errors.first().map(|(at, why)| format!("{at}: {why}"));
            (Kind::Invalid, first.unwrap_or_default())
        }
        Refusal::NeedsToldChannel => (
            Kind::Invalid,
            "a channel holds this reservation: tell it, then say told_channel: true".to_owned(),
        ),
        Refusal::IdempotencyKeyReused => (
            Kind::IdempotencyKeyReused,
            "this Idempotency-Key brought another request before".to_owned(),
        ),
        Refusal::VersionMismatch { current } => (
            Kind::VersionMismatch,
            format!("the present version is {current}"),
        ),
        Refusal::IllegalTransition(why) => (Kind::IllegalTransition, why.clone()),
        Refusal::HoldExpired => (
            Kind::HoldExpired,
            "the hold and its grace are over; its rooms went back".to_owned(),
        ),
        Refusal::AlreadyConfirmed => (
            Kind::AlreadyConfirmed,
            "another payment confirmed it before; this one is due back".to_owned(),
        ),
        Refusal::NeedsForce { allow, why, .. } => {
            let detail = format!("{why}; force.allow must name {}", spelled(*allow));
            (Kind::NeedsForce, detail)
        }
        Refusal::NotYetOpen(_) => (
            Kind::NotYetOpen,
            "these nights cannot be booked yet".to_owned(),
        ),
        Refusal::Closed(_) => (Kind::Closed, "these nights are closed for sale".to_owned()),
        Refusal::Restriction { why, .. } => (Kind::Restriction, why.clone()),
        Refusal::AllotmentExhausted(_) => (
            Kind::AllotmentExhausted,
            "the allotment has too few rooms left on these nights: book without it, have more \
             agreed, or force it (force.allow: allotment)"
                .to_owned(),
        ),
        Refusal::NeedsApproval { cost, above } => (
            Kind::NeedsApproval,
            format!(
                "it costs {cost}, and what costs more than {above} takes a manager: ask one to \
                 approve it, or to do it"
            ),
        ),
        Refusal::SoldOut(_) => (
            Kind::SoldOut,
            "there are not enough rooms on these nights".to_owned(),
        ),
    }
}

/// The force as the contract spells it.
fn spelled(force: Force) -> &'static str {
    match force {
        Force::Restriction => "restriction",
        Force::Closed => "closed",
        Force::Past => "past",
        Force::Allotment => "allotment",
        Force::Oversell => "oversell",
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::money::{Currency, Money};

    use super::*;

    #[test]
    fn a_refusal_keeps_its_code() {
        let euro = Currency::from_code("EUR").expect("a currency");
        let refusals = [
            Refusal::NotFound("room type".into()),
            Refusal::invalid("/rooms", "none"),
            Refusal::NeedsToldChannel,
            Refusal::IdempotencyKeyReused,
            Refusal::VersionMismatch { current: 3 },
            Refusal::IllegalTransition("it is cancelled".into()),
            Refusal::HoldExpired,
            Refusal::AlreadyConfirmed,
            Refusal::NeedsForce {
                allow: Force::Past,
                why: "the night is past".into(),
                nights: vec![],
            },
            Refusal::NotYetOpen(vec![]),
            Refusal::Closed(vec![]),
            Refusal::Restriction {
                why: "three nights at least".into(),
                nights: vec![],
            },
            Refusal::AllotmentExhausted(vec![]),
            Refusal::SoldOut(vec![]),
            Refusal::NeedsApproval {
                cost: Money::new(2, euro),
                above: Money::new(1, euro),
            },
        ];
        for refusal in refusals {
            let (kind, detail) = told(&refusal);
            assert_eq!(kind.row().code, refusal.code());
            assert!(!detail.is_empty());
        }
    }

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
