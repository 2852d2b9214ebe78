//! The floor's own settings.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// `[api]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Bytes of a request's body at most.
    pub body_bytes_max: usize,
    /// Bytes of a channel's delivery at most.
    pub inbox_bytes_max: usize,
    /// Milliseconds until a request's header must have arrived; a connection that is kept idle for
    /// so long is closed.
    pub header_timeout_ms: u64,
    /// Milliseconds until a body must have arrived.
    pub body_timeout_ms: u64,
    /// Milliseconds until a caller gets an answer; what was begun for him goes on.
    pub request_timeout_ms: u64,
    /// Milliseconds that an availability may lie behind what other daemons did; what was done here
    /// is seen at once, and `fresh=true` asks the database each time.
    pub availability_age_ms: u32,
    /// Bytes of availability that are kept at most, for as long as nothing moves.
    pub availability_bytes_max: u64,
    /// Requests that one key may make in a second.
    pub requests_per_second: NonZeroU32,
    /// Seconds for which a key once found is not asked for again: a revoked key may live so long.
    pub key_cache_seconds: u32,
    /// Look-ups of keys in the database in a second, known and unknown ones together.
    pub key_lookups_per_second: NonZeroU32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes_max: 1024 * 1024,
            inbox_bytes_max: 10 * 1024 * 1024,
            header_timeout_ms: 30_000,
            body_timeout_ms: 10_000,
            request_timeout_ms: 30_000,
            availability_age_ms: 100,
            availability_bytes_max: 64 * 1024 * 1024,
            requests_per_second: const { NonZeroU32::new(1_000).expect("1000 is not 0") },
            key_cache_seconds: 5,
            key_lookups_per_second: const { NonZeroU32::new(200).expect("200 is not 0") },
        }
    }
}
