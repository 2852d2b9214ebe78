//! Allotments: rooms kept for one account or one group by agreement.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use keyrack_model::allotment::{AllotmentNight, Release, calendar_day};
use keyrack_model::id::{AllotmentId, GroupId, PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, StayRange, plus_days, ranges};

use crate::command::{Asked, By, Command, Forced, ShortNight};
use crate::decide::allotment::{AgreedRooms, Allotment, Owner};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup;
use crate::store::{allotment as store, connection, pool_rule};

/// An allotment as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllotmentRow {
    /// Its id.
    pub id: AllotmentId,
    /// Its code.
    pub code: String,
    /// Whose.
    pub owner: Owner,
    /// Of which plain type.
    pub room_type: RoomTypeId,
    /// When it falls back.
    pub release: Release,
    /// Counts changes, from 1.
    pub version: i64,
}

impl From<AllotmentRow> for Allotment {
    /// As rules know it; whether its group lets it go earlier is not said.
    fn from(row: AllotmentRow) -> Self {
        Self {
            code: row.code,
            owner: row.owner,
            room_type: row.room_type,
            release: row.release,
            group_cut_off: None,
            is_orphan: false,
            version: row.version,
        }
    }
}

/// What is asked of an allotment: its nights from today on are those of the values, no others.
#[derive(Clone, Debug)]
pub struct Put {
    /// Its code.
    pub code: String,
    /// Whose; never another's.
    pub owner: Owner,
    /// Of which plain type; never another.
    pub room_type: RoomTypeId,
    /// When it falls back.
    pub release: Release,
    /// What is agreed; a later value overrides an earlier.
    pub values: Vec<AgreedRooms>,
    /// The version that was read, where the caller says.
    pub version: Option<i64>,
    /// `oversell` agrees more than is free, `allotment` cuts below what is taken.
    pub force: Option<Forced>,
    /// Says what would happen and does nothing.
    pub dry_run: bool,
}

/// What a change of an allotment did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllotmentChange {
    /// As it is; `None` in the dry run of a new one.
    pub allotment: Option<AllotmentRow>,
    /// Nights with fewer free rooms than are newly kept, or cut below what is taken, with the rooms
    /// that are wanting.
    pub short: Vec<ShortNight>,
    /// It was not there before.
    pub is_new: bool,
}

/// Agrees rooms of an allotment, or gives them back: it takes them from free sale.
///
/// # Errors
///
/// Failures of the database. Refused where the rooms are not free, or more is taken than would be
/// agreed, unless forced.
pub async fn put(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    put: Put,
) -> Result<Result<AllotmentChange, Refusal>, LedgerError> {
    setup::allotment::put(ledger, property, by, put).await
}

/// The allotments of a property in order of code.
pub async fn list(ledger: &Ledger, property: PropertyId) -> Result<Vec<AllotmentRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let mut all = store::list(&mut conn, property).await?;
    all.retain(|one| one.version > 0);
    Ok(all)
}

/// A page of them: those after a code, at most so many.
pub async fn page(
    ledger: &Ledger,
    property: PropertyId,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<AllotmentRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::page(&mut conn, property, after.unwrap_or_default(), limit).await
}

/// The allotment of a code.
pub async fn by_code(
    ledger: &Ledger,
    property: PropertyId,
    code: &str,
) -> Result<Option<AllotmentRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::by_code(&mut conn, property, code).await
}

/// The allotments of a group, in order of code.
pub async fn of_group(
    ledger: &Ledger,
    property: PropertyId,
    group: GroupId,
) -> Result<Vec<AllotmentRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::of_group(&mut conn, property, group).await
}

/// The nights of an allotment that were ever agreed, in order.
pub async fn pickup(
    ledger: &Ledger,
    property: PropertyId,
    allotment: AllotmentId,
    nights: StayRange,
) -> Result<Vec<(StayDate, AllotmentNight)>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let nights = store::nights(&mut conn, property, &[allotment], nights).await?;
    let each = nights.into_iter().map(|(_, night, counts)| (night, counts));
    Ok(each.collect())
}

/// What an allotment has agreed from a date on, in order.
pub async fn agreed(
    ledger: &Ledger,
    property: PropertyId,
    allotment: AllotmentId,
    from: StayDate,
) -> Result<Vec<(StayDate, AllotmentNight)>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(nights) = store::span(&mut conn, property, allotment, from).await? else {
        return Ok(Vec::new());
    };
    drop(conn);
    pickup(ledger, property, allotment, nights).await
}

/// Where the pool rules of a property that wait for scarcity hold now: by the place of the rule,
/// from 0, and the plain type, the nights.
pub async fn switches(
    ledger: &Ledger,
    property: PropertyId,
    nights: StayRange,
) -> Result<BTreeMap<(usize, RoomTypeId), Vec<StayRange>>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rules = pool_rule::list(&mut conn, property).await?;
    let switches = pool_rule::switches(&mut conn, property, nights).await?;
    let mut held: BTreeMap<_, Vec<StayDate>> = BTreeMap::new();
    for (rule, (room_type, night)) in switches {
        if let Some(place) = rules.iter().position(|(id, _)| *id == rule) {
            held.entry((place, room_type)).or_default().push(night);
        }
    }
    let joined = held.into_iter();
    Ok(joined.map(|(of, nights)| (of, ranges(nights))).collect())
}

/// An allotment that may have something to give back.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub property: PropertyId,
    pub allotment: AllotmentId,
    pub time_zone: String,
    pub release: Release,
    pub is_orphan: bool,
    /// From the first night that may be due to the last.
    pub nights: StayRange,
    /// The database's clock.
    pub now: Timestamp,
}

impl Due {
    /// The nights that are due by the property's own calendar, as one range around them.
    fn due(&self) -> Option<StayRange> {
        let zone = TimeZone::get(&self.time_zone).ok()?;
        let today = calendar_day(self.now, &zone);
        let all = self.is_orphan || self.release.cut_off.is_some_and(|at| at <= today);
        let by_period = plus_days(today, self.release.period_days.saturating_add(1));
        let until = if all {
            self.nights.departure()
        } else {
            self.nights.departure().min(by_period)
        };
        Stay::new(self.nights.arrival(), until)
    }
}

/// What is unsold falls back to free sale, of every property, where its calendar says so; says of
/// how many allotments. Days slept through are caught up in one go, and two who do it at once do it
/// once. A property that fails is tried again at the next look.
///
/// # Errors
///
/// Failures of the database.
pub async fn release_due(ledger: &Ledger) -> Result<u32, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let near = store::near(&mut conn).await?;
    drop(conn);
    let by = Arc::new(By {
        actor: "worker:release".to_owned(),
        request_id: None,
    });
    let mut released = 0;
    for due in near {
        let Some(nights) = due.due() else { continue };
        let command = Command::ReleaseAllotment {
            allotment: due.allotment,
            nights,
        };
        let asked = Asked::new(due.property, Arc::clone(&by), command);
        match ledger.ask(asked).await {
            Ok(Ok(receipt)) => released += u32::from(receipt.did == "allotment_released"),
            Ok(Err(refusal)) => {
                tracing::debug!(refusal = refusal.code(), "nothing to release");
            }
            Err(error) => tracing::error!(
                property.id = %due.property,
                %error,
                "an allotment is not released yet"
            ),
        }
    }
    Ok(released)
}
