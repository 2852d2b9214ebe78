//! The birth of nights, up to a property's horizon.

use std::collections::{BTreeMap, HashSet};

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, ranges};

use crate::command::{Asked, By, Command, Forced};
use crate::decide::refusal::Force;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::room;
use crate::store::rate_change::{self, Touched};
use crate::store::{connection, night, property, room as room_store};

/// Gives birth to the nights that are missing between business day and horizon and gives them their
/// types' count and their blocks; says how many were born. What a crash left half done is mended.
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
    let types = night::share_plain_types(&mut tx, id).await?;
    let born = night::bear(&mut tx, id, &types, calendar.open_nights()).await?;
    let until = calendar.nights_until.unwrap_or(calendar.business_day);
    if let Some(opened) = Stay::new(until.max(calendar.business_day), calendar.horizon_end) {
        property::lock(&mut tx, id).await?;
        property::set_nights_until(&mut tx, id, calendar.horizon_end).await?;
        let touched = Touched::everything(opened, "horizon");
        rate_change::note(&mut tx, id, &by, &[touched]).await?;
    }
    connection::commit(tx).await?;
    count(ledger, id, &by, calendar.business_day).await?;
    block(ledger, id, &by, &born).await?;
    Ok(u32::try_from(born.len()).unwrap_or(u32::MAX))
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

/// Counts the blocks of rooms that were made for nights before these were born.
async fn block(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    born: &[(RoomTypeId, StayDate)],
) -> Result<(), LedgerError> {
    let nights = born.iter().map(|(_, night)| *night);
    let Some((first, last)) = nights.clone().min().zip(nights.max()) else {
        return Ok(());
    };
    let Some(span) = Stay::new(first, keyrack_model::stay::plus_days(last, 1)) else {
        return Ok(());
    };
    let born: HashSet<(RoomTypeId, StayDate)> = born.iter().copied().collect();
    let mut conn = connection::reader(ledger).await?;
    let blocked = room_store::blocked(&mut conn, id, span).await?;
    let shifts: BTreeMap<(RoomTypeId, StayDate), i32> = blocked
        .into_iter()
        .filter(|(room_type, night, _)| born.contains(&(*room_type, *night)))
        .map(|(room_type, night, rooms)| ((room_type, night), rooms))
        .collect();
    room::add_out_of_order(ledger, &mut conn, id, by, &shifts).await
}
