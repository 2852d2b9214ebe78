//! The birth of nights, up to a property's horizon.

use std::collections::BTreeMap;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::inventory::Pool;
use keyrack_model::stay::{Stay, StayDate, ranges};

use crate::command::{Asked, By, Command, Forced};
use crate::decide::entry::Move;
use crate::decide::refusal::Force;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::pool_rules;
use crate::store::entry::{self, Lines};
use crate::store::rate_change::{self, Touched};
use crate::store::{connection, night, property};

/// Gives birth to the nights that are missing between business day and horizon, with their types'
/// count and the blocks of their rooms; says how many were born. Nights whose count a crash left
/// behind get their type's.
pub(crate) async fn extend(ledger: &Ledger, id: PropertyId) -> Result<u32, LedgerError> {
    let by = By {
        actor: "worker:horizon".to_owned(),
        request_id: None,
    };
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(0);
    };
    let opened_to = calendar.nights_until.unwrap_or(calendar.business_day);
    let opened = Stay::new(opened_to.max(calendar.business_day), calendar.horizon_end);
    if opened.is_some() {
        // Before the types' locks: the property's row comes first in every transaction.
        property::lock(&mut tx, id).await?;
    }
    let types = night::share_plain_types(&mut tx, id).await?;
    let born = night::bear(&mut tx, id, &types, calendar.open_nights()).await?;
    if !born.is_empty() {
        let lines = Lines {
            property: id,
            by: &by,
            kind: "night_born",
            reservation: None,
            reason: None,
            moved: &births(&born),
        };
        entry::insert(&mut tx, &lines).await?;
    }
    if let Some(opened) = opened {
        property::set_nights_until(&mut tx, id, calendar.horizon_end).await?;
        let touched = Touched::everything(opened, "horizon");
        rate_change::note(&mut tx, id, &by, &[touched]).await?;
    }
    connection::commit(tx).await?;
    count(ledger, id, &by, calendar.business_day).await?;
    if let Some(opened) = opened {
        pool_rules::review(ledger, id, &by, opened).await?;
    }
    Ok(u32::try_from(born.len()).unwrap_or(u32::MAX))
}

/// Rooms come into the house with their nights, and some of them cannot be sold.
fn births(born: &[(RoomTypeId, StayDate, i32, i32)]) -> Vec<Move> {
    let mut alike: BTreeMap<(RoomTypeId, bool, i32), Vec<StayDate>> = BTreeMap::new();
    for (room_type, night, rooms, out) in born {
        alike
            .entry((*room_type, false, *rooms))
            .or_default()
            .push(*night);
        alike
            .entry((*room_type, true, *out))
            .or_default()
            .push(*night);
    }
    alike.retain(|(_, _, rooms), _| *rooms > 0);
    let moves = alike
        .into_iter()
        .flat_map(|((room_type, is_out, quantity), nights)| {
            let (from, to) = if is_out {
                (Pool::Free, Pool::OutOfOrder)
            } else {
                (Pool::Outside, Pool::Free)
            };
            ranges(nights).into_iter().map(move |nights| Move {
                room_type,
                nights,
                quantity,
                from,
                to,
            })
        });
    moves.collect()
}

/// Gives nights the physical count of their type where it is another.
async fn count(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    today: StayDate,
) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let miscounted = night::miscounted(&mut conn, id, today).await?;
    drop(conn);
    let mut by_count: BTreeMap<(RoomTypeId, i32), Vec<StayDate>> = BTreeMap::new();
    for (room_type, night, rooms) in miscounted {
        by_count.entry((room_type, rooms)).or_default().push(night);
    }
    for ((room_type, rooms), nights) in by_count {
        for nights in ranges(nights) {
            let command = Command::SetPhysical {
                room_type,
                nights,
                rooms,
                // The type says how many rooms there are: a person decided that before.
                force: Some(Forced {
                    reason: "the count of the room type".to_owned(),
                    allow: vec![Force::Oversell],
                }),
                dry_run: false,
            };
            let asked = Asked::new(id, by.clone().into(), command);
            ledger.ask(asked).await?.map_err(|refusal| {
                LedgerError::Unreadable(format!("a count was refused: {}", refusal.code()))
            })?;
        }
    }
    Ok(())
}
