//! Ended reservations leave the hot tables, some at a time, beside the bookings.
//!
//! A move is one short transaction: it locks what nobody else has locked and waits for no row, so
//! it stands in nobody's way; under the locks it looks once more whether each may leave. Killed
//! anywhere it has done nothing, and two who do it at once do it once. A reservation lies in
//! exactly one place, and whoever reads looks in both by one statement. A command that changes an
//! archived reservation brings it back in its own transaction.

use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::stay::plus_days;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::archive::{self as store, Among, Bounds};
use crate::store::{connection, property};
use crate::tail::Cursor;

/// When a reservation may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Days after its departure and after its last change.
    pub after_days: i32,
    /// How far the feed has read: what it has not passed stays.
    pub passed: Cursor,
}

/// Reservations of a property that may leave, in order of id, after one; at most so many.
pub async fn due(
    ledger: &Ledger,
    property: PropertyId,
    leaving: &Leaving,
    after: Option<ReservationId>,
    limit: u32,
) -> Result<Vec<ReservationId>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(bounds) = bounds(&mut conn, property, leaving).await? else {
        return Ok(Vec::new());
    };
    let ids = store::due(&mut conn, &bounds, Among::After(after), limit).await?;
    Ok(ids.into_iter().map(ReservationId).collect())
}

/// Moves those of some reservations that may leave at this moment; says how many did.
pub async fn move_out(
    ledger: &Ledger,
    property: PropertyId,
    leaving: &Leaving,
    reservations: &[ReservationId],
) -> Result<u32, LedgerError> {
    let ids: Vec<Uuid> = reservations.iter().map(|id| id.0).collect();
    let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let mut tx = connection::begin(ledger).await?;
    let Some(bounds) = bounds(&mut tx, property, leaving).await? else {
        return Ok(0);
    };
    let locked = store::lock(&mut tx, property, &ids).await?;
    // What changed before it was locked is seen by this statement, and stays.
    let ended = store::due(&mut tx, &bounds, Among::Only(&locked), limit).await?;
    if ended.is_empty() {
        return Ok(0);
    }
    let moved = store::move_out(&mut tx, property, &ended).await?;
    connection::commit(tx).await?;
    Ok(u32::try_from(moved).unwrap_or(u32::MAX))
}

async fn bounds(
    conn: &mut PgConnection,
    property: PropertyId,
    leaving: &Leaving,
) -> Result<Option<Bounds>, LedgerError> {
    let calendar = property::calendar(conn, property).await?;
    Ok(calendar.map(|calendar| Bounds {
        property,
        departed_by: plus_days(calendar.business_day, leaving.after_days.saturating_neg()),
        days: leaving.after_days,
        passed: leaving.passed,
    }))
}
