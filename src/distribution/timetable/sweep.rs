//! Dead holds give their rooms back, and the business day rolls over.
//!
//! The sweeper only tidies up: what is dead counts as free when it is read. So it works a fifth of
//! the time at most, and two at once are as right as one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use keyrack_ledger::catalog::{self, Property};
use keyrack_ledger::sweeper::Sweeper;
use keyrack_ledger::{holds, inventory};
use keyrack_model::id::PropertyId;
use keyrack_model::stay::business_day;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::store::clock;
use crate::timetable::alarms::{CLOCK_STOP_SECONDS, clock_distance_seconds};

/// Sweeps until the engine stops.
pub(super) async fn run(distribution: &Distribution, sweep_seconds: u32) {
    let cancel = &distribution.inner.cancel;
    let rest = Duration::from_secs(sweep_seconds.into());
    let mut sweeper = Sweeper::new(&distribution.inner.ledger);
    while !cancel.is_cancelled() {
        if let Err(error) = sweep(distribution, &mut sweeper).await {
            tracing::error!(error = &error as &dyn std::error::Error, "sweeping failed");
        }
        tokio::select! {
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// Lets go the dead holds of every property; says how many.
///
/// # Errors
///
/// Failures of the database. A process whose clock is far off sweeps nothing.
pub async fn sweep_once(distribution: &Distribution) -> Result<u32, DistributionError> {
    let mut sweeper = Sweeper::new(&distribution.inner.ledger);
    sweep(distribution, &mut sweeper).await
}

async fn sweep(
    distribution: &Distribution,
    sweeper: &mut Sweeper,
) -> Result<u32, DistributionError> {
    let inner = &distribution.inner;
    let due = holds::due(&inner.ledger).await?;
    let oldest = due.iter().map(|due| due.oldest_seconds).max().unwrap_or(0);
    let shown = u32::try_from(oldest.max(0)).unwrap_or(u32::MAX);
    metrics::gauge!("reservation_expiry_lag_seconds_max").set(f64::from(shown));
    if due.is_empty() {
        return Ok(0);
    }
    if clock_distance_seconds(distribution).await?.abs() >= CLOCK_STOP_SECONDS {
        return Ok(0);
    }
    // It saves double work; where two sweep at once, each hold still expires once.
    let Some(lease) = inner.leases.sweeping(&inner.pool).await? else {
        return Ok(0);
    };
    let stopped = inner.cancel.cancelled();
    let let_go = sweeper.pass(&inner.ledger, &due, stopped).await;
    lease.give().await;
    Ok(let_go?)
}

/// The last business day that this process rolled each property over to: a hint that saves asking,
/// and nothing rests on it.
#[derive(Default)]
pub(crate) struct Rolled {
    by_property: Mutex<HashMap<PropertyId, Date>>,
}

impl Rolled {
    fn is_done(&self, property: PropertyId, day: Date) -> bool {
        let known = self
            .by_property
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.get(&property) == Some(&day)
    }

    fn remember(&self, property: PropertyId, day: Date) {
        let mut known = self
            .by_property
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.insert(property, day);
    }
}

pub(super) async fn roll_over_all(distribution: &Distribution) -> Result<(), DistributionError> {
    roll_over_due(distribution).await.map(drop)
}

/// Rolls every property over whose business day has changed since this process looked last; says
/// how many.
///
/// # Errors
///
/// Failures of the database. A property that fails is tried again at the next look.
pub async fn roll_over_due(distribution: &Distribution) -> Result<u32, DistributionError> {
    let inner = &distribution.inner;
    let now = clock::now(&inner.pool).await?;
    let mut rolled = 0;
    let mut after = None;
    loop {
        let page = catalog::properties(&inner.ledger, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(rolled);
        };
        after = Some(last.id);
        for property in &page {
            let Some(day) = day_of(property, now) else {
                tracing::error!(
                    property.code,
                    "its time zone is unknown; it does not roll over"
                );
                continue;
            };
            if inner.rolled.is_done(property.id, day) {
                continue;
            }
            match inventory::roll_over(&inner.ledger, property.id).await {
                Ok(()) => {
                    inner.rolled.remember(property.id, day);
                    rolled += 1;
                }
                Err(error) => tracing::error!(
                    property.code,
                    error = &error as &dyn std::error::Error,
                    "the roll-over failed"
                ),
            }
        }
    }
}

fn day_of(property: &Property, now: Timestamp) -> Option<Date> {
    let zone = TimeZone::get(&property.setup.time_zone).ok()?;
    Some(business_day(now, &zone, property.setup.day_roll_over))
}

/// Properties in one read.
const PAGE: u32 = 500;
