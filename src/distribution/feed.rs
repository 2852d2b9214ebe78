//! The feed: what the ledger and the rates have newly written becomes marks, webhook deliveries
//! and evidence to gather, in one transaction with the place where reading stopped.
//!
//! Any number of daemons may run it: one reads at a time, the others look again a moment later. The
//! ledger knows nothing of it and rings no bell, so it looks on a short timer.

mod calls;
mod derive;
pub(crate) mod directory;
pub(crate) mod events;
pub(crate) mod reach;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keyrack_ledger::catalog;
use keyrack_ledger::tail::{self, Cursor, RateTailEntry, TailEntry};
use keyrack_model::channel::AccountState;
use keyrack_model::id::PropertyId;
use sqlx::PgConnection;
use tokio::time::Instant;

use crate::error::DistributionError;
use crate::evidence;
use crate::feed::calls::deliveries;
use crate::feed::derive::{Derived, House, derive};
use crate::feed::directory::Directory;
use crate::feed::events::{Event, Subject};
use crate::handle::Distribution;
use crate::notice::{self, About, Kind};
use crate::push::urgency::Repeat;
use crate::store::feed::Place;
use crate::store::mark::NewMark;
use crate::store::push_state::Bell;
use crate::store::webhook_delivery::NewDelivery;
use crate::store::{self, clock, transaction};

/// Runs until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    let inner = &distribution.inner;
    let mut feed = Feed::new();
    let pause = Duration::from_millis(inner.settings.feed_poll_ms.max(1).into());
    while !inner.cancel.is_cancelled() {
        match feed.step(&distribution).await {
            Ok(Step::ReadMore) => continue,
            Ok(Step::Idle) => {}
            Err(error) => tracing::warn!(error = %error.chain(), "the feed could not read"),
        }
        feed.watch(&distribution).await;
        tokio::select! {
            () = inner.wakes.feed.notified() => {}
            () = tokio::time::sleep(pause) => {}
            () = inner.cancel.cancelled() => {}
        }
    }
}

/// Asks the feed to look at once: after a write of one's own that should be told quickly.
pub fn wake(distribution: &Distribution) {
    distribution.inner.wakes.feed.notify_one();
}

/// Reads everything that was committed when it was asked; for commands, and for tests that turn the
/// crank by hand. Waits for transactions anywhere on the cluster that hold the tail back, some
/// seconds at most.
///
/// # Errors
///
/// Failures of the database.
pub async fn drain(distribution: &Distribution) -> Result<(), DistributionError> {
    let pool = &distribution.inner.pool;
    let mut feed = Feed::new();
    let (_, target) = store::feed::horizon(pool).await?;
    let begun = Instant::now();
    loop {
        let (reached, _) = store::feed::horizon(pool).await?;
        while feed.step(distribution).await? == Step::ReadMore {}
        if reached >= target {
            return Ok(());
        }
        if begun.elapsed() > DRAIN_LIMIT {
            tracing::warn!("a transaction holds the tail back: not everything could be read");
            return Ok(());
        }
        tokio::time::sleep(DRAIN_PAUSE).await;
    }
}

/// The reader, with what it remembers between two looks.
pub(crate) struct Feed {
    directory: Directory,
    /// Where we left it: if it stands elsewhere, another daemon has read.
    left_at: Option<Place>,
    notified_at: Option<Instant>,
    watched_at: Option<Instant>,
    /// The oldest writer is over the limit, and said so.
    is_alarmed: bool,
}

/// What a look found.
struct Read {
    entries: Vec<TailEntry>,
    rates: Vec<RateTailEntry>,
    houses: HashMap<PropertyId, Arc<House>>,
    derived: Derived,
}

/// What a look brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Something; there may be more.
    ReadMore,
    /// Nothing, or another daemon is reading.
    Idle,
}

impl Feed {
    /// A reader that remembers nothing.
    pub(crate) fn new() -> Self {
        Self {
            directory: Directory::default(),
            left_at: None,
            notified_at: None,
            watched_at: None,
            is_alarmed: false,
        }
    }

    /// One look: what is new becomes rows.
    pub(crate) async fn step(
        &mut self,
        distribution: &Distribution,
    ) -> Result<Step, DistributionError> {
        let inner = &distribution.inner;
        let Some(place) = store::feed::load(&inner.pool).await? else {
            return self.begin(distribution, false).await;
        };
        if self.left_at.as_ref() != Some(&place) {
            self.directory.forget();
            let (cluster, ..) = tail::cluster(&inner.ledger).await?;
            if cluster != place.system_identifier {
                return self.begin(distribution, true).await;
            }
            self.left_at = Some(place.clone());
        }
        let mut limit = inner.settings.feed_entries_max;
        let read = loop {
            let Some(read) = self.read(distribution, &place, limit).await? else {
                return Ok(Step::Idle);
            };
            // No turn of an account goes on while its marks are written.
            if read.derived.marks.len() <= MARKS_MAX || limit <= 1 {
                break read;
            }
            limit /= 2;
        };
        let Read {
            entries,
            rates,
            houses,
            derived,
        } = read;
        let deliveries = deliveries(distribution, &derived.events, &houses).await?;
        let next = Place {
            system_identifier: place.system_identifier.clone(),
            entries: entries.last().map_or(place.entries, |last| last.cursor),
            rates: rates.last().map_or(place.rates, |last| last.cursor),
        };
        if !write(distribution, &place, &next, &derived, &deliveries).await? {
            self.left_at = None;
            return Ok(Step::Idle);
        }
        self.left_at = Some(next);
        clear_resolved(distribution, &derived.events).await?;
        self.ring(distribution, &derived, !deliveries.is_empty())
            .await;
        metrics::counter!("feed_entries_total").increment(entries.len() as u64);
        metrics::counter!("feed_marks_total").increment(derived.marks.len() as u64);
        Ok(Step::ReadMore)
    }

    /// What is new, so many entries of each tail at most, and what follows from it.
    async fn read(
        &mut self,
        distribution: &Distribution,
        place: &Place,
        limit: u32,
    ) -> Result<Option<Read>, DistributionError> {
        let inner = &distribution.inner;
        let entries = tail::entries(&inner.ledger, place.entries, limit).await?;
        let rates = tail::rate_changes(&inner.ledger, place.rates, limit).await?;
        if entries.is_empty() && rates.is_empty() {
            return Ok(None);
        }
        let now = clock::now(&inner.pool).await?;
        let directory = &mut self.directory;
        let houses = directory.houses(distribution, now, &entries, &rates);
        let houses = houses.await?;
        let derived = derive(&entries, &rates, &houses);
        Ok(Some(Read {
            entries,
            rates,
            houses,
            derived,
        }))
    }

    /// A new reader, or a restored database: reading begins at the end, and everything is told
    /// anew.
    async fn begin(
        &mut self,
        distribution: &Distribution,
        is_restored: bool,
    ) -> Result<Step, DistributionError> {
        let inner = &distribution.inner;
        let (system_identifier, ..) = tail::cluster(&inner.ledger).await?;
        let (entries, rates): (Cursor, Cursor) = tail::ends(&inner.ledger).await?;
        let accounts = catalog::all_accounts(&inner.ledger).await?;
        let bells: Vec<Bell> = accounts
            .iter()
            .filter(|row| row.account.state != AccountState::Setup)
            .map(|row| Bell::from(&row.account))
            .collect();
        let place = Place {
            system_identifier,
            entries,
            rates,
        };
        let mut tx = transaction::begin(&inner.pool).await?;
        if !store::feed::lock(&mut tx).await? {
            return Ok(Step::Idle);
        }
        store::push_state::ring(&mut tx, &bells).await?;
        store::push_health::resync_all(&mut tx).await?;
        store::feed::save(&mut tx, &place).await?;
        transaction::commit(tx).await?;
        if is_restored {
            tracing::warn!(
                accounts = bells.len(),
                "on another cluster, reading at the end of the ledger, every account is told \
                 everything"
            );
        } else {
            tracing::info!(
                accounts = bells.len(),
                "reading begins at the end of the ledger"
            );
        }
        self.left_at = Some(place);
        if is_restored {
            let text = "The database lies on another cluster than before: restored or moved. \
                        Every account is told everything anew; what happened after the backup is \
                        not in it, so compare with the channels.";
            let about = About::default();
            notice::raise(distribution, Kind::House, "restored", about, text).await?;
        }
        inner.wakes.resync.notify_one();
        Ok(Step::ReadMore)
    }

    /// Wakes the loops that have work now: here at once, elsewhere by a notification, at most
    /// one every 50 ms.
    async fn ring(&mut self, distribution: &Distribution, derived: &Derived, calls: bool) {
        let inner = &distribution.inner;
        if calls {
            inner.wakes.webhooks.notify_one();
        }
        // Rooms may have come free.
        inner.wakes.waitlist.notify_one();
        if !derived.evidence.is_empty() {
            inner.wakes.resync.notify_one();
        }
        if derived.marks.is_empty() {
            return;
        }
        inner.wakes.push.notify_one();
        let is_due = self
            .notified_at
            .is_none_or(|at| at.elapsed() >= NOTIFY_PAUSE);
        if is_due {
            self.notified_at = Some(Instant::now());
            if let Err(error) = store::feed::notify(&inner.pool).await {
                tracing::debug!(error = %error.chain(), "the other daemons were not woken");
            }
        }
    }

    /// The age of the oldest writer: what is newer than it cannot be read, here or anywhere on the
    /// cluster.
    async fn watch(&mut self, distribution: &Distribution) {
        let is_due = self.watched_at.is_none_or(|at| at.elapsed() >= WATCH_PAUSE);
        if !is_due {
            return;
        }
        self.watched_at = Some(Instant::now());
        let Ok((_, _, age_seconds)) = tail::cluster(&distribution.inner.ledger).await else {
            return;
        };
        metrics::gauge!("oldest_writer_age_seconds").set(age_seconds as f64);
        let limit = i64::from(distribution.inner.settings.oldest_writer_alarm_seconds);
        let is_over = age_seconds >= limit;
        let told = match (is_over, self.is_alarmed) {
            (true, false) => alarm(distribution, age_seconds).await,
            (false, true) => notice::clear(distribution, Kind::House, OLDEST_WRITER)
                .await
                .map(|_| ()),
            _ => Ok(()),
        };
        if let Err(error) = told {
            tracing::warn!(error = %error.chain(), "the alarm of the oldest writer was not told");
        }
        self.is_alarmed = is_over;
    }
}

async fn alarm(distribution: &Distribution, age_seconds: i64) -> Result<(), DistributionError> {
    let text = format!(
        "A transaction on the database's cluster has been writing for {age_seconds} s: no change \
         is told to any channel until it ends. Find it in pg_stat_activity, and end it."
    );
    let about = About::default();
    notice::raise(distribution, Kind::House, OLDEST_WRITER, about, &text).await
}

/// The key of its notice.
const OLDEST_WRITER: &str = "oldest_writer";

/// Marks, turns, deliveries, evidence and the new place, all or nothing. `false` where another
/// daemon reads or has read.
async fn write(
    distribution: &Distribution,
    from: &Place,
    to: &Place,
    derived: &Derived,
    deliveries: &[NewDelivery],
) -> Result<bool, DistributionError> {
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    if !store::feed::lock(&mut tx).await? {
        return Ok(false);
    }
    if store::feed::load(&mut *tx).await?.as_ref() != Some(from) {
        return Ok(false);
    }
    write_marks(&mut tx, derived).await?;
    if !deliveries.is_empty() {
        store::webhook_delivery::append(&mut tx, deliveries).await?;
    }
    for due in &derived.evidence {
        store::evidence::ask(&mut tx, due).await?;
    }
    store::feed::save(&mut tx, to).await?;
    transaction::commit(tx).await?;
    Ok(true)
}

async fn write_marks(conn: &mut PgConnection, derived: &Derived) -> Result<(), DistributionError> {
    let marks: Vec<NewMark> = derived
        .marks
        .iter()
        .map(|((account, key), reason)| NewMark {
            account: *account,
            key: *key,
            repeat: Repeat {
                is_cancellation: reason.is_cancellation,
                is_full: false,
            },
            changed_at: reason.changed_at,
        })
        .collect();
    let bells: Vec<Bell> = derived.bells.iter().copied().collect();
    if !bells.is_empty() {
        store::push_state::ring(conn, &bells).await?;
    }
    for some in marks.chunks(MARKS_AT_ONCE) {
        store::mark::upsert(conn, some).await?;
    }
    Ok(())
}

/// A case that is over needs nobody any more.
async fn clear_resolved(
    distribution: &Distribution,
    events: &[Event],
) -> Result<(), DistributionError> {
    for event in events {
        if let (Subject::Case(case), "overbooking.resolved") = (&event.subject, event.name) {
            let key = evidence::notice_key(event.property, *case);
            notice::clear(distribution, Kind::OverbookingCase, &key).await?;
            notice::clear(distribution, Kind::OverbookingEscalated, &key).await?;
        }
    }
    Ok(())
}

/// Rows of one statement at most.
const MARKS_AT_ONCE: usize = 5_000;
/// Marks of one look, about: so many are written in a second or two.
const MARKS_MAX: usize = 50_000;
/// A notification serialises commits, so there is at most one in so long.
const NOTIFY_PAUSE: Duration = Duration::from_millis(50);
/// A drain waits for other writers so long at most.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// From one look at them to the next.
const DRAIN_PAUSE: Duration = Duration::from_millis(5);
/// From one look at the oldest writer to the next.
const WATCH_PAUSE: Duration = Duration::from_secs(5);
