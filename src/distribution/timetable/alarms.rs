//! What alarms: polls that fail for too long, words that a channel does not take, a clock that is
//! far off.

use std::time::Duration;

use jiff::Timestamp;
use keyrack_model::adapter::Goal;

use crate::behind::Behind;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::notice::{self, About, Kind};
use crate::poll::{failing_key, failing_kind};
use crate::store::owed::{self, Owed};
use crate::store::{clock, connection, poll};

/// Looks once for everything that alarms.
///
/// # Errors
///
/// Failures of the database.
pub async fn look(distribution: &Distribution) -> Result<(), DistributionError> {
    failing(distribution).await?;
    unacknowledged(distribution).await?;
    clock_distance(distribution).await
}

/// Polls that have not succeeded for so long that the channel will soon fall back to e-mail.
async fn failing(distribution: &Distribution) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    for state in poll::failing(&inner.pool, inner.settings.poll_failing_seconds).await? {
        let Some(row) = connection::by_id(&inner.pool, state.connection).await? else {
            continue;
        };
        let behind = Behind::load(&inner.ledger, row.id).await?;
        let codes: Vec<&str> = behind
            .accounts()
            .iter()
            .take(ACCOUNTS_NAMED_MAX)
            .map(|account| account.code.as_str())
            .collect();
        let since = state.failing_since.unwrap_or(state.due_at);
        let why = state.last_error.as_deref().unwrap_or("no reason is known");
        let behind_it = codes.join(", ");
        let text = match state.goal {
            Goal::PollMissed => format!(
                "Connection {} ({}) is not told since {since} which reservations fell back to \
                 e-mail: {why}. Accounts behind it: {behind_it}. Have the channel switch the \
                 recovery of reservations on; until then watch the mailbox after every outage.",
                row.code, row.channel,
            ),
            _ => format!(
                "Connection {} ({}) cannot be asked for reservations since {since}: {why}. \
                 Accounts behind it: {behind_it}. The channel falls back to e-mail: read the \
                 mailbox, and enter what comes there with account and reference.",
                row.code, row.channel,
            ),
        };
        let about = About {
            property: behind.only().map(|account| account.property),
            account: behind.only().map(|account| account.id),
        };
        let key = failing_key(row.id, state.goal);
        notice::raise(distribution, failing_kind(state.goal), &key, about, &text).await?;
    }
    Ok(())
}

/// Recorded long ago, and the channel does not take our word for it.
async fn unacknowledged(distribution: &Distribution) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let owed = owed::owed(&inner.pool, inner.settings.unacknowledged_seconds, OWED_MAX).await?;
    let shown = u32::try_from(owed.len()).unwrap_or(u32::MAX);
    metrics::gauge!("unacknowledged_messages").set(f64::from(shown));
    let key_of = |owed: &Owed| format!("{}:{}", owed.connection, owed.reference);
    if shown < OWED_MAX {
        let keys: Vec<String> = owed.iter().map(key_of).collect();
        notice::clear_others(distribution, Kind::Unacknowledged, "", &keys).await?;
    }
    for owed in owed {
        let text = format!(
            "Reservation {} is recorded (message {}), and its channel does not take the \
             acknowledgement: {}. The channel falls back to e-mail; do not enter it a second time.",
            owed.reference,
            owed.message,
            owed.last_error.as_deref().unwrap_or("no answer"),
        );
        let about = About {
            property: None,
            account: Some(owed.account),
        };
        let key = key_of(&owed);
        notice::raise(distribution, Kind::Unacknowledged, &key, about, &text).await?;
    }
    Ok(())
}

async fn clock_distance(distribution: &Distribution) -> Result<(), DistributionError> {
    let distance = clock_distance_seconds(distribution).await?;
    let shown = i32::try_from(distance).unwrap_or(i32::MAX);
    metrics::gauge!("clock_distance_seconds").set(f64::from(shown));
    if distance.abs() >= CLOCK_WARN_SECONDS {
        tracing::warn!(
            distance_seconds = distance,
            "this machine's clock is away from the database's"
        );
    }
    Ok(())
}

/// Seconds by which this machine's clock is ahead of the database's machine; negative is behind.
///
/// # Errors
///
/// Failures of the database.
pub async fn clock_distance_seconds(distribution: &Distribution) -> Result<i64, DistributionError> {
    let asked = here();
    let there = clock::machine(&distribution.inner.pool).await?;
    // Half of the way belongs to the question.
    let way = here().duration_since(asked).unsigned_abs() / 2;
    let middle = asked + way.min(Duration::from_secs(5));
    Ok(middle.duration_since(there).as_secs())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the distance of this clock from the database's is what is measured"
)]
fn here() -> Timestamp {
    Timestamp::now()
}

/// From here on the logs warn.
const CLOCK_WARN_SECONDS: i64 = 2;
/// From here on this process sweeps nothing.
pub(crate) const CLOCK_STOP_SECONDS: i64 = 30;
/// Messages in one look at most.
const OWED_MAX: u32 = 200;
/// Accounts named in one mail at most.
const ACCOUNTS_NAMED_MAX: usize = 20;
