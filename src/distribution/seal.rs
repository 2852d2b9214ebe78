//! Secrets at rest: XChaCha20-Poly1305 under the configuration's key.
//!
//! # Why
//!
//! A dump of the database must not hold a hotel's logins. The nonce is 24 bytes out of the
//! operating system's randomness, so that no counter has to be kept; the envelope begins with a
//! version, and the purpose is authenticated, so that a sealed token cannot be passed off as a
//! sealed password.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, AeadCore, KeyInit, OsRng, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

/// Seals and opens secrets; cheap to clone.
#[derive(Clone)]
pub struct Seal {
    cipher: XChaCha20Poly1305,
}

/// Why a secret could not be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// The configured key is not a key.
    #[error("the key for secrets must be 32 bytes, as 64 hexadecimal digits or as base64")]
    BadKey,
    /// What is stored is not an envelope of ours, or of a later version of keyrack.
    #[error("a stored secret is not in a form that this version knows")]
    BadEnvelope,
    /// Sealed under another key, or damaged.
    #[error(
        "a stored secret does not open with the configured key: \
         configure the key it was sealed with, or put the credentials anew"
    )]
    WrongKey,
}

/// For what a secret is kept: authenticated with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// User and secret of a connection.
    Credentials,
    /// What signing in learned.
    Learned,
    /// The signing secret of a webhook.
    Webhook,
    /// A word that shows whose key it is.
    Probe,
}

impl Seal {
    /// A seal under a key of 32 bytes: 64 hexadecimal digits, or base64.
    ///
    /// # Errors
    ///
    /// [`SealError::BadKey`].
    pub fn new(key: &SecretString) -> Result<Self, SealError> {
        let text = key.expose_secret().trim();
        let bytes = hex::decode(text)
            .ok()
            .filter(|bytes| bytes.len() == KEY_BYTES)
            .or_else(|| STANDARD.decode(text).ok())
            .ok_or(SealError::BadKey)?;
        let cipher = XChaCha20Poly1305::new_from_slice(&bytes).map_err(|_| SealError::BadKey)?;
        Ok(Self { cipher })
    }

    /// A fresh key, as hexadecimal digits.
    pub fn fresh_key() -> SecretString {
        SecretString::from(hex::encode(XChaCha20Poly1305::generate_key(&mut OsRng)))
    }

    /// The envelope of a secret: version, nonce, ciphertext.
    ///
    /// # Errors
    ///
    /// [`SealError::BadEnvelope`] where the secret is absurdly long.
    pub fn seal(&self, purpose: Purpose, secret: &[u8]) -> Result<Vec<u8>, SealError> {
        let nonce = XChaCha20Poly1305::generate_nonce(&mut OsRng);
        let payload = Payload {
            msg: secret,
            aad: purpose.label(),
        };
        let sealed = self
            .cipher
            .encrypt(&nonce, payload)
            .map_err(|_| SealError::BadEnvelope)?;
        Ok([&[VERSION][..], nonce.as_slice(), &sealed].concat())
    }

    /// The secret in an envelope.
    ///
    /// # Errors
    ///
    /// [`SealError::WrongKey`] where key, purpose or bytes differ; [`SealError::BadEnvelope`].
    pub fn open(&self, purpose: Purpose, envelope: &[u8]) -> Result<Vec<u8>, SealError> {
        let (version, rest) = envelope.split_first().ok_or(SealError::BadEnvelope)?;
        if *version != VERSION || rest.len() < NONCE_BYTES {
            return Err(SealError::BadEnvelope);
        }
        let (nonce, sealed) = rest.split_at(NONCE_BYTES);
        let payload = Payload {
            msg: sealed,
            aad: purpose.label(),
        };
        self.cipher
            .decrypt(XNonce::from_slice(nonce), payload)
            .map_err(|_| SealError::WrongKey)
    }
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Credentials => b"keyrack.credentials",
            Self::Learned => b"keyrack.learned",
            Self::Webhook => b"keyrack.webhook",
            Self::Probe => b"keyrack.probe",
        }
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn seal() -> Seal {
        Seal::new(&Seal::fresh_key()).expect("a fresh key is a key")
    }

    #[test]
    fn what_is_sealed_opens_again_and_never_looks_the_same_twice() {
        let seal = seal();
        let first = seal.seal(Purpose::Credentials, b"pass").expect("sealed");
        let second = seal.seal(Purpose::Credentials, b"pass").expect("sealed");
        assert_ne!(first, second);
        assert!(!first.windows(4).any(|window| window == b"pass"));
        assert_eq!(
            seal.open(Purpose::Credentials, &first).as_deref(),
            Ok(&b"pass"[..])
        );
    }

    #[test]
    fn another_key_says_so_clearly() {
        let sealed = seal().seal(Purpose::Learned, b"token").expect("sealed");
        let refused = seal().open(Purpose::Learned, &sealed);
        assert_eq!(refused, Err(SealError::WrongKey));
        assert!(SealError::WrongKey.to_string().contains("configured key"));
    }

    #[test]
    fn a_secret_opens_only_for_what_it_was_sealed_for() {
        let seal = seal();
        let sealed = seal.seal(Purpose::Learned, b"token").expect("sealed");
        assert_eq!(
            seal.open(Purpose::Credentials, &sealed),
            Err(SealError::WrongKey)
        );
        assert_eq!(
            seal.open(Purpose::Learned, &sealed[..9]),
            Err(SealError::BadEnvelope)
        );
        assert_eq!(
            seal.open(Purpose::Learned, &[9; 60]),
            Err(SealError::BadEnvelope)
        );
    }

    #[test]
    fn a_key_is_read_as_hexadecimal_or_base64_and_nothing_else() {
        let hex = "00".repeat(32);
        let base64 = STANDARD.encode([0_u8; 32]);
        let sealed = Seal::new(&hex.into())
            .and_then(|seal| seal.seal(Purpose::Webhook, b"x"))
            .expect("sealed");
        let twin = Seal::new(&base64.into()).expect("the same key");
        assert_eq!(
            twin.open(Purpose::Webhook, &sealed).as_deref(),
            Ok(&b"x"[..])
        );
        for wrong in ["", "secret", &"00".repeat(31), &"0g".repeat(32)] {
            let key = SecretString::from(wrong.to_owned());
            assert_eq!(Seal::new(&key).err(), Some(SealError::BadKey), "{wrong}");
        }
    }
}
