//! Which key asks: a short memory of look-ups, and the bounds on how often may be asked.

use std::collections::{HashMap, HashSet};
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
    known: Mutex<Memory>,
    /// Who looks up, and whom the house knew when it was asked last.
    turn: tokio::sync::Mutex<Roster>,
    lookups: DefaultDirectRateLimiter,
    requests: DefaultKeyedRateLimiter<i64>,
}

/// Good keys and guesses apart: a flood of guesses crowds no key out.
#[derive(Default)]
struct Memory {
    good: HashMap<[u8; 32], Known>,
    guesses: HashMap<[u8; 32], Known>,
}

struct Known {
    key: Option<Arc<ApiKey>>,
    until: Instant,
}

/// The hashes of all good keys.
///
/// It says only whether a key is worth a look-up when guesses have used those up; who is let in
/// is always looked up and compared in constant time.
#[derive(Default)]
struct Roster {
    hashes: HashSet<Vec<u8>>,
    read_at: Option<Instant>,
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
        let mut roster = self.turn.lock().await;
        if let Some(known) = self.remembered(&hash) {
            return Ok(known);
        }
        // Guessed keys must not keep the database busy, nor good ones out.
        if let Err(until) = self.lookups.check() {
            self.read_roster(&mut roster).await?;
            if !roster.hashes.contains(hash.as_slice()) {
                return Err(self.too_many(&until));
            }
        }
        let found = keys::find(&self.ledger, text).await?.map(Arc::new);
        self.remember(hash, found.clone());
        Ok(found)
    }

    /// Reads the roster again where it is old: one question a second, however many guess.
    async fn read_roster(&self, roster: &mut Roster) -> Result<(), Problem> {
        let now = Instant::now();
        let is_fresh = |at: Instant| now.duration_since(at) < ROSTER_KEPT;
        if !roster.read_at.is_some_and(is_fresh) {
            roster.hashes = keys::hashes(&self.ledger).await?.into_iter().collect();
            roster.read_at = Some(now);
        }
        Ok(())
    }

    fn remembered(&self, hash: &[u8; 32]) -> Option<Option<Arc<ApiKey>>> {
        let known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let known = known.good.get(hash).or_else(|| known.guesses.get(hash))?;
        (Instant::now() < known.until).then(|| known.key.clone())
    }

    fn remember(&self, hash: [u8; 32], key: Option<Arc<ApiKey>>) {
        let now = Instant::now();
        let until = now + self.keep;
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let Memory { good, guesses } = &mut *known;
        // What it was before no longer counts: a key may have been made, or revoked.
        let (of_its_kind, of_the_other) = match key {
            Some(_) => (good, guesses),
            None => (guesses, good),
        };
        of_the_other.remove(&hash);
        if of_its_kind.len() >= KNOWN_MAX {
            of_its_kind.retain(|_, one| now < one.until);
        }
        if of_its_kind.len() >= KNOWN_MAX {
            of_its_kind.clear();
        }
        of_its_kind.insert(hash, Known { key, until });
    }

    fn too_many(&self, until: &NotUntil<<DefaultClock as Clock>::Instant>) -> Problem {
        let wait = until.wait_time_from(self.clock.now());
        let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
        Problem::new(Kind::RateLimited, "too many requests with this key")
            .after(seconds.saturating_add(1))
    }
}

/// A key that was made within it may be told to wait while others guess.
const ROSTER_KEPT: Duration = Duration::from_secs(1);
/// Far more keys than a house has: bounds what guessing could make us remember.
const KNOWN_MAX: usize = 10_000;
