//! Idempotency keys of what does not go through the lanes: setting rates and inventory, the verbs
//! of accounts, replays. The first request under a key claims it, and its success is kept.
//!
//! # Why
//!
//! A command's key is written in the command's own commit. These calls make several commits of
//! their own, so their key is claimed before and their answer kept after. Each of them sets a
//! state, and setting it again is harmless; that is what happens when a daemon dies in between.

use crate::command::Idempotency;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::connection;
use crate::store::kept_answer::{self as store, KeptRow};

/// An answer as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Media type of the body.
    pub content_type: Option<String>,
    /// The version that was told with it.
    pub etag: Option<String>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

/// What a key is when a request comes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// This request's own: it is the first, and must end with [`keep`] or [`release`].
    Ours,
    /// The same request succeeded before.
    Before(Answer),
    /// The same request is at work, or was cut off.
    AtWork {
        /// Seconds since it began.
        since: u32,
        /// Seconds until it is given up, and the key is free again.
        left: u32,
    },
    /// Another request's.
    AnotherRequests,
}

/// Claims a key for a request.
///
/// # Errors
///
/// Failures of the database.
pub async fn claim(ledger: &Ledger, asked: &Idempotency) -> Result<Claimed, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let key = (asked.scope.as_str(), asked.key.as_str());
    // Between claim and look a refused first may have let go of it.
    for _ in 0..ATTEMPTS {
        if store::claim(&mut conn, key, &asked.fingerprint, AT_WORK_SECONDS).await? {
            return Ok(Claimed::Ours);
        }
        if let Some(row) = store::find(&mut conn, key).await? {
            return Ok(match answer(row, &asked.fingerprint) {
                Some(claimed) => claimed,
                None => Claimed::AnotherRequests,
            });
        }
    }
    Ok(Claimed::AtWork {
        since: 0,
        left: AT_WORK_SECONDS,
    })
}

fn answer(row: KeptRow, fingerprint: &str) -> Option<Claimed> {
    if row.fingerprint != fingerprint {
        return None;
    }
    let Some(status) = row.status else {
        let since = u32::try_from(row.age_seconds).unwrap_or(0);
        // It is given up when more than that has passed.
        let left = AT_WORK_SECONDS.saturating_sub(since) + 1;
        return Some(Claimed::AtWork { since, left });
    };
    Some(Claimed::Before(Answer {
        status: u16::try_from(status).unwrap_or_default(),
        content_type: row.content_type,
        etag: row.etag,
        body: row.body.unwrap_or_default(),
    }))
}

/// Keeps the answer of a request that succeeded.
///
/// # Errors
///
/// Failures of the database.
pub async fn keep(ledger: &Ledger, asked: &Idempotency, answer: Answer) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let row = KeptRow {
        fingerprint: asked.fingerprint.clone(),
        age_seconds: 0,
        status: i16::try_from(answer.status).ok(),
        content_type: answer.content_type,
        etag: answer.etag,
        body: Some(answer.body),
    };
    store::keep(&mut conn, (&asked.scope, &asked.key), &row).await
}

/// Lets go of the key of a request that was refused: it is decided anew.
///
/// # Errors
///
/// Failures of the database.
pub async fn release(ledger: &Ledger, asked: &Idempotency) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::release(&mut conn, (&asked.scope, &asked.key), &asked.fingerprint).await
}

/// A first that has not ended by then died with its daemon; a little beyond the time that a caller
/// waits for an answer.
const AT_WORK_SECONDS: u32 = 60;
const ATTEMPTS: u32 = 5;
