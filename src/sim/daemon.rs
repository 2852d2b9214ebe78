//! A daemon that can be killed: a ledger in a runtime of its own, on threads of its own.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyrack_ledger::archive::{self, Leaving};
use keyrack_ledger::checkpoint;
use keyrack_ledger::command::{Answer, Asked};
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::holds;
use keyrack_ledger::settings::Settings;
use keyrack_ledger::tail::Cursor;
use keyrack_model::id::PropertyId;
use sqlx::postgres::PgConnectOptions;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::error::SimError;

/// What a caller of a daemon waits for; to abort it is to hang up.
pub type Reply = JoinHandle<Result<Answer, LedgerError>>;

/// How many reservations were archived and how many nights written down.
pub type Tidying = JoinHandle<Result<(u64, u64), LedgerError>>;

/// A running daemon.
struct Daemon {
    runtime: Runtime,
    ledger: Ledger,
}

/// A place where a daemon runs, or has just been killed.
pub struct Post {
    options: PgConnectOptions,
    daemon: Mutex<Option<Daemon>>,
}

impl Post {
    /// Nobody is there yet.
    pub fn new(options: PgConnectOptions) -> Self {
        Self {
            options,
            daemon: Mutex::new(None),
        }
    }

    /// Starts a daemon; a server that is just starting itself is waited for.
    pub async fn start(&self) -> Result<(), SimError> {
        let mut tries = OPENS_MAX;
        loop {
            match self.open().await {
                Ok(daemon) => {
                    *self.lock() = Some(daemon);
                    return Ok(());
                }
                Err(error) if tries == 0 => return Err(error),
                Err(_) => tries -= 1,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn open(&self) -> Result<Daemon, SimError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("daemon")
            .enable_all()
            .build()
            .map_err(SimError::system("making a runtime"))?;
        let opening = runtime.spawn(Ledger::open(self.options.clone(), settings()));
        match opening.await {
            Ok(Ok(ledger)) => Ok(Daemon { runtime, ledger }),
            failed => {
                runtime.shutdown_background();
                Err(match failed {
                    Ok(Err(error)) => error.into(),
                    _ => LedgerError::Closing.into(),
                })
            }
        }
    }

    /// Ends the daemon as a `kill -9` does: every task at its await point, every socket closed,
    /// nobody answered.
    pub fn kill(&self) {
        let daemon = self.lock().take();
        if let Some(Daemon { runtime, ledger }) = daemon {
            runtime.shutdown_background();
            drop(ledger);
        }
    }

    /// Carries out what is pending, and ends.
    pub async fn close(&self) {
        let daemon = self.lock().take();
        if let Some(Daemon { runtime, ledger }) = daemon {
            let closing = runtime.spawn(async move { ledger.close().await });
            // Where it hangs, what it holds is cut with it.
            let _ = tokio::time::timeout(Duration::from_secs(5), closing).await;
            runtime.shutdown_background();
        }
    }

    /// Asks the daemon, where there is one.
    pub fn ask(&self, asked: Asked) -> Option<Reply> {
        let held = self.lock();
        let daemon = held.as_ref()?;
        let ledger = daemon.ledger.clone();
        Some(daemon.runtime.spawn(async move { ledger.ask(asked).await }))
    }

    /// Lets the daemon's sweeper come by, where there is one.
    pub fn sweep(&self, property: PropertyId) -> Option<JoinHandle<Result<u32, LedgerError>>> {
        let held = self.lock();
        let daemon = held.as_ref()?;
        let ledger = daemon.ledger.clone();
        let sweeping = async move {
            let swept = holds::expire_due(&ledger, &BTreeMap::from([(property, 50)])).await;
            swept.map(|swept| swept.let_go)
        };
        Some(daemon.runtime.spawn(sweeping))
    }

    /// Lets the daemon archive what has ended and then write down the nights that are closed, where
    /// there is one; how many of each.
    pub fn tidy(&self, property: PropertyId, closed_after: i32) -> Option<Tidying> {
        let held = self.lock();
        let daemon = held.as_ref()?;
        let ledger = daemon.ledger.clone();
        Some(daemon.runtime.spawn(async move {
            let due = archive::due(&ledger, property, &LEAVING, None, 50).await?;
            let archived = archive::move_out(&ledger, property, &LEAVING, &due).await?;
            let closed = checkpoint::close_nights(&ledger, property, closed_after).await?;
            Ok((u64::from(archived), closed))
        }))
    }

    /// Lets the daemon do something beside the lanes, where there is one.
    pub fn does<T, F>(&self, work: impl FnOnce(Ledger) -> F) -> Option<JoinHandle<T>>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let held = self.lock();
        let daemon = held.as_ref()?;
        Some(daemon.runtime.spawn(work(daemon.ledger.clone())))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Daemon>> {
        // What is behind the lock is whole whoever panicked.
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Post {
    /// A runtime must not be dropped where tasks run.
    fn drop(&mut self) {
        self.kill();
    }
}

/// Few connections for what reads: the simulation asks, and hardly ever looks through a daemon.
fn settings() -> Settings {
    Settings {
        read_connections: 2,
        ..Settings::default()
    }
}

const OPENS_MAX: u32 = 200;

/// At once, wherever the stay lies: the script's time is short. The simulation's feed reads its own
/// way and loses nothing by it.
const LEAVING: Leaving = Leaving {
    after_days: -4_000,
    passed: Cursor {
        tx: u64::MAX,
        seq: i64::MAX,
    },
};
