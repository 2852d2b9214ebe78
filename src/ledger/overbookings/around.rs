//! What lies around a case: the rooms of the hotel and of its sisters, who else sleeps there, the
//! chance of a cancellation.

use std::collections::BTreeSet;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, StayRange, days_between};
use sqlx::PgConnection;

use crate::catalog::Property;
use crate::decide::composed::parts;
use crate::decide::overbooking::forecast::{Fate, cure_percent};
use crate::decide::overbooking::rooms::{Rooms, TypeFacts};
use crate::decide::overbooking::way::{Sleeper, to_come};
use crate::decide::rules::Policies;
use crate::decide::state::RoomStay;
use crate::error::LedgerError;
use crate::overbookings::case::Case;
use crate::overbookings::ground::Ground;
use crate::reservations::{Filter, Folio};
use crate::store::{folio, history, night, property, room_type};

/// A room of a guest as one who may be moved.
pub(super) fn of_room(
    folio: &Folio,
    room: &RoomStay,
    account: Option<String>,
    today: StayDate,
) -> Option<Sleeper> {
    let reservation = &folio.reservation;
    let children = i32::try_from(room.children_ages.len()).unwrap_or(i32::MAX);
    Some(Sleeper {
        reservation: reservation.id,
        number: reservation.number,
        version: reservation.version,
        room_stay: room.id,
        room_type: room.room_type?,
        nights: to_come(today, room.taken()?)?,
        quantity: room.quantity,
        heads: room.adults.map(|adults| (adults, children)),
        account,
        in_house: reservation.status == Status::CheckedIn,
    })
}

/// The rooms of a hotel over some nights.
pub(super) async fn rooms(
    conn: &mut PgConnection,
    id: PropertyId,
    nights: StayRange,
) -> Result<Rooms, LedgerError> {
    let types = room_type::list(conn, id).await?;
    let compositions = room_type::compositions(conn, id).await?;
    let types: Vec<TypeFacts> = types
        .into_iter()
        .map(|kind| TypeFacts {
            id: kind.id,
            heads_max: (
                kind.setup.adults_max,
                kind.setup.children_max,
                kind.setup.total_max,
            ),
            parts: parts(&compositions, kind.id),
            code: kind.code,
        })
        .collect();
    let plain = types.iter().flat_map(|kind| &kind.parts);
    let plain: BTreeSet<RoomTypeId> = plain.map(|part| part.0).collect();
    let plain: Vec<RoomTypeId> = plain.into_iter().collect();
    let nights = night::present(conn, id, &plain, nights).await?;
    Ok(Rooms { types, nights })
}

/// Nights of a type with more sold than can be slept in, and by how many rooms.
pub(super) fn beyond(
    rooms: &Rooms,
    room_type: RoomTypeId,
    nights: &BTreeSet<StayDate>,
) -> Vec<(StayDate, i32)> {
    let on = |night: &StayDate| -> NightBalance {
        let balance = rooms.nights.get(&(room_type, *night));
        balance.copied().unwrap_or_default()
    };
    let each = nights.iter().map(|night| {
        let balance = on(night);
        (*night, balance.sold - balance.usable())
    });
    each.filter(|(_, rooms)| *rooms > 0).collect()
}

/// Guests of other types on the nights of the first one who is moved: one of them may swap.
pub(super) async fn others(
    conn: &mut PgConnection,
    ground: &Ground,
    first: &[Sleeper],
    case: &Case,
) -> Result<Vec<Sleeper>, LedgerError> {
    let Some(guest) = first.first() else {
        return Ok(Vec::new());
    };
    let mut ids = BTreeSet::new();
    for night in guest.nights.nights().take(NIGHTS_LOOKED_AT) {
        let filter = Filter {
            status: vec![Status::Confirmed],
            staying_on: Some(night),
            limit: OTHERS_MAX,
            ..Filter::default()
        };
        ids.extend(folio::filtered(conn, ground.property.id, &filter).await?);
    }
    let ids: Vec<_> = ids.into_iter().take(OTHERS_MAX as usize).collect();
    let folios = folio::by_ids(conn, ground.property.id, &ids).await?;
    let each = folios.iter().filter_map(|folio| {
        let mut rooms = folio.reservation.present_rooms();
        let only = rooms.next().filter(|_| rooms.next().is_none())?;
        let plain = only.components.is_none() && only.room_type != Some(case.room_type_id);
        of_room(folio, only, None, ground.today).filter(|_| plain)
    });
    Ok(each.collect())
}

/// Hotels that the policy names and that name this one in theirs.
pub(super) async fn sisters(
    conn: &mut PgConnection,
    ground: &Ground,
    nights: StayRange,
) -> Result<Vec<(String, Rooms)>, LedgerError> {
    let mut found = Vec::new();
    for code in &ground.policy.sister_properties {
        if let Some(sister) = sister(conn, &ground.property.code, code).await? {
            let rooms = rooms(conn, sister.id, nights).await?;
            found.push((code.clone(), rooms));
        }
    }
    Ok(found)
}

/// A hotel of the same owner: both must say so, so that nobody books into a house that does not
/// want it.
pub(crate) async fn sister(
    conn: &mut PgConnection,
    own: &str,
    code: &str,
) -> Result<Option<Property>, LedgerError> {
    let Some(found) = property::by_code(conn, code).await? else {
        return Ok(None);
    };
    let theirs: Policies = serde_json::from_value(found.setup.policies.clone()).unwrap_or_default();
    let named = theirs.overbooking.sister_properties;
    Ok((code != own && named.iter().any(|name| name == own)).then_some(found))
}

/// The chance that cancellations cure the case before its deadline.
pub(super) async fn cure(
    conn: &mut PgConnection,
    ground: &Ground,
    case: &Case,
    (beyond, guests): (&[(StayDate, i32)], usize),
) -> Result<Result<i32, String>, LedgerError> {
    let Some((worst, rooms)) = beyond.iter().max_by_key(|(_, rooms)| *rooms) else {
        return Ok(Err("nothing is beyond any more".to_owned()));
    };
    let lead = days_between(ground.today, *worst).max(0);
    let until = ground.deadline(case).map_or(0, |at| {
        let day = at.to_zoned(ground.zone.clone()).date();
        days_between(day, *worst).clamp(0, lead)
    });
    let window = history::Window {
        lead_days: lead,
        until_days: until,
    };
    let zone = &ground.property.setup.time_zone;
    let past = history::fates(conn, ground.property.id, (ground.today, zone), window).await?;
    let past = past.iter().fold(Fate::default(), |sum, one| {
        sum.and(Fate {
            expected: one.expected,
            lost: one.cancelled_in_time,
        })
    });
    let guests = i32::try_from(guests).unwrap_or(i32::MAX);
    Ok(cure_percent(guests, *rooms, past))
}

/// Nights of a long stay on which guests are sought who might swap.
const NIGHTS_LOOKED_AT: usize = 14;
/// Guests who might swap.
const OTHERS_MAX: u32 = 200;
