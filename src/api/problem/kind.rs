//! The table of problems: status, stable word, when it comes, what the caller should do.

use axum::http::StatusCode;

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not readable.
    Malformed,
    /// The body is not JSON.
    UnsupportedMediaType,
    /// The body is larger than may be.
    TooLarge,
    /// Readable and wrong.
    Invalid,
    /// The key was used with another request.
    IdempotencyKeyReused,
    /// The first request with the key is at work.
    IdempotencyKeyInUse,
    /// No key, or none that is known.
    Unauthenticated,
    /// The key may not.
    Forbidden,
    /// No such thing, or it is another property's.
    NotFound,
    /// The path does not know the verb.
    MethodNotAllowed,
    /// No rooms.
    SoldOut,
    /// Its allotment is used up.
    AllotmentExhausted,
    /// Stop sell.
    Closed,
    /// Before the first or beyond the last night that can be booked.
    NotYetOpen,
    /// A stay rule.
    Restriction,
    /// A confirm came too late.
    HoldExpired,
    /// Confirmed with another payment.
    AlreadyConfirmed,
    /// The state does not allow it.
    IllegalTransition,
    /// May be forced.
    NeedsForce,
    /// Takes a manager's approval.
    NeedsApproval,
    /// Somebody was first.
    VersionMismatch,
    /// `If-Match` is missing.
    PreconditionRequired,
    /// Too many requests.
    RateLimited,
    /// Tried again inside, still busy.
    Conflict,
    /// The database, or we, do not answer.
    Unavailable,
    /// The clocks are apart.
    ClockDrift,
    /// A fault of ours.
    Internal,
}

/// One line of the table of problems.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// HTTP status.
    pub status: StatusCode,
    /// The stable word.
    pub code: &'static str,
    /// When it comes.
    pub title: &'static str,
    /// What the caller should do.
    pub remedy: &'static str,
}

impl Kind {
    /// Every line of the table.
    pub fn rows() -> impl Iterator<Item = Row> {
        TABLE.iter().map(|(_, row)| *row)
    }

    /// Its line of the table.
    pub fn row(self) -> Row {
        let line = TABLE.iter().find(|(kind, _)| *kind == self);
        line.map_or(INTERNAL, |(_, row)| *row)
    }
}

/// A line of the table.
const fn row(
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    remedy: &'static str,
) -> Row {
    Row {
        status,
        code,
        title,
        remedy,
    }
}

const MEND: &str = "Mend the request; the same again is refused again.";
const LATER: &str = "Send the same again after Retry-After, with the same key.";
const DESK: &str = "Ask staff, who may force it with a reason.";
const READ: &str = "Read the thing again and decide anew.";
const ROOM: &str = "Offer one of the alternatives, the waitlist, or ask for other nights.";
const REUSED: &str = "The idempotency key was used with another request";

const INTERNAL: Row = row(
    StatusCode::INTERNAL_SERVER_ERROR,
    "internal",
    "A fault of ours",
    "Tell us the request_id.",
);

/// Type, status, when, what the caller should do.
const TABLE: [(Kind, Row); 27] = {
    use Kind as K;
    use StatusCode as S;
    [
        (
            K::Malformed,
            row(S::BAD_REQUEST, "malformed", "Not readable", MEND),
        ),
        (
            K::TooLarge,
            row(S::PAYLOAD_TOO_LARGE, "too_large", "Body too large", MEND),
        ),
        (
            K::UnsupportedMediaType,
            row(
                S::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "The body is not JSON",
                "Send application/json.",
            ),
        ),
        (
            K::Invalid,
            row(S::UNPROCESSABLE_ENTITY, "invalid", "Not right", MEND),
        ),
        (
            K::IdempotencyKeyReused,
            row(
                S::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                REUSED,
                "Use a fresh key for each thing you want.",
            ),
        ),
        (
            K::Unauthenticated,
            row(
                S::UNAUTHORIZED,
                "unauthenticated",
                "No valid key",
                "Send Authorization: Bearer with a key that was not revoked.",
            ),
        ),
        (
            K::Forbidden,
            row(
                S::FORBIDDEN,
                "forbidden",
                "The key may not do this",
                "Use a key with the role that is named.",
            ),
        ),
        (
            K::NotFound,
            row(S::NOT_FOUND, "not_found", "No such thing", MEND),
        ),
        (
            K::MethodNotAllowed,
            row(
                S::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "The path does not know this verb",
                MEND,
            ),
        ),
        (
            K::AllotmentExhausted,
            row(
                S::CONFLICT,
                "allotment_exhausted",
                "Its allotment is used up",
                DESK,
            ),
        ),
        (K::SoldOut, row(S::CONFLICT, "sold_out", "Sold out", ROOM)),
        (
            K::Closed,
            row(S::CONFLICT, "closed", "Closed for sale", DESK),
        ),
        (
            K::NotYetOpen,
            row(S::CONFLICT, "not_yet_open", "Not yet open", DESK),
        ),
        (
            K::Restriction,
            row(S::CONFLICT, "restriction", "A stay rule forbids it", DESK),
        ),
        (
            K::HoldExpired,
            row(S::CONFLICT, "hold_expired", "The hold is over", ROOM),
        ),
        (
            K::AlreadyConfirmed,
            row(
                S::CONFLICT,
                "already_confirmed",
                "Confirmed with another payment",
                "Give this payment back.",
            ),
        ),
        (
            K::IllegalTransition,
            row(
                S::CONFLICT,
                "illegal_transition",
                "Its state does not allow it",
                READ,
            ),
        ),
        (
            K::NeedsForce,
            row(S::CONFLICT, "needs_force", "Needs a force", DESK),
        ),
        (
            K::NeedsApproval,
            row(
                S::CONFLICT,
                "needs_approval",
                "Takes a manager's approval",
                "Ask a manager to approve the cost, or to do it.",
            ),
        ),
        (
            K::IdempotencyKeyInUse,
            row(
                S::CONFLICT,
                "idempotency_key_in_use",
                "The first with this key is at work",
                LATER,
            ),
        ),
        (
            K::VersionMismatch,
            row(
                S::PRECONDITION_FAILED,
                "version_mismatch",
                "Somebody was first",
                READ,
            ),
        ),
        (
            K::PreconditionRequired,
            row(
                S::PRECONDITION_REQUIRED,
                "precondition_required",
                "If-Match is missing",
                "Send If-Match with the ETag that was read.",
            ),
        ),
        (
            K::RateLimited,
            row(
                S::TOO_MANY_REQUESTS,
                "rate_limited",
                "Too many requests",
                LATER,
            ),
        ),
        (
            K::Conflict,
            row(S::SERVICE_UNAVAILABLE, "conflict", "Busy", LATER),
        ),
        (
            K::Unavailable,
            row(
                S::SERVICE_UNAVAILABLE,
                "unavailable",
                "Not available",
                LATER,
            ),
        ),
        (
            K::ClockDrift,
            row(
                S::SERVICE_UNAVAILABLE,
                "clock_drift",
                "The clocks are apart",
                LATER,
            ),
        ),
        (K::Internal, INTERNAL),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_a_word_of_its_own() {
        let mut codes: Vec<_> = Kind::rows().map(|row| row.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), TABLE.len());
        assert!(
            codes
                .iter()
                .all(|code| { code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') })
        );
    }

    #[test]
    fn the_contract_fixes_the_statuses() {
        let table = [
            (400, "malformed"),
            (415, "unsupported_media_type"),
            (413, "too_large"),
            (422, "invalid idempotency_key_reused"),
            (401, "unauthenticated"),
            (403, "forbidden"),
            (404, "not_found"),
            (
                409,
                "sold_out closed not_yet_open restriction hold_expired already_confirmed \
                 illegal_transition needs_force needs_approval idempotency_key_in_use \
                 allotment_exhausted",
            ),
            (412, "version_mismatch"),
            (428, "precondition_required"),
            (429, "rate_limited"),
            (503, "conflict unavailable clock_drift"),
        ];
        for (status, codes) in table {
            for code in codes.split_whitespace() {
                let line = Kind::rows().find(|row| row.code == code);
                let found = line.map(|row| row.status.as_u16());
                assert_eq!(found, Some(status), "{code}");
            }
        }
    }
}
