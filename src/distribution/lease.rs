//! Leases: of all daemons on one database, only one polls a connection at a time, and one sweeps.
//!
//! # Why
//!
//! A lease is an advisory lock of one session that this process keeps for all its leases. It costs
//! no connection per poll, needs no open transaction while the network is waited for, and is free
//! again the moment a killed daemon's session ends. It saves double work and nothing rests on it:
//! where two daemons poll at once (a session broke), records are repeats and change nothing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use keyrack_model::id::ConnectionId;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::sync::Mutex as AsyncMutex;

use crate::error::DistributionError;
use crate::store::lock;

/// The leases of this process.
#[derive(Clone, Default)]
pub(crate) struct Leases {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// A lock can be taken twice by one session, so this process remembers its own.
    held: Mutex<HashSet<i64>>,
    session: AsyncMutex<Option<PgConnection>>,
}

/// A lease that is held; given back when dropped.
pub(crate) struct Lease {
    shared: Arc<Shared>,
    key: i64,
    held: Held,
}

/// How far a lease has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// This process keeps others of its own away.
    Here,
    /// And the database keeps other processes away.
    Everywhere,
    /// Given back.
    NoMore,
}

impl Leases {
    /// The turn to poll a connection; `None` while somebody else has it.
    pub(crate) async fn polling(
        &self,
        pool: &PgPool,
        connection: ConnectionId,
    ) -> Result<Option<Lease>, DistributionError> {
        self.take(pool, POLLING ^ connection.0).await
    }

    /// The turn to let dead holds go.
    pub(crate) async fn sweeping(&self, pool: &PgPool) -> Result<Option<Lease>, DistributionError> {
        self.take(pool, SWEEPING).await
    }

    async fn take(&self, pool: &PgPool, key: i64) -> Result<Option<Lease>, DistributionError> {
        if !self.shared.remember(key) {
            return Ok(None);
        }
        // From here on the lease gives the key back, also where the database fails.
        let mut lease = Lease {
            shared: Arc::clone(&self.shared),
            key,
            held: Held::Here,
        };
        let mut session = self.shared.session.lock().await;
        let taken = match session.as_mut() {
            Some(known) => lock::take(known, key).await,
            None => Ok(false),
        };
        let is_locked = match (session.is_some(), taken) {
            (true, Ok(taken)) => taken,
            // No session yet, or it broke.
            _ => {
                let fresh = pool.acquire().await;
                let fresh = fresh.map_err(DistributionError::while_doing(
                    "opening the session of leases",
                ))?;
                lock::take(session.insert(fresh.detach()), key).await?
            }
        };
        if !is_locked {
            return Ok(None);
        }
        lease.held = Held::Everywhere;
        Ok(Some(lease))
    }
}

impl Lease {
    /// Gives it back and waits until it is: whoever asks next gets it.
    pub(crate) async fn give(mut self) {
        if self.held == Held::Everywhere {
            self.held = Held::NoMore;
            self.shared.give(self.key).await;
        }
    }
}

impl Shared {
    fn remember(&self, key: i64) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(key)
    }

    fn forget(&self, key: i64) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&key);
    }

    /// Gives the lock back to the database first, so that the next who asks here really gets it.
    async fn give(&self, key: i64) {
        let mut session = self.session.lock().await;
        if let Some(known) = session.as_mut()
            && let Err(error) = lock::give(known, key).await
        {
            // Closing the session gives back everything; the next to ask opens another.
            tracing::debug!(%error, "the session of leases broke");
            if let Some(broken) = session.take() {
                let _ = broken.close().await;
            }
        }
        self.forget(key);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (shared, key) = (Arc::clone(&self.shared), self.key);
        match self.held {
            Held::NoMore => return,
            Held::Here => return shared.forget(key),
            Held::Everywhere => {}
        }
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move { shared.give(key).await })),
            // The process ends, and its session with it.
            Err(_) => shared.forget(key),
        }
    }
}

/// Tells leases of polling apart from other advisory locks.
const POLLING: i64 = 0x6b65_7972_0000_0000;
const SWEEPING: i64 = 0x6b65_7973_0000_0000;
