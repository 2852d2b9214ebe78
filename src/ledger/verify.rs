//! Replays the ledger against the sums: every number is proved, or the difference named.
//!
//! A replay from checkpoints takes closed nights as they were proved once, adds what was written of
//! them since, and replays all others from their first entry. A night that still has the version
//! that was proved is taken to have no later entries, and an archived reservation to be as it was
//! when it left: that nothing came to them by a side door, only a whole replay proves. It proves
//! the checkpoints as well.

use std::future::Future;
use std::sync::atomic::{AtomicI32, Ordering};

use keyrack_model::id::PropertyId;
use keyrack_model::stay::StayDate;
use serde::Serialize;
use sqlx::PgConnection;

use crate::catalog::Property;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::interrupt;
use crate::store::verify::{self as store, From, Unproven, UnprovenReservation};
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
    /// Reservations compared: each state with the nights of that state. Archived ones only by a
    /// whole replay.
    pub reservations: u64,
    /// What cannot be proved.
    pub differences: Vec<Difference>,
}

/// How much is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What no checkpoint covers.
    FromCheckpoints,
    /// Everything, and the checkpoints are proved too.
    Whole,
}

/// Verifies one property, or all: each in one snapshot, so that it may run beside bookings.
pub async fn verify(
    ledger: &Ledger,
    property: Option<PropertyId>,
    extent: Extent,
) -> Result<Verification, LedgerError> {
    verify_all(ledger, property, extent, &AtomicI32::new(0)).await
}

/// The same for all, given up at once when `stopped` ends: then `None`. What the database is doing
/// for it is ended there too, since that alone may take minutes.
pub async fn verify_until(
    ledger: &Ledger,
    extent: Extent,
    stopped: impl Future<Output = ()>,
) -> Result<Option<Verification>, LedgerError> {
    let backend = AtomicI32::new(0);
    let work = verify_all(ledger, None, extent, &backend);
    interrupt::unless(ledger, &backend, work, stopped).await
}

/// `backend` says which process of the server is at work on a property; 0 is none.
async fn verify_all(
    ledger: &Ledger,
    property: Option<PropertyId>,
    extent: Extent,
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
            one(ledger, property, extent, &mut verification, backend).await?;
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
    extent: Extent,
    verification: &mut Verification,
    backend: &AtomicI32,
) -> Result<(), LedgerError> {
    let (id, code) = (property.id, property.code.as_str());
    let mut tx = connection::begin(ledger).await?;
    store::one_snapshot(&mut tx).await?;
    store::read_only(&mut tx).await?;
    store::without_time_limit(&mut tx).await?;
    backend.store(store::backend(&mut tx).await?, Ordering::Relaxed);
    let from = match extent {
        Extent::FromCheckpoints => From::Checkpoints,
        Extent::Whole => From::Beginning,
    };
    let (nights, reservations) = store::counts(&mut tx, id, from).await?;
    verification.nights += u64::try_from(nights).unwrap_or(0);
    verification.reservations += u64::try_from(reservations).unwrap_or(0);
    let found = &mut verification.differences;
    let mut differ = |room_type, night, what| {
        found.push(Difference {
            property: code.to_owned(),
            room_type,
            night,
            what,
        });
    };
    for (said, unproven) in unproven(&mut tx, id, from).await? {
        for night in unproven {
            let what = differing(&said, &night);
            differ(night.room_type, Some(night.stay_date.to_jiff()), what);
        }
    }
    for reservation in store::reservations(&mut tx, id, from).await? {
        differ(None, None, of_reservation(&reservation));
    }
    for night in store::allotments(&mut tx, id, from).await? {
        differ(night.room_type, Some(night.stay_date.to_jiff()), night.what);
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
        differ(Some(case.room_type), Some(case.stay_date.to_jiff()), what);
    }
    connection::commit(tx).await
}

/// Two witnesses of a night, and of which counts.
struct Said {
    proof: &'static str,
    counts: &'static [&'static str],
    number: &'static str,
}

async fn unproven(
    conn: &mut PgConnection,
    property: PropertyId,
    from: From,
) -> Result<Vec<(Said, Vec<Unproven>)>, LedgerError> {
    let said = |proof, counts, number| Said {
        proof,
        counts,
        number,
    };
    let mut all = vec![
        (
            said("entries", &COUNTS[..], "the night"),
            store::nights(conn, property, from).await?,
        ),
        (
            said("reservations", &COUNTS[3..5], "the night"),
            store::claims(conn, property, from).await?,
        ),
    ];
    if from == From::Beginning {
        all.push((
            said("entries", &COUNTS[..5], "its checkpoint"),
            store::checkpoints(conn, property).await?,
        ));
    }
    Ok(all)
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
fn differing(said: &Said, night: &Unproven) -> String {
    let Said {
        proof,
        counts,
        number,
    } = said;
    let counts = counts.iter().zip(night.proven.iter().zip(&night.present));
    let words = counts
        .filter(|(_, (proven, present))| proven != present)
        .map(|(count, (proven, present))| {
            format!("{count}: {proof} say {proven}, {number} {present}")
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
