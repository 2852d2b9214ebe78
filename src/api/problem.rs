//! Errors as RFC 9457 problem details; with its table the only place that knows their status codes.
//!
//! A [`Problem`] travels in the response's extensions until the outermost layer writes it, since
//! only that layer knows the request's id.

pub mod kind;
pub mod sentence;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::kind::Kind;
use crate::problem::sentence::{of_field, remark, sentence};
use crate::wire::Day;

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
    /// What could be had instead of what is sold out.
    pub instead: Option<Box<Instead>>,
    /// When the same again may succeed.
    pub retry_after_seconds: Option<u32>,
}

/// What could be had instead of what is sold out.
#[derive(Clone, Debug, PartialEq)]
pub struct Instead {
    /// Free at that moment.
    pub alternatives: Vec<AlternativeView>,
    /// Where to wait.
    pub waitlist: String,
}

/// A field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer into the body, or the name of the query parameter after a slash.
    pub pointer: String,
    /// What would be right.
    pub message: String,
}

impl FieldError {
    /// The message as a sentence.
    fn said(self) -> Self {
        Self {
            message: sentence(&remark(&self.message)),
            ..self
        }
    }
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
    /// Where to wait, of what is sold out: a `POST` there puts the wish on the waitlist.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "/v1/properties/seehof/waitlist")]
    waitlist: Option<String>,
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
            instead: None,
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
            || "The request is not right: look at it once more.".to_owned(),
            |first| of_field(&first.pointer, &first.message),
        );
        Self {
            errors,
            ..Self::new(Kind::Invalid, detail)
        }
    }

    /// There is no such thing, or it is another property's.
    pub fn not_found(what: &str) -> Self {
        let detail = format!("there is no such {what} here: look up what there is");
        Self::new(Kind::NotFound, detail)
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
            detail: sentence(&self.detail),
            code: row.code,
            request_id: request_id.to_owned(),
            errors: self.errors.into_iter().map(FieldError::said).collect(),
            nights: self.nights,
            waitlist: self
                .instead
                .as_ref()
                .map(|instead| instead.waitlist.clone()),
            alternatives: self
                .instead
                .map(|instead| instead.alternatives)
                .unwrap_or_default(),
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
    fn a_problem_names_its_request_and_when_to_come_again() {
        let problem = Problem::new(Kind::RateLimited, "too many").after(3);
        let response = problem.written("req-1");
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
        let kind = &response.headers()[header::CONTENT_TYPE];
        assert_eq!(kind, "application/problem+json");
    }
}
