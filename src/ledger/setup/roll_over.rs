//! The roll-over: what a new business day does by itself.

use std::sync::Arc;

use futures_util::future::join_all;
use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::stay::{Stay, StayRange, plus_days};

use crate::catalog;
use crate::command::{Asked, By, Command, Progress};
use crate::decide::safety::turned;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::limits;
use crate::setup::horizon;
use crate::store::rate_change::{self, Touched};
use crate::store::{connection, guest_place, progress, property, rate, safety, waitlist};

/// Completes stays that are past, lets go the other nights of no-shows, keeps the rooms of guests
/// who should have left, brings one night in at the horizon. Does it once per business day. Each
/// part looks at what is so today, so that days slept through are caught up in one go, and two who
/// do it at once do it once.
pub(crate) async fn roll_over(ledger: &Ledger, id: PropertyId) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(calendar) = property::calendar(&mut conn, id).await? else {
        return Ok(());
    };
    let today = calendar.business_day;
    if calendar.rolled_over_to.is_some_and(|day| day >= today) {
        return Ok(());
    }
    let departed = progress::departed(&mut conn, id, today).await?;
    let absent = progress::absent(&mut conn, id, today).await?;
    let overdue = progress::overdue(&mut conn, id, today).await?;
    drop(conn);
    step(ledger, id, &departed, Progress::Complete).await?;
    step(ledger, id, &absent, Progress::ReleaseNoShow).await?;
    step(ledger, id, &overdue, Progress::Overdue).await?;
    horizon::extend(ledger, id).await?;
    // A day nearer: what was meant may be less now.
    limits::apply(ledger, id, worker()).await?;
    let near = plus_days(today, NEAR_DAYS).min(calendar.horizon_end);
    if let Some(nights) = Stay::new(today, near) {
        review(ledger, id, nights).await?;
    }
    let mut tx = connection::begin(ledger).await?;
    let Some(calendar) = property::lock(&mut tx, id).await? else {
        return Ok(());
    };
    if rate::depends_on_lead(&mut tx, id, calendar.open_nights()).await? {
        // A day nearer: rules of lead time may tell something else of any night.
        let by = worker();
        let touched = Touched::everything(calendar.open_nights(), "lead_time");
        rate_change::note(&mut tx, id, &by, &[touched]).await?;
    } else if safety::is_ruled(&mut tx, id).await? {
        // Some nights are of another kind now, and another number may be kept back.
        let by = worker();
        let before = calendar.rolled_over_to.unwrap_or(plus_days(today, -1));
        let touched: Vec<Touched> = turned(before, today)
            .into_iter()
            .map(|nights| Touched::everything(nights, "lead_time"))
            .collect();
        rate_change::note(&mut tx, id, &by, &touched).await?;
    }
    waitlist::forget(&mut tx, id, plus_days(today, -WAITLIST_DAYS)).await?;
    guest_place::forget(&mut tx, id, plus_days(today, -1)).await?;
    property::set_rolled_over_to(&mut tx, id, today).await?;
    connection::commit(tx).await
}

/// What was meant opens a case when it comes near enough: every plain type's next nights, as far
/// as they are born.
async fn review(
    ledger: &Ledger,
    property: PropertyId,
    nights: StayRange,
) -> Result<(), LedgerError> {
    let by = Arc::new(worker());
    let types = catalog::room_types(ledger, property).await?;
    for plain in types.iter().filter(|t| t.setup.components.is_empty()) {
        let command = Command::Review {
            room_type: plain.id,
            nights,
        };
        let asked = Asked::new(property, Arc::clone(&by), command);
        if let Err(refusal) = ledger.ask(asked).await? {
            tracing::debug!(refusal = refusal.code(), "nothing to review");
        }
    }
    Ok(())
}

/// Wishes that have ended are kept for so many days after their nights.
const WAITLIST_DAYS: i32 = 30;
/// As far as any property's `meant_overbooking_case_days` is looked at.
const NEAR_DAYS: i32 = 31;

fn worker() -> By {
    By {
        actor: "worker:roll_over".to_owned(),
        request_id: None,
    }
}

/// Asks the same step of many reservations, some at a time so that they share batches. A refusal
/// says that somebody was first.
async fn step(
    ledger: &Ledger,
    property: PropertyId,
    reservations: &[ReservationId],
    step: Progress,
) -> Result<(), LedgerError> {
    let by = Arc::new(worker());
    for some in reservations.chunks(AT_ONCE) {
        let asked = some.iter().map(|reservation| {
            let reservation = *reservation;
            let command = Command::Progress {
                reservation,
                step,
                version: None,
            };
            ledger.ask(Asked::new(property, Arc::clone(&by), command))
        });
        for answer in join_all(asked).await {
            if let Err(refusal) = answer? {
                tracing::debug!(refusal = refusal.code(), "the roll-over came second");
            }
        }
    }
    Ok(())
}

/// Commands asked at once: they share batches, and staff's come between.
const AT_ONCE: usize = 50;
