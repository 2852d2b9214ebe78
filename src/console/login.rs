//! Who looks: an API key, as the password of HTTP Basic.

use std::num::NonZeroU32;

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::keys::{self, ApiKey};

use crate::board::Trouble;

/// Lets in who has a key.
pub struct Door {
    ledger: Ledger,
    lookups: DefaultDirectRateLimiter,
}

/// Who stands at the door.
#[derive(Debug)]
pub enum Entry {
    /// Somebody with a key.
    Known(ApiKey),
    /// Nobody that we know.
    Unknown,
    /// Too many knock.
    TooMany,
}

impl Door {
    /// A door of a ledger.
    pub fn new(ledger: Ledger) -> Self {
        let lookups = RateLimiter::direct(Quota::per_second(LOOKUPS_PER_SECOND));
        Self { ledger, lookups }
    }

    /// Who sent the request.
    pub async fn enter(&self, headers: &HeaderMap) -> Result<Entry, Trouble> {
        let Some(password) = password(headers) else {
            return Ok(Entry::Unknown);
        };
        if self.lookups.check().is_err() {
            return Ok(Entry::TooMany);
        }
        let found = keys::find(&self.ledger, &password).await?;
        Ok(found.map_or(Entry::Unknown, Entry::Known))
    }
}

/// The password; the name before it may be anything.
fn password(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, text) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(())?;
    let bytes = STANDARD.decode(text.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (_, password) = text.split_once(':')?;
    (1..=200)
        .contains(&password.len())
        .then(|| password.to_owned())
}

/// Guessed keys must not keep the database busy.
const LOOKUPS_PER_SECOND: NonZeroU32 = NonZeroU32::new(50).expect("50 is not 0");

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_str(value).expect("a header");
        headers.insert(header::AUTHORIZATION, value);
        password(&headers)
    }

    #[test]
    fn the_password_is_what_follows_the_first_colon() {
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert_eq!(read(&basic("anna:kr_1:2")).as_deref(), Some("kr_1:2"));
        assert_eq!(read(&basic(":kr_1")).as_deref(), Some("kr_1"));
        for wrong in [
            basic("anna"),
            basic("anna:"),
            "Basic !!".into(),
            "Bearer kr_1".into(),
        ] {
            assert_eq!(read(&wrong), None, "{wrong}");
        }
    }
}
