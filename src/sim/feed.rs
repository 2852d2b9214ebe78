//! A reader of the tail, while commands run and daemons crash: it must see every entry once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyrack_ledger::handle::Ledger;
use keyrack_ledger::tail::{self, Cursor};
use sqlx::PgPool;
use tokio::task::JoinHandle;

use crate::error::SimError;

/// A reader behind its cursor.
pub struct Reader {
    stop: Arc<AtomicBool>,
    rests: Arc<AtomicBool>,
    reading: JoinHandle<BTreeMap<(u64, i64), usize>>,
}

impl Reader {
    /// Begins to read, from the beginning.
    pub fn start(ledger: Ledger) -> Self {
        let (stop, rests) = (Arc::default(), Arc::default());
        let reading = tokio::spawn(read(ledger, Arc::clone(&stop), Arc::clone(&rests)));
        Self {
            stop,
            rests,
            reading,
        }
    }

    /// What lets it rest while nobody writes: it asks every few milliseconds else.
    pub fn rests(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.rests)
    }

    /// Reads what is left; what it missed or saw twice, and how many entries there are.
    pub async fn finish(self, pool: &PgPool) -> Result<(Vec<String>, usize), SimError> {
        self.stop.store(true, Ordering::Relaxed);
        let Ok(seen) = self.reading.await else {
            return Ok((vec!["the reader of the tail panicked".to_owned()], 0));
        };
        let written: Vec<(String, i64, String)> = sqlx::query_as(
            "select tx::text, seq, concat_ws(' ', kind, reservation_id) from ledger_entry",
        )
        .fetch_all(pool)
        .await
        .map_err(SimError::look("reading all entries"))?;
        let mut found = Vec::new();
        for (tx, seq, what) in &written {
            let key = (tx.parse().unwrap_or(0), *seq);
            let count = seen.get(&key).copied().unwrap_or(0);
            if count != 1 {
                let at = format!("transaction {tx}, sequence {seq} ({what})");
                found.push(format!("the feed saw {at} {count} times"));
            }
        }
        if seen.len() > written.len() {
            let (seen, written) = (seen.len(), written.len());
            found.push(format!(
                "the feed saw {seen} entries, {written} were written"
            ));
        }
        Ok((found, written.len()))
    }
}

/// Reads until it is stopped and nothing more comes. What fails is tried again: a cursor is kept
/// by its reader.
async fn read(
    ledger: Ledger,
    stop: Arc<AtomicBool>,
    rests: Arc<AtomicBool>,
) -> BTreeMap<(u64, i64), usize> {
    let mut seen = BTreeMap::new();
    let mut cursor = Cursor::default();
    loop {
        let is_last = stop.load(Ordering::Relaxed);
        if rests.load(Ordering::Relaxed) && !is_last {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        }
        let entries = tail::entries(&ledger, cursor, PAGE).await;
        let is_empty = entries.as_ref().is_ok_and(Vec::is_empty);
        for entry in entries.unwrap_or_default() {
            cursor = entry.cursor;
            *seen.entry((cursor.tx, cursor.seq)).or_insert(0) += 1;
        }
        if is_last && is_empty {
            return seen;
        }
        if is_empty {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }
}

/// Small, so that a page often ends within a transaction.
const PAGE: u32 = 3;
