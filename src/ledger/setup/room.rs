//! Writing rooms and their blocks, with what they count on the nights of their type.
//!
//! The count of a type goes through the lanes first, where the rule stands that a cut below what
//! is taken needs a force; the room's row follows. A crash between the two leaves nights counted
//! as if the room were written: every put ends by giving nights the count of their type, as the
//! roll-over does, be it the same put again or another. Blocks are one command of the lanes, rows
//! and nights in one.

use std::collections::BTreeSet;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, StayRange};
use sqlx::PgConnection;

use crate::catalog::Room;
use crate::command::{Asked, Block, By, Command, Forced};
use crate::decide::blocks::room_is_taken;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::{check, horizon};
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
            drop(tx);
            horizon::extend(ledger, id).await?;
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
    if !write(&mut tx, id, known.as_ref(), of.id, &room).await? {
        // It was blocked in between: the nights get back the count that their type still has.
        drop(tx);
        horizon::extend(ledger, id).await?;
        return Err(LedgerError::Conflict);
    }
    for (room_type, rooms) in counts {
        room_type::set_rooms(&mut tx, id, room_type, rooms).await?;
    }
    let put = store::list(&mut tx, id, Some(&room.code)).await?.pop();
    let put = put.ok_or(LedgerError::Conflict)?;
    connection::commit(tx).await?;
    horizon::extend(ledger, id).await?;
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

/// Writes the room's row, under the property's lock; says whether it was still the one that was
/// read.
async fn write(
    conn: &mut PgConnection,
    id: PropertyId,
    known: Option<&KnownRoom>,
    room_type: RoomTypeId,
    room: &Room,
) -> Result<bool, LedgerError> {
    property::lock(conn, id)
        .await?
        .ok_or(LedgerError::Conflict)?;
    match known {
        Some(known) if !store::update(conn, id, known, room_type, room).await? => return Ok(false),
        Some(_) => {}
        None => store::insert(conn, id, room_type, room).await?,
    }
    rate_change::raise_rules(conn, id).await?;
    Ok(true)
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
    let blocks = blocks.into_iter().map(|(nights, kind, reason)| Block {
        nights,
        kind,
        reason,
    });
    let command = Command::SetBlocks {
        room: code.to_owned(),
        blocks: blocks.collect(),
    };
    match ledger.ask(Asked::new(id, by.clone().into(), command)).await {
        Ok(Ok(_)) => {}
        Ok(Err(refusal)) => return Ok(Err(refusal)),
        // Decided anew several times, and each time somebody else was faster.
        Err(LedgerError::Broken { source, .. })
            if constraint::violated(&source) == Some("room_taken_once") =>
        {
            return Ok(Err(room_is_taken(&BTreeSet::new())));
        }
        Err(error) => return Err(error),
    }
    let mut conn = connection::reader(ledger).await?;
    let put = store::list(&mut conn, id, Some(code)).await?.pop();
    Ok(Ok(put.ok_or(LedgerError::Conflict)?.room))
}

/// The nights of a room's blocks from the business day on: what is past has been counted.
fn upcoming(room: &Room, today: StayDate) -> Vec<StayRange> {
    let blocks = room.blocks.iter();
    blocks
        .filter_map(|(stay, ..)| Stay::new(stay.arrival().max(today), stay.departure()))
        .collect()
}
