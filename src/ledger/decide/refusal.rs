//! Why the ledger will not: every reason, as a value.

use keyrack_model::id::RoomTypeId;
use keyrack_model::money::Money;
use keyrack_model::stay::StayDate;
use serde::{Deserialize, Serialize};

/// A refusal: expected, counted, shown; never a failure. Ordered by precedence where several hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// No such thing, or it is another property's.
    NotFound(String),
    /// Readable and wrong: JSON pointer and message.
    Invalid(Vec<(String, String)>),
    /// The key was used with another request.
    IdempotencyKeyReused,
    /// The version that was read is no longer the present one.
    VersionMismatch {
        /// The present one.
        current: i64,
    },
    /// The state does not allow it; says what it is and what would be possible.
    IllegalTransition(String),
    /// A confirm came after the hold was dead.
    HoldExpired,
    /// Confirmed with another payment before.
    AlreadyConfirmed,
    /// A wish for nights before the business day, a cut below what is taken or the like: may be
    /// forced with a reason.
    NeedsForce {
        /// What `force.allow` must name.
        allow: Force,
        /// Why.
        why: String,
        /// Nights concerned.
        nights: Vec<(RoomTypeId, StayDate)>,
    },
    /// Before `bookable_from` or beyond the horizon.
    NotYetOpen(Vec<(RoomTypeId, StayDate)>),
    /// Stop sell.
    Closed(Vec<(RoomTypeId, StayDate)>),
    /// A stay rule stands in the way: named, with its nights.
    Restriction {
        /// Which, in words.
        why: String,
        /// Nights concerned.
        nights: Vec<(RoomTypeId, StayDate)>,
    },
    /// The allotment that this is sold from has too few rooms left on these nights.
    AllotmentExhausted(Vec<(RoomTypeId, StayDate)>),
    /// No rooms on these nights.
    SoldOut(Vec<(RoomTypeId, StayDate)>),
    /// Of wishes that are carried out together these are refused: which, and why each.
    Several(Vec<(usize, Refusal)>),
    /// The hotel's own change of a channel's reservation needs `told_channel: true`.
    NeedsToldChannel,
    /// A way out of an overbooking costs more than may be spent without a manager.
    NeedsApproval {
        /// What it costs.
        cost: Money,
        /// What may be spent.
        above: Money,
    },
}

impl Refusal {
    /// The stable word of the HTTP contract.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::Invalid(_) | Self::NeedsToldChannel => "invalid",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::VersionMismatch { .. } => "version_mismatch",
            Self::IllegalTransition(_) => "illegal_transition",
            Self::HoldExpired => "hold_expired",
            Self::AlreadyConfirmed => "already_confirmed",
            Self::NeedsForce { .. } => "needs_force",
            Self::NotYetOpen(_) => "not_yet_open",
            Self::Closed(_) => "closed",
            Self::Restriction { .. } => "restriction",
            Self::AllotmentExhausted(_) => "allotment_exhausted",
            Self::SoldOut(_) => "sold_out",
            Self::Several(all) => all.first().map_or("invalid", |(_, first)| first.code()),
            Self::NeedsApproval { .. } => "needs_approval",
        }
    }

    /// An invalid field: JSON pointer and message.
    pub fn invalid(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![(pointer.into(), message.into())])
    }
}

/// What a force may override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// A stay rule.
    Restriction,
    /// A stop sell, a night that is not yet open.
    Closed,
    /// Nights before the business day.
    Past,
    /// What an allotment keeps.
    Allotment,
    /// More rooms than there are.
    Oversell,
}
