//! Writing an allotment: its rooms go through the lanes, and its terms with them.
//!
//! The property's turn is kept meanwhile, so that no other change of what is agreed comes between.

use std::collections::HashMap;

use keyrack_model::id::{AllotmentId, PropertyId};
use keyrack_model::stay::{Stay, StayDate, StayRange, plus_days};
use sqlx::PgConnection;

use crate::allotments::{AllotmentChange, AllotmentRow, Put};
use crate::command::{Asked, By, Command};
use crate::decide::allotment::{AgreedRooms, Agreement, Allotment, Owner};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::check::Faults;
use crate::setup::check_pools;
use crate::store::{account, allotment as store, connection, group, property, room_type};

/// Creates or changes an allotment.
pub(crate) async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    put: Put,
) -> Result<Result<AllotmentChange, Refusal>, LedgerError> {
    if let Err(refusal) = check_pools::allotment(&put) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let known = store::list(&mut tx, id).await?;
    let known = known.into_iter().find(|known| known.code == put.code);
    let current = known.as_ref().map_or(0, |known| known.version);
    if put.version.is_some_and(|version| version != current) {
        return Ok(Err(Refusal::VersionMismatch { current }));
    }
    if let Err(refusal) = fits(&mut tx, id, &put, known.as_ref()).await? {
        return Ok(Err(refusal));
    }
    // From the day before: the calendar's day may be ahead of the business day, never behind.
    let today = calendar.business_day;
    let agreed = match &known {
        Some(known) => store::span(&mut tx, id, known.id, today).await?,
        None => None,
    };
    let group_cut_off = match put.owner {
        Owner::Group(group) => group::cut_off(&mut tx, id, group).await?,
        Owner::Account(_) => None,
    };
    let nights = all_nights(&put, agreed, today);
    let cut_offs = [("/cut_off", put.release.cut_off), ("/group", group_cut_off)];
    let over = cut_offs
        .into_iter()
        .find(|(_, at)| at.is_some_and(|at| at <= today));
    if let (Some((pointer, _)), Some(nights)) = (over, nights)
        && adds(&mut tx, id, &put, (known.as_ref(), nights)).await?
    {
        return Ok(Err(Refusal::invalid(pointer, IS_OVER)));
    }
    let allotment = match &known {
        Some(known) if current > 0 => known.id,
        // In a transaction of its own: the command finds it there. The turn is kept by this one.
        _ if !put.dry_run => {
            let mut conn = connection::reader(ledger).await?;
            store::reserve(&mut conn, id, &put.code, put.owner, put.room_type).await?
        }
        _ => NOBODYS,
    };
    let asked = agreement(&put, allotment, (current, group_cut_off), nights);
    let command = Command::Agree(Box::new(asked));
    let answer = ledger
        .ask(Asked::new(id, by.clone().into(), command))
        .await?;
    let receipt = match answer {
        Ok(receipt) => receipt,
        Err(refusal) => return Ok(Err(refusal)),
    };
    connection::commit(tx).await?;
    let made = made(ledger, id, &put.code).await?;
    Ok(Ok(AllotmentChange {
        allotment: made,
        short: receipt.short,
        is_new: current == 0,
    }))
}

/// An allotment as it is, where it was ever agreed.
async fn made(
    ledger: &Ledger,
    id: PropertyId,
    code: &str,
) -> Result<Option<AllotmentRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let mut all = store::list(&mut conn, id).await?.into_iter();
    Ok(all.find(|one| one.code == code && one.version > 0))
}

/// Whether more rooms are agreed on a night than were.
async fn adds(
    conn: &mut PgConnection,
    id: PropertyId,
    put: &Put,
    (known, nights): (Option<&AllotmentRow>, StayRange),
) -> Result<bool, LedgerError> {
    let mut before = HashMap::new();
    if let Some(known) = known {
        let rows = store::nights(conn, id, &[known.id], nights).await?;
        let agreed = rows
            .into_iter()
            .map(|(_, night, count)| (night, count.agreed));
        before.extend(agreed);
    }
    Ok(nights.nights().any(|night| {
        let binds =
            |value: &&AgreedRooms| value.nights.contains(night) && value.weekdays.contains(night);
        let rooms = put
            .values
            .iter()
            .rev()
            .find(binds)
            .map_or(0, |value| value.rooms);
        rooms > before.get(&night).copied().unwrap_or(0)
    }))
}

/// What is newly agreed after a cut-off would fall back at once.
const IS_OVER: &str = "its cut-off is over, so that all that is newly agreed would fall back at \
                       once: give a later cut-off first";

/// No allotment has it: the dry run of a new one writes nothing.
const NOBODYS: AllotmentId = AllotmentId(0);

fn agreement(
    put: &Put,
    allotment: AllotmentId,
    (version, group_cut_off): (i64, Option<StayDate>),
    nights: Option<StayRange>,
) -> Agreement {
    Agreement {
        allotment,
        terms: Allotment {
            code: put.code.clone(),
            owner: put.owner,
            room_type: put.room_type,
            release: put.release,
            group_cut_off,
            is_orphan: false,
            version,
        },
        nights,
        values: put.values.clone(),
        force: put.force.clone(),
        dry_run: put.dry_run,
    }
}

/// Everything that may change, as one range.
fn all_nights(put: &Put, agreed: Option<StayRange>, today: StayDate) -> Option<StayRange> {
    let far = plus_days(today, NIGHTS_MAX);
    let ranges = put.values.iter().map(|value| value.nights).chain(agreed);
    let ends = ranges.fold(None, |ends: Option<(StayDate, StayDate)>, nights| {
        let (from, until) = (nights.arrival(), nights.departure());
        Some(ends.map_or((from, until), |e| (e.0.min(from), e.1.max(until))))
    });
    let (from, until) = ends?;
    Stay::new(from.max(today), until.min(far))
}

/// As far as anything is sold.
const NIGHTS_MAX: i32 = 2_000;

/// What an allotment is of stands for ever; a new one is of a plain type and of somebody who is
/// there.
async fn fits(
    conn: &mut PgConnection,
    id: PropertyId,
    put: &Put,
    known: Option<&AllotmentRow>,
) -> Result<Result<(), Refusal>, LedgerError> {
    let mut faults = Faults::default();
    if let Some(known) = known.filter(|known| known.version > 0) {
        let sentence = "an allotment stays with its room type: make another one";
        faults.unless(known.room_type == put.room_type, "/room_type", sentence);
        let sentence = "an allotment stays with whom it was agreed: make another one";
        faults.unless(known.owner == put.owner, "/account", sentence);
        return Ok(faults.done());
    }
    let types = room_type::list(conn, id).await?;
    let of_type = types.iter().find(|known| known.id == put.room_type);
    faults.unless(of_type.is_some(), "/room_type", "no such room type");
    let is_plain = of_type.is_none_or(|known| known.setup.components.is_empty());
    let sentence = "a composed type has no stock of its own: agree rooms of its components";
    faults.unless(is_plain, "/room_type", sentence);
    match put.owner {
        Owner::Account(account) => {
            let accounts = account::list(conn, id).await?;
            let is_there = accounts.iter().any(|row| row.account.id == account);
            faults.unless(is_there, "/account", "no such account");
        }
        Owner::Group(named) => {
            let groups = group::list(conn, id).await?;
            let is_there = groups.iter().any(|known| known.id == named);
            faults.unless(is_there, "/group", "no such group");
        }
    }
    Ok(faults.done())
}
