//! The quota of each connection, from its settings or its channel: shared by its poller and its
//! pushes, and by all daemons on one database.

use std::time::Duration;

use crate::connections;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::sign_in::Login;
use crate::store::connection_pace;

/// Waits until the connection may send once more.
///
/// # Errors
///
/// Failures of the database.
pub(crate) async fn until_free(
    distribution: &Distribution,
    login: &Login,
) -> Result<(), DistributionError> {
    let agreed = connections::pace(&login.row).requests_per_minute;
    let of_channel = login.adapter.capabilities().requests_per_minute;
    let (apart, burst) = spread(agreed.unwrap_or(of_channel));
    let pool = &distribution.inner.pool;
    let wait = connection_pace::take(pool, login.row.id, apart, burst).await?;
    tokio::time::sleep(wait).await;
    Ok(())
}

/// From one request to the next at an even pace, and how far ahead of it requests may go: a tenth
/// of a minute at once, for a quota is meant as a pace, not as one burst a minute.
fn spread(requests_per_minute: u32) -> (Duration, Duration) {
    let per_minute = requests_per_minute.max(1);
    let apart = Duration::from_secs(60) / per_minute;
    (apart, apart * (per_minute / 10).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_bursts_for_a_tenth_of_its_minute_and_no_more() {
        let seconds = Duration::from_secs;
        assert_eq!(spread(60), (seconds(1), seconds(6)));
        assert_eq!(spread(600), (Duration::from_millis(100), seconds(6)));
        assert_eq!(spread(1), (seconds(60), seconds(60)));
        assert_eq!(spread(0), spread(1));
    }
}
