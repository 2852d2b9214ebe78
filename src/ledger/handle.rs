//! The handle of the ledger: connections and lanes, no verbs on it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::batch::contention::Contention;
use crate::batch::count::Counts;
use crate::batch::lanes::{Lanes, Pending};
use crate::batch::memory::Memory;
use crate::batch::numbers::Numbers;
use crate::batch::worker::{KnownRules, RESTED, Workshop, connect, work};
use crate::command::{Answer, Asked, Command};
use crate::error::LedgerError;
use crate::moves::Moves;
use crate::settings::Settings;
use crate::turn_aways::{self, TurnAways};
use crate::waits::Waits;

/// Every migration of the house, in order; each file names the floor that owns its tables.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// A handle of the ledger; cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    pool: PgPool,
    settings: Settings,
    waits: Waits,
    shop: Arc<Workshop>,
    workers: tokio::sync::Mutex<JoinSet<()>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shop.lanes.close();
    }
}

impl Ledger {
    /// Connects, applies what migrations are missing, and opens the lanes.
    pub async fn open(options: PgConnectOptions, settings: Settings) -> Result<Self, LedgerError> {
        let options = with_limits(options, &settings);
        let connecting = LedgerError::while_doing("connecting");
        let readers = pool_options()
            .max_connections(settings.read_connections)
            .acquire_timeout(Duration::from_secs(10));
        let pool = connect(|| readers.clone().connect_with(options.clone())).await;
        let pool = pool.map_err(&connecting)?;
        MIGRATOR.run(&pool).await?;
        let memory = Arc::new(Memory::default());
        let remembered = Arc::clone(&memory);
        let batches = pool_options()
            .after_connect(move |_, _| {
                // The server may be another than the one of the connection before.
                remembered.clear();
                Box::pin(async { Ok(()) })
            })
            .max_connections(settings.batch_connections)
            .acquire_timeout(Duration::from_secs(10))
            .connect_lazy_with(for_batches(options));
        let shop = Arc::new(Workshop {
            lanes: Lanes::new(
                settings.pending_commands_max,
                settings.batch_connections as usize,
            ),
            pool: batches,
            rules: KnownRules::default(),
            moves: Moves::default(),
            counts: Counts::begun(),
            turn_aways: TurnAways::default(),
            contention: Contention::default(),
            numbers: Numbers::default(),
            memory,
            batch_max: settings.batch_commands_max,
        });
        let mut workers = JoinSet::new();
        for _ in 0..settings.batch_connections {
            workers.spawn(work(Arc::clone(&shop)));
        }
        let workers = tokio::sync::Mutex::new(workers);
        Ok(Self {
            inner: Arc::new(Inner {
                pool,
                settings,
                waits: Waits::default(),
                shop,
                workers,
            }),
        })
    }

    /// The connections for what reads, and for the catalog's own transactions.
    pub(crate) fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    /// What has moved lately.
    pub(crate) fn moves(&self) -> &Moves {
        &self.inner.shop.moves
    }

    /// What is remembered of rows.
    pub(crate) fn memory(&self) -> &Memory {
        &self.inner.shop.memory
    }

    /// Forgets what is remembered of rows: for whoever changes them behind its back.
    pub fn forget_rows(&self) {
        self.inner.shop.memory.clear();
    }

    /// How many batches rested on rows that were remembered.
    pub fn remembered_batches(&self) -> u64 {
        self.inner.shop.memory.relied_on()
    }

    /// What was turned away and is not yet added up.
    pub(crate) fn turn_aways(&self) -> &TurnAways {
        &self.inner.shop.turn_aways
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Asks and waits for the answer. A caller who goes away cancels nothing: the work lives in
    /// the lanes.
    pub async fn ask(&self, asked: Asked) -> Result<Answer, LedgerError> {
        let (reply, answer) = oneshot::channel();
        let is_sweeping = matches!(asked.command, Command::Expire { .. });
        let shop = &self.inner.shop;
        let lane = shop.rules.lane(&asked, &shop.memory);
        let pending = Pending { asked, lane, reply };
        let began = Instant::now();
        shop.lanes.push(pending)?;
        let answer = answer.await.map_err(|_| LedgerError::Closing)?;
        if !is_sweeping {
            self.inner.waits.add(began.elapsed());
        }
        answer
    }

    /// How long those waited who asked lately; the sweeper's own commands are none of them.
    pub(crate) fn waits(&self) -> &Waits {
        &self.inner.waits
    }

    /// Carries out what is pending and closes; later commands are turned away.
    pub async fn close(&self) {
        self.inner.shop.lanes.close();
        let mut workers = self.inner.workers.lock().await;
        while workers.join_next().await.is_some() {}
        if let Err(error) = turn_aways::add(self).await {
            tracing::warn!(%error, "the last wishes that were turned away are not counted");
        }
        self.inner.shop.pool.close().await;
        self.inner.pool.close().await;
    }
}

/// Options of a pool whose connections are asked for a sign of life only after a while at rest, and
/// not before each statement: one that broke meanwhile fails whoever gets it, and is closed.
pub fn pool_options() -> PgPoolOptions {
    PgPoolOptions::new()
        .test_before_acquire(false)
        .before_acquire(|conn, meta| {
            Box::pin(async move {
                if meta.idle_for >= RESTED {
                    conn.ping().await?;
                }
                Ok(true)
            })
        })
}

/// What every connection of the ledger is limited by. `jit` costs a generic plan a quarter of a
/// second.
fn with_limits(options: PgConnectOptions, settings: &Settings) -> PgConnectOptions {
    options
        .application_name("keyrack")
        .statement_cache_capacity(200)
        .options([
            ("jit", "off".to_owned()),
            (
                "statement_timeout",
                format!("{}ms", settings.statement_timeout_ms),
            ),
            ("lock_timeout", format!("{}ms", settings.lock_timeout_ms)),
            ("idle_in_transaction_session_timeout", "30s".to_owned()),
        ])
}

/// What the batches' connections need beside: nights are locked in the order in which they are
/// named, so no plan may sort or hash them into another.
fn for_batches(options: PgConnectOptions) -> PgConnectOptions {
    options.options([
        ("enable_bitmapscan", "off"),
        // All is asked for by key: no plan made over an empty table may go on reading it whole.
        ("enable_seqscan", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        // The planner takes a few nights for a hundred thousand and lays out a table for them.
        ("enable_hashagg", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ])
}
