//! Versions: `ETag` on what is shown, `If-Match` on what is changed.

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use axum::{Json, http};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::state::ApiState;

/// The version that the caller read, where they say; `*` says nothing.
#[derive(Clone, Copy, Debug)]
pub struct IfMatch(pub Option<i64>);

impl IfMatch {
    /// Where a version must be told.
    pub fn required(self) -> Result<i64, Problem> {
        self.0.ok_or_else(|| {
            let detail = "send If-Match with the ETag of what you read";
            Problem::new(Kind::PreconditionRequired, detail)
        })
    }
}

impl FromRequestParts<ApiState> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else {
            return Ok(Self(None));
        };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(Self(None));
        }
        // No version is 0: a tag that we never gave matches nothing.
        let tag = text.strip_prefix("W/").unwrap_or(text).trim_matches('"');
        Ok(Self(Some(tag.parse().unwrap_or(0))))
    }
}

/// A thing with its version.
pub struct Versioned<T> {
    /// Its version.
    pub version: i64,
    /// It did not exist before: 201.
    pub is_new: bool,
    /// The answer of an earlier request under the same idempotency key.
    pub is_replay: bool,
    /// Where it can be read.
    pub location: Option<String>,
    /// What is shown.
    pub shown: T,
}

impl<T> Versioned<T> {
    /// A thing that was read or changed.
    pub fn of(version: i64, shown: T) -> Self {
        Self {
            version,
            is_new: false,
            is_replay: false,
            location: None,
            shown,
        }
    }

    /// A thing that is perhaps new.
    pub fn put(version: i64, is_new: bool, shown: T) -> Self {
        Self {
            is_new,
            ..Self::of(version, shown)
        }
    }
}

impl<T: Serialize> IntoResponse for Versioned<T> {
    fn into_response(self) -> Response {
        let status = if self.is_new {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        let mut response = (status, Json(self.shown)).into_response();
        let headers = response.headers_mut();
        if let Ok(value) = HeaderValue::from_str(&format!("\"{}\"", self.version)) {
            headers.insert(header::ETAG, value);
        }
        if let Some(Ok(value)) = self.location.as_deref().map(HeaderValue::from_str) {
            headers.insert(header::LOCATION, value);
        }
        if self.is_replay {
            headers.insert("idempotent-replay", HeaderValue::from_static("true"));
        }
        response
    }
}
