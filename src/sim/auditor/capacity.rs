//! What a hotel has: physical rooms, out of order, the overbooking limit.

use std::collections::BTreeMap;

use jiff::Timestamp;
use keyrack_ledger::command::{Forced, NightChange};
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

/// Nights whose overdraft the change would raise, with the overdraft after it. Dead holds take
/// nothing.
fn short(
    house: &House,
    cells: &[Cell],
    now: Timestamp,
    change: impl Fn(&mut Night),
) -> BTreeMap<Cell, i32> {
    let dead = house.dead(now);
    let mut short = BTreeMap::new();
    for cell in cells {
        let mut night = house.night(*cell);
        night.held -= dead.get(cell).unwrap_or(&0);
        let before = night.overdraft();
        change(&mut night);
        if night.overdraft() > before {
            short.insert(*cell, night.overdraft());
        }
    }
    short
}

fn carry_out(
    house: &mut House,
    cells: &[Cell],
    short: BTreeMap<Cell, i32>,
    now: Timestamp,
    change: Option<impl Fn(&mut Night)>,
) -> Expected {
    let mut yes = Yes {
        short: Some(short),
        ..Yes::default()
    };
    let Some(change) = change else {
        return Expected::Yes(yes);
    };
    for cell in cells {
        let before = house.night(*cell);
        let mut after = before;
        change(&mut after);
        if after != before {
            house.change_night(*cell, now, &change);
            yes.touched.insert(*cell);
        }
    }
    Expected::Yes(yes)
}

/// Out of order is a fact, the limit is the hotel's to set.
pub fn set_nights(house: &mut House, asked: &NightChange, now: Timestamp) -> Expected {
    if let Some(no) = refuse(house, asked.room_type) {
        return no;
    }
    let counts = [asked.out_of_order, asked.overbooking_limit];
    if counts.iter().flatten().any(|count| *count < 0) {
        return Expected::no("invalid");
    }
    let cells = cells(asked.room_type, asked.nights);
    let most = cells.iter().map(|cell| house.night(*cell).physical).min();
    if asked.out_of_order > most {
        return Expected::no("invalid");
    }
    let change = |night: &mut Night| {
        night.out_of_order = asked.out_of_order.unwrap_or(night.out_of_order);
        night.limit = asked.overbooking_limit.unwrap_or(night.limit);
    };
    let short = short(house, &cells, now, change);
    carry_out(
        house,
        &cells,
        short,
        now,
        (!asked.dry_run).then_some(change),
    )
}

/// A cut that leaves a night short of what is taken needs a force.
pub fn set_physical(house: &mut House, asked: &Physical<'_>, now: Timestamp) -> Expected {
    if let Some(no) = refuse(house, asked.room_type) {
        return no;
    }
    if asked.rooms < 0 {
        return Expected::no("invalid");
    }
    let cells = cells(asked.room_type, asked.nights);
    let change = |night: &mut Night| night.physical = asked.rooms;
    let short = short(house, &cells, now, change);
    let forces = |forced: &Forced| forced.allow.contains(&Force::Oversell);
    if !short.is_empty() && !asked.dry_run && !asked.force.is_some_and(forces) {
        return Expected::needs(Force::Oversell, short.into_keys().collect());
    }
    carry_out(
        house,
        &cells,
        short,
        now,
        (!asked.dry_run).then_some(change),
    )
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
