//! The nights: what is free, what may be, and why.

use jiff::Timestamp;
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::{Stay, StayDate, StayRange};

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::reservations::EntryLine;
use crate::setup;

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

/// What is free to the desk, per room type, and the instant that it is true of.
pub async fn availability(
    _ledger: &Ledger,
    _property: PropertyId,
    _nights: StayRange,
    _room_type: Option<RoomTypeId>,
) -> Result<(Timestamp, Vec<TypeNights>), LedgerError> {
    Err(LedgerError::Closing)
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
    _ledger: &Ledger,
    _property: PropertyId,
    _room_type: RoomTypeId,
    _stay: Stay,
    _quantity: i32,
) -> Result<Vec<Alternative>, LedgerError> {
    Err(LedgerError::Closing)
}

/// Everything that was written of a night, in order.
pub async fn entries(
    _ledger: &Ledger,
    _property: PropertyId,
    _room_type: RoomTypeId,
    _night: StayDate,
) -> Result<Vec<EntryLine>, LedgerError> {
    Err(LedgerError::Closing)
}

/// Gives birth to the nights of a property up to its horizon, with their physical count; called
/// when a type is made and at every roll-over. Says how many were born.
pub async fn extend_horizon(ledger: &Ledger, property: PropertyId) -> Result<u32, LedgerError> {
    setup::horizon::extend(ledger, property).await
}

/// The roll-over: completes past stays, lets go the other nights of no-shows, extends the horizon.
/// Does it once per business day, also when the daemon slept through several.
pub async fn roll_over(_ledger: &Ledger, _property: PropertyId) -> Result<(), LedgerError> {
    Err(LedgerError::Closing)
}
