//! What every handler is given.

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_distribution::Distribution;
use keyrack_ledger::handle::Ledger;

use crate::kept::Shelf;
use crate::keys::Keys;
use crate::names::Directory;
use crate::settings::Settings;

/// What every handler is given; cheap to clone.
#[derive(Clone)]
pub struct ApiState {
    inner: Arc<Inner>,
}

struct Inner {
    ledger: Ledger,
    distribution: Distribution,
    settings: Settings,
    outside: Outside,
    keys: Keys,
    directory: Directory,
    kept: Shelf,
}

/// What only the roof knows.
pub struct Outside {
    /// The metrics, as Prometheus text.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// This process's clock, to measure how far it is from the database's.
    pub clock: fn() -> Timestamp,
}

impl ApiState {
    /// The state of one daemon; the ledger is the engine's.
    pub fn new(distribution: Distribution, settings: Settings, outside: Outside) -> Self {
        let ledger = distribution.ledger().clone();
        let keys = Keys::new(ledger.clone(), &settings);
        let directory = Directory::new(ledger.clone());
        let kept = Shelf::new(settings.availability_bytes_max);
        Self {
            inner: Arc::new(Inner {
                ledger,
                distribution,
                settings,
                outside,
                keys,
                directory,
                kept,
            }),
        }
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// The engine.
    pub fn distribution(&self) -> &Distribution {
        &self.inner.distribution
    }

    /// The floor's settings.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// What only the roof knows.
    pub fn outside(&self) -> &Outside {
        &self.inner.outside
    }

    /// Who may ask.
    pub fn keys(&self) -> &Keys {
        &self.inner.keys
    }

    /// Answers that may still stand.
    pub fn kept(&self) -> &Shelf {
        &self.inner.kept
    }

    /// Which property a code is.
    pub fn directory(&self) -> &Directory {
        &self.inner.directory
    }
}
