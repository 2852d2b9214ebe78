//! Wishes: a new reservation, a change by staff. Refused, or all of it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use keyrack_ledger::command::{Forced, Modification, Wish, WishedRoom};
use keyrack_ledger::decide::refusal::Force;
use keyrack_model::reservation::{RevisionKind, Source, Status};
use keyrack_model::stay::plus_days;

use super::entry::{Cell, Entry, Room, Rooms, nights};
use super::expected::Expected;
use super::hold::{changed, end, read, unchanged};
use super::house::{House, Known};

fn may(force: Option<&Forced>, what: Force) -> bool {
    force.is_some_and(|force| force.allow.contains(&what))
}

fn is_invalid(house: &House, rooms: &[WishedRoom]) -> bool {
    let wrong = |room: &WishedRoom| {
        !(1..=500).contains(&room.quantity) || !house.rules.types.contains_key(&room.room_type)
    };
    rooms.is_empty() || rooms.iter().any(wrong)
}

/// Whether these nights may be entered: not the past, not before the opening, not beyond the
/// horizon.
fn admit(
    house: &House,
    entered: &BTreeSet<Cell>,
    force: Option<&Forced>,
    now: Timestamp,
) -> Option<Expected> {
    let rules = &house.rules;
    let today = rules.today(now);
    let of = |is_so: &dyn Fn(&Cell) -> bool| -> BTreeSet<Cell> {
        entered.iter().filter(|cell| is_so(cell)).copied().collect()
    };
    let past = of(&|cell| cell.1 < today);
    if !past.is_empty() && !may(force, Force::Past) {
        return Some(Expected::needs(Force::Past, past));
    }
    let horizon = plus_days(today, rules.horizon_days);
    let is_early = |cell: &Cell| cell.1 >= today && rules.bookable_from.is_some_and(|o| cell.1 < o);
    let shut = of(&|cell| cell.1 >= horizon || is_early(cell));
    if !shut.is_empty() && !may(force, Force::Closed) {
        return Some(Expected::no_on("not_yet_open", shut));
    }
    None
}

fn has_rooms(
    house: &House,
    asked: &Rooms,
    force: Option<&Forced>,
    now: Timestamp,
) -> Option<Expected> {
    let short = house.short(asked, now);
    let refused = !short.is_empty() && !may(force, Force::Oversell);
    refused.then(|| Expected::no_on("sold_out", short))
}

/// A new reservation.
pub fn request(house: &mut House, wish: &Wish, now: Timestamp) -> Expected {
    if house.entries.contains_key(&wish.reservation) {
        // Asked again after a broken connection.
        return unchanged(house, wish.reservation);
    }
    let is_known = wish
        .channel
        .as_ref()
        .is_some_and(|key| house.references.contains_key(key));
    if is_invalid(house, &wish.rooms) || is_known {
        return Expected::no("invalid");
    }
    let force = wish.force.as_ref();
    let mut hold = None;
    if let Some(until) = wish.hold {
        let types = wish.rooms.iter().map(|room| room.room_type);
        let default = house.rules.hold_seconds(wish.source, types);
        let Some(until) = end(until, default, now) else {
            return Expected::no("invalid");
        };
        hold = Some((until, house.rules.dead_at(until)));
    }
    let rooms: Vec<Room> = (1..)
        .zip(&wish.rooms)
        .map(|(id, room)| Room::wished(id, room))
        .collect();
    let cells = |room: &WishedRoom| {
        let room_type = room.room_type;
        let each = nights(room.stay.arrival(), room.stay.departure());
        each.map(move |night| (room_type, night))
    };
    let entered = wish.rooms.iter().flat_map(cells).collect();
    if let Some(no) = admit(house, &entered, force, now) {
        return no;
    }
    let asked = house.rules.taken(rooms.iter());
    if let Some(no) = has_rooms(house, &asked, force, now) {
        return no;
    }
    if let Some(key) = &wish.channel {
        let known = Known {
            reservation: Some(wish.reservation),
            order: None,
            kind: RevisionKind::New,
            hash: String::new(),
            is_cancelled: false,
        };
        house.references.insert(key.clone(), known);
    }
    let entry = Entry {
        status: if hold.is_some() {
            Status::Held
        } else {
            Status::Confirmed
        },
        version: 0,
        source: wish.source,
        channel: wish.channel.clone(),
        hold,
        extensions: 0,
        payment: wish.payment_reference.clone(),
        guaranteed: wish.guaranteed || wish.payment_reference.is_some(),
        refunds: Vec::new(),
        keeps_nights: false,
        successor_of: None,
        undo: None,
        rooms,
    };
    changed(house, wish.reservation, entry, now)
}

/// A change by staff: the new nights are had, or the old stand untouched.
pub fn modify(house: &mut House, change: &Modification, now: Timestamp) -> Expected {
    let entry = match read(house, change.reservation, Some(change.version)) {
        Ok(entry) => entry,
        Err(no) => return no,
    };
    let Some(wished) = &change.rooms else {
        return changed(house, change.reservation, entry, now);
    };
    if entry.source == Source::Channel && !change.told_channel {
        return Expected::no("invalid");
    }
    if entry.is_unswept(now) {
        return Expected::no("hold_expired");
    }
    if !matches!(
        entry.status,
        Status::Held | Status::Confirmed | Status::CheckedIn
    ) {
        return Expected::no("illegal_transition");
    }
    let named = wished
        .iter()
        .filter_map(|room| room.room_stay.map(|id| id.0));
    let named: Vec<i32> = named.collect();
    let is_present = |id: &i32| entry.present().any(|room| room.id == *id);
    let is_twice = named.iter().collect::<BTreeSet<_>>().len() < named.len();
    if is_invalid(house, wished) || is_twice || !named.iter().all(is_present) {
        return Expected::no("invalid");
    }
    let (after, entered) = with_rooms(&entry, wished);
    let force = change.force.as_ref();
    if let Some(no) = admit(house, &entered, force, now) {
        return no;
    }
    let mut asked = house.rules.taken(after.rooms.iter());
    for (cell, rooms) in house.rules.taken(entry.rooms.iter()) {
        *asked.entry(cell).or_insert(0) -= rooms;
    }
    if let Some(no) = has_rooms(house, &asked, force, now) {
        return no;
    }
    changed(house, change.reservation, after, now)
}

/// The entry with the new list of rooms, and the nights that a room enters: those that it did not
/// take before, or not with so many rooms, or not in this type.
fn with_rooms(entry: &Entry, wished: &[WishedRoom]) -> (Entry, BTreeSet<Cell>) {
    let mut after = entry.clone();
    let mut entered = BTreeSet::new();
    let mut next = entry.next_room();
    let mut kept: Vec<i32> = Vec::new();
    for wish in wished {
        let known = wish.room_stay.map(|id| id.0);
        let at = after.rooms.iter().position(|room| Some(room.id) == known);
        let mut room = Room::wished(known.unwrap_or(next), wish);
        next += i32::from(known.is_none());
        let old = at.map(|at| after.rooms[at].clone());
        for night in nights(room.arrival, room.departure) {
            let had = old.as_ref().is_some_and(|old| {
                old.room_type == room.room_type
                    && old.quantity >= room.quantity
                    && old.from <= night
                    && night < old.until
            });
            if !had {
                entered.insert((wish.room_type, night));
            }
        }
        kept.push(room.id);
        match (at, old) {
            (Some(at), Some(old)) => {
                if (old.arrival, old.departure) == (room.arrival, room.departure) {
                    // What both have is left alone, also a night that an overdue guest takes.
                    (room.from, room.until, room.before) = (old.from, old.until, old.before);
                }
                room.told = old.told;
                after.rooms[at] = room;
            }
            _ => after.rooms.push(room),
        }
    }
    for room in &mut after.rooms {
        room.is_gone |= !kept.contains(&room.id);
    }
    (after, entered)
}
