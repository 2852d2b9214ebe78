//! What the feed and the push read: the entries behind a cursor, and the present ARI of cells.

use std::collections::BTreeSet;

use jiff::Timestamp;
use keyrack_model::ari::{AriCell, AriKey};
use keyrack_model::channel::{Account, AccountState, Capabilities, ChannelMapping};
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, ReservationId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, StayRange};
use serde::{Deserialize, Serialize};

use crate::decide::cell::Line;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::sheet::{Sheet, told_until};
use crate::store::{self, connection};

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
    /// Who asked for it.
    pub actor: String,
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
    /// When.
    pub at: Timestamp,
}

/// Entries behind the cursor, below the snapshot's horizon, in the tail's order.
pub async fn entries(
    ledger: &Ledger,
    after: Cursor,
    limit: u32,
) -> Result<Vec<TailEntry>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::tail::entries(&mut conn, after, limit).await
}

/// Rate changes behind the cursor, likewise.
pub async fn rate_changes(
    ledger: &Ledger,
    after: Cursor,
    limit: u32,
) -> Result<Vec<RateTailEntry>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::tail::rate_changes(&mut conn, after, limit).await
}

/// How many entries and rate changes of a property lie behind the cursors, horizon or not: what a
/// reader has not looked at yet. Of a long tail the first thousand are looked through, and what
/// lies behind them counts as one.
pub async fn unread(
    ledger: &Ledger,
    property: PropertyId,
    (entries, rates): (Cursor, Cursor),
) -> Result<i64, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::tail::unread(&mut conn, property, entries, rates).await
}

/// The end of both tails now: where a new reader begins after marking everything. It is the
/// snapshot's horizon and not the last entry, since after a restore onto another cluster the
/// transactions of old entries may be ahead of those that are to come.
pub async fn ends(ledger: &Ledger) -> Result<(Cursor, Cursor), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let horizon = store::tail::horizon(&mut conn).await?;
    let end = Cursor {
        tx: horizon.saturating_sub(1),
        seq: i64::MAX,
    };
    Ok((end, end))
}

/// The cluster's system identifier (it changes with a restore onto another cluster), the
/// database's clock, and the age in seconds of the oldest transaction that writes.
pub async fn cluster(ledger: &Ledger) -> Result<(String, Timestamp, i64), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::tail::cluster(&mut conn).await
}

/// The composed types that contain a plain one, itself first.
pub async fn types_touched(
    ledger: &Ledger,
    property: PropertyId,
    room_type: RoomTypeId,
) -> Result<Vec<RoomTypeId>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let compositions = store::room_type::compositions(&mut conn, property).await?;
    let mut composed: Vec<RoomTypeId> = compositions
        .into_iter()
        .filter(|(_, parts)| parts.iter().any(|(part, _)| *part == room_type))
        .map(|(composed, _)| composed)
        .collect();
    composed.sort_unstable();
    composed.insert(0, room_type);
    Ok(composed)
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
    ledger: &Ledger,
    listing: &Listing<'_>,
    keys: &[AriKey],
) -> Result<Vec<AriCell>, LedgerError> {
    Ok(reckon(ledger, listing, keys).await?.cells(keys))
}

/// What some cells rest on, read at one moment: their values, and how each came about.
pub struct Reckoning<'a>(Option<Sheet<'a>>);

impl Reckoning<'_> {
    /// The values of the cells that were asked for, as [`cells`] tells them.
    pub fn cells(&self, keys: &[AriKey]) -> Vec<AriCell> {
        let Some(sheet) = &self.0 else {
            return Vec::new();
        };
        let told = keys.iter().filter(|key| sheet.is_mapped(key));
        let cell = |key: &AriKey| AriCell {
            key: *key,
            values: sheet.tell(key, None),
        };
        told.map(cell).collect()
    }

    /// The calculation of one of them, line by line.
    pub fn lines(&self, key: &AriKey) -> Vec<ExplainLine> {
        let mut lines = Vec::new();
        if let Some(sheet) = &self.0 {
            sheet.tell(key, Some(&mut lines));
        }
        lines.into_iter().map(ExplainLine::from).collect()
    }
}

/// Reads what cells rest on at this moment.
///
/// # Errors
///
/// Failures of the database.
pub async fn reckon<'a>(
    ledger: &Ledger,
    listing: &'a Listing<'a>,
    keys: &[AriKey],
) -> Result<Reckoning<'a>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    Ok(Reckoning(Sheet::read(&mut conn, listing, keys).await?))
}

/// Every key that the account is told of: mapped types and plans over business day..horizon
/// (bounded by account and channel).
pub async fn keys(ledger: &Ledger, listing: &Listing<'_>) -> Result<Vec<AriKey>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let calendar = store::property::calendar(&mut conn, listing.account.property).await?;
    let Some(calendar) = calendar else {
        return Ok(Vec::new());
    };
    let nights = Stay::new(calendar.business_day, told_until(listing, &calendar));
    let mut cells: BTreeSet<(RoomTypeId, Option<RatePlanId>)> = BTreeSet::new();
    for mapping in listing.mappings {
        cells.insert((mapping.room_type, None));
        if listing.capabilities.knows_rate_plans {
            cells.insert((mapping.room_type, mapping.rate_plan));
        }
    }
    let each = |(room_type, rate_plan)| {
        let nights = nights.into_iter().flat_map(Stay::nights);
        nights.map(move |night| AriKey {
            room_type,
            rate_plan,
            night,
        })
    };
    Ok(cells.into_iter().flat_map(each).collect())
}

/// The calculation of one cell, line by line, for people.
pub async fn explain(
    ledger: &Ledger,
    listing: &Listing<'_>,
    key: AriKey,
) -> Result<Vec<ExplainLine>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(sheet) = Sheet::read(&mut conn, listing, &[key]).await? else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    if !sheet.is_mapped(&key) {
        lines.push(Line {
            step: "mapping",
            why: "not mapped for this account: nothing is told".to_owned(),
            rooms: None,
            closed: false,
        });
    }
    if listing.account.state == AccountState::Setup {
        lines.push(Line {
            step: "setup",
            why: "the account is being set up, and nothing is told before it goes live".to_owned(),
            rooms: None,
            closed: false,
        });
    }
    sheet.tell(&key, Some(&mut lines));
    Ok(lines.into_iter().map(ExplainLine::from).collect())
}

/// A line of an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainLine {
    /// `composition`, `pool`, `buffer_rule`, `physical_cap`, `closure`, `channel_limit`, `told` …
    pub step: String,
    /// In words, with the numbers.
    pub why: String,
    /// Rooms after this step, where the step speaks of rooms.
    pub rooms: Option<i32>,
    /// Closed after this step.
    pub closed: bool,
}

impl From<Line> for ExplainLine {
    fn from(line: Line) -> Self {
        Self {
            step: line.step.to_owned(),
            why: line.why,
            rooms: line.rooms,
            closed: line.closed,
        }
    }
}

/// The business day of a property now, and the end of what may be told (excluded).
pub async fn business_day(
    ledger: &Ledger,
    property: PropertyId,
) -> Result<(StayDate, StayDate), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let calendar = store::property::calendar(&mut conn, property).await?;
    let calendar =
        calendar.ok_or_else(|| LedgerError::Unreadable(format!("no property {property}")))?;
    Ok((calendar.business_day, calendar.horizon_end))
}
