//! What a hotel has: physical rooms, out of order, the overbooking limit.

use std::collections::BTreeMap;

use jiff::Timestamp;
use keyrack_ledger::command::{Block, Forced, NightChange};
use keyrack_ledger::decide::refusal::Force;
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::Stay;

use super::entry::{Cell, nights};
use super::expected::{Expected, Yes};
use super::house::{House, Night};

/// A new physical count.
pub struct Physical<'a> {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Which nights.
    pub nights: Stay,
    /// The new count.
    pub rooms: i32,
    /// May cut below what is taken.
    pub force: Option<&'a Forced>,
    /// Only asks.
    pub dry_run: bool,
}

fn cells(room_type: RoomTypeId, range: Stay) -> Vec<Cell> {
    let each = nights(range.arrival(), range.departure());
    each.map(|night| (room_type, night)).collect()
}

/// Only a plain type has a stock.
fn refuse(house: &House, room_type: RoomTypeId) -> Option<Expected> {
    match house.rules.types.get(&room_type) {
        None => Some(Expected::no("not_found")),
        Some(known) if !known.is_plain => Some(Expected::no("invalid")),
        Some(_) => None,
    }
}

/// Nights as they will be.
type Nights = BTreeMap<Cell, Night>;

/// Nights whose overdraft is raised, with the overdraft after it. Dead holds take nothing.
fn short(house: &House, after: &Nights, now: Timestamp) -> BTreeMap<Cell, i32> {
    let dead = house.dead(now);
    let mut short = BTreeMap::new();
    for (cell, after) in after {
        let without_dead = |night: &Night| {
            let held = night.held - dead.on(*cell);
            let allotted = house.allotted_alive(*cell, &dead);
            let night = Night {
                held,
                allotted,
                ..*night
            };
            night.overdraft()
        };
        let rooms = without_dead(after);
        if rooms > without_dead(&house.night(*cell)) {
            short.insert(*cell, rooms);
        }
    }
    short
}

/// Writes the nights that are other than they were.
fn write(
    house: &mut House,
    after: Nights,
    short: BTreeMap<Cell, i32>,
    now: Timestamp,
    dry_run: bool,
) -> Expected {
    let mut yes = Yes {
        short: Some(short),
        ..Yes::default()
    };
    for (cell, after) in after {
        let before = house.night(cell);
        if dry_run || after == before {
            continue;
        }
        house.change_night(cell, now, |night| {
            night.physical = after.physical;
            night.out_of_order = after.out_of_order;
            night.limit = after.limit;
        });
        yes.touched.insert(cell);
    }
    Expected::Yes(yes)
}

/// Out of order is a fact, the limit is the hotel's to set: all of the changes, or none.
pub fn set_nights(
    house: &mut House,
    changes: &[NightChange],
    dry_run: bool,
    now: Timestamp,
) -> Expected {
    let refused = changes
        .iter()
        .find_map(|change| refuse(house, change.room_type));
    if let Some(no) = refused {
        return no;
    }
    let mut after = Nights::new();
    for change in changes {
        for cell in cells(change.room_type, change.nights) {
            let night = after.entry(cell).or_insert_with(|| house.night(cell));
            night.out_of_order = change.out_of_order.unwrap_or(night.out_of_order);
            night.limit = change.overbooking_limit.unwrap_or(night.limit);
            let is_more = change
                .out_of_order
                .is_some_and(|count| count > night.physical);
            if is_more || night.out_of_order < 0 || night.limit < 0 {
                return Expected::no("invalid");
            }
        }
    }
    let short = short(house, &after, now);
    write(house, after, short, now, dry_run)
}

/// A room is blocked on other nights than before: from today on each counts one room more or less
/// that cannot be sold, within the rooms that there are. What is past has been counted.
pub fn set_blocks(house: &mut House, code: &str, blocks: &[Block], now: Timestamp) -> Expected {
    let Some((room_type, known)) = house.rooms.get(code).cloned() else {
        return Expected::no("not_found");
    };
    let range = |block: &Block| (block.nights.arrival(), block.nights.departure());
    let mut ranges: Vec<_> = blocks.iter().map(range).collect();
    ranges.sort_unstable();
    let mut shifts: BTreeMap<Cell, i32> = BTreeMap::new();
    for (ranges, by) in [(&known, -1), (&ranges, 1)] {
        for night in ranges
            .iter()
            .flat_map(|(from, until)| nights(*from, *until))
        {
            *shifts.entry((room_type, night)).or_insert(0) += by;
        }
    }
    let today = house.rules.today(now);
    shifts.retain(|cell, by| *by != 0 && cell.1 >= today);
    let mut yes = Yes::default();
    for (cell, by) in shifts {
        let before = house.night(cell);
        let most = before.physical.max(before.out_of_order);
        let after = (before.out_of_order + by).clamp(0, most);
        // One that is not born counts its blocks when it is.
        if house.nights.contains_key(&cell) && after != before.out_of_order {
            house.change_night(cell, now, |night| night.out_of_order = after);
            yes.touched.insert(cell);
        }
    }
    house.rooms.insert(code.to_owned(), (room_type, ranges));
    Expected::Yes(yes)
}

/// A cut that leaves a night short of what is taken needs a force.
pub fn set_physical(house: &mut House, asked: &Physical<'_>, now: Timestamp) -> Expected {
    if let Some(no) = refuse(house, asked.room_type) {
        return no;
    }
    if asked.rooms < 0 {
        return Expected::no("invalid");
    }
    let cut = |cell: Cell| {
        let physical = asked.rooms;
        let night = house.night(cell);
        (cell, Night { physical, ..night })
    };
    let cells = cells(asked.room_type, asked.nights).into_iter();
    let after: Nights = cells.map(cut).collect();
    let short = short(house, &after, now);
    let forces = |forced: &Forced| forced.allow.contains(&Force::Oversell);
    if !short.is_empty() && !asked.dry_run && !asked.force.is_some_and(forces) {
        return Expected::needs(Force::Oversell, short.into_keys().collect());
    }
    write(house, after, short, now, asked.dry_run)
}

/// The roll-over looks at nights again: what was meant opens a case when it comes near.
pub fn review(house: &mut House, room_type: RoomTypeId, range: Stay, now: Timestamp) -> Expected {
    if let Some(no) = refuse(house, room_type) {
        return no;
    }
    for cell in cells(room_type, range) {
        house.change_night(cell, now, |_| {});
    }
    Expected::Yes(Yes::default())
}
