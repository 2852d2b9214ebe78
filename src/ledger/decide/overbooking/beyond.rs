//! What moves of guests do to nights: whether the rooms that they get can be slept in, and what
//! stays beyond.

use std::collections::BTreeMap;

use keyrack_model::id::PropertyId;
use keyrack_model::reservation::Status;
use keyrack_model::stay::StayDate;

use super::sheet::SeenCase;
use crate::decide::draft::Draft;
use crate::decide::refusal::Refusal;
use crate::decide::revise::{Claim, TypeNight, difference};
use crate::decide::state::Reservation;

/// By how much the moves change what is taken of nights, and of that what is sold.
pub(super) fn shifts<'a>(
    moved: impl Iterator<Item = &'a (Reservation, Reservation)>,
) -> (Shift, Shift) {
    let (mut delta, mut sold) = (Shift::new(), Shift::new());
    for (before, after) in moved {
        for (night, rooms) in difference(&Claim::of(before), &Claim::of(after)) {
            *delta.entry(night).or_insert(0) += rooms;
            if before.status != Status::Held {
                *sold.entry(night).or_insert(0) += rooms;
            }
        }
    }
    (delta, sold)
}

/// Rooms by night, more or fewer.
pub(super) type Shift = BTreeMap<TypeNight, i32>;

/// Whether the rooms that guests are moved to can be slept in: an overbooking is not cured by
/// another, meant or not.
pub(super) fn fits(draft: &mut Draft, property: PropertyId, delta: &Shift) -> Result<(), Refusal> {
    let mut short = Vec::new();
    let mut starved = false;
    for (night, rooms) in delta.iter().filter(|(_, rooms)| **rooms > 0) {
        let balance = draft.night(property, *night);
        let taken = balance.sold + balance.held + balance.allotted;
        if taken + rooms > balance.usable() {
            short.push(*night);
            starved |= balance.held > 0;
        }
    }
    if starved {
        draft.starve(property);
    }
    if short.is_empty() {
        return Ok(());
    }
    Err(Refusal::SoldOut(short))
}

/// Nights of the case that would have more sold than can be slept in, and by how many rooms.
pub(super) fn beyond(
    draft: &mut Draft,
    property: PropertyId,
    case: &SeenCase,
    sold: &Shift,
) -> Vec<(StayDate, i32)> {
    let mut found = Vec::new();
    for night in &case.nights {
        let key = (case.room_type, *night);
        let balance = draft.night(property, key);
        let rooms = balance.sold + sold.get(&key).unwrap_or(&0) - balance.usable();
        if rooms > 0 {
            found.push((*night, rooms));
        }
    }
    found
}

pub(super) fn still_over(beyond: &[(StayDate, i32)]) -> String {
    let each = |(night, rooms): &(StayDate, i32)| {
        let noun = if *rooms == 1 { "room" } else { "rooms" };
        format!("{rooms} {noun} on {night}")
    };
    let nights: Vec<String> = beyond.iter().map(each).collect();
    format!(
        "more would still be sold than there is: {}. Move more guests in the same request, or \
         accept it as it is with a reason",
        nights.join(", ")
    )
}
