//! The sweeper: lets dead holds go at a pace that callers do not notice.
//!
//! Nothing rests on it, since what is dead counts as free when it is read. So it works in batches
//! with pauses between them, compares how long callers wait while it sweeps and while it does not,
//! and slows down where that differs (ledger, section 8).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::time::Duration;

use keyrack_model::id::PropertyId;
use tokio::time::{Instant, sleep, timeout};

use crate::decide::draft::ReservationKey;
use crate::decide::pace::Pace;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::holds::{self, Due, Swept};
use crate::waits::SAMPLES_MIN;

/// A sweeper with what it has learned.
#[derive(Debug)]
pub struct Sweeper {
    pace: Pace,
    /// What callers wait while nothing is swept.
    free: Option<Duration>,
    /// How often a hold could not be let go.
    failures: HashMap<ReservationKey, u32>,
    /// How long the latest that it let go had been dead.
    lags: VecDeque<Duration>,
}

impl Sweeper {
    /// One that has seen nothing yet.
    pub fn new(ledger: &Ledger) -> Self {
        Self {
            pace: Pace::fastest(ledger.settings().sweep_holds_max),
            free: None,
            failures: HashMap::new(),
            lags: VecDeque::new(),
        }
    }

    /// Its pace now.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Lets go what is dead at these properties, those that [`holds::due`] names, in batches with
    /// pauses; ends when nothing is left, `stopped` ends or a minute is over. Says how many it let
    /// go.
    ///
    /// # Errors
    ///
    /// Failures of the database that may pass; what was let go before is let go.
    pub async fn pass(
        &mut self,
        ledger: &Ledger,
        due: &[Due],
        stopped: impl Future<Output = ()>,
    ) -> Result<u32, LedgerError> {
        let mut stopped = std::pin::pin!(stopped);
        let until = Instant::now() + PASS_MAX;
        // Whoever asked since the last pass was not disturbed.
        self.free = ledger.waits().end_window().or(self.free);
        let mut let_go = 0;
        let mut since = Since::now();
        let mut due: VecDeque<Due> = due.iter().copied().collect();
        let mut troubles = 0;
        let mut ended = Ok(());
        while let Some(portion) = self.portion(&mut due) {
            let began = Instant::now();
            match self.let_go(ledger, &portion).await {
                Ok(count) => let_go += count,
                // A night that somebody holds for long keeps no other hotel waiting.
                Err(error) if troubles < TROUBLES_MAX => {
                    tracing::warn!(%error, "some dead holds wait for the next pass");
                    troubles += 1;
                }
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            }
            let pause = self.pace.pause(began.elapsed());
            if began >= until || timeout(pause, &mut stopped).await.is_ok() {
                break;
            }
            self.look_around(ledger, &mut since).await;
        }
        // What was asked beside the last batches is no measure of undisturbed callers.
        ledger.waits().end_window();
        ended.map(|()| let_go)
    }

    async fn let_go(
        &mut self,
        ledger: &Ledger,
        portion: &BTreeMap<PropertyId, u32>,
    ) -> Result<u32, LedgerError> {
        let swept = holds::expire_due(ledger, portion).await?;
        self.measure(&swept.lags);
        self.mind_failures(ledger, &swept).await?;
        Ok(swept.let_go)
    }

    /// A batch: how many holds of which properties. Of a property with more than a batch the rest
    /// comes behind the others.
    fn portion(&self, due: &mut VecDeque<Due>) -> Option<BTreeMap<PropertyId, u32>> {
        let batch = self.pace.batch;
        let mut portion = BTreeMap::new();
        let mut holds: u32 = 0;
        while let Some(next) = due.front()
            && (portion.is_empty() || holds.saturating_add(next.holds) <= batch)
            && portion.len() < PROPERTIES_MAX
        {
            let next = due.pop_front()?;
            let share = next.holds.min(batch);
            holds += share;
            portion.insert(next.property, share);
            if next.holds > share {
                let holds = next.holds - share;
                due.push_back(Due { holds, ..next });
            }
        }
        (!portion.is_empty()).then_some(portion)
    }

    /// Learns from how long callers waited lately, with and without it.
    async fn look_around(&mut self, ledger: &Ledger, since: &mut Since) {
        if since.window.elapsed() >= WINDOW && ledger.waits().count() >= SAMPLES_MIN {
            self.learn(ledger);
            since.window = Instant::now();
        }
        if since.free.elapsed() >= FREE_EVERY {
            ledger.waits().end_window();
            sleep(FREE).await;
            self.free = ledger.waits().end_window().or(self.free);
            *since = Since::now();
        }
    }

    fn learn(&mut self, ledger: &Ledger) {
        if let Some((sweeping, free)) = ledger.waits().end_window().zip(self.free) {
            self.pace = self.pace.after(sweeping, free);
        }
    }

    /// How long dead holds wait for us, as a figure.
    fn measure(&mut self, lags: &[Duration]) {
        self.lags.extend(lags);
        let surplus = self.lags.len().saturating_sub(LAGS_KEPT);
        self.lags.drain(..surplus);
        let mut latest: Vec<Duration> = self.lags.iter().copied().collect();
        if latest.is_empty() {
            return;
        }
        let at = latest.len() * 95 / 100;
        let (_, p95, _) = latest.select_nth_unstable(at);
        metrics::gauge!("reservation_expiry_lag_seconds_p95").set(p95.as_secs_f64());
    }

    /// What fails three times is a person's: it is shown, and keeps no other hold from its turn.
    async fn mind_failures(&mut self, ledger: &Ledger, swept: &Swept) -> Result<(), LedgerError> {
        for hold in &swept.failed {
            let failures = self.failures.entry(*hold).or_insert(0);
            *failures += 1;
            if *failures < FAILURES_MAX {
                continue;
            }
            self.failures.remove(hold);
            let (property, reservation) = hold;
            tracing::error!(property.id = %property, reservation.id = %reservation,
                "a dead hold cannot be let go: flagged, cancel it by hand");
            metrics::counter!("expiry_failed_total").increment(1);
            holds::give_up(ledger, *hold).await?;
        }
        Ok(())
    }
}

/// Holds let go that the figure of their lag is of.
const LAGS_KEPT: usize = 1_000;
/// Since when a pass has not looked at what callers wait.
struct Since {
    /// Beside it.
    window: Instant,
    /// Without it.
    free: Instant,
}

impl Since {
    fn now() -> Self {
        Self {
            window: Instant::now(),
            free: Instant::now(),
        }
    }
}

const FAILURES_MAX: u32 = 3;
/// Properties of one batch: its transaction holds nights of all of them.
const PROPERTIES_MAX: usize = 32;
/// Batches of a pass that may fail for something that passes.
const TROUBLES_MAX: u32 = 3;
/// After it others may have their turn.
const PASS_MAX: Duration = Duration::from_secs(60);
/// How long callers are watched beside sweeping.
const WINDOW: Duration = Duration::from_millis(500);
/// How often, and for how long, a long pass stands still to see what callers wait without it.
const FREE_EVERY: Duration = Duration::from_secs(4);
const FREE: Duration = Duration::from_millis(400);
