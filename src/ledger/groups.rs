//! Groups: guests who come together, the rooms that are kept for them, and who drew from these.

use keyrack_model::allotment::AllotmentNight;
use keyrack_model::id::{AllotmentId, GroupId, PropertyId};
use keyrack_model::stay::{StayDate, StayRange};

use crate::allotments::AllotmentRow;
use crate::command::By;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::reservations::Folio;
use crate::setup::check_pools;
use crate::store::{allotment, connection, folio, group as store, property, rate_change};

/// A group as staff set it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSetup {
    /// For people.
    pub name: String,
    /// Who speaks for it.
    pub contact: Option<String>,
    /// When all that is left of its rooms falls back.
    pub cut_off: Option<StayDate>,
}

/// A group as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its id.
    pub id: GroupId,
    /// Its code.
    pub code: String,
    /// Its setup.
    pub setup: GroupSetup,
    /// Counts changes.
    pub version: i64,
}

/// Everything of a group.
#[derive(Clone, Debug)]
pub struct GroupSheet {
    /// Its allotments, in order of code, with their nights.
    pub blocks: Vec<(AllotmentRow, Vec<(StayDate, AllotmentNight)>)>,
    /// Who drew from them; at most 500.
    pub reservations: Vec<Folio>,
}

/// Creates or changes a group; says whether it is new. A cut-off that has passed is kept by the
/// next look at what is due.
///
/// # Errors
///
/// Failures of the database.
pub async fn put(
    ledger: &Ledger,
    id: PropertyId,
    _by: &By,
    code: &str,
    setup: &GroupSetup,
    version: Option<i64>,
) -> Result<Result<(Group, bool), Refusal>, LedgerError> {
    if let Err(refusal) = check_pools::group(code, setup) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    if property::lock(&mut tx, id).await?.is_none() {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    }
    let known = store::by_code(&mut tx, id, code).await?;
    let current = known.as_ref().map_or(0, |known| known.version);
    if version.is_some_and(|version| version != current) {
        return Ok(Err(Refusal::VersionMismatch { current }));
    }
    let put = match known {
        Some(known) if known.setup == *setup => return Ok(Ok((known, false))),
        Some(known) => {
            // Decisions rest on its cut-off.
            rate_change::raise_rules(&mut tx, id).await?;
            store::update(&mut tx, id, known.id, setup).await?
        }
        None => store::insert(&mut tx, id, code, setup).await?,
    };
    connection::commit(tx).await?;
    Ok(Ok((put, current == 0)))
}

/// The groups of a property in order of code.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(ledger: &Ledger, property: PropertyId) -> Result<Vec<Group>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::list(&mut conn, property).await
}

/// A page of them: those after a code, at most so many.
///
/// # Errors
///
/// Failures of the database.
pub async fn page(
    ledger: &Ledger,
    property: PropertyId,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Group>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::page(&mut conn, property, after.unwrap_or_default(), limit).await
}

/// The group of a code.
///
/// # Errors
///
/// Failures of the database.
pub async fn by_code(
    ledger: &Ledger,
    property: PropertyId,
    code: &str,
) -> Result<Option<Group>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::by_code(&mut conn, property, code).await
}

/// Everything of a group: its blocks over some nights, and who drew from them.
///
/// # Errors
///
/// Failures of the database.
pub async fn sheet(
    ledger: &Ledger,
    property: PropertyId,
    group: GroupId,
    nights: StayRange,
) -> Result<GroupSheet, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let blocks = allotment::of_group(&mut conn, property, group).await?;
    let ids: Vec<AllotmentId> = blocks.iter().map(|one| one.id).collect();
    let counts = allotment::nights(&mut conn, property, &ids, nights).await?;
    let blocks = blocks.into_iter().map(|one| {
        let own = counts.iter().filter(|(id, ..)| *id == one.id);
        let own = own.map(|(_, night, counts)| (*night, *counts)).collect();
        (one, own)
    });
    let blocks = blocks.collect();
    let drew = store::reservations(&mut conn, property, group, RESERVATIONS_MAX).await?;
    let drew: Vec<_> = drew.into_iter().map(|id| id.0).collect();
    Ok(GroupSheet {
        blocks,
        reservations: folio::by_ids(&mut conn, property, &drew).await?,
    })
}

/// Who ever drew from the rooms of a group.
///
/// # Errors
///
/// Failures of the database.
pub async fn guests(
    ledger: &Ledger,
    property: PropertyId,
    group: GroupId,
) -> Result<Vec<Folio>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let drew = store::reservations(&mut conn, property, group, GUESTS_MAX).await?;
    let drew: Vec<_> = drew.into_iter().map(|id| id.0).collect();
    folio::by_ids(&mut conn, property, &drew).await
}

/// No hotel has so many rooms.
const GUESTS_MAX: u32 = 10_000;
/// A page of people.
const RESERVATIONS_MAX: u32 = 500;
