//! Errors as RFC 9457 problem details; the only file that knows their status codes.
//!
//! A [`Problem`] travels in the response's extensions until the outermost layer writes it, since
//! only that layer knows the request's id.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::Day;

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
const ROOM: &str = "Offer one of the alternatives, or ask for other nights.";
const REUSED: &str = "The idempotency key was used with another request";

const INTERNAL: Row = row(
    StatusCode::INTERNAL_SERVER_ERROR,
    "internal",
    "A fault of ours",
    "Tell us the request_id.",
);

/// Type, status, when, what the caller should do.
const TABLE: [(Kind, Row); 24] = {
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

/// An error as the caller sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What kind.
    pub kind: Kind,
    /// This very case, in a sentence.
    pub detail: String,
    /// Fields that are wrong.
    pub errors: Vec<FieldError>,
    /// Nights concerned.
    pub nights: Vec<NightRef>,
    /// What could be had instead.
    pub alternatives: Vec<AlternativeView>,
    /// When the same again may succeed.
    pub retry_after_seconds: Option<u32>,
}

/// A field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer into the body, or the name of the query parameter after a slash.
    pub pointer: String,
    /// What would be right.
    pub message: String,
}

/// A night of a room type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct NightRef {
    /// Code of the room type.
    pub room_type: String,
    /// The night.
    pub stay_date: Day,
}

/// A stay that is really free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AlternativeView {
    /// Code of the room type.
    pub room_type: String,
    /// First night.
    pub arrival: Day,
    /// The morning after the last night.
    pub departure: Day,
    /// Rooms free on its scarcest night.
    pub free: i32,
}

/// RFC 9457 problem details: what every error looks like, with media type
/// `application/problem+json`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Where this kind is explained.
    #[serde(rename = "type")]
    #[schema(example = "/docs#problem-sold_out")]
    about: String,
    /// The kind, for people.
    title: &'static str,
    /// HTTP status.
    status: u16,
    /// This very case, in a sentence.
    detail: String,
    /// The kind, for programs: a stable word.
    #[schema(example = "sold_out")]
    code: &'static str,
    /// Names this request in our logs.
    request_id: String,
    /// Fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FieldError>,
    /// Nights concerned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    nights: Vec<NightRef>,
    /// What could be had instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    alternatives: Vec<AlternativeView>,
    /// When the same again may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_after_seconds: Option<u32>,
}

impl Problem {
    /// A problem of nothing but its kind and a sentence.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            errors: Vec::new(),
            nights: Vec::new(),
            alternatives: Vec::new(),
            retry_after_seconds: None,
        }
    }

    /// One wrong field.
    pub fn invalid(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid_fields(vec![FieldError {
            pointer: pointer.into(),
            message: message.into(),
        }])
    }

    /// Several wrong fields.
    pub fn invalid_fields(errors: Vec<FieldError>) -> Self {
        let detail = errors.first().map_or_else(
            || "the request is not right".to_owned(),
            |first| format!("{}: {}", first.pointer, first.message),
        );
        Self {
            errors,
            ..Self::new(Kind::Invalid, detail)
        }
    }

    /// There is no such thing, or it is another property's.
    pub fn not_found(what: &str) -> Self {
        Self::new(Kind::NotFound, format!("there is no such {what}"))
    }

    /// The same again may succeed after so many seconds.
    #[must_use]
    pub fn after(self, seconds: u32) -> Self {
        Self {
            retry_after_seconds: Some(seconds),
            ..self
        }
    }

    /// The response as it is sent.
    pub fn written(self, request_id: &str) -> Response {
        let row = self.kind.row();
        let body = ProblemBody {
            about: format!("/docs#problem-{}", row.code),
            title: row.title,
            status: row.status.as_u16(),
            detail: self.detail,
            code: row.code,
            request_id: request_id.to_owned(),
            errors: self.errors,
            nights: self.nights,
            alternatives: self.alternatives,
            retry_after_seconds: self.retry_after_seconds,
        };
        let bytes = serde_json::to_vec(&body).unwrap_or_default();
        let kind = (header::CONTENT_TYPE, "application/problem+json");
        let mut response = (row.status, [kind], bytes).into_response();
        if let Some(seconds) = self.retry_after_seconds {
            let value = HeaderValue::from(seconds);
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        if self.kind == Kind::Unauthenticated {
            let value = HeaderValue::from_static("Bearer");
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

impl IntoResponse for Problem {
    /// Only the status and the problem itself: the outermost layer writes it.
    fn into_response(self) -> Response {
        let mut response = self.kind.row().status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The answer of every call that did not succeed, for the OpenAPI document.
pub struct Problems;

impl utoipa::IntoResponses for Problems {
    fn responses()
    -> std::collections::BTreeMap<String, utoipa::openapi::RefOr<utoipa::openapi::Response>> {
        use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("Problem")))
            .build();
        let response = ResponseBuilder::new()
            .description("A problem; `code` says which")
            .content("application/problem+json", content)
            .build();
        std::collections::BTreeMap::from([("default".to_owned(), response.into())])
    }
}

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
                 illegal_transition needs_force",
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

    #[test]
    fn a_problem_names_its_request_and_when_to_come_again() {
        let problem = Problem::new(Kind::RateLimited, "too many").after(3);
        let response = problem.written("req-1");
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
        let kind = &response.headers()[header::CONTENT_TYPE];
        assert_eq!(kind, "application/problem+json");
    }
}
