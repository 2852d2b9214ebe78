//! Wishes: a new reservation, a change by staff. Refused, or all of it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use keyrack_ledger::command::{Forced, Modification, Wish, WishedRoom};
use keyrack_ledger::decide::refusal::Force;
use keyrack_model::id::AllotmentId;
use keyrack_model::reservation::{RevisionKind, Source, Status};
use keyrack_model::stay::{StayDate, plus_days};

use super::draw::{Source as From, draw};
use super::entry::{Cell, Entry, Room, nights};
use super::expected::Expected;
use super::hold::{changed, end, read, unchanged};
use super::house::{Dead, House, Known};

fn may(force: Option<&Forced>, what: Force) -> bool {
    force.is_some_and(|force| force.allow.contains(&what))
}

fn is_invalid(house: &House, rooms: &[WishedRoom]) -> bool {
    let is_named_wrong = |room: &WishedRoom| {
        let known = room.allotment.map(|id| house.allotments.get(&id));
        known.is_some_and(|known| known.is_none_or(|of| of.room_type != room.room_type))
    };
    let wrong = |room: &WishedRoom| {
        let is_known = house.rules.types.contains_key(&room.room_type);
        !(1..=500).contains(&room.quantity) || !is_known || is_named_wrong(room)
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

/// Draws what an entry newly takes, and looks whether the rest is free.
fn place(
    house: &House,
    before: Option<&Entry>,
    after: &Entry,
    (force, dead): (Option<&Forced>, (bool, &Dead)),
    source: &dyn Fn(&Room, StayDate) -> From,
) -> Result<Entry, Expected> {
    let mut after = after.clone();
    let (ignores_dead, dead) = dead;
    let exhausted = draw(
        house,
        before,
        &mut after,
        ignores_dead.then_some(dead),
        source,
    );
    if !exhausted.is_empty() {
        return Err(Expected::no_on("allotment_exhausted", exhausted));
    }
    let short = house.short(before, &after, dead);
    if !short.is_empty() && !may(force, Force::Oversell) {
        return Err(Expected::no_on("sold_out", short));
    }
    Ok(after)
}

/// The same once more without the dead holds, where rooms are wanting.
fn place_twice(
    house: &House,
    before: Option<&Entry>,
    after: &Entry,
    (force, now): (Option<&Forced>, Timestamp),
    source: &dyn Fn(&Room, StayDate) -> From,
) -> Result<Entry, Expected> {
    let dead = house.dead(now);
    let placed = |without| place(house, before, after, (force, (without, &dead)), source);
    if house.ignores_dead {
        return placed(true);
    }
    placed(false).or_else(|_| placed(true))
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
    let entry = blank(wish, hold, rooms);
    let source = |room: &Room, night| {
        let index = usize::try_from(room.id - 1).unwrap_or(usize::MAX);
        let named = wish.rooms.get(index).and_then(|wished| wished.allotment);
        let account = wish.channel.as_ref().map(|(account, _)| *account);
        let sold = account.zip(room.room_type);
        let sold = sold.and_then(|(account, of)| house.sells(account, (of, night)));
        From::of_wish(named, sold, may(force, Force::Allotment))
    };
    let entry = match place_twice(house, None, &entry, (force, now), &source) {
        Ok(entry) => entry,
        Err(no) => return no,
    };
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
    changed(house, wish.reservation, entry, now)
}

/// The reservation that a wish makes.
fn blank(wish: &Wish, hold: Option<(Timestamp, Timestamp)>, rooms: Vec<Room>) -> Entry {
    Entry {
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
        drawn: Vec::new(),
    }
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
    let (after, entered, called) = with_rooms(&entry, wished);
    let force = change.force.as_ref();
    if let Some(no) = admit(house, &entered, force, now) {
        return no;
    }
    // What names an allotment is drawn from it; all else from where the room is already.
    let source = |room: &Room, _| {
        let is_it = |(id, _): &&(i32, AllotmentId)| *id == room.id;
        match called.iter().find(is_it) {
            Some((_, named)) => From::of_wish(Some(*named), None, may(force, Force::Allotment)),
            None => From::goes_on(&entry, room),
        }
    };
    let after = match place_twice(house, Some(&entry), &after, (force, now), &source) {
        Ok(after) => after,
        Err(no) => return no,
    };
    changed(house, change.reservation, after, now)
}

/// The entry with the new list of rooms, and the nights that a room enters: those that it did not
/// take before, or not with so many rooms, or not in this type.
fn with_rooms(
    entry: &Entry,
    wished: &[WishedRoom],
) -> (Entry, BTreeSet<Cell>, Vec<(i32, AllotmentId)>) {
    let mut after = entry.clone();
    let mut called = Vec::new();
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
        called.extend(wish.allotment.map(|named| (room.id, named)));
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
    (after, entered, called)
}
