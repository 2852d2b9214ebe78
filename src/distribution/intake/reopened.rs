//! Numbers that a channel moved by itself for a state that nobody heard.
//!
//! A guest may book and change or cancel between two polls: the channel then tells the last state
//! alone. Where it reopens rooms by itself, a number that was told while the first state stood has
//! been raised since, on nights that the last state need not name. So whatever was told since the
//! poll before is told once more.

use std::collections::BTreeSet;

use keyrack_model::reservation::{ReservationReport, RevisionKind};
use sqlx::PgConnection;

use crate::error::DistributionError;
use crate::intake::record::Outcome;
use crate::push::urgency::Repeat;
use crate::store::mark::{self, NewMark};
use crate::store::push_state::{self, Bell};
use crate::store::told;

/// The listings of which a report tells a later state than the first.
pub(super) fn listings(reports: &[ReservationReport], outcomes: &[Outcome]) -> BTreeSet<Bell> {
    let later = outcomes
        .iter()
        .filter(|outcome| reports[outcome.index].kind != RevisionKind::New);
    later.map(|outcome| Bell::from(&outcome.account)).collect()
}

/// Marks the open rooms that were told, or may have arrived, since the last complete poll began.
pub(super) async fn tell_again(
    conn: &mut PgConnection,
    listings: &BTreeSet<Bell>,
) -> Result<(), DistributionError> {
    for bell in listings {
        push_state::lock(conn, bell.account).await?;
        let keys = told::since_last_poll(&mut *conn, bell.account, bell.connection).await?;
        if keys.is_empty() {
            continue;
        }
        let marks = keys.into_iter().map(|key| NewMark {
            account: bell.account,
            key,
            repeat: Repeat {
                is_cancellation: true,
                is_full: false,
            },
            changed_at: None,
        });
        push_state::ring(conn, std::slice::from_ref(bell)).await?;
        mark::upsert(conn, &marks.collect::<Vec<_>>()).await?;
    }
    Ok(())
}
