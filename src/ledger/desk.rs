//! The desk: which room a stay has, and the sheet of a day.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use keyrack_model::id::{PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::reservation::Status;
use keyrack_model::stay::{Stay, StayRange};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::command::By;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::reservations::{AutoRoom, DaySheet, Folio};
use crate::store::day::{self, DayRow};
use crate::store::entry::{self, Lines};
use crate::store::folio::{self, LockedStay};
use crate::store::{assignment, connection, constraint, room};

/// Which room stay is put where.
pub(crate) struct Assign<'a> {
    pub property: PropertyId,
    pub by: &'a By,
    pub reservation: ReservationId,
    pub stay: RoomStayId,
    pub room: &'a AutoRoom,
    pub version: Option<i64>,
}

/// Puts a room stay into a room, or takes it out. A room that somebody takes at the same moment is
/// looked for again, where any will do.
pub(crate) async fn assign(
    ledger: &Ledger,
    assign: &Assign<'_>,
) -> Result<Result<(), Refusal>, LedgerError> {
    for _ in 0..ATTEMPTS {
        let mut tx = connection::begin(ledger).await?;
        match place(&mut tx, assign).await {
            Ok(Ok(())) => {
                connection::commit(tx).await?;
                let written = (assign.property, assign.reservation);
                ledger.memory().forget_reservation(written);
                return Ok(Ok(()));
            }
            Ok(Err(refusal)) => return Ok(Err(refusal)),
            Err(LedgerError::Broken { source, .. })
                if constraint::violated(&source) == Some("room_taken_once") =>
            {
                drop(tx);
                if let AutoRoom::Room(code) = assign.room {
                    return taken(ledger, assign, code).await.map(Err);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(LedgerError::Conflict)
}

/// How often a room that just went to somebody else is looked for again.
const ATTEMPTS: usize = 3;

async fn place(
    conn: &mut PgConnection,
    assign: &Assign<'_>,
) -> Result<Result<(), Refusal>, LedgerError> {
    let (property, id, stay) = (assign.property, assign.reservation, assign.stay);
    let Some(locked) = folio::lock_stay(conn, property, id, stay).await? else {
        return Ok(Err(Refusal::NotFound("room stay".to_owned())));
    };
    let nights = match admitted(&locked, assign.version) {
        Ok(nights) => nights,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let has = assignment::of_stay(conn, property, id, stay).await?;
    let quantity = usize::try_from(locked.quantity).unwrap_or(0);
    let told = match assign.room {
        AutoRoom::Nothing if has.is_empty() => return Ok(Ok(())),
        AutoRoom::Nothing => {
            assignment::release(conn, property, id, stay).await?;
            format!("out of room {}", has.join(", "))
        }
        AutoRoom::Room(code) if has.contains(code) => return Ok(Ok(())),
        AutoRoom::Room(code) => {
            if quantity > 1 && has.len() >= quantity {
                let words = format!("it has all its {quantity} rooms: take it out of them first");
                return Ok(Err(Refusal::IllegalTransition(words)));
            }
            let found = room::list(conn, property, Some(code)).await?.pop();
            let Some(found) = found.filter(|found| found.room.is_active) else {
                return Ok(Err(Refusal::invalid(
                    "/room",
                    "no such room, or it is not active",
                )));
            };
            if quantity <= 1 {
                assignment::release(conn, property, id, stay).await?;
            }
            assignment::put(conn, property, id, stay, found.id, nights).await?;
            format!("room {code}")
        }
        AutoRoom::Any => {
            let missing = quantity.saturating_sub(has.len());
            match any(conn, assign, &locked, nights, missing).await? {
                Ok(codes) if codes.is_empty() => return Ok(Ok(())),
                Ok(codes) => format!("room {}", codes.join(", ")),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    };
    let version = folio::count_up(conn, property, id).await?;
    let lines = Lines {
        property,
        by: assign.by,
        kind: "assigned",
        reservation: Some((id, version)),
        reason: Some(&told),
        moved: &[],
    };
    entry::insert(conn, &lines).await?;
    Ok(Ok(()))
}

/// The nights to be had in a room, where the stay may have one.
fn admitted(locked: &LockedStay, version: Option<i64>) -> Result<StayRange, Refusal> {
    if version.is_some_and(|version| version != locked.version) {
        return Err(Refusal::VersionMismatch {
            current: locked.version,
        });
    }
    let takes = matches!(locked.status.as_str(), "held" | "confirmed" | "checked_in");
    let nights = Stay::new(locked.taken_from.to_jiff(), locked.taken_until.to_jiff());
    match nights.filter(|_| takes && !locked.is_given_back) {
        Some(nights) => Ok(nights),
        None => {
            let words = format!(
                "this reservation is {} and has no room to sleep in: look at it again",
                locked.status.replace('_', " ")
            );
            Err(Refusal::IllegalTransition(words))
        }
    }
}

/// Puts the stay into so many rooms of its type that are free throughout; says which.
async fn any(
    conn: &mut PgConnection,
    assign: &Assign<'_>,
    locked: &LockedStay,
    nights: StayRange,
    missing: usize,
) -> Result<Result<Vec<String>, Refusal>, LedgerError> {
    let (property, id, stay) = (assign.property, assign.reservation, assign.stay);
    let room_type = locked
        .room_type_id
        .filter(|_| !locked.is_composed)
        .map(RoomTypeId);
    let Some(room_type) = room_type else {
        let words = "its type has no rooms of its own: name the room".to_owned();
        return Ok(Err(Refusal::IllegalTransition(words)));
    };
    let mut codes = Vec::new();
    for _ in 0..missing {
        let Some((room, code)) = assignment::lock_free(conn, property, room_type, nights).await?
        else {
            let words = "no room of its type is free for the whole stay: move another guest first"
                .to_owned();
            return Ok(Err(Refusal::IllegalTransition(words)));
        };
        assignment::put(conn, property, id, stay, room, nights).await?;
        codes.push(code);
    }
    Ok(Ok(codes))
}

/// Who has the room, and which are free instead.
async fn taken(ledger: &Ledger, assign: &Assign<'_>, code: &str) -> Result<Refusal, LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    let property = assign.property;
    let found = room::list(&mut tx, property, Some(code)).await?.pop();
    let locked = folio::lock_stay(&mut tx, property, assign.reservation, assign.stay).await?;
    let (Some(found), Some(locked)) = (found, locked) else {
        return Ok(Refusal::NotFound("room stay".to_owned()));
    };
    let nights = match admitted(&locked, None) {
        Ok(nights) => nights,
        Err(refusal) => return Ok(refusal),
    };
    let takers = assignment::takers(&mut tx, property, found.id, nights).await?;
    let room_type = locked.room_type_id.map_or(found.room_type, RoomTypeId);
    let free = assignment::free_codes(&mut tx, property, room_type, nights).await?;
    let free = if free.is_empty() {
        "none".to_owned()
    } else {
        free.join(", ")
    };
    Ok(Refusal::IllegalTransition(format!(
        "room {code} is taken by {}: choose another. Free for the whole stay: {free}",
        takers.join(", ")
    )))
}

/// The desk's sheet of a day.
pub(crate) async fn day_sheet(
    ledger: &Ledger,
    property: PropertyId,
    date: Date,
) -> Result<DaySheet, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rows = day::of_day(&mut conn, property, date).await?;
    let ids: BTreeSet<Uuid> = rows.iter().map(|row| row.reservation_id).collect();
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let folios = folio::by_ids(&mut conn, property, &ids).await?;
    let folios: BTreeMap<Uuid, Folio> = folios
        .into_iter()
        .map(|folio| (folio.reservation.id.0, folio))
        .collect();
    let those = |belongs: &dyn Fn(&DayRow, Status) -> bool| -> Vec<Folio> {
        let rows = rows.iter().filter(|row| {
            Status::from_name(&row.status).is_some_and(|status| belongs(row, status))
        });
        let ids: BTreeSet<Uuid> = rows.map(|row| row.reservation_id).collect();
        ids.iter()
            .filter_map(|id| folios.get(id).cloned())
            .collect()
    };
    let arrives =
        |row: &DayRow, status| row.arrival.to_jiff() == date && status != Status::Completed;
    Ok(DaySheet {
        date,
        arrivals: those(&arrives),
        departures: those(&|row, status| row.departure.to_jiff() == date && status != Status::Held),
        in_house: those(&|row, status| {
            row.arrival.to_jiff() < date
                && row.departure.to_jiff() > date
                && matches!(status, Status::Confirmed | Status::CheckedIn)
        }),
        overdue: those(&|row, status| {
            status == Status::CheckedIn && row.departure.to_jiff() < date
        }),
        unassigned: those(&|row, status| {
            arrives(row, status) && row.assigned < i64::from(row.quantity)
        }),
        oversold: day::oversold(&mut conn, property, date).await?,
    })
}
