//! Availability as it was written, kept for as long as it stands.
//!
//! Revenue managers' programs and consoles ask for the same nights over and over, and writing a
//! year of twenty room types costs far more than finding out that nothing has moved.

use std::sync::Arc;

use axum::body::Bytes;
use jiff::Timestamp;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::moves::{self, Stamp};
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::StayRange;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// Of which property.
    pub property: PropertyId,
    /// Which nights.
    pub nights: StayRange,
    /// Of this room type, or of all.
    pub room_type: Option<RoomTypeId>,
}

/// An answer.
#[derive(Debug)]
pub struct Kept {
    /// Its JSON after the instant, which is another each time.
    rest: Bytes,
    /// The look before it was read.
    stamp: Stamp,
    /// When a hold dies and rooms come free by themselves.
    until: Option<Timestamp>,
}

impl Kept {
    /// An answer that was written whole: its first field is `as_of`.
    pub fn of(whole: &Bytes, stamp: Stamp, until: Option<Timestamp>) -> Option<Self> {
        let instant_ends = whole.iter().position(|byte| *byte == b',')?;
        let rest = whole.slice(instant_ends..);
        Some(Self { rest, stamp, until })
    }

    /// The answer, true of an instant.
    fn body(&self, as_of: Timestamp) -> Bytes {
        let mut body = format!("{{\"as_of\":\"{as_of}\"").into_bytes();
        body.extend_from_slice(&self.rest);
        Bytes::from(body)
    }
}

/// The answers of this process.
pub struct Shelf {
    kept: Cache<Question, Arc<Kept>, Bytewise>,
}

#[derive(Clone)]
struct Bytewise;

impl Weighter<Question, Arc<Kept>> for Bytewise {
    fn weight(&self, _: &Question, kept: &Arc<Kept>) -> u64 {
        u64::try_from(kept.rest.len())
            .unwrap_or(u64::MAX)
            .saturating_add(OVERHEAD)
    }
}

impl Shelf {
    /// Keeps so many bytes at most.
    pub fn new(bytes_max: u64) -> Self {
        let questions = usize::try_from(bytes_max / EXPECTED_BYTES).unwrap_or(usize::MAX);
        Self {
            kept: Cache::with_weighter(questions.max(1), bytes_max, Bytewise),
        }
    }

    /// The kept answer, where `now`, a look at its property, shows that it stands.
    pub fn answer(&self, ledger: &Ledger, question: &Question, now: Stamp) -> Option<Bytes> {
        let kept = self.kept.get(question)?;
        let is_alive = kept.until.is_none_or(|until| now.at < until);
        let stands = is_alive && moves::stands(ledger, question.property, kept.stamp, now);
        stands.then(|| kept.body(now.at))
    }

    /// Keeps an answer.
    pub fn keep(&self, question: Question, kept: Kept) {
        self.kept.insert(question, Arc::new(kept));
    }
}

/// Of a question and what surrounds it.
const OVERHEAD: u64 = 200;
/// Of an answer: a month of a few room types.
const EXPECTED_BYTES: u64 = 32 * 1024;
