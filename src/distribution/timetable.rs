//! What falls due by the clock: dead holds, the roll-over of the business day, verification,
//! alarms, what waits for a mapping, what has ended, and what is too old to keep.

mod alarms;
mod archive;
mod overbookings;
mod sweep;

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keyrack_ledger::verify::{self, Extent};
use keyrack_ledger::{allotments, keys, turn_aways};
use tokio::time::Instant;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::messages;
use crate::notice::{self, About, Kind};
use crate::safety;
use crate::store::{message, notice as notice_store};

pub use self::alarms::{clock_distance_seconds, look as alarm};
pub use self::archive::{archive_once, close_nights};
pub use self::overbookings::work as work_overbookings;
pub(crate) use self::sweep::Rolled;
pub use self::sweep::{roll_over_due, sweep_once};

/// Runs every timetable until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    let settings = &distribution.inner.settings;
    let sweep_seconds = distribution.inner.ledger.settings().sweep_seconds.max(1);
    let verify_seconds = settings.verify_seconds;
    let last_whole = Mutex::new(None);
    tokio::join!(
        sweep::run(&distribution, sweep_seconds),
        every(&distribution, 30, "rolling over", sweep::roll_over_all),
        every(&distribution, 20, "releasing allotments", release_due),
        every(&distribution, 10, "looking for alarms", alarms::look),
        every(&distribution, 20, "reading again", read_again),
        every(
            &distribution,
            15,
            "working overbookings",
            overbookings::work
        ),
        every(
            &distribution,
            60,
            "adding up what was turned away",
            add_turn_aways
        ),
        every(&distribution, SAFETY_SECONDS, "measuring safety", |d| {
            safety::measure_due(d, SAFETY_SECONDS)
        }),
        every(&distribution, 3_600, "purging", purge),
        every(&distribution, 3_600, "archiving", archive_once),
        every(&distribution, 3_600, "closing nights", close_nights),
        async {
            if verify_seconds > 0 {
                let next = |distribution| verify_next(distribution, &last_whole);
                every(&distribution, verify_seconds, "verifying", next).await;
            }
        },
    );
}

/// Does a thing at once and then every so many seconds; a failure is logged and waits for the next
/// time.
async fn every<'a, F, T>(
    distribution: &'a Distribution,
    seconds: u32,
    doing: &'static str,
    work: impl Fn(&'a Distribution) -> F,
) where
    F: Future<Output = Result<T, DistributionError>>,
{
    let cancel = &distribution.inner.cancel;
    while !cancel.is_cancelled() {
        if let Err(error) = work(distribution).await {
            tracing::error!(error = &error as &dyn std::error::Error, "{doing} failed");
        }
        tokio::select! {
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(Duration::from_secs(seconds.into())) => {}
        }
    }
}

/// What is unsold of allotments falls back to free sale at the midnights of its hotels; says of how
/// many allotments it did.
///
/// # Errors
///
/// Failures of the database. What fails is tried again at the next look.
pub async fn release_due(distribution: &Distribution) -> Result<u32, DistributionError> {
    Ok(allotments::release_due(&distribution.inner.ledger).await?)
}

/// What waits for a mapping that is there now, and what a daemon left unfinished.
async fn read_again(distribution: &Distribution) -> Result<(), DistributionError> {
    messages::replay_all_mapped(distribution).await?;
    messages::replay_unfinished(distribution, UNFINISHED_SECONDS).await?;
    Ok(())
}

/// Refusing writes nothing: what was counted is added now and then.
async fn add_turn_aways(distribution: &Distribution) -> Result<usize, DistributionError> {
    Ok(turn_aways::add(&distribution.inner.ledger).await?)
}

/// The first verification of a process and one a week replay everything, the others begin at the
/// checkpoints.
async fn verify_next(
    distribution: &Distribution,
    last_whole: &Mutex<Option<Instant>>,
) -> Result<usize, DistributionError> {
    let lock = || last_whole.lock().unwrap_or_else(PoisonError::into_inner);
    let begun = Instant::now();
    if lock().is_some_and(|last| begun.duration_since(last) < WHOLE_EVERY) {
        return verify_once(distribution, Extent::FromCheckpoints).await;
    }
    let differences = verify_once(distribution, Extent::Whole).await?;
    *lock() = Some(begun);
    Ok(differences)
}

/// Replays the ledger against the sums; says how many numbers it cannot prove.
///
/// # Errors
///
/// Failures of the database.
pub async fn verify_once(
    distribution: &Distribution,
    extent: Extent,
) -> Result<usize, DistributionError> {
    let inner = &distribution.inner;
    // Only reads, and may take minutes: given up at once when the engine stops.
    let verified = verify::verify_until(&inner.ledger, extent, inner.cancel.cancelled()).await?;
    let Some(verification) = verified else {
        return Ok(0);
    };
    let differences = verification.differences.len();
    let shown = u32::try_from(differences).unwrap_or(u32::MAX);
    metrics::gauge!("summary_ledger_mismatch_count").set(f64::from(shown));
    if let Some(first) = verification.differences.first() {
        let text = format!(
            "The ledger cannot prove {differences} numbers, such as {} at {}. Run `keyrack verify` \
             and compare with what people did last.",
            first.what, first.property
        );
        notice::raise(
            distribution,
            Kind::LedgerMismatch,
            "verify",
            About::default(),
            &text,
        )
        .await?;
    } else {
        notice::clear(distribution, Kind::LedgerMismatch, "verify").await?;
    }
    Ok(differences)
}

/// Takes away what is older than its retention, in small steps.
///
/// # Errors
///
/// Failures of the database.
pub async fn purge(distribution: &Distribution) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let settings = &inner.settings;
    let days = settings.message_retention_days;
    while message::purge(&inner.pool, days, PURGED_AT_ONCE).await? == u64::from(PURGED_AT_ONCE) {
        if inner.cancel.is_cancelled() {
            return Ok(());
        }
    }
    notice_store::purge(&inner.pool, days).await?;
    let hours = settings.idempotency_key_hours.max(IDEMPOTENCY_HOURS_MIN);
    while keys::purge_idempotency(&inner.ledger, hours, PURGED_AT_ONCE).await? == PURGED_AT_ONCE {
        if inner.cancel.is_cancelled() {
            return Ok(());
        }
    }
    Ok(())
}

/// Often enough that an account that fails is not exposed for long.
const SAFETY_SECONDS: u32 = 60;
/// A week.
const WHOLE_EVERY: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Whatever is still being taken in after that belongs to nobody any more.
const UNFINISHED_SECONDS: u32 = 120;
/// Rows of one statement, so that none holds its locks for long.
const PURGED_AT_ONCE: u32 = 1_000;
/// What the API promises.
const IDEMPOTENCY_HOURS_MIN: u32 = 24;
