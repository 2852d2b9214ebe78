//! Idempotency keys: how a repeat is known.

use axum::extract::{FromRequestParts, OriginalUri};
use http::Method;
use http::request::Parts;
use keyrack_ledger::command::Idempotency;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::auth::Caller;
use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::state::ApiState;

/// The caller's `Idempotency-Key`, with the call that it belongs to.
#[derive(Clone, Debug)]
pub struct Repeat {
    key: Option<String>,
    route: String,
    query: String,
}

impl FromRequestParts<ApiState> for Repeat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let OriginalUri(uri) = match OriginalUri::from_request_parts(parts, state).await {
            Ok(uri) => uri,
            Err(never) => match never {},
        };
        let route = route(&parts.method, &uri);
        let query = uri.query().unwrap_or_default().to_owned();
        let Some(value) = parts.headers.get("idempotency-key") else {
            return Ok(Self {
                key: None,
                route,
                query,
            });
        };
        let key = value.to_str().unwrap_or_default();
        if !(1..=KEY_MAX).contains(&key.len()) {
            let detail = format!("Idempotency-Key has 1 to {KEY_MAX} visible ASCII characters");
            return Err(Problem::new(Kind::Malformed, detail));
        }
        let key = Some(key.to_owned());
        Ok(Self { key, route, query })
    }
}

impl Repeat {
    /// How the ledger knows a repeat; `None` where the caller gave no key.
    pub fn known(&self, caller: &Caller, body: &[u8]) -> Option<Idempotency> {
        let key = self.key.clone()?;
        Some(Idempotency {
            scope: format!("key:{} {}", caller.key.id, self.route),
            key,
            fingerprint: fingerprint(&self.route, &self.query, body),
        })
    }

    /// Where a key must be given.
    pub fn required(&self, caller: &Caller, body: &[u8]) -> Result<Idempotency, Problem> {
        self.known(caller, body).ok_or_else(|| {
            Problem::new(
                Kind::Invalid,
                "send an Idempotency-Key, fresh for each thing you want: a repeat then books once",
            )
        })
    }
}

/// Verb and path: the same key elsewhere is another key. A dry run uses no key up for the deed.
fn route(method: &Method, uri: &http::Uri) -> String {
    let mut asked = uri.query().unwrap_or_default().split('&');
    match asked.any(|one| one == "dry_run=true") {
        true => format!("{method} {}?dry_run=true", uri.path()),
        false => format!("{method} {}", uri.path()),
    }
}

/// Hash of route, query and body; blanks and the order of fields do not count.
fn fingerprint(route: &str, query: &str, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(route.as_bytes());
    if !query.is_empty() {
        hash.update(b"?");
        hash.update(query.as_bytes());
    }
    hash.update(b"\n");
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => {
            let mut plain = String::new();
            canonical(&value, &mut plain);
            hash.update(plain.as_bytes());
        }
        Err(_) => hash.update(body),
    }
    hex::encode(hash.finalize())
}

/// JSON with sorted fields and without blanks, whatever order the map type keeps.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            out.push('{');
            for name in names {
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                if let Some(field) = fields.get(name) {
                    canonical(field, out);
                }
                out.push(',');
            }
            out.push('}');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

const KEY_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_a_verb_and_a_path_and_a_dry_run_is_apart() {
        let of = |uri: &str| route(&Method::POST, &uri.parse().expect("a uri"));
        assert_eq!(of("/a?only=good"), of("/a"));
        assert_eq!(of("/a?dry_run=false&x=1"), of("/a"));
        assert_ne!(of("/a?x=1&dry_run=true"), of("/a"));
        assert_ne!(of("/a"), of("/b"));
    }

    #[test]
    fn the_same_request_has_the_same_fingerprint() {
        let one = fingerprint("POST /a", "", br#"{"a":1,"b":{"c":[1,2],"d":null}}"#);
        let same = fingerprint("POST /a", "", br#" { "b":{"d":null,"c":[1, 2]}, "a":1 } "#);
        assert_eq!(one, same);
        // Keys outlive a daemon: a change of this is a change of every kept repeat.
        let kept = fingerprint("POST /a", "", br#"{"a":1}"#);
        assert_eq!(
            kept,
            "dff51f9c0c08c72941f19da06b5be36ca1c76b2393f4324d51d296018368e670"
        );
        for other in [r#"{"a":1,"b":{"c":[2,1],"d":null}}"#, r#"{"a":1}"#, ""] {
            assert_ne!(one, fingerprint("POST /a", "", other.as_bytes()), "{other}");
        }
        let body = br#"{"a":1,"b":{"c":[1,2],"d":null}}"#;
        assert_ne!(one, fingerprint("POST /b", "", body));
        assert_ne!(one, fingerprint("POST /a", "mode=x", body));
    }
}
