//! What the feed and the push read: the entries behind a cursor, and the present ARI of cells.

use jiff::Timestamp;
use keyrack_model::ari::{AriCell, AriKey};
use keyrack_model::channel::{Account, Capabilities, ChannelMapping};
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, ReservationId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange};
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::handle::Ledger;

/// How far a tail has been read: transaction and sequence, in that order. By sequence alone entries
/// are lost, since a lower sequence may commit later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// Transaction of the last entry read.
    pub tx: u64,
    /// Its sequence.
    pub seq: i64,
}

/// An entry as the feed sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailEntry {
    /// Where it stands.
    pub cursor: Cursor,
    /// Whose.
    pub property: PropertyId,
    /// Of which reservation.
    pub reservation: Option<ReservationId>,
    /// Its version then.
    pub version: Option<i64>,
    /// What: `held`, `confirmed`, `cancelled`, `expired`, `modified`, `refund_due`, `moved`,
    /// `overbooking_opened`, `overbooking_resolved` …
    pub kind: String,
    /// First line of its command: carries the event.
    pub is_first_line: bool,
    /// The plain room type whose nights it moved.
    pub room_type: Option<RoomTypeId>,
    /// The nights.
    pub nights: Option<StayRange>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A change of rates, rules, mappings or horizon as the feed sees it; `None` is all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTailEntry {
    /// Where it stands.
    pub cursor: Cursor,
    /// Whose.
    pub property: PropertyId,
    /// Which type.
    pub room_type: Option<RoomTypeId>,
    /// Which plan.
    pub rate_plan: Option<RatePlanId>,
    /// Which account.
    pub account: Option<AccountId>,
    /// Which nights.
    pub nights: StayRange,
    /// Which fields.
    pub fields: Vec<String>,
}

/// Entries behind the cursor, below the snapshot's horizon, in the tail's order.
pub async fn entries(
    _ledger: &Ledger,
    _after: Cursor,
    _limit: u32,
) -> Result<Vec<TailEntry>, LedgerError> {
    Err(LedgerError::Closing)
}

/// Rate changes behind the cursor, likewise.
pub async fn rate_changes(
    _ledger: &Ledger,
    _after: Cursor,
    _limit: u32,
) -> Result<Vec<RateTailEntry>, LedgerError> {
    Err(LedgerError::Closing)
}

/// The end of both tails now: where a new reader begins after marking everything.
pub async fn ends(_ledger: &Ledger) -> Result<(Cursor, Cursor), LedgerError> {
    Err(LedgerError::Closing)
}

/// The cluster's system identifier (it changes with a restore onto another cluster), the
/// database's clock, and the age in seconds of the oldest transaction that writes.
pub async fn cluster(_ledger: &Ledger) -> Result<(String, Timestamp, i64), LedgerError> {
    Err(LedgerError::Closing)
}

/// The composed types that contain a plain one, itself first.
pub async fn types_touched(
    _ledger: &Ledger,
    _property: PropertyId,
    _room_type: RoomTypeId,
) -> Result<Vec<RoomTypeId>, LedgerError> {
    Err(LedgerError::Closing)
}

/// What an account may be told.
#[derive(Clone, Debug)]
pub struct Listing<'a> {
    /// The account.
    pub account: &'a Account,
    /// Its mappings.
    pub mappings: &'a [ChannelMapping],
    /// Its channel's abilities.
    pub capabilities: &'static Capabilities,
}

/// What the account is to be told of the cells now, computed from the ledger at this moment:
/// pool rooms, minus buffer rules, never above what can be slept in, closed by the layers, clipped
/// to what the channel can express (ledger, section 5). A closed account is told 0 and closed.
/// Cells without a mapping are left out. Nights beyond the horizon or before the business day are
/// closed.
pub async fn cells(
    _ledger: &Ledger,
    _listing: &Listing<'_>,
    _keys: &[AriKey],
) -> Result<Vec<AriCell>, LedgerError> {
    Err(LedgerError::Closing)
}

/// Every key that the account is told of: mapped types and plans over business day..horizon
/// (bounded by account and channel).
pub async fn keys(_ledger: &Ledger, _listing: &Listing<'_>) -> Result<Vec<AriKey>, LedgerError> {
    Err(LedgerError::Closing)
}

/// The calculation of one cell, line by line, for people.
pub async fn explain(
    _ledger: &Ledger,
    _listing: &Listing<'_>,
    _key: AriKey,
) -> Result<Vec<ExplainLine>, LedgerError> {
    Err(LedgerError::Closing)
}

/// A line of an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainLine {
    /// `pool`, `buffer_rule`, `physical_cap`, `closure`, `channel_limit`, `told` …
    pub step: String,
    /// In words, with the numbers.
    pub why: String,
    /// Rooms after this step, where the step speaks of rooms.
    pub rooms: Option<i32>,
    /// Closed after this step.
    pub closed: bool,
}

/// The business day of a property now, and the end of what may be told.
pub async fn business_day(
    _ledger: &Ledger,
    _property: PropertyId,
) -> Result<(StayDate, StayDate), LedgerError> {
    Err(LedgerError::Closing)
}
