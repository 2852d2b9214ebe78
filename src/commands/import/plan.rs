//! Lines to reservations, and the nights on which they would not fit. Values in, values out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use keyrack_ledger::catalog::{AccountRow, MappingSetup, RoomType};
use keyrack_model::id::{AccountId, PropertyId, RoomTypeId};
use keyrack_model::money::Money;
use keyrack_model::reservation::{
    Guest, ReportedRoom, ReservationReport, ReservationRevision, RevisionKind, RevisionRoom,
};
use keyrack_model::stay::StayDate;

use super::line::{BadLine, Line};

/// A hotel as the lines need to know it.
#[derive(Clone, Debug)]
pub struct Hotel {
    /// Its id.
    pub id: PropertyId,
    /// Its room types.
    pub room_types: Vec<RoomType>,
    /// Its accounts, with their mappings.
    pub accounts: Vec<(AccountRow, Vec<MappingSetup>)>,
}

/// The reservations of a file.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In order of their first line.
    pub reservations: Vec<Planned>,
    /// Lines that cannot be used.
    pub bad: Vec<BadLine>,
}

/// A reservation out of one line or several.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its first line.
    pub number: u64,
    /// Code of the property.
    pub property: String,
    /// The fact.
    pub revision: ReservationRevision,
}

/// Puts lines of one reference together, with our ids.
pub fn plan(lines: &[Line], hotels: &BTreeMap<String, Hotel>, received_at: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let mut places: BTreeMap<(AccountId, String), usize> = BTreeMap::new();
    for line in lines {
        let placed = match place(line, hotels) {
            Ok(placed) => placed,
            Err(why) => {
                let number = line.number;
                plan.bad.push(BadLine { number, why });
                continue;
            }
        };
        let account = &placed.account.account;
        let at = *places
            .entry((account.id, line.reference.clone()))
            .or_insert_with(|| {
                plan.reservations.push(begin(line, &placed, received_at));
                plan.reservations.len() - 1
            });
        let revision = &mut plan.reservations[at].revision;
        if line.is_cancelled != (revision.report.kind == RevisionKind::Cancelled) {
            let why = format!(
                "reference {} is cancelled on one line and not on another",
                line.reference
            );
            let number = line.number;
            plan.bad.push(BadLine { number, why });
            continue;
        }
        add(revision, line, &placed);
    }
    plan
}

/// Where a line belongs.
struct Placed<'a> {
    hotel: &'a Hotel,
    account: &'a AccountRow,
    room_type: RoomTypeId,
    room_code: String,
}

fn place<'a>(line: &Line, hotels: &'a BTreeMap<String, Hotel>) -> Result<Placed<'a>, String> {
    let hotel = hotels
        .get(&line.property)
        .ok_or_else(|| format!("there is no property {}", line.property))?;
    let (account, mappings) = hotel
        .accounts
        .iter()
        .find(|(row, _)| row.account.code == line.account)
        .ok_or_else(|| format!("{} has no account {}", line.property, line.account))?;
    let mapped = line.channel_room_code.as_ref().and_then(|code| {
        let found = mappings
            .iter()
            .find(|mapping| mapping.channel_room_code == *code);
        found.map(|mapping| mapping.room_type.clone())
    });
    let code = line.room_type.clone().or(mapped).ok_or_else(|| {
        let unmapped = line.channel_room_code.as_deref().unwrap_or_default();
        format!(
            "{} maps no room {unmapped}: fill in room_type, or map it",
            line.account
        )
    })?;
    let room_type = hotel
        .room_types
        .iter()
        .find(|room_type| room_type.code == code)
        .ok_or_else(|| format!("{} has no room type {code}", line.property))?;
    let told = || {
        let found = mappings.iter().find(|mapping| mapping.room_type == code);
        found.map(|mapping| mapping.channel_room_code.clone())
    };
    let room_code = line
        .channel_room_code
        .clone()
        .or_else(told)
        .unwrap_or(code.clone());
    Ok(Placed {
        hotel,
        account,
        room_type: room_type.id,
        room_code,
    })
}

fn begin(line: &Line, placed: &Placed<'_>, received_at: Timestamp) -> Planned {
    let kind = if line.is_cancelled {
        RevisionKind::Cancelled
    } else {
        RevisionKind::New
    };
    let report = ReservationReport {
        hotel_code: Some(placed.account.account.hotel_code.clone()),
        reference: line.reference.clone(),
        kind,
        // Before everything that the channel will say itself, so that a second import changes
        // nothing.
        order: Some(0),
        booked_at: line.booked_at,
        rooms: Vec::new(),
        guest: Guest {
            name: line.guest_name.0.clone(),
            ..Guest::default()
        },
        total: None,
        commission: None,
        payment_model: None,
        remarks: Vec::new(),
        is_quote: false,
        acknowledge_as: None,
    };
    Planned {
        number: line.number,
        property: line.property.clone(),
        revision: ReservationRevision {
            property: placed.hotel.id,
            account: placed.account.account.id,
            report,
            rooms: Vec::new(),
            is_snapshot: true,
            received_at,
        },
    }
}

fn add(revision: &mut ReservationRevision, line: &Line, placed: &Placed<'_>) {
    let is_first = revision.rooms.is_empty();
    let told = ReportedRoom {
        room_key: None,
        room_code: placed.room_code.clone(),
        arrival: Some(line.stay.arrival()),
        departure: Some(line.stay.departure()),
        quantity: line.quantity,
        total: line.total,
        guest_name: Some(line.guest_name.clone()).filter(|name| !name.0.is_empty()),
        ..ReportedRoom::default()
    };
    let total = &mut revision.report.total;
    *total = if is_first {
        line.total
    } else {
        sum(*total, line.total)
    };
    revision.report.rooms.push(told.clone());
    revision.rooms.push(RevisionRoom {
        told,
        room_type: Some(placed.room_type),
        is_fallback: false,
        rate_plan: None,
    });
}

/// The sum where both are told in one currency; half a total is none.
fn sum(one: Option<Money>, other: Option<Money>) -> Option<Money> {
    one?.checked_add(other?)
}

/// A night on which more is sold than there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Which night.
    pub night: StayDate,
    /// Rooms of the file.
    pub sold: i32,
    /// Rooms that are free now.
    pub free: i32,
}

/// Rooms per type and night that a property's reservations ask for.
pub fn wanted<'a>(
    revisions: impl Iterator<Item = &'a ReservationRevision>,
) -> BTreeMap<(RoomTypeId, StayDate), i32> {
    let mut wanted = BTreeMap::new();
    let standing = revisions.filter(|revision| revision.report.kind != RevisionKind::Cancelled);
    for room in standing.flat_map(|revision| &revision.rooms) {
        let dates = room.told.arrival.zip(room.told.departure);
        let stay = dates.and_then(|(from, to)| keyrack_model::stay::Stay::new(from, to));
        let (Some(room_type), Some(stay)) = (room.room_type, stay) else {
            continue;
        };
        for night in stay.nights() {
            let sold: &mut i32 = wanted.entry((room_type, night)).or_default();
            *sold = sold.saturating_add(room.told.quantity);
        }
    }
    wanted
}

/// The nights on which that is more than what is free. Nights that are not open yet have no number
/// to compare with.
pub fn overlaps(
    wanted: &BTreeMap<(RoomTypeId, StayDate), i32>,
    free: &BTreeMap<(RoomTypeId, StayDate), i32>,
) -> Vec<Overlap> {
    let beyond = wanted.iter().filter_map(|((room_type, night), sold)| {
        let free = *free.get(&(*room_type, *night))?;
        (*sold > free).then_some(Overlap {
            room_type: *room_type,
            night: *night,
            sold: *sold,
            free,
        })
    });
    beyond.collect()
}
