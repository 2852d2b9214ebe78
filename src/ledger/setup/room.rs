//! Writing rooms and their blocks, with what they count on the nights of their type.
//!
//! # Why
//!
//! A night has one number `out_of_order`. Staff state it as a total by `SetNights`; a block adds
//! its room to it when it is made and takes it away when it ends, so the number that staff see is
//! always the one that counts. What staff stated by hand is the number less the blocked rooms. It
//! never falls below 0 nor rises above the physical count: a total stated below the blocked rooms
//! is believed.

use std::collections::BTreeMap;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, StayRange, plus_days, ranges};
use sqlx::PgConnection;

use crate::catalog::Room;
use crate::command::{Asked, By, Command, Forced, NightChange};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::check;
use crate::store::room::{self as store, KnownRoom};
use crate::store::{connection, constraint, night, property, rate_change, room_type};

/// Creates or changes a physical room; the number of listed rooms is its type's count.
pub(crate) async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    room: Room,
    version: Option<i64>,
    force: Option<Forced>,
) -> Result<Result<(Room, bool), Refusal>, LedgerError> {
    if let Err(refusal) = check::room(&room.code, &room.name) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let known = store::list(&mut tx, id, Some(&room.code)).await?.pop();
    let current = known.as_ref().map_or(0, |known| known.room.version);
    if version.is_some_and(|version| version != current) {
        return Ok(Err(Refusal::VersionMismatch { current }));
    }
    let types = room_type::list(&mut tx, id).await?;
    let Some(of) = types.iter().find(|t| t.code == room.room_type) else {
        return Ok(Err(Refusal::invalid("/room_type", "no such room type")));
    };
    if !of.setup.components.is_empty() {
        let sentence = "a composed type has no rooms of its own";
        return Ok(Err(Refusal::invalid("/room_type", sentence)));
    }
    if let Some(known) = &known {
        let same = known.room_type == of.id && known.room.name == room.name;
        if same && known.room.is_active == room.is_active {
            return Ok(Ok((known.room.clone(), false)));
        }
    }
    let to = Place {
        room_type: of.id,
        is_active: room.is_active,
    };
    let from = known.as_ref().map(Place::of);
    let blocked = known
        .as_ref()
        .map(|known| upcoming(&known.room, calendar.business_day));
    if from.is_some_and(|from| from != to) && blocked.is_some_and(|nights| !nights.is_empty()) {
        let sentence = "it is blocked on coming nights, which count: take its blocks away first";
        return Ok(Err(Refusal::invalid("/room", sentence)));
    }
    let counts = counts_after(&mut tx, id, from, to).await?;
    let recounted = recount(ledger, &mut tx, id, by, &counts, force.as_ref()).await?;
    if let Err(refusal) = recounted {
        return Ok(Err(refusal));
    }
    write(&mut tx, id, known.as_ref(), of.id, &room).await?;
    for (room_type, rooms) in counts {
        room_type::set_rooms(&mut tx, id, room_type, rooms).await?;
    }
    let put = store::list(&mut tx, id, Some(&room.code)).await?.pop();
    let put = put.ok_or(LedgerError::Conflict)?;
    connection::commit(tx).await?;
    Ok(Ok((put.room, known.is_none())))
}

/// Gives the nights of types their new counts.
async fn recount(
    ledger: &Ledger,
    conn: &mut PgConnection,
    id: PropertyId,
    by: &By,
    counts: &[(RoomTypeId, i32)],
    force: Option<&Forced>,
) -> Result<Result<(), Refusal>, LedgerError> {
    let calendar = property::calendar(conn, id)
        .await?
        .ok_or(LedgerError::Conflict)?;
    for (room_type, rooms) in counts {
        let nights = night::span(conn, id, *room_type, calendar.business_day).await?;
        let Some(nights) = nights else { continue };
        let command = Command::SetPhysical {
            room_type: *room_type,
            nights,
            rooms: *rooms,
            force: force.cloned(),
            dry_run: false,
        };
        let asked = Asked::new(id, by.clone().into(), command);
        if let Err(refusal) = ledger.ask(asked).await? {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// Writes the room's row, under the property's lock.
async fn write(
    conn: &mut PgConnection,
    id: PropertyId,
    known: Option<&KnownRoom>,
    room_type: RoomTypeId,
    room: &Room,
) -> Result<(), LedgerError> {
    property::lock(conn, id)
        .await?
        .ok_or(LedgerError::Conflict)?;
    match known {
        Some(known) => store::update(conn, id, known.id, room_type, room).await?,
        None => store::insert(conn, id, room_type, room).await?,
    }
    rate_change::raise_rules(conn, id).await
}

/// Where a room counts.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    room_type: RoomTypeId,
    is_active: bool,
}

impl Place {
    fn of(known: &KnownRoom) -> Self {
        Self {
            room_type: known.room_type,
            is_active: known.room.is_active,
        }
    }
}

/// The counts of the types that a room leaves and comes to; the one that loses first, since it may
/// be refused.
async fn counts_after(
    conn: &mut PgConnection,
    id: PropertyId,
    from: Option<Place>,
    to: Place,
) -> Result<Vec<(RoomTypeId, i32)>, LedgerError> {
    let one = |place: Option<Place>| i32::from(place.is_some_and(|place| place.is_active));
    let mut counts = Vec::new();
    if let Some(from) = from.filter(|from| from.room_type != to.room_type) {
        let listed = store::active_count(conn, id, from.room_type)
            .await?
            .unwrap_or(0);
        counts.push((from.room_type, listed - one(Some(from))));
    }
    let same = from.filter(|from| from.room_type == to.room_type);
    let listed = store::active_count(conn, id, to.room_type)
        .await?
        .unwrap_or(0);
    counts.push((to.room_type, listed - one(same) + one(Some(to))));
    Ok(counts)
}

/// Replaces the blocks of a room.
pub(crate) async fn put_blocks(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    code: &str,
    blocks: Vec<(StayRange, String, Option<String>)>,
) -> Result<Result<Room, Refusal>, LedgerError> {
    if let Err(refusal) = check::blocks(&blocks) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let Some(known) = store::list(&mut tx, id, Some(code)).await?.pop() else {
        return Ok(Err(Refusal::NotFound("room".to_owned())));
    };
    let stays: Vec<StayRange> = blocks.iter().map(|(stay, ..)| *stay).collect();
    store::delete_blocks(&mut tx, id, known.id).await?;
    let taken = store::taken_by(&mut tx, id, known.id, &stays).await?;
    if !taken.is_empty() {
        return Ok(Err(room_is_taken(&taken)));
    }
    match store::insert_blocks(&mut tx, id, known.id, &blocks).await {
        Ok(()) => store::count_up(&mut tx, id, known.id).await?,
        Err(LedgerError::Broken { source, .. })
            if constraint::violated(&source) == Some("room_taken_once") =>
        {
            return Ok(Err(room_is_taken(&[])));
        }
        Err(error) => return Err(error),
    }
    let put = store::list(&mut tx, id, Some(code))
        .await?
        .pop()
        .ok_or(LedgerError::Conflict)?;
    if known.room.is_active {
        let minus = upcoming(&known.room, calendar.business_day);
        let plus = upcoming(&put.room, calendar.business_day);
        let (minus, plus) = ((known.room_type, &minus[..]), (known.room_type, &plus[..]));
        shift(ledger, &mut tx, id, by, minus, plus).await?;
    }
    connection::commit(tx).await?;
    Ok(Ok(put.room))
}

fn room_is_taken(by: &[i64]) -> Refusal {
    let numbers: Vec<String> = by.iter().map(i64::to_string).collect();
    let sentence = if numbers.is_empty() {
        "somebody has taken the room in this stay just now".to_owned()
    } else {
        format!("the room is taken by reservation {}", numbers.join(", "))
    };
    Refusal::invalid("/blocks", sentence)
}

/// The nights of a room's blocks from the business day on: what is past has been counted.
fn upcoming(room: &Room, today: StayDate) -> Vec<StayRange> {
    let blocks = room.blocks.iter();
    blocks
        .filter_map(|(stay, ..)| Stay::new(stay.arrival().max(today), stay.departure()))
        .collect()
}

/// Takes blocked nights out of a type's count out of order and puts others in. Nights that are not
/// born yet count their blocks when they are.
async fn shift(
    ledger: &Ledger,
    conn: &mut PgConnection,
    id: PropertyId,
    by: &By,
    minus: (RoomTypeId, &[StayRange]),
    plus: (RoomTypeId, &[StayRange]),
) -> Result<(), LedgerError> {
    let mut shifts: BTreeMap<(RoomTypeId, StayDate), i32> = BTreeMap::new();
    for ((room_type, stays), by) in [(minus, -1), (plus, 1)] {
        for night in stays.iter().flat_map(|stay| stay.nights()) {
            *shifts.entry((room_type, night)).or_default() += by;
        }
    }
    shifts.retain(|_, by| *by != 0);
    let nights = shifts.keys().map(|(_, night)| *night);
    let span = nights.clone().min().zip(nights.max());
    let Some(span) = span.and_then(|(first, last)| Stay::new(first, plus_days(last, 1))) else {
        return Ok(());
    };
    let types: Vec<RoomTypeId> = shifts.keys().map(|(room_type, _)| *room_type).collect();
    let mut totals: BTreeMap<(RoomTypeId, i32), Vec<StayDate>> = BTreeMap::new();
    for (room_type, night, balance) in night::balances(conn, id, &types, span).await? {
        if let Some(by) = shifts.get(&(room_type, night)) {
            let total = (balance.out_of_order + by).min(balance.physical).max(0);
            totals.entry((room_type, total)).or_default().push(night);
        }
    }
    let changes = totals.into_iter().flat_map(|((room_type, total), nights)| {
        ranges(nights).into_iter().map(move |nights| NightChange {
            room_type,
            nights,
            out_of_order: Some(total),
            overbooking_limit: None,
            reason: Some("blocks of rooms".to_owned()),
        })
    });
    let command = Command::SetNights {
        changes: changes.collect(),
        dry_run: false,
    };
    let asked = Asked::new(id, by.clone().into(), command);
    // A fact: never refused.
    ledger.ask(asked).await?.map_err(|refusal| {
        LedgerError::Unreadable(format!("blocks were refused: {}", refusal.code()))
    })?;
    Ok(())
}
