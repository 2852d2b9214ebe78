//! Which key asks: a short memory of look-ups, and the bounds on how often may be asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::keys::{self, ApiKey};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::settings::Settings;

/// The keys that asked lately.
pub struct Keys {
    ledger: Ledger,
    keep: Duration,
    clock: DefaultClock,
    known: Mutex<HashMap<[u8; 32], Known>>,
    turn: tokio::sync::Mutex<()>,
    lookups: DefaultDirectRateLimiter,
    requests: DefaultKeyedRateLimiter<i64>,
}

struct Known {
    key: Option<Arc<ApiKey>>,
    until: Instant,
}

impl Keys {
    /// Nobody asked yet.
    pub fn new(ledger: Ledger, settings: &Settings) -> Self {
        Self {
            ledger,
            keep: Duration::from_secs(settings.key_cache_seconds.into()),
            clock: DefaultClock::default(),
            known: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            lookups: RateLimiter::direct(Quota::per_second(settings.key_lookups_per_second)),
            requests: RateLimiter::keyed(Quota::per_second(settings.requests_per_second)),
        }
    }

    /// The key of a text, counted against its rate.
    ///
    /// A key found is remembered for `key_cache_seconds`: so long after its revocation it may
    /// still be served. Only a hash is remembered.
    pub async fn admit(&self, text: &str) -> Result<Arc<ApiKey>, Problem> {
        let key = self.find(text).await?.ok_or_else(|| {
            Problem::new(
                Kind::Unauthenticated,
                "the key is not known, or was revoked",
            )
        })?;
        let checked = self.requests.check_key(&key.id);
        checked.map_err(|until| self.too_many(&until))?;
        Ok(key)
    }

    async fn find(&self, text: &str) -> Result<Option<Arc<ApiKey>>, Problem> {
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        if let Some(known) = self.remembered(&hash) {
            return Ok(known);
        }
        // One at a time: when a key's memory is over, one of its callers asks for all.
        let _turn = self.turn.lock().await;
        if let Some(known) = self.remembered(&hash) {
            return Ok(known);
        }
        // Guessed keys must not keep the database busy.
        let checked = self.lookups.check();
        checked.map_err(|until| self.too_many(&until))?;
        let found = keys::find(&self.ledger, text).await?.map(Arc::new);
        self.remember(hash, found.clone());
        Ok(found)
    }

    fn remembered(&self, hash: &[u8; 32]) -> Option<Option<Arc<ApiKey>>> {
        let known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let known = known.get(hash)?;
        (Instant::now() < known.until).then(|| known.key.clone())
    }

    fn remember(&self, hash: [u8; 32], key: Option<Arc<ApiKey>>) {
        let now = Instant::now();
        let until = now + self.keep;
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        if known.len() >= KNOWN_MAX {
            known.retain(|_, one| now < one.until);
        }
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(hash, Known { key, until });
    }

    fn too_many(&self, until: &NotUntil<<DefaultClock as Clock>::Instant>) -> Problem {
        let wait = until.wait_time_from(self.clock.now());
        let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
        Problem::new(Kind::RateLimited, "too many requests with this key")
            .after(seconds.saturating_add(1))
    }
}

/// Far more keys than a house has: bounds what guessing could make us remember.
const KNOWN_MAX: usize = 10_000;
