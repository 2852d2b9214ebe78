//! The nights: what is free, what may be, and why.

use jiff::Timestamp;
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::{Stay, StayDate, StayRange};

use crate::decide::composed::{Present, free, parts};
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::offers;
use crate::reservations::EntryLine;
use crate::setup;
use crate::store::{self, clock, connection, night};

/// The nights of one room type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeNights {
    /// Code of the room type.
    pub room_type: String,
    /// Its id.
    pub id: RoomTypeId,
    /// Nights in order; `free` counts what dead holds no longer take. Of a composed type: `free`
    /// is the least over its components.
    pub nights: Vec<NightLine>,
}

/// One night, as shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NightLine {
    /// Which.
    pub night: StayDate,
    /// Its balance; `held` without dead holds.
    pub balance: NightBalance,
    /// What is free to the desk.
    pub free: i32,
}

/// What is free to the desk, per room type in order of code, and the instant that it is true of.
pub async fn availability(
    ledger: &Ledger,
    property: PropertyId,
    nights: StayRange,
    room_type: Option<RoomTypeId>,
) -> Result<(Timestamp, Vec<TypeNights>), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let now = clock::now(&mut conn).await?;
    let types = store::room_type::list(&mut conn, property).await?;
    let compositions = store::room_type::compositions(&mut conn, property).await?;
    let wanted = types
        .iter()
        .filter(|known| room_type.is_none_or(|id| id == known.id));
    let plain: Vec<RoomTypeId> = wanted
        .clone()
        .flat_map(|known| parts(&compositions, known.id))
        .map(|(id, _)| id)
        .collect();
    let present = night::present(&mut conn, property, &plain, nights).await?;
    let lines = wanted.map(|known| TypeNights {
        room_type: known.code.clone(),
        id: known.id,
        nights: nights
            .nights()
            .filter_map(|night| line(&present, &parts(&compositions, known.id), known.id, night))
            .collect(),
    });
    Ok((now, lines.collect()))
}

/// When the next hold of a property dies after an instant: until then, what is free does not change
/// by itself.
pub async fn next_death(
    ledger: &Ledger,
    property: PropertyId,
    after: Timestamp,
) -> Result<Option<Timestamp>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    night::next_death(&mut conn, property, after).await
}

/// A night of a type: its own balance where it is plain; what is free is the least over its parts.
fn line(
    present: &Present,
    parts: &[(RoomTypeId, i32)],
    room_type: RoomTypeId,
    night: StayDate,
) -> Option<NightLine> {
    let free = free(present, parts, night)?;
    let balance = present
        .get(&(room_type, night))
        .copied()
        .unwrap_or_default();
    let is_plain = parts.iter().any(|(part, _)| *part == room_type);
    let balance = if is_plain {
        balance
    } else {
        NightBalance::default()
    };
    Some(NightLine {
        night,
        balance,
        free,
    })
}

/// What is really free instead of a stay that is sold out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// Code of the room type.
    pub room_type: String,
    /// The whole stay, free on every night.
    pub stay: Stay,
    /// Rooms free on its scarcest night.
    pub free: i32,
}

/// Other types for the same nights, and the nearest stays of the same length and type: each free
/// on every night now, and allowed by its restrictions.
pub async fn alternatives(
    ledger: &Ledger,
    property: PropertyId,
    room_type: RoomTypeId,
    stay: Stay,
    quantity: i32,
) -> Result<Vec<Alternative>, LedgerError> {
    offers::alternatives(ledger, property, room_type, stay, quantity).await
}

/// Everything that was written of a night, in order.
pub async fn entries(
    ledger: &Ledger,
    property: PropertyId,
    room_type: RoomTypeId,
    night: StayDate,
) -> Result<Vec<EntryLine>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::line::of_night(&mut conn, property, room_type, night).await
}

/// Gives birth to the nights of a property up to its horizon, with their physical count; called
/// when a type is made and at every roll-over. Says how many were born.
pub async fn extend_horizon(ledger: &Ledger, property: PropertyId) -> Result<u32, LedgerError> {
    setup::horizon::extend(ledger, property).await
}

/// The roll-over: completes past stays, lets go the other nights of no-shows, extends the horizon.
/// Does it once per business day, also when the daemon slept through several.
pub async fn roll_over(ledger: &Ledger, property: PropertyId) -> Result<(), LedgerError> {
    setup::roll_over::roll_over(ledger, property).await
}
