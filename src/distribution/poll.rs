//! Asks the channels that are asked: one poller per connection, each answer to the same intake.
//!
//! # What holds
//!
//! Of all daemons one polls a connection at a time (see `lease`). Retry state is a row, so a crash
//! costs a repeat. A poll is complete when every round went through: everything that the channel
//! had to tell is recorded. Marks that raise wait for that.

mod acknowledge;
mod conversation;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyrack_model::adapter::Goal;
use keyrack_model::id::ConnectionId;
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::behind::Behind;
use crate::connections;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::notice::{self, Kind};
use crate::poll::conversation::{Conversation, Ended};
use crate::push::backoff;
use crate::sign_in;
use crate::store::{connection, owed, poll};

pub use crate::store::poll::PollState;

/// How a poll ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollOutcome {
    /// Every round went through.
    Complete {
        /// Exchanges.
        rounds: u32,
        /// Reports that the ledger has.
        recorded: usize,
    },
    /// It did not go through, and is held again later.
    Failed {
        /// Why, for staff.
        why: String,
    },
    /// Somebody else is polling this connection just now.
    Busy,
    /// No account stands behind the connection.
    NobodyBehind,
    /// The engine stops.
    Stopped,
}

/// Polls what is due until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    let inner = &distribution.inner;
    let mut is_begun = false;
    let turns = Arc::new(Semaphore::new(inner.settings.polls_parallel_max.max(1)));
    let in_flight = InFlight::default();
    while !inner.cancel.is_cancelled() {
        // The database may die in this very moment: what raises would wait a minute for a poll.
        if !is_begun {
            match begin(&distribution).await {
                Ok(()) => is_begun = true,
                Err(error) => tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "polls are not planned yet"
                ),
            }
        }
        if let Err(error) = start_due(&distribution, &turns, &in_flight).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "no look for due polls"
            );
        }
        tokio::select! {
            () = inner.cancel.cancelled() => {}
            () = inner.wakes.poll.notified() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// After a start everything is asked at once: nothing rises before.
async fn begin(distribution: &Distribution) -> Result<(), DistributionError> {
    let pool = &distribution.inner.pool;
    for row in connection::all(pool).await? {
        if let Err(error) = connections::plan(distribution, &row).await {
            tracing::error!(connection.code = row.code, %error, "this connection is not polled");
        }
    }
    poll::ring(pool, None).await
}

/// What this process is polling.
type InFlight = Arc<Mutex<HashSet<ConnectionId>>>;

async fn start_due(
    distribution: &Distribution,
    turns: &Arc<Semaphore>,
    in_flight: &InFlight,
) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    for (id, goal) in poll::due(&inner.pool, DUE_MAX).await? {
        let is_new = {
            let mut known = in_flight.lock().unwrap_or_else(PoisonError::into_inner);
            !known.contains(&id) && known.insert(id)
        };
        if !is_new {
            continue;
        }
        let Ok(turn) = Arc::clone(turns).try_acquire_owned() else {
            in_flight
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&id);
            break;
        };
        let (distribution, in_flight) = (distribution.clone(), Arc::clone(in_flight));
        inner.tasks.spawn(async move {
            let polled = once_by_id(&distribution, id, goal).await;
            if let Err(error) = polled {
                tracing::error!(connection.id = %id, error = &error as &dyn std::error::Error,
                    "a poll broke off");
                again_soon(&distribution, id, goal).await;
            }
            in_flight
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&id);
            // Its other question may be due.
            distribution.inner.wakes.poll.notify_one();
            drop(turn);
        });
    }
    Ok(())
}

/// A poll that broke off with the database is due as soon as that is back, and not when the next
/// one would be looked for whose process died: what raises waits for it.
async fn again_soon(distribution: &Distribution, id: ConnectionId, goal: Goal) {
    let inner = &distribution.inner;
    for _ in 0..AGAIN_TRIES {
        if poll::postpone(&inner.pool, id, goal, AGAIN_SECONDS)
            .await
            .is_ok()
        {
            return;
        }
        tokio::select! {
            () = inner.cancel.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(AGAIN_SECONDS.into())) => {}
        }
    }
}

/// Asks for everything of a connection now, or of all connections.
///
/// # Errors
///
/// Failures of the database.
pub async fn now(
    distribution: &Distribution,
    connection: Option<ConnectionId>,
) -> Result<(), DistributionError> {
    poll::ring(&distribution.inner.pool, connection).await?;
    distribution.inner.wakes.poll.notify_one();
    Ok(())
}

/// Holds one poll and waits for its end.
///
/// # Errors
///
/// Failures of the database. What the network or the channel does is an outcome.
pub async fn once(
    distribution: &Distribution,
    connection: &str,
    goal: Goal,
) -> Result<PollOutcome, DistributionError> {
    let row = connection::by_code(&distribution.inner.pool, connection)
        .await?
        .ok_or_else(|| DistributionError::UnknownConnection(connection.to_owned()))?;
    once_by_id(distribution, row.id, goal).await
}

/// Where the asking of a connection stands: for accounts' health, and for what waits for a complete
/// poll.
///
/// # Errors
///
/// Failures of the database.
pub async fn states(
    distribution: &Distribution,
    connection: ConnectionId,
) -> Result<Vec<PollState>, DistributionError> {
    poll::states(&distribution.inner.pool, connection).await
}

async fn once_by_id(
    distribution: &Distribution,
    id: ConnectionId,
    goal: Goal,
) -> Result<PollOutcome, DistributionError> {
    let inner = &distribution.inner;
    let Some(lease) = inner.leases.polling(&inner.pool, id).await? else {
        return Ok(PollOutcome::Busy);
    };
    let held = hold(distribution, id, goal).await;
    lease.give().await;
    held
}

/// One poll, by whoever has the lease.
async fn hold(
    distribution: &Distribution,
    id: ConnectionId,
    goal: Goal,
) -> Result<PollOutcome, DistributionError> {
    let inner = &distribution.inner;
    let behind = Behind::load(&inner.ledger, id).await?;
    if behind.is_empty() {
        poll::postpone(&inner.pool, id, goal, NOBODY_SECONDS).await?;
        return Ok(PollOutcome::NobodyBehind);
    }
    let (begun_at, attempt) = poll::begin(&inner.pool, id, goal).await?;
    let ended = match converse(distribution, id, goal, &behind).await {
        Ok(ended) => ended,
        Err(error) if error.is_passing() => return Err(error),
        Err(error) => {
            tracing::error!(connection.id = %id, error = &error as &dyn std::error::Error,
                "a poll failed");
            Ended::Failed {
                why: error.to_string(),
                after_seconds: None,
                is_refused: false,
            }
        }
    };
    match ended {
        Ended::Complete { rounds, recorded } => {
            let again = again_seconds(distribution, id, goal).await?;
            poll::complete(&inner.pool, id, goal, begun_at, again).await?;
            owed::gone(&inner.pool, id, goal, begun_at).await?;
            if attempt > 0 {
                notice::clear(distribution, failing_kind(goal), &failing_key(id, goal)).await?;
            }
            metrics::counter!("polls_total", "outcome" => "complete").increment(1);
            inner.wakes.push.notify_one();
            Ok(PollOutcome::Complete { rounds, recorded })
        }
        Ended::Failed {
            why,
            mut after_seconds,
            is_refused,
        } => {
            // What a channel does not offer is asked for at its usual pace: it may be switched on.
            if is_refused && goal == Goal::PollMissed {
                after_seconds = Some(again_seconds(distribution, id, goal).await?);
            }
            let wait = backoff::due_after_ms(attempt + 1, after_seconds, id.0.unsigned_abs());
            // A channel that is asked every so many seconds is not asked sooner for having failed.
            let wait = wait.max(FAILED_MS_MIN);
            poll::fail(&inner.pool, id, goal, &why, wait).await?;
            metrics::counter!("polls_total", "outcome" => "failed").increment(1);
            tracing::warn!(connection.id = %id, ?goal, why, again_ms = wait, "a poll failed");
            Ok(PollOutcome::Failed { why })
        }
        Ended::Stopped => {
            poll::postpone(&inner.pool, id, goal, 0).await?;
            Ok(PollOutcome::Stopped)
        }
    }
}

async fn converse(
    distribution: &Distribution,
    id: ConnectionId,
    goal: Goal,
    behind: &Behind,
) -> Result<Ended, DistributionError> {
    let login = match sign_in::login(distribution, id).await {
        Ok(login) => login,
        Err(error @ (DistributionError::SignIn(_) | DistributionError::Transport(_))) => {
            return Ok(Ended::Failed {
                why: error.to_string(),
                after_seconds: None,
                is_refused: false,
            });
        }
        Err(error) => return Err(error),
    };
    let logged = tracing::info_span!("poll", connection.code = login.row.code,
        channel.code = %login.row.channel, ?goal);
    let conversation = Conversation::new(distribution, login, behind, goal);
    conversation.hold().instrument(logged).await
}

async fn again_seconds(
    distribution: &Distribution,
    id: ConnectionId,
    goal: Goal,
) -> Result<u32, DistributionError> {
    let inner = &distribution.inner;
    let Some(row) = connection::by_id(&inner.pool, id).await? else {
        return Ok(NOBODY_SECONDS);
    };
    let capabilities = inner.channels.adapter(&row.channel)?.capabilities();
    let pace = connections::pace(&row);
    Ok(match goal {
        Goal::PollMissed => pace
            .missed_seconds
            .or(capabilities.missed_seconds)
            .unwrap_or(NOBODY_SECONDS),
        _ => pace.poll_seconds.unwrap_or(capabilities.poll_seconds),
    })
}

/// What kind of trouble it is when a question fails for long.
pub(crate) fn failing_kind(goal: Goal) -> Kind {
    match goal {
        Goal::PollMissed => Kind::MissedUnavailable,
        _ => Kind::AccountFailing,
    }
}

/// What the notice of a failing connection is about.
pub(crate) fn failing_key(id: ConnectionId, goal: Goal) -> String {
    match goal {
        Goal::PollMissed => format!("missed:{id}"),
        _ => format!("poll:{id}"),
    }
}

/// A poll that falls due is begun within that.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Rows in one look at most.
const DUE_MAX: u32 = 500;
/// Until somebody may stand behind a connection.
const NOBODY_SECONDS: u32 = 60;
/// From a poll that broke off with the database to the next try of it.
const AGAIN_SECONDS: u32 = 1;
/// Tries to say so: after that it is due within a minute anyway.
const AGAIN_TRIES: u32 = 60;
/// The shortest rest after a failure.
const FAILED_MS_MIN: u64 = 1_000;
