//! Waiting until the world is quiet: nothing undelivered, nothing untold.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use keyrack_sandbox::Journal;

use super::stage::Stage;

/// How long the world may take to come to rest: a turn at a channel that nobody gave back runs out
/// in 15 s, and what was in flight then is told once more a minute later.
const PATIENCE: Duration = Duration::from_secs(150);
/// How long it must stay at rest to count as quiet.
const REST: Duration = Duration::from_millis(1_500);

/// Waits until every message of the channels is acknowledged and every mark is told.
pub async fn calm(stage: &Stage) -> Result<()> {
    let begun = Instant::now();
    let mut quiet_since: Option<Instant> = None;
    loop {
        let unrest = unrest(stage).await?;
        match (&unrest, quiet_since) {
            (None, Some(since)) if since.elapsed() >= REST => return Ok(()),
            (None, None) => quiet_since = Some(Instant::now()),
            (None, Some(_)) => {}
            (Some(why), _) => {
                quiet_since = None;
                if begun.elapsed() > PATIENCE {
                    bail!("the world does not come to rest: {why}");
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What is still on its way; `None` where nothing is.
async fn unrest(stage: &Stage) -> Result<Option<String>> {
    for (listing, channel) in stage.listings() {
        if let Some(reference) = waiting(&channel.journal()) {
            return Ok(Some(format!(
                "{} waits for us to take {reference}",
                listing.channel
            )));
        }
        let account = stage
            .client
            .get(&format!("accounts/{}", listing.account))
            .await?;
        let queue = account["queue_depth"].as_i64().unwrap_or(-1);
        if queue != 0 {
            return Ok(Some(format!(
                "{queue} nights of {} are untold",
                listing.account
            )));
        }
    }
    Ok(None)
}

fn waiting(journal: &Journal) -> Option<String> {
    let waits = |r: &&keyrack_sandbox::Reservation| r.versions.iter().any(|v| v.is_waiting());
    journal
        .reservations
        .iter()
        .find(waits)
        .map(|reservation| reservation.reference.clone())
}
