//! The books beside what a ledger holds: every difference in words.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::allotment::AllotmentNight;
use keyrack_model::id::{AccountId, AllotmentId, PropertyId, ReservationId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, days_between};

use super::books::Books;
use super::cases::Files;
use super::entry::{Cell, Entry, Rooms, nights};
use super::expected::of_entry;
use super::house::{Case, House};

/// What is remembered of a reference: its reservation, whether the channel cancelled it, and its
/// order. Books in which what came first within a round was guessed wrong would otherwise differ
/// unseen until a later round.
pub type Remembered = (Option<ReservationId>, bool, Option<i64>);

/// What a ledger holds of one property, all read at one instant.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Every night that is born.
    pub nights: BTreeMap<Cell, NightBalance>,
    /// Every reservation.
    pub reservations: BTreeMap<ReservationId, Reservation>,
    /// Every reference.
    pub references: BTreeMap<(AccountId, String), Remembered>,
    /// Nights with an open case.
    pub cases: BTreeSet<Cell>,
    /// Cases with nights that are not cured, or ended by somebody.
    pub files: Files,
    /// The nights of allotments: agreed, taken, released, whether they are released.
    pub allotments: BTreeMap<(AllotmentId, StayDate), AllotmentNight>,
    /// Rules of scarcity that hold on a night, by their place among the rules.
    pub switches: BTreeSet<(i32, Cell)>,
    /// The events `refund_due`, by reservation, as often as they were written.
    pub refunds: BTreeMap<ReservationId, usize>,
}

impl Books {
    /// What differs between the books of a property and its ledger; nothing where all is well.
    pub fn compare(&self, property: PropertyId, state: &State, now: Timestamp) -> Vec<String> {
        let Some(house) = self.house(property) else {
            return vec![format!("property {property} is in no book")];
        };
        let mut found = Vec::new();
        balances(state, &mut found);
        claims(house, state, &mut found);
        of_nights(house, state, now, &mut found);
        reservations(house, state, now, &mut found);
        references(house, state, &mut found);
        allotments(house, state, now, &mut found);
        house.compare_cases(&state.files, &mut found);
        house.compare_switches(&state.switches, now, &mut found);
        found
    }
}

/// On each night rooms are neither made nor lost, and the overdraft is exact.
fn balances(state: &State, found: &mut Vec<String>) {
    for ((room_type, night), is) in &state.nights {
        let taken = is.held + is.sold + is.allotted + is.out_of_order;
        let bound = is.physical + is.overbooking_limit;
        let free = (bound - taken).max(0);
        if bound + is.oversold != free + taken {
            found.push(format!(
                "{room_type} {night}: the sum is not the rooms: {is:?}"
            ));
        }
        let counts = [
            is.physical,
            is.out_of_order,
            is.overbooking_limit,
            is.allotted,
            is.held,
            is.sold,
            is.oversold,
        ];
        if counts.iter().any(|count| *count < 0) {
            found.push(format!("{room_type} {night}: a count below 0: {is:?}"));
        }
    }
}

/// Each night has what the reservations of the ledger itself take, each in one state.
fn claims(house: &House, state: &State, found: &mut Vec<String>) {
    let (mut held, mut sold) = (Rooms::new(), Rooms::new());
    for known in state.reservations.values() {
        let into = match known.status {
            Status::Held => &mut held,
            Status::Cancelled | Status::Expired => continue,
            _ => &mut sold,
        };
        for room in known.rooms.iter().filter(|room| !room.is_given_back) {
            let Some(room_type) = room.room_type.and_then(|id| house.rules.types.get(&id)) else {
                continue;
            };
            for night in nights(room.taken_from, room.taken_until) {
                for (part, count) in &room_type.parts {
                    *into.entry((*part, night)).or_insert(0) += count * room.quantity;
                }
            }
        }
    }
    let cells: BTreeSet<&Cell> = state
        .nights
        .keys()
        .chain(held.keys())
        .chain(sold.keys())
        .collect();
    for cell in cells {
        let is = state.nights.get(cell).map_or((0, 0), |n| (n.held, n.sold));
        let of = |rooms: &Rooms| rooms.get(cell).copied().unwrap_or(0);
        let must = (of(&held), of(&sold));
        if is != must {
            let (room_type, night) = cell;
            found.push(format!(
                "{room_type} {night}: {is:?} held and sold, its reservations take {must:?}"
            ));
        }
    }
}

/// Each night has what the books say, and a case where one is demanded.
fn of_nights(house: &House, state: &State, now: Timestamp, found: &mut Vec<String>) {
    let dead = house.dead(now);
    let today = house.rules.today(now);
    let cells: BTreeSet<&Cell> = state.nights.keys().chain(house.nights.keys()).collect();
    for cell in cells {
        let must = house.night(*cell);
        let (room_type, night) = cell;
        let Some(is) = state.nights.get(cell) else {
            if must.held + must.sold > 0 {
                found.push(format!("{room_type} {night}: not born, must be {must:?}"));
            }
            continue;
        };
        let counts = (is.physical, is.out_of_order, is.overbooking_limit, is.sold);
        // A dead hold may be swept or not.
        let alive = must.held - dead.on(*cell);
        let allotted = must.allotted..=house.allotted_alive(*cell, &dead);
        if counts != (must.physical, must.out_of_order, must.limit, must.sold)
            || !(alive..=must.held).contains(&is.held)
            || !allotted.contains(&is.allotted)
        {
            found.push(format!("{room_type} {night}: is {is:?}, must be {must:?}"));
        }
        let is_open = state.cases.contains(cell);
        let is_near = days_between(today, *night) < house.rules.meant_days;
        let is_wrong = match must.case {
            Case::Open => !is_open,
            // What was meant and came near may have been looked at meanwhile.
            Case::Closed => is_open && !(must.beyond() > 0 && is_near),
            Case::Accepted(_) => is_open,
            Case::Either => false,
        };
        if is_wrong {
            let word = if is_open { "open" } else { "not open" };
            found.push(format!("{room_type} {night}: a case is {word}: {must:?}"));
        }
    }
    for cell in state
        .cases
        .iter()
        .filter(|cell| !state.nights.contains_key(cell))
    {
        found.push(format!(
            "{} {}: a case of a night that is not there",
            cell.0, cell.1
        ));
    }
}

/// Each night of an allotment has what the books say, and has fallen back or has not.
fn allotments(house: &House, state: &State, now: Timestamp, found: &mut Vec<String>) {
    let dead = house.dead(now);
    let mut all: BTreeSet<(AllotmentId, StayDate)> = state.allotments.keys().copied().collect();
    for (id, known) in &house.allotments {
        all.extend(known.nights.keys().map(|night| (*id, *night)));
    }
    for (id, night) in all {
        let known = house.allotments.get(&id);
        let must = known.and_then(|known| known.nights.get(&night));
        let (Some(is), Some(must)) = (state.allotments.get(&(id, night)), must) else {
            let is = state.allotments.get(&(id, night));
            found.push(format!(
                "allotment {id} {night}: is {is:?}, must be {must:?}"
            ));
            continue;
        };
        let taken = must.taken - dead.drawn(id, night)..=must.taken;
        let unsold = (is.agreed - is.taken).max(0);
        let released = if must.is_released { unsold } else { 0 };
        let agrees = is.agreed == must.agreed
            && is.is_released == must.is_released
            && is.released == released
            && taken.contains(&is.taken);
        if !agrees {
            found.push(format!(
                "allotment {id} {night}: is {is:?}, must be {must:?}"
            ));
        }
    }
}

fn reservations(house: &House, state: &State, now: Timestamp, found: &mut Vec<String>) {
    for (id, must) in &house.entries {
        let Some(is) = state.reservations.get(id) else {
            found.push(format!("reservation {id} is lost: {must:?}"));
            continue;
        };
        let was_swept = must.is_unswept(now) && is.status == Status::Expired;
        let differences = if was_swept {
            let mut swept = Entry::clone(must);
            swept.status = Status::Expired;
            swept.version += 1;
            of_entry(&swept, is)
        } else {
            of_entry(must, is)
        };
        found.extend(
            differences
                .into_iter()
                .map(|what| format!("reservation {id}: {what}")),
        );
        let written = state.refunds.get(id).copied().unwrap_or(0);
        if written != must.refunds.len() {
            let owed = &must.refunds;
            found.push(format!(
                "reservation {id}: {written} times refund_due, owed {owed:?}"
            ));
        }
    }
    for id in state.reservations.keys() {
        if !house.entries.contains_key(id) {
            found.push(format!("reservation {id} was made by nobody"));
        }
    }
}

fn references(house: &House, state: &State, found: &mut Vec<String>) {
    let must: BTreeMap<_, _> = house
        .references
        .iter()
        .map(|(key, known)| {
            let remembered = (known.reservation, known.is_cancelled, known.order);
            (key.clone(), remembered)
        })
        .collect();
    for key in must.keys().chain(state.references.keys()) {
        let (is, must) = (state.references.get(key), must.get(key));
        if is != must {
            found.push(format!("reference {key:?} is {is:?}, must be {must:?}"));
        }
    }
}
