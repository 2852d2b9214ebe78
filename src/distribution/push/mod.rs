//! Telling the channels: whoever has marks gets a turn, with the numbers of the moment of sending.
//!
//! The loop is woken by the feed of this process, by a late notification of another's, and by a
//! timer; a turn is a row that one daemon holds, so any number of daemons share the work.

mod alert;
pub mod backoff;
mod batch;
mod complete;
pub(crate) mod deliver;
mod exchange;
mod fate;
pub(crate) mod look;
mod outcome;
mod plan;
mod plans;
mod retire;
mod settle;
pub(crate) mod urgency;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use keyrack_model::id::ConnectionId;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::settings::Settings;
use crate::store::push_state::Turn;
use crate::store::{self, clock, push_state};

/// Runs until the engine stops, and waits for what is in flight.
pub(crate) async fn run(distribution: Distribution) {
    let inner = &distribution.inner;
    inner.tasks.spawn(listen(distribution.clone()));
    let mut pusher = Pusher::default();
    while !inner.cancel.is_cancelled() {
        if let Err(error) = pusher.fill(&distribution).await {
            tracing::warn!(error = %error.chain(), "no turn could be taken");
        }
        let pause = pusher.pause(&inner.settings);
        tokio::select! {
            () = inner.wakes.push.notified() => {}
            Some(_) = pusher.turns.join_next(), if !pusher.turns.is_empty() => {
                pusher.ended_at = Some(Instant::now());
            }
            () = tokio::time::sleep(pause) => {}
            () = inner.cancel.cancelled() => {}
        }
    }
    while pusher.turns.join_next().await.is_some() {}
}

/// Reads the ledger's tail and tells what may be told now, until nothing is due; for commands, and
/// for tests that turn the crank by hand. Raises wait for a poll as ever.
///
/// # Errors
///
/// Failures of the database.
pub async fn drain(distribution: &Distribution) -> Result<(), DistributionError> {
    crate::feed::drain(distribution).await?;
    let since = pushes_since(distribution).await?;
    let pool = &distribution.inner.pool;
    push_state::wake_polled(pool).await?;
    let lease = distribution.inner.settings.push_lease_seconds.max(60);
    while let Some(turn) = push_state::claim(pool, lease, 0, &[]).await? {
        deliver::turn(distribution, since, turn).await?;
    }
    Ok(())
}

/// Since when this process pushes: asked of the database once.
async fn pushes_since(distribution: &Distribution) -> Result<Timestamp, DistributionError> {
    let inner = &distribution.inner;
    let since = inner
        .pushes_since
        .get_or_try_init(|| clock::now(&inner.pool));
    since.await.copied()
}

/// The turns under way.
#[derive(Default)]
struct Pusher {
    turns: JoinSet<()>,
    hands: Hands,
    renewed_at: Option<Instant>,
    woken_at: Option<Instant>,
    ended_at: Option<Instant>,
}

impl Pusher {
    /// Takes turns until no more are due or all hands are full.
    async fn fill(&mut self, distribution: &Distribution) -> Result<(), DistributionError> {
        let inner = &distribution.inner;
        let since = pushes_since(distribution).await?;
        self.keep(distribution).await?;
        while self.turns.try_join_next().is_some() {
            self.ended_at = Some(Instant::now());
        }
        while self.turns.len() < inner.settings.pushes_parallel_max.max(1) {
            let full = self
                .hands
                .full(inner.settings.pushes_per_connection_max.max(1));
            let lease = inner.settings.push_lease_seconds;
            let spacing = inner.settings.push_spacing_ms;
            let claimed = push_state::claim(&inner.pool, lease, spacing, &full).await?;
            let Some(turn) = claimed else { break };
            let in_hand = self.hands.take(&turn);
            let distribution = distribution.clone();
            self.turns.spawn(async move {
                let account = turn.bell.account;
                if let Err(error) = deliver::turn(&distribution, since, turn).await {
                    tracing::warn!(account.id = %account, error = %error.chain(),
                                   "a turn was not given back: its lease runs out");
                }
                drop(in_hand);
            });
        }
        Ok(())
    }

    /// Until the next look where nobody rings: what was rung for lately may wait only for the
    /// spacing of its account's messages.
    fn pause(&self, settings: &Settings) -> Duration {
        let spacing = Duration::from_millis(settings.push_spacing_ms.into());
        let ended = self.ended_at.map(|at| at.elapsed());
        match ended.filter(|ago| !spacing.is_zero() && *ago < spacing + PAUSE) {
            Some(ago) => spacing.saturating_sub(ago).clamp(PAUSE_MIN, PAUSE),
            None => PAUSE,
        }
    }

    /// Lengthens the leases in hand, and wakes who waited for a poll. What fails is tried again
    /// at the next look, and no turn is taken before.
    async fn keep(&mut self, distribution: &Distribution) -> Result<(), DistributionError> {
        let inner = &distribution.inner;
        let lease = inner.settings.push_lease_seconds;
        let a_third = Duration::from_secs(lease.into()) / 3;
        if self.renewed_at.is_none_or(|at| at.elapsed() >= a_third) {
            let all = push_state::renew(&inner.pool, &self.hands.claims(), lease).await?;
            self.renewed_at = all.then(Instant::now);
        }
        if self.woken_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            push_state::wake_polled(&inner.pool).await?;
            self.woken_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// The turns that this process has in hand: claims, each with its connection, so that one quota
/// holds up nobody else.
#[derive(Clone, Default)]
struct Hands {
    turns: Arc<Mutex<HashMap<Uuid, ConnectionId>>>,
}

impl Hands {
    fn turns(&self) -> MutexGuard<'_, HashMap<Uuid, ConnectionId>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections with `most` turns or more.
    fn full(&self, most: usize) -> Vec<ConnectionId> {
        let mut counts: HashMap<ConnectionId, usize> = HashMap::new();
        for connection in self.turns().values() {
            *counts.entry(*connection).or_default() += 1;
        }
        counts.retain(|_, count| *count >= most);
        counts.into_keys().collect()
    }

    fn claims(&self) -> Vec<Uuid> {
        self.turns().keys().copied().collect()
    }

    fn take(&self, turn: &Turn) -> InHand {
        self.turns().insert(turn.claim, turn.bell.connection);
        InHand {
            hands: self.clone(),
            claim: turn.claim,
        }
    }
}

/// A turn in hand, until dropped.
struct InHand {
    hands: Hands,
    claim: Uuid,
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.hands.turns().remove(&self.claim);
    }
}

/// Hears other daemons' notifications. Without them the timer does, a little later.
async fn listen(distribution: Distribution) {
    let inner = &distribution.inner;
    while !inner.cancel.is_cancelled() {
        match store::feed::listen(&inner.pool).await {
            Ok(mut ear) => loop {
                tokio::select! {
                    heard = ear.recv() => match heard {
                        Ok(_) => inner.wakes.push.notify_one(),
                        Err(_) => break,
                    },
                    () = inner.cancel.cancelled() => return,
                }
            },
            Err(error) => tracing::debug!(error = %error.chain(), "no notifications are heard"),
        }
        tokio::select! {
            () = tokio::time::sleep(DEAF_PAUSE) => {}
            () = inner.cancel.cancelled() => {}
        }
    }
}

/// From one look to the next where nobody rings.
const PAUSE: Duration = Duration::from_millis(250);
/// And where some wait for the spacing of their messages.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// From one try to hear notifications to the next.
const DEAF_PAUSE: Duration = Duration::from_secs(5);
