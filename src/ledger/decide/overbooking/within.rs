//! Ways out within the house: another type for the guest, or two guests who change theirs.

use keyrack_model::overbooking::Ending;

use super::rooms::{Rooms, TypeFacts};
use super::way::{Situation, Sleeper, WayOut, per_night, spoken, way};

/// Other types that are free for the whole stay.
pub(super) fn upgrades(situation: &Situation<'_>, guest: &Sleeper, found: &mut Vec<WayOut>) {
    for kind in others(&situation.rooms, guest) {
        let free = situation.rooms.free(&kind.parts, guest.nights);
        if free < guest.quantity {
            continue;
        }
        let cost = per_night(situation, guest, situation.policy.upgrade_per_night_minor);
        let home = situation.rooms.plain(guest.room_type);
        let smaller = match home.is_some_and(|home| kind.is_smaller_than(home)) {
            true => " It takes fewer guests than the one that was booked: ask the guest first.",
            false => "",
        };
        let words = format!(
            "Put reservation {} into a room of type {}: {free} free on every night {}.{smaller}",
            guest.number,
            kind.code,
            spoken(guest.nights)
        );
        found.push(WayOut {
            moves: vec![(guest.clone(), Some(kind.code.clone()))],
            ..way(situation, Ending::Upgrade, Some(cost), words)
        });
    }
}

/// The types that a guest fits into and does not have, that take nothing of what is short.
fn others<'a>(rooms: &'a Rooms, guest: &'a Sleeper) -> impl Iterator<Item = &'a TypeFacts> {
    let takes_it = |kind: &TypeFacts| kind.parts.iter().any(|part| part.0 == guest.room_type);
    let (kinds, home) = (rooms.types.iter(), rooms.plain(guest.room_type));
    kinds.filter(move |kind| !takes_it(kind) && kind.fits(guest.heads, home))
}

/// A guest of another type whose nights are free in the oversold type once the first has left it
/// makes room for him where he is.
pub(super) fn swaps(situation: &Situation<'_>, guest: &Sleeper, found: &mut Vec<WayOut>) {
    let rooms = &situation.rooms;
    let mut left = rooms.clone();
    left.shift(guest.room_type, guest.nights, -guest.quantity);
    let own = vec![(guest.room_type, 1)];
    let home = rooms.plain(guest.room_type);
    let candidates = situation.others.iter().filter(|other| {
        !other.in_house
            && other.quantity == guest.quantity
            && other.reservation != guest.reservation
            && home.is_some_and(|home| home.fits(other.heads, rooms.plain(other.room_type)))
    });
    for other in candidates.take(SWAPS_LOOKED_AT) {
        let plain = vec![(other.room_type, 1)];
        let kind = others(rooms, guest).find(|kind| kind.parts == plain);
        let (Some(kind), Some(home)) = (kind, home) else {
            continue;
        };
        if rooms.free(&plain, guest.nights) >= guest.quantity {
            continue;
        }
        let mut after = left.clone();
        after.shift(other.room_type, other.nights, -other.quantity);
        let gets = after.free(&plain, guest.nights) >= guest.quantity
            && after.free(&own, other.nights) >= other.quantity;
        if !gets {
            continue;
        }
        let cost = per_night(situation, guest, situation.policy.upgrade_per_night_minor);
        let words = format!(
            "Let reservations {} and {} change their types: {} gets {} and {} gets {}, each for \
             the whole stay.",
            guest.number, other.number, guest.number, kind.code, other.number, home.code
        );
        found.push(WayOut {
            moves: vec![
                (guest.clone(), Some(kind.code.clone())),
                (other.clone(), Some(home.code.clone())),
            ],
            ..way(situation, Ending::Swap, Some(cost), words)
        });
        return;
    }
}

/// Guests of other types that are tried for a swap.
const SWAPS_LOOKED_AT: usize = 200;
