//! Replays the ledger against the sums: every number is proved, or the difference named.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use keyrack_model::id::PropertyId;
use keyrack_model::stay::StayDate;
use serde::Serialize;

use crate::catalog::Property;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::verify::{self as store, Unproven, UnprovenReservation};
use crate::store::{connection, property};

/// A number that the ledger cannot prove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Code of the property.
    pub property: String,
    /// Code of the room type, where a night is meant.
    pub room_type: Option<String>,
    /// Which night.
    pub night: Option<StayDate>,
    /// What differs, in words with both numbers.
    pub what: String,
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Nights compared: entries against sums, and reservations against sums.
    pub nights: u64,
    /// Reservations compared: each state with the nights of that state.
    pub reservations: u64,
    /// What cannot be proved.
    pub differences: Vec<Difference>,
}

/// Verifies one property, or all: each in one snapshot, so that it may run beside bookings.
pub async fn verify(
    ledger: &Ledger,
    property: Option<PropertyId>,
) -> Result<Verification, LedgerError> {
    verify_all(ledger, property, &AtomicI32::new(0)).await
}

/// The same for all, given up at once when `stopped` ends: then `None`. What the database is doing
/// for it is ended there too, since that alone may take minutes.
pub async fn verify_until(
    ledger: &Ledger,
    stopped: impl Future<Output = ()>,
) -> Result<Option<Verification>, LedgerError> {
    let backend = AtomicI32::new(0);
    let mut work = pin!(verify_all(ledger, None, &backend));
    tokio::select! {
        verified = &mut work => return verified.map(Some),
        () = stopped => {}
    }
    loop {
        // Again and again: between two questions there is nothing to interrupt.
        let at = backend.load(Ordering::Relaxed);
        if at == 0 {
            return Ok(None);
        }
        tokio::select! {
            _ = &mut work => return Ok(None),
            interrupted = interrupt(ledger, at) => interrupted?,
        }
    }
}

async fn interrupt(ledger: &Ledger, backend: i32) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::interrupt(&mut conn, backend).await?;
    drop(conn);
    tokio::time::sleep(INTERRUPT_PAUSE).await;
    Ok(())
}

const INTERRUPT_PAUSE: Duration = Duration::from_millis(50);

/// `backend` says which process of the server is at work on a property; 0 is none.
async fn verify_all(
    ledger: &Ledger,
    property: Option<PropertyId>,
    backend: &AtomicI32,
) -> Result<Verification, LedgerError> {
    let mut verification = Verification::default();
    let mut after = None;
    loop {
        let mut conn = connection::reader(ledger).await?;
        let page = match property {
            Some(id) => property::by_id(&mut conn, id).await?.into_iter().collect(),
            None => property::page(&mut conn, after, PROPERTIES_PER_PAGE).await?,
        };
        drop(conn);
        after = page.last().map(|property| property.id);
        for property in &page {
            one(ledger, property, &mut verification, backend).await?;
            backend.store(0, Ordering::Relaxed);
        }
        if property.is_some() || after.is_none() {
            return Ok(verification);
        }
    }
}

const PROPERTIES_PER_PAGE: u32 = 200;

async fn one(
    ledger: &Ledger,
    property: &Property,
    verification: &mut Verification,
    backend: &AtomicI32,
) -> Result<(), LedgerError> {
    let (id, code) = (property.id, property.code.as_str());
    let mut tx = connection::begin(ledger).await?;
    store::one_snapshot(&mut tx).await?;
    store::without_time_limit(&mut tx).await?;
    backend.store(store::backend(&mut tx).await?, Ordering::Relaxed);
    let (nights, reservations) = store::counts(&mut tx, id).await?;
    verification.nights += u64::try_from(nights).unwrap_or(0);
    verification.reservations += u64::try_from(reservations).unwrap_or(0);
    let differ = |room_type: Option<String>, night: Option<StayDate>, what: String| Difference {
        property: code.to_owned(),
        room_type,
        night,
        what,
    };
    let found = &mut verification.differences;
    for (says, counts, unproven) in [
        ("entries", &COUNTS[..], store::nights(&mut tx, id).await?),
        (
            "reservations",
            &COUNTS[3..5],
            store::claims(&mut tx, id).await?,
        ),
    ] {
        for night in unproven {
            let what = differing(says, counts, &night);
            found.push(differ(
                night.room_type,
                Some(night.stay_date.to_jiff()),
                what,
            ));
        }
    }
    for reservation in store::reservations(&mut tx, id).await? {
        found.push(differ(None, None, of_reservation(&reservation)));
    }
    for case in store::cases(&mut tx, id).await? {
        let state = if case.is_open {
            "a case is open"
        } else {
            "no case is open"
        };
        let what = format!(
            "{} sold, {} can be slept in, and {state}",
            case.sold, case.usable
        );
        found.push(differ(
            Some(case.room_type),
            Some(case.stay_date.to_jiff()),
            what,
        ));
    }
    connection::commit(tx).await
}

const COUNTS: [&str; 6] = [
    "physical",
    "out_of_order",
    "overbooking_limit",
    "held",
    "sold",
    "oversold",
];

/// Both numbers of each count that differs.
fn differing(says: &str, counts: &[&str], night: &Unproven) -> String {
    let counts = counts.iter().zip(night.proven.iter().zip(&night.present));
    let words = counts
        .filter(|(_, (proven, present))| proven != present)
        .map(|(count, (proven, present))| {
            format!("{count}: {says} say {proven}, the night {present}")
        })
        .collect::<Vec<_>>();
    words.join("; ")
}

fn of_reservation(reservation: &UnprovenReservation) -> String {
    let UnprovenReservation {
        number,
        present_version,
        told_version,
        told_rooms,
        has_rooms,
    } = reservation;
    if present_version == told_version {
        format!(
            "reservation {number}: entries gave it {told_rooms} nights of rooms, it has {has_rooms}"
        )
    } else {
        let versions = format!("version {told_version}, it is at {present_version}");
        format!("reservation {number}: entries end at {versions}")
    }
}
