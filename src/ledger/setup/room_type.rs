//! Writing a room type, with the count of its nights.
//!
//! The count goes through the lanes, where the rule stands that a cut below what is taken needs a
//! force; the type's row follows only when the nights have it. The property's turn is kept for so
//! long, so that no other change of rooms comes between.

use std::collections::HashMap;

use keyrack_model::id::{PropertyId, RoomTypeId};
use sqlx::PgConnection;

use crate::catalog::{RoomType, RoomTypeChange, RoomTypeSetup};
use crate::command::{Asked, By, Command, Forced, ShortNight};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::inventory;
use crate::setup::check;
use crate::store::property::Calendar;
use crate::store::rate_change::{self, Touched};
use crate::store::{connection, night, property, room, room_type as store};

/// What is asked of a room type.
pub(crate) struct Put<'a> {
    pub code: &'a str,
    pub setup: RoomTypeSetup,
    pub version: Option<i64>,
    pub force: Option<Forced>,
    pub dry_run: bool,
}

/// Creates or changes a room type.
pub(crate) async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    put: Put<'_>,
) -> Result<Result<RoomTypeChange, Refusal>, LedgerError> {
    if let Err(refusal) = check::room_type(put.code, &put.setup) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let types = store::list(&mut tx, id).await?;
    let known = types.iter().find(|known| known.code == put.code).cloned();
    let current = known.as_ref().map_or(0, |known| known.version);
    if put.version.is_some_and(|version| version != current) {
        return Ok(Err(Refusal::VersionMismatch { current }));
    }
    let parts = match parts(&types, known.as_ref(), &put) {
        Ok(parts) => parts,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut put = put;
    let short = match &known {
        None => Vec::new(),
        Some(known) => {
            let listed = room::active_count(&mut tx, id, known.id).await?;
            if let Some(listed) = listed.filter(|_| parts.is_empty()) {
                put.setup.rooms = listed;
            }
            match recount(ledger, &mut tx, by, id, known, &put, &calendar).await? {
                Ok(short) => short,
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    };
    let is_new = known.is_none();
    if put.dry_run {
        let room_type = known.map(|known| RoomType {
            setup: put.setup,
            ..known
        });
        return Ok(Ok(RoomTypeChange {
            room_type,
            short,
            is_new,
        }));
    }
    if known.as_ref().is_none_or(|known| known.setup != put.setup) {
        let known = known.as_ref().map(|known| (known.id, &known.setup));
        write(&mut tx, id, by, known, &put, &parts).await?;
    }
    // Also where nothing was written: the turn ends with it.
    connection::commit(tx).await?;
    inventory::extend_horizon(ledger, id).await?;
    let mut conn = connection::reader(ledger).await?;
    let room_type = store::list(&mut conn, id)
        .await?
        .into_iter()
        .find(|t| t.code == put.code);
    Ok(Ok(RoomTypeChange {
        room_type,
        short,
        is_new,
    }))
}

/// The ids of the components. Only plain types are components, and a component stays plain: so
/// no composition can run in a ring.
fn parts(
    types: &[RoomType],
    known: Option<&RoomType>,
    put: &Put<'_>,
) -> Result<Vec<(RoomTypeId, i32)>, Refusal> {
    let by_code: HashMap<&str, &RoomType> = types.iter().map(|t| (t.code.as_str(), t)).collect();
    let mut faults = check::Faults::default();
    let mut parts = Vec::new();
    for (i, (code, quantity)) in put.setup.components.iter().enumerate() {
        let pointer = format!("/components/{i}/room_type");
        match by_code.get(code.as_str()) {
            None => faults.unless(false, &pointer, "no such room type"),
            Some(part) => {
                let sentence = "a composed type is no component";
                faults.unless(part.setup.components.is_empty(), &pointer, sentence);
                parts.push((part.id, *quantity));
            }
        }
    }
    let whole = types
        .iter()
        .find(|t| t.setup.components.iter().any(|(c, _)| c == put.code));
    if let (Some(whole), Some(_), false) = (whole, known, put.setup.components.is_empty()) {
        let sentence = format!("it is a component of {} and stays plain", whole.code);
        faults.unless(false, "/components", &sentence);
    }
    faults.done().map(|()| parts)
}

/// Gives the nights of a plain type the count that is asked for, or says what that would do.
async fn recount(
    ledger: &Ledger,
    conn: &mut PgConnection,
    by: &By,
    property: PropertyId,
    known: &RoomType,
    put: &Put<'_>,
    calendar: &Calendar,
) -> Result<Result<Vec<ShortNight>, Refusal>, LedgerError> {
    let today = calendar.business_day;
    let becomes_composed = known.setup.components.is_empty() && !put.setup.components.is_empty();
    if becomes_composed && night::is_in_use(conn, property, known.id, today).await? {
        let sentence = "nights of it hold rooms: a composed type has no stock of its own";
        return Ok(Err(Refusal::invalid("/components", sentence)));
    }
    if becomes_composed
        && room::active_count(conn, property, known.id)
            .await?
            .is_some()
    {
        let sentence = "rooms are listed for it: a composed type has none of its own";
        return Ok(Err(Refusal::invalid("/components", sentence)));
    }
    let was_plain = known.setup.components.is_empty();
    let nights = night::span(conn, property, known.id, today).await?;
    let (true, Some(nights)) = (was_plain && known.setup.rooms != put.setup.rooms, nights) else {
        return Ok(Ok(Vec::new()));
    };
    let command = Command::SetPhysical {
        room_type: known.id,
        nights,
        rooms: put.setup.rooms,
        force: put.force.clone(),
        dry_run: put.dry_run,
    };
    let asked = Asked::new(property, by.clone().into(), command);
    Ok(ledger.ask(asked).await?.map(|receipt| receipt.short))
}

/// Writes the type's row and components, under the property's lock.
async fn write(
    conn: &mut PgConnection,
    id: PropertyId,
    by: &By,
    known: Option<(RoomTypeId, &RoomTypeSetup)>,
    put: &Put<'_>,
    parts: &[(RoomTypeId, i32)],
) -> Result<(), LedgerError> {
    let calendar = property::lock(conn, id)
        .await?
        .ok_or(LedgerError::Conflict)?;
    let room_type = match known {
        Some((room_type, _)) => {
            store::update(conn, id, room_type, &put.setup).await?;
            store::delete_components(conn, id, room_type).await?;
            room_type
        }
        None => store::insert(conn, id, put.code, &put.setup).await?,
    };
    store::insert_components(conn, id, room_type, parts).await?;
    rate_change::raise_rules(conn, id).await?;
    if known.is_some_and(|(_, before)| before.components != put.setup.components) {
        let touched = Touched {
            room_type: Some(room_type),
            ..Touched::everything(calendar.open_nights(), "components")
        };
        rate_change::note(conn, id, by, &[touched]).await?;
    }
    Ok(())
}
