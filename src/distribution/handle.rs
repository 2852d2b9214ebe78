//! The handle of the engine: what its rooms share, and the loops' birth and end.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use keyrack_ledger::handle::Ledger;
use sqlx::PgPool;
use tokio::sync::{Notify, OnceCell};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::Channels;
use crate::error::DistributionError;
use crate::lag::Lagging;
use crate::lease::Leases;
use crate::notice::Mailer;
use crate::seal::Seal;
use crate::settings::Settings;
use crate::sign_in::SignIns;
use crate::timetable::Rolled;
use crate::transport::Transport;
use crate::{feed, notice, poll, push, resync, timetable, waitlist, webhooks};

/// A handle of the engine; cheap to clone. Verbs are functions of their modules.
#[derive(Clone)]
pub struct Distribution {
    pub(crate) inner: Arc<Inner>,
}

/// What every room of the floor shares.
pub(crate) struct Inner {
    /// What is true.
    pub(crate) ledger: Ledger,
    /// The connections for this floor's own tables.
    pub(crate) pool: PgPool,
    /// The dialects.
    pub(crate) channels: Channels,
    /// Secrets at rest.
    pub(crate) seal: Seal,
    /// The floor's settings.
    pub(crate) settings: Settings,
    /// The network.
    pub(crate) transport: Transport,
    /// The quota of each connection.
    /// Who polls what, among all daemons.
    pub(crate) leases: Leases,
    /// Who signs in where, within this process.
    pub(crate) sign_ins: SignIns,
    /// Mails to the staff.
    pub(crate) mailer: Mailer,
    /// Which business day each property was rolled over to.
    pub(crate) rolled: Rolled,
    /// Whose lag is to be measured anew.
    pub(crate) lagging: Lagging,
    /// Since when this process pushes: nothing rises before a poll begun after it.
    pub(crate) pushes_since: OnceCell<Timestamp>,
    /// Asks a loop to look at once.
    pub(crate) wakes: Wakes,
    /// Ends every loop; what is in hand is finished.
    pub(crate) cancel: CancellationToken,
    /// Every loop and everything in flight.
    pub(crate) tasks: TaskTracker,
}

/// One bell per loop. A bell rung while its loop is at work is heard when it looks next.
#[derive(Default)]
pub(crate) struct Wakes {
    pub(crate) poll: Notify,
    pub(crate) feed: Notify,
    pub(crate) push: Notify,
    pub(crate) resync: Notify,
    pub(crate) webhooks: Notify,
    pub(crate) waitlist: Notify,
    pub(crate) notices: Notify,
}

impl Distribution {
    /// Puts the engine together without starting its loops: for commands, and for tests that turn
    /// the crank by hand.
    ///
    /// # Errors
    ///
    /// Where the settings cannot be used.
    pub fn assemble(
        ledger: Ledger,
        pool: PgPool,
        channels: Channels,
        seal: Seal,
        settings: Settings,
    ) -> Result<Self, DistributionError> {
        let transport = Transport::new(&settings)?;
        let mailer = Mailer::new(&settings.mail)?;
        Ok(Self {
            inner: Arc::new(Inner {
                ledger,
                pool,
                channels,
                seal,
                settings,
                transport,
                leases: Leases::default(),
                sign_ins: SignIns::default(),
                mailer,
                rolled: Rolled::default(),
                lagging: Lagging::default(),
                pushes_since: OnceCell::new(),
                wakes: Wakes::default(),
                cancel: CancellationToken::new(),
                tasks: TaskTracker::new(),
            }),
        })
    }

    /// Puts the engine together and starts every loop.
    ///
    /// # Errors
    ///
    /// Where the settings cannot be used.
    pub async fn start(
        ledger: Ledger,
        pool: PgPool,
        channels: Channels,
        seal: Seal,
        settings: Settings,
    ) -> Result<Self, DistributionError> {
        let distribution = Self::assemble(ledger, pool, channels, seal, settings)?;
        let tasks = &distribution.inner.tasks;
        tasks.spawn(poll::run(distribution.clone()));
        tasks.spawn(feed::run(distribution.clone()));
        tasks.spawn(push::run(distribution.clone()));
        tasks.spawn(resync::run(distribution.clone()));
        tasks.spawn(webhooks::run(distribution.clone()));
        tasks.spawn(waitlist::run(distribution.clone()));
        tasks.spawn(notice::run(distribution.clone()));
        tasks.spawn(timetable::run(distribution.clone()));
        Ok(distribution)
    }

    /// Stops claiming and polling, finishes the intake in hand and waits for pushes in flight, at
    /// most [`Settings::stop_seconds`]. What is cut off then comes again after the next start.
    pub async fn stop(&self) {
        self.inner.cancel.cancel();
        self.inner.tasks.close();
        let patience = Duration::from_secs(self.inner.settings.stop_seconds.into());
        if tokio::time::timeout(patience, self.inner.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                tasks = self.inner.tasks.len(),
                "stopped with exchanges in flight"
            );
        }
    }

    /// The ledger that it distributes.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// The dialects that it speaks.
    pub fn channels(&self) -> &Channels {
        &self.inner.channels
    }

    /// The floor's settings.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }
}
