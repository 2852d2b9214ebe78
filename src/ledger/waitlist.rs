//! The waitlist: wishes for rooms that were not to be had, offered a hold in their order when rooms
//! come free.
//!
//! A wish is offered one hold at a time. Its row is claimed by its version and names the
//! reservation before the hold is asked for, under an idempotency key made of the wish and that
//! reservation: whoever goes on after a crash, or beside another daemon, asks for the very same
//! hold. Confirming the hold accepts the offer. An offer that is not answered in time puts the wish
//! at the end of the queue, and the third ends it.

use std::collections::BTreeSet;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate};
use uuid::Uuid;

use crate::command::By;
use crate::decide::composed::{Present, free, parts};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::offering::{give_back, offer, settle};
use crate::store::{self, connection, night, property, waitlist as table};
use crate::wish::{NewWish, Waiting};

/// Puts a wish at the end of the queue. `Invalid` where a type is not there or the nights are over.
///
/// # Errors
///
/// Failures of the database.
pub async fn add(
    ledger: &Ledger,
    id: PropertyId,
    wish: &NewWish,
) -> Result<Result<Waiting, Refusal>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(calendar) = property::calendar(&mut conn, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    if wish.stay.arrival() < calendar.business_day {
        let message = format!(
            "is past: the business day is {}, so ask for later nights",
            calendar.business_day
        );
        return Ok(Err(Refusal::invalid("/arrival", message)));
    }
    if wish.stay.departure() > calendar.horizon_end {
        let message = format!(
            "is beyond what the hotel sells, which ends with {}: ask for earlier nights",
            calendar.horizon_end
        );
        return Ok(Err(Refusal::invalid("/departure", message)));
    }
    let known = store::room_type::list(&mut conn, id).await?;
    for (at, room_type) in wish.room_types.iter().enumerate() {
        if !known.iter().any(|one| one.id == *room_type) {
            let pointer = format!("/room_types/{at}");
            return Ok(Err(Refusal::invalid(pointer, "no such room type")));
        }
    }
    let compositions = store::room_type::compositions(&mut conn, id).await?;
    let units = |room_type: &RoomTypeId| {
        let parts = parts(&compositions, *room_type).into_iter();
        let each = parts.map(|(part, quantity)| {
            let there = known.iter().find(|one| one.id == part);
            there.map_or(0, |one| one.setup.rooms) / quantity.max(1)
        });
        each.min().unwrap_or(0)
    };
    let most = wish.room_types.iter().map(units).max().unwrap_or(0);
    if wish.quantity > most {
        let message = format!("is more than the {most} that there are: ask for fewer");
        return Ok(Err(Refusal::invalid("/quantity", message)));
    }
    let wish_id = Uuid::now_v7();
    table::insert(&mut conn, id, wish_id, wish).await?;
    let made = table::find(&mut conn, id, wish_id).await?;
    let made = made.ok_or_else(|| LedgerError::Unreadable("a wish just made".to_owned()))?;
    Ok(Ok(made))
}

/// The wishes of a property in their order, open ones first; only the open ones where asked.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(
    ledger: &Ledger,
    id: PropertyId,
    only_open: bool,
    limit: u32,
) -> Result<Vec<Waiting>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    table::list(&mut conn, id, only_open, None, limit).await
}

/// Those that come after a wish in that order; `None` where there is no such wish.
///
/// # Errors
///
/// Failures of the database.
pub async fn list_after(
    ledger: &Ledger,
    id: PropertyId,
    only_open: bool,
    (wish, limit): (Uuid, u32),
) -> Result<Option<Vec<Waiting>>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(last) = table::find(&mut conn, id, wish).await? else {
        return Ok(None);
    };
    let page = table::list(&mut conn, id, only_open, Some(last.place()), limit).await?;
    Ok(Some(page))
}

/// One wish.
///
/// # Errors
///
/// Failures of the database.
pub async fn find(
    ledger: &Ledger,
    id: PropertyId,
    wish: Uuid,
) -> Result<Option<Waiting>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    table::find(&mut conn, id, wish).await
}

/// Takes a wish back, and the hold that it was offered with it; a repeat changes nothing. Where the
/// guest has confirmed the hold, his reservation stays and the wish is accepted. `None` where there
/// is no such wish.
///
/// # Errors
///
/// Failures of the database.
pub async fn cancel(
    ledger: &Ledger,
    id: PropertyId,
    wish: Uuid,
    by: &By,
) -> Result<Option<Waiting>, LedgerError> {
    loop {
        let mut conn = connection::reader(ledger).await?;
        let Some(known) = table::find(&mut conn, id, wish).await? else {
            return Ok(None);
        };
        if !known.is_open() {
            return Ok(Some(known));
        }
        let is_kept = table::hold(&mut conn, &known)
            .await?
            .is_some_and(|hold| hold.is_kept);
        let status = if is_kept { "accepted" } else { "cancelled" };
        if table::end(&mut conn, &known, status, None).await? {
            drop(conn);
            if !is_kept && known.status == "offered" {
                give_back(ledger, &known, by).await?;
            }
            return find(ledger, id, wish).await;
        }
    }
}

/// Properties where somebody waits.
///
/// # Errors
///
/// Failures of the database.
pub async fn properties(ledger: &Ledger) -> Result<Vec<PropertyId>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    table::properties(&mut conn).await
}

/// Looks at the queue of a property: settles what was offered, ends what is over, and offers what
/// is free to whom it suits, in their order. Says how many were offered something. It is right also
/// when several look at once.
///
/// # Errors
///
/// Failures of the database.
pub async fn look(ledger: &Ledger, id: PropertyId) -> Result<u32, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(calendar) = property::calendar(&mut conn, id).await? else {
        return Ok(0);
    };
    let now = store::clock::now(&mut conn).await?;
    drop(conn);
    let (mut offered, mut after) = (0, None);
    loop {
        let mut conn = connection::reader(ledger).await?;
        let wishes = table::open(&mut conn, id, after, WISHES_MAX).await?;
        drop(conn);
        after = wishes.last().map(Waiting::place);
        let is_full = wishes.len() >= WISHES_MAX as usize;
        let mut waiting = Vec::new();
        for wish in wishes {
            if wish.status == "offered" {
                settle(ledger, &wish, now).await?;
            } else if wish.wish.stay.arrival() < calendar.business_day {
                let mut conn = connection::reader(ledger).await?;
                table::end(&mut conn, &wish, "ended", Some("date_passed")).await?;
            } else if wish.look_after.is_none_or(|after| after <= now) {
                waiting.push(wish);
            }
        }
        if !waiting.is_empty() {
            offered += offer_all(ledger, id, waiting).await?;
        }
        if !is_full {
            return Ok(offered);
        }
    }
}

/// Offers what is free to whom it suits, in their order; says to how many.
async fn offer_all(
    ledger: &Ledger,
    id: PropertyId,
    waiting: Vec<Waiting>,
) -> Result<u32, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let compositions = store::room_type::compositions(&mut conn, id).await?;
    let parts_of = |room_type| parts(&compositions, room_type);
    let mut present = rooms(&mut conn, id, &waiting, &parts_of).await?;
    drop(conn);
    let mut offered = 0;
    for wish in waiting {
        let (stay, quantity) = (wish.wish.stay, wish.wish.quantity);
        let is_free = |room_type: &&RoomTypeId| {
            let parts = parts_of(**room_type);
            stay.nights()
                .all(|night| free(&present, &parts, night).unwrap_or(0) >= quantity)
        };
        let Some(room_type) = wish.wish.room_types.iter().find(is_free).copied() else {
            continue;
        };
        if offer(ledger, &wish, room_type).await? {
            offered += 1;
            for (part, rooms) in parts_of(room_type) {
                for night in stay.nights() {
                    if let Some(balance) = present.get_mut(&(part, night)) {
                        balance.held += rooms * quantity;
                    }
                }
            }
        }
    }
    Ok(offered)
}

/// What is free of everything that somebody waits for.
async fn rooms(
    conn: &mut sqlx::PgConnection,
    id: PropertyId,
    waiting: &[Waiting],
    parts_of: &impl Fn(RoomTypeId) -> Vec<(RoomTypeId, i32)>,
) -> Result<Present, LedgerError> {
    let mut wanted: BTreeSet<(RoomTypeId, StayDate)> = BTreeSet::new();
    for wish in waiting {
        for room_type in &wish.wish.room_types {
            for (part, _) in parts_of(*room_type) {
                wanted.extend(wish.wish.stay.nights().map(|night| (part, night)));
            }
        }
    }
    let stays = || waiting.iter().map(|wish| wish.wish.stay);
    let first = stays().map(Stay::arrival).min();
    let last = stays().map(Stay::departure).max();
    let Some(nights) = first
        .zip(last)
        .and_then(|(first, last)| Stay::new(first, last))
    else {
        return Ok(Present::new());
    };
    night::present_of(conn, id, &wanted, nights).await
}

/// Wishes that are looked at together.
const WISHES_MAX: u32 = 500;
