//! The signature of a webhook: HMAC-SHA256 over time stamp and body.
//!
//! The receiver computes it anew from the header `keyrack-timestamp` and the body as it came, and
//! refuses what is older than some minutes: so a recorded call cannot be played again.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The header `keyrack-signature`: `v1=` and the HMAC-SHA256 of `timestamp.body` in hexadecimal
/// digits, under the bytes of the secret as it was shown.
pub(crate) fn signature(secret: &[u8], timestamp: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(timestamp.to_string().as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    format!("v1={}", hex::encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_any_hmac_tool_says() {
        // printf '1700000000.{"id":"1"}' | openssl dgst -sha256 -hmac secret
        let found = signature(b"secret", 1_700_000_000, r#"{"id":"1"}"#);
        assert_eq!(found, EXPECTED);
    }

    #[test]
    fn another_instant_another_body_or_another_secret_is_another_signature() {
        let one = signature(b"secret", 1, "body");
        assert_ne!(one, signature(b"secret", 2, "body"));
        assert_ne!(one, signature(b"secret", 1, "body "));
        assert_ne!(one, signature(b"secre7", 1, "body"));
    }

    const EXPECTED: &str = "v1=086f6aff7bd084c98679825129c5a64dbad88c760016d6d2c0fb123f27951d54";
}
