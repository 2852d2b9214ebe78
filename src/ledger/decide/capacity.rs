//! Capacity: physical rooms, out of order, overbooking limit of nights.

use std::collections::BTreeMap;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::inventory::{NightBalance, Pool};
use keyrack_model::stay::{StayDate, StayRange, ranges};

use super::draft::Draft;
use super::entry::Move;
use super::refusal::{Force, Refusal};
use crate::command::{Answer, Forced, NightChange, Receipt, ShortNight};

/// A new physical count over nights.
#[derive(Clone, Copy, Debug)]
pub struct Physical<'a> {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Which nights.
    pub nights: StayRange,
    /// The new count.
    pub rooms: i32,
    /// May cut below what is taken.
    pub force: Option<&'a Forced>,
    /// Only says what would happen.
    pub dry_run: bool,
}

/// More rooms of one type than any hotel has: a typing error.
const ROOMS_MAX: i32 = 100_000;

/// Sets out of order (a fact, never refused for what is sold) and overbooking limits: all of the
/// changes, each on what the one before it made, or none. A refusal names the change's index.
pub fn set_nights(
    draft: &mut Draft,
    property: PropertyId,
    changes: &[NightChange],
    dry_run: bool,
) -> Answer {
    let mut before = BTreeMap::new();
    for (index, change) in changes.iter().enumerate() {
        check_plain(draft, property, change.room_type).map_err(|refusal| at(index, refusal))?;
        // All are read before the first is judged: those that are not there are born at once.
        for (night, balance) in balances(draft, property, change.room_type, change.nights) {
            before.insert((change.room_type, night), balance);
        }
    }
    let mut after = before.clone();
    let mut moved = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        check_counts(change, &after).map_err(|refusal| at(index, refusal))?;
        moved.push((set(change, &mut after), change.reason.clone()));
    }
    let short = shortened(&before, &after);
    if starves(&before, &short) {
        draft.starve(property);
    }
    if dry_run {
        moved.clear();
    }
    let mut nights = Vec::new();
    for (moved, reason) in moved {
        nights.extend(move_all(draft, property, "inventory_set", moved, reason));
    }
    Ok(told("inventory_set", nights, short))
}

/// Balances of nights, with the changes so far.
type Balances = BTreeMap<(RoomTypeId, StayDate), NightBalance>;

/// The refusal of one change of several.
fn at(index: usize, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Invalid(faults) => Refusal::Invalid(
            faults
                .into_iter()
                .map(|(pointer, message)| (format!("/{index}{pointer}"), message))
                .collect(),
        ),
        other => other,
    }
}

fn check_counts(change: &NightChange, balances: &Balances) -> Result<(), Refusal> {
    for (value, pointer) in [
        (change.out_of_order, "/out_of_order"),
        (change.overbooking_limit, "/overbooking_limit"),
    ] {
        if value.is_some_and(|value| !(0..=ROOMS_MAX).contains(&value)) {
            return Err(Refusal::invalid(pointer, "a count of rooms, 0 or more"));
        }
    }
    let Some(count) = change.out_of_order else {
        return Ok(());
    };
    for night in change.nights.nights() {
        let rooms = balances[&(change.room_type, night)].physical;
        if count > rooms {
            let words = format!("{count} out of order, but {rooms} rooms on {night}");
            return Err(Refusal::invalid("/out_of_order", words));
        }
    }
    Ok(())
}

/// Carries a change out on the balances; says what it moves.
fn set(change: &NightChange, balances: &mut Balances) -> Vec<Move> {
    let mut out = BTreeMap::new();
    let mut limit = BTreeMap::new();
    for night in change.nights.nights() {
        let Some(balance) = balances.get_mut(&(change.room_type, night)) else {
            continue;
        };
        let is = NightBalance {
            out_of_order: change.out_of_order.unwrap_or(balance.out_of_order),
            overbooking_limit: change
                .overbooking_limit
                .unwrap_or(balance.overbooking_limit),
            ..*balance
        };
        out.insert(night, is.out_of_order - balance.out_of_order);
        limit.insert(night, is.overbooking_limit - balance.overbooking_limit);
        *balance = is.settled();
    }
    let mut moved = shifts(change.room_type, &out, Pool::Free, Pool::OutOfOrder);
    moved.extend(shifts(change.room_type, &limit, Pool::Limit, Pool::Free));
    moved
}

/// Sets the physical count. A cut that leaves a night short needs a force.
pub fn set_physical(draft: &mut Draft, property: PropertyId, change: &Physical<'_>) -> Answer {
    check_plain(draft, property, change.room_type)?;
    if !(0..=ROOMS_MAX).contains(&change.rooms) {
        return Err(Refusal::invalid("/rooms", "a count of rooms, 0 or more"));
    }
    let before: Balances = balances(draft, property, change.room_type, change.nights)
        .into_iter()
        .map(|(night, balance)| ((change.room_type, night), balance))
        .collect();
    let after = before.iter().map(|(key, balance)| {
        let cut = NightBalance {
            physical: change.rooms,
            ..*balance
        };
        (*key, cut.settled())
    });
    let short = shortened(&before, &after.collect());
    if starves(&before, &short) {
        draft.starve(property);
    }
    let forced = change
        .force
        .is_some_and(|force| force.allow.contains(&Force::Oversell));
    if !short.is_empty() && !forced && !change.dry_run {
        let nights = short.iter().map(|s| (s.room_type, s.night)).collect();
        let why = "more rooms are taken on these nights than would be left".to_owned();
        return Err(Refusal::NeedsForce {
            allow: Force::Oversell,
            why,
            nights,
        });
    }
    let mut moved = Vec::new();
    if !change.dry_run {
        let delta = before
            .iter()
            .map(|((_, night), balance)| (*night, change.rooms - balance.physical))
            .collect();
        moved = shifts(change.room_type, &delta, Pool::Outside, Pool::Free);
    }
    let reason = change
        .force
        .map(|force| format!("forced: {}", force.reason));
    Ok(carry_out(
        draft,
        property,
        "capacity_set",
        moved,
        reason,
        short,
    ))
}

/// Looks at nights again without moving a room.
pub fn review(
    draft: &mut Draft,
    property: PropertyId,
    room_type: RoomTypeId,
    nights: StayRange,
) -> Answer {
    check_plain(draft, property, room_type)?;
    for night in nights.nights() {
        draft.night(property, (room_type, night));
        draft.review((property, room_type, night));
    }
    Ok(carry_out(
        draft,
        property,
        "reviewed",
        Vec::new(),
        None,
        Vec::new(),
    ))
}

/// A composed type has no stock: what is counted is counted on its components.
pub fn check_plain(
    draft: &Draft,
    property: PropertyId,
    room_type: RoomTypeId,
) -> Result<(), Refusal> {
    let rules = draft.rules(property);
    let known = rules.types.get(&room_type);
    let known = known.ok_or_else(|| Refusal::NotFound("room type".to_owned()))?;
    if known.components.is_empty() {
        return Ok(());
    }
    let words = "a composed type has no stock of its own: change its components";
    Err(Refusal::invalid("/room_type", words))
}

fn balances(
    draft: &mut Draft,
    property: PropertyId,
    room_type: RoomTypeId,
    nights: StayRange,
) -> Vec<(StayDate, NightBalance)> {
    nights
        .nights()
        .map(|night| (night, draft.night(property, (room_type, night))))
        .collect()
}

/// Nights whose overdraft a change raises.
fn shortened(before: &Balances, after: &Balances) -> Vec<ShortNight> {
    let falls_short = |((room_type, night), balance): (&(RoomTypeId, StayDate), &NightBalance)| {
        let rooms = after[&(*room_type, *night)].oversold;
        (rooms > balance.oversold).then_some(ShortNight {
            room_type: *room_type,
            night: *night,
            rooms,
        })
    };
    before.iter().filter_map(falls_short).collect()
}

/// Whether holds take rooms of a short night: dead ones among them are let go before it counts.
fn starves(before: &Balances, short: &[ShortNight]) -> bool {
    let is_held = |s: &ShortNight| before[&(s.room_type, s.night)].held > 0;
    short.iter().any(is_held)
}

/// Moves of single nights, joined where neighbours move alike.
pub fn shifts(
    room_type: RoomTypeId,
    delta: &BTreeMap<StayDate, i32>,
    from: Pool,
    to: Pool,
) -> Vec<Move> {
    let mut by_count: BTreeMap<i32, Vec<StayDate>> = BTreeMap::new();
    for (night, rooms) in delta.iter().filter(|(_, rooms)| **rooms != 0) {
        by_count.entry(*rooms).or_default().push(*night);
    }
    let each = |(rooms, nights): (i32, Vec<StayDate>)| {
        let (from, to) = if rooms > 0 { (from, to) } else { (to, from) };
        let quantity = rooms.abs();
        ranges(nights)
            .into_iter()
            .map(move |nights| Move {
                room_type,
                nights,
                quantity,
                from,
                to,
            })
            .collect::<Vec<_>>()
    };
    by_count.into_iter().flat_map(each).collect()
}

fn carry_out(
    draft: &mut Draft,
    property: PropertyId,
    kind: &'static str,
    moved: Vec<Move>,
    reason: Option<String>,
    short: Vec<ShortNight>,
) -> Receipt {
    let nights = move_all(draft, property, kind, moved, reason);
    told(kind, nights, short)
}

/// Moves rooms and writes that down; says on which nights.
fn move_all(
    draft: &mut Draft,
    property: PropertyId,
    kind: &'static str,
    moved: Vec<Move>,
    reason: Option<String>,
) -> Vec<(RoomTypeId, StayRange)> {
    for m in &moved {
        draft.carry_out(property, m);
    }
    let nights = moved.iter().map(|m| (m.room_type, m.nights)).collect();
    if !moved.is_empty() {
        draft.write(property, None, kind, moved, reason);
    }
    nights
}

/// The receipt of a command on nights.
pub fn told(
    kind: &'static str,
    nights: Vec<(RoomTypeId, StayRange)>,
    short: Vec<ShortNight>,
) -> Receipt {
    Receipt {
        reservation: None,
        did: kind.to_owned(),
        nights,
        short,
        is_replay: false,
    }
}
