//! Tokens for machine accounts: exchanged for a secret, short of life, few an hour.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use crate::clock::elapsed_ms;
use crate::edge::{Answer, Heard};
use crate::settings::BookingComSettings;

use super::answer::ruid;

/// All tokens that were given, by their text.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    given: BTreeMap<String, Timestamp>,
}

#[derive(Deserialize)]
struct Exchange {
    client_id: String,
    client_secret: String,
}

impl Tokens {
    /// Answers `POST /token-based-authentication/exchange`.
    pub(crate) fn exchange(
        &mut self,
        body: &[u8],
        settings: &BookingComSettings,
        now: Timestamp,
    ) -> Heard {
        let Ok(asked) = serde_json::from_slice::<Exchange>(body) else {
            return refused(400, "client_id and client_secret are required", now);
        };
        let known = asked.client_id == settings.client_id
            && asked.client_secret == settings.client_secret.reveal();
        if !known {
            return refused(401, "unknown client or wrong secret", now);
        }
        let recent = |at: &Timestamp| elapsed_ms(*at, now) < HOUR_MS;
        let lately = self.given.values().filter(|at| recent(at)).count();
        if lately >= usize::try_from(settings.tokens_per_hour_max).unwrap_or(usize::MAX) {
            let mut heard = refused(429, "too many tokens within an hour", now);
            heard.answer = heard.answer.with("retry-after", "60");
            return heard;
        }
        let token = format!(
            "sandbox.{}.{}",
            uuid::Uuid::new_v4().simple(),
            self.given.len()
        );
        self.given.insert(token.clone(), now);
        let body = json!({"jwt": token, "ruid": ruid(now)}).to_string();
        Heard::accepted(Answer::new(200, JSON, body))
    }

    /// Whether an `Authorization` header carries a token that is still good.
    pub(crate) fn admits(
        &self,
        authorization: Option<&str>,
        settings: &BookingComSettings,
        now: Timestamp,
    ) -> bool {
        authorization
            .and_then(|header| header.strip_prefix("Bearer "))
            .and_then(|token| self.given.get(token.trim()))
            .is_some_and(|at| elapsed_ms(*at, now) < i64::from(settings.token_lifetime_ms))
    }

    /// Makes all tokens worthless, as when an account's secret is changed.
    pub(crate) fn revoke(&mut self, now: Timestamp) {
        let long_ago = now - jiff::SignedDuration::from_hours(24);
        for at in self.given.values_mut() {
            *at = (*at).min(long_ago);
        }
    }
}

fn refused(status: u16, why: &str, now: Timestamp) -> Heard {
    let errors = json!([{"code": "AUTHENTICATION_ERROR", "message": why}]);
    let body = json!({"errors": errors, "ruid": ruid(now)}).to_string();
    Heard::refused(Answer::new(status, JSON, body), why)
}

pub(crate) const JSON: &str = "application/json";
const HOUR_MS: i64 = 3_600_000;
