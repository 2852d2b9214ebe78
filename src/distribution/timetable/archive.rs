//! What has ended leaves the hot tables, and closed nights are written down as they were proved.
//!
//! Both work in short transactions that wait for nobody, rest longer than they work, and are as
//! right when two daemons do them at once as when one does.

use std::collections::HashSet;
use std::time::Duration;

use keyrack_ledger::archive::{self, Leaving};
use keyrack_ledger::catalog::{self, Property};
use keyrack_ledger::checkpoint::{self, CLOSED_AFTER_DAYS};
use keyrack_ledger::tail;
use keyrack_model::id::{PropertyId, ReservationId};
use tokio::time::Instant;

use crate::error::DistributionError;
use crate::feed::events;
use crate::handle::Distribution;
use crate::store::{feed, webhook_delivery};

/// Archives what ended long enough ago at every property, once the feed and the webhooks have
/// passed it; says how many reservations.
///
/// # Errors
///
/// Failures of the database. A property that fails is tried again at the next look.
pub async fn archive_once(distribution: &Distribution) -> Result<u32, DistributionError> {
    let inner = &distribution.inner;
    let Ok(after_days) = i32::try_from(inner.settings.archive_after_days) else {
        return Ok(0);
    };
    let Some(place) = feed::load(&inner.pool).await?.filter(|_| after_days > 0) else {
        return Ok(0);
    };
    // After a restore the feed begins anew: where it stood says nothing here.
    if tail::cluster(&inner.ledger).await?.0 != place.system_identifier {
        return Ok(0);
    }
    let leaving = Leaving {
        after_days,
        passed: place.entries,
    };
    let mut moved = 0;
    let mut after = None;
    loop {
        let page = catalog::properties(&inner.ledger, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(moved);
        };
        after = Some(last.id);
        for property in &page {
            if inner.cancel.is_cancelled() {
                return Ok(moved);
            }
            match archive_at(distribution, property.id, &leaving).await {
                Ok(count) => moved += count,
                Err(error) => complain(property, &error, "nothing was archived"),
            }
        }
    }
}

async fn archive_at(
    distribution: &Distribution,
    property: PropertyId,
    leaving: &Leaving,
) -> Result<u32, DistributionError> {
    let inner = &distribution.inner;
    let mut moved = 0;
    let mut after = None;
    while !inner.cancel.is_cancelled() {
        let begun = Instant::now();
        let due = archive::due(&inner.ledger, property, leaving, after, AT_ONCE).await?;
        after = due.last().copied();
        if !due.is_empty() {
            let passed = without_deliveries(distribution, due).await?;
            moved += archive::move_out(&inner.ledger, property, leaving, &passed).await?;
        }
        rest(distribution, begun.elapsed() * REST).await;
        if after.is_none() {
            break;
        }
    }
    Ok(moved)
}

/// Those of whom no webhook waits to hear.
async fn without_deliveries(
    distribution: &Distribution,
    reservations: Vec<ReservationId>,
) -> Result<Vec<ReservationId>, DistributionError> {
    let subject = |id: &ReservationId| events::reservation_key(*id);
    let subjects: Vec<String> = reservations.iter().map(subject).collect();
    let waiting = webhook_delivery::waiting(&distribution.inner.pool, &subjects).await?;
    let waiting: HashSet<String> = waiting.into_iter().collect();
    let passed = reservations.into_iter();
    Ok(passed
        .filter(|id| !waiting.contains(&subject(id)))
        .collect())
}

/// Writes down the closed nights of every property that can be proved; says how many.
///
/// # Errors
///
/// Failures of the database. A property that fails is tried again at the next look.
pub async fn close_nights(distribution: &Distribution) -> Result<u64, DistributionError> {
    let inner = &distribution.inner;
    let mut written = 0;
    let mut after = None;
    loop {
        let page = catalog::properties(&inner.ledger, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(written);
        };
        after = Some(last.id);
        for property in &page {
            let begun = Instant::now();
            let closing = checkpoint::close_nights_until(
                &inner.ledger,
                property.id,
                CLOSED_AFTER_DAYS,
                inner.cancel.cancelled(),
            );
            match closing.await {
                Ok(Some(count)) => written += count,
                Ok(None) => return Ok(written),
                Err(error) => complain(property, &error.into(), "no night was closed"),
            }
            rest(distribution, begun.elapsed() * REST).await;
        }
    }
}

fn complain(property: &Property, error: &DistributionError, what: &str) {
    let error = error as &dyn std::error::Error;
    tracing::error!(property.code, error, "{what}");
}

/// Lets others work.
async fn rest(distribution: &Distribution, time: Duration) {
    tokio::select! {
        () = distribution.inner.cancel.cancelled() => {}
        () = tokio::time::sleep(time) => {}
    }
}

/// Reservations of one transaction.
const AT_ONCE: u32 = 500;
/// So many times as long at rest as at work.
const REST: u32 = 4;
/// Properties of one look.
const PAGE: u32 = 200;
