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
mod retire;
mod settle;
pub(crate) mod urgency;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyrack_model::id::ConnectionId;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::deliver::Daemon;
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
        tokio::select! {
            () = inner.wakes.push.notified() => {}
            Some(_) = pusher.turns.join_next(), if !pusher.turns.is_empty() => {}
            () = tokio::time::sleep(PAUSE) => {}
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
    let daemon = daemon(distribution).await?;
    let pool = &distribution.inner.pool;
    push_state::wake_polled(pool).await?;
    let lease = distribution.inner.settings.push_lease_seconds.max(60);
    while let Some(turn) = push_state::claim(pool, daemon.id, lease, &[]).await? {
        deliver::turn(distribution, daemon, turn).await?;
    }
    Ok(())
}

/// Who we are, since when: asked of the database once.
pub(crate) async fn daemon(distribution: &Distribution) -> Result<Daemon, DistributionError> {
    let inner = &distribution.inner;
    let daemon = inner.daemon.get_or_try_init(|| async {
        Ok::<Daemon, DistributionError>(Daemon {
            id: Uuid::now_v7(),
            started_at: clock::now(&inner.pool).await?,
        })
    });
    daemon.await.copied()
}

/// The turns under way.
#[derive(Default)]
struct Pusher {
    turns: JoinSet<()>,
    /// Turns per connection, so that one quota holds up nobody else.
    busy: Busy,
    renewed_at: Option<Instant>,
    woken_at: Option<Instant>,
}

impl Pusher {
    /// Takes turns until no more are due or all hands are full.
    async fn fill(&mut self, distribution: &Distribution) -> Result<(), DistributionError> {
        let inner = &distribution.inner;
        let daemon = daemon(distribution).await?;
        self.keep(distribution, daemon).await?;
        while self.turns.try_join_next().is_some() {}
        while self.turns.len() < inner.settings.pushes_parallel_max.max(1) {
            let full = self
                .busy
                .full(inner.settings.pushes_per_connection_max.max(1));
            let lease = inner.settings.push_lease_seconds;
            let claimed = push_state::claim(&inner.pool, daemon.id, lease, &full).await?;
            let Some(turn) = claimed else { break };
            let guard = self.busy.enter(turn.bell.connection);
            let distribution = distribution.clone();
            self.turns.spawn(async move {
                let account = turn.bell.account;
                if let Err(error) = deliver::turn(&distribution, daemon, turn).await {
                    tracing::warn!(account.id = %account, error = %error.chain(),
                                   "a turn was not given back: its lease runs out");
                }
                drop(guard);
            });
        }
        Ok(())
    }

    /// Lengthens the leases in hand, and wakes who waited for a poll.
    async fn keep(
        &mut self,
        distribution: &Distribution,
        daemon: Daemon,
    ) -> Result<(), DistributionError> {
        let inner = &distribution.inner;
        let lease = inner.settings.push_lease_seconds;
        let a_third = Duration::from_secs(lease.into()) / 3;
        if self.renewed_at.is_none_or(|at| at.elapsed() >= a_third) {
            self.renewed_at = Some(Instant::now());
            push_state::renew(&inner.pool, daemon.id, lease).await?;
        }
        if self.woken_at.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.woken_at = Some(Instant::now());
            push_state::wake_polled(&inner.pool).await?;
        }
        Ok(())
    }
}

/// How many turns each connection has.
#[derive(Clone, Default)]
struct Busy {
    turns: Arc<Mutex<HashMap<ConnectionId, usize>>>,
}

impl Busy {
    fn full(&self, most: usize) -> Vec<ConnectionId> {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let full = turns.iter().filter(|(_, count)| **count >= most);
        full.map(|(connection, _)| *connection).collect()
    }

    fn enter(&self, connection: ConnectionId) -> BusyGuard {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        *turns.entry(connection).or_default() += 1;
        BusyGuard {
            busy: self.clone(),
            connection,
        }
    }
}

/// A turn of a connection, until dropped.
struct BusyGuard {
    busy: Busy,
    connection: ConnectionId,
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let mut turns = self
            .busy
            .turns
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = turns.get_mut(&self.connection) {
            *count -= 1;
            if *count == 0 {
                turns.remove(&self.connection);
            }
        }
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
/// From one try to hear notifications to the next.
const DEAF_PAUSE: Duration = Duration::from_secs(5);
