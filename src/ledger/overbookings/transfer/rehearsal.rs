//! Whether guests could go, asked and not done: what is refused here, and what is not free there.

use std::collections::HashMap;

use keyrack_model::id::PropertyId;

use super::leg::Leg;
use super::steps::rooms_there;
use crate::command::{Asked, By, Command};
use crate::decide::overbooking::end::CaseEnd;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::around::rooms;
use crate::store::{connection, folio, property};

/// Whether the guests' release here would be refused.
pub(super) async fn may_leave(
    ledger: &Ledger,
    property: PropertyId,
    end: &CaseEnd,
    legs: &[Leg],
) -> Result<Result<(), Refusal>, LedgerError> {
    let release = CaseEnd {
        moves: legs.iter().map(Leg::release).collect(),
        rehearses: true,
        ..end.clone()
    };
    let by = By {
        actor: "rehearsal".to_owned(),
        request_id: None,
    };
    let command = Command::EndCase(Box::new(release));
    let asked = Asked::new(property, by.into(), command);
    Ok(ledger.ask(asked).await?.map(drop))
}

/// Whether rooms are free for all of them together in the other houses, on the nights that are
/// still to come there. A stop sell or a stay rule there is found only when they go.
pub(super) async fn has_rooms(
    ledger: &Ledger,
    property: PropertyId,
    legs: &[Leg],
) -> Result<Result<(), Refusal>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let ids: Vec<_> = legs.iter().map(|leg| leg.reservation.0).collect();
    let guests = folio::by_ids(&mut conn, property, &ids).await?;
    let mut taken = HashMap::new();
    for leg in legs {
        let guest = guests.iter().find(|f| f.reservation.id == leg.reservation);
        let there = property::calendar(&mut conn, leg.property).await?;
        let (Some(guest), Some(there)) = (guest, there) else {
            return Ok(Err(Refusal::NotFound("reservation".to_owned())));
        };
        let Some(wished) = rooms_there(guest, leg, there.business_day) else {
            return Ok(Err(leg.no_night_left(guest.reservation.number)));
        };
        for room in wished {
            let known = rooms(&mut conn, leg.property, room.stay).await?;
            let kind = known.types.iter().find(|kind| kind.id == leg.room_type);
            let parts = kind.map_or(&[][..], |kind| &kind.parts);
            for (part, each) in parts {
                for night in room.stay.nights() {
                    let wanted: &mut i32 = taken.entry((*part, night)).or_default();
                    *wanted += each * room.quantity;
                    // A night that nobody has asked for yet is free.
                    let balance = known.nights.get(&(*part, night));
                    if balance.is_some_and(|balance| balance.free() < *wanted) {
                        let number = guest.reservation.number;
                        return Ok(Err(leg.refused_there(number, "sold_out")));
                    }
                }
            }
        }
    }
    Ok(Ok(()))
}
