//! The rooms of a fact: the difference between what the channel said before and says now is
//! applied to what is.

use keyrack_model::reservation::{ReservationRevision, RevisionRoom};
use keyrack_model::stay::StayDate;

use super::entry::{Entry, Room, Told};

/// A room that the channel tells for the first time. One without nights takes nothing.
pub fn room(id: i32, new: &RevisionRoom, today: StayDate) -> Room {
    let (arrival, departure) = dates(new, today);
    Room {
        id,
        room_type: new.room_type,
        arrival,
        departure,
        from: arrival,
        until: departure,
        quantity: new.told.quantity.max(1),
        is_gone: false,
        told: Some(told(new)),
        before: None,
    }
}

/// Dates that can be kept, also of a report that tells nonsense.
fn dates(new: &RevisionRoom, today: StayDate) -> (StayDate, StayDate) {
    let arrival = new.told.arrival.or(new.told.departure).unwrap_or(today);
    let departure = new.told.departure.unwrap_or(arrival);
    (arrival, departure.max(arrival))
}

fn told(new: &RevisionRoom) -> Told {
    Told {
        key: new.told.room_key.clone(),
        code: new.told.room_code.clone(),
        room_type: if new.is_fallback { None } else { new.room_type },
        arrival: new.told.arrival,
        departure: new.told.departure,
        quantity: new.told.quantity.max(1),
    }
}

/// Applies a revision to the rooms of an entry.
pub fn apply(entry: &mut Entry, revision: &ReservationRevision, today: StayDate) {
    let pairs = pairs(entry, revision);
    for (new, pair) in revision.rooms.iter().zip(&pairs) {
        if let Some(at) = pair {
            difference(&mut entry.rooms[*at], new, today);
        }
    }
    if revision.is_snapshot {
        for (at, room) in entry.rooms.iter_mut().enumerate() {
            room.is_gone |= room.told.is_some() && !pairs.contains(&Some(at));
        }
    }
    for (new, pair) in revision.rooms.iter().zip(&pairs) {
        if pair.is_none() {
            let id = entry.next_room();
            entry.rooms.push(room(id, new, today));
        }
    }
}

/// For each told room the present one that it speaks of: by key where both have one, else by code.
/// What staff typed from the channel's e-mail is matched in order, as long as the channel has said
/// nothing of it.
fn pairs(entry: &Entry, revision: &ReservationRevision) -> Vec<Option<usize>> {
    let mut pairs = vec![None; revision.rooms.len()];
    let is_typed = entry.rooms.iter().all(|room| room.told.is_none());
    for by in ["key", "code", "order"] {
        for (index, new) in revision.rooms.iter().enumerate() {
            let fits = |room: &Room| match (by, &room.told) {
                ("key", Some(told)) => told.key.is_some() && told.key == new.told.room_key,
                ("code", Some(told)) => {
                    (told.key.is_none() || new.told.room_key.is_none())
                        && told.code == new.told.room_code
                }
                ("order", None) => is_typed,
                _ => false,
            };
            if pairs[index].is_none() {
                pairs[index] = (0..entry.rooms.len()).find(|at| {
                    let room = &entry.rooms[*at];
                    !room.is_gone && !pairs.contains(&Some(*at)) && fits(room)
                });
            }
        }
    }
    pairs
}

/// What the channel changed, field by field: its dates win, a type that the desk chose stays.
fn difference(room: &mut Room, new: &RevisionRoom, today: StayDate) {
    let is = told(new);
    let was = room.told.clone().unwrap_or(Told {
        key: None,
        code: String::new(),
        room_type: room.room_type,
        arrival: Some(room.arrival),
        departure: Some(room.departure),
        quantity: room.quantity,
    });
    if (is.arrival, is.departure) != (was.arrival, was.departure) {
        let actual = (room.arrival, room.departure);
        (room.arrival, room.departure) = dates(new, today);
        (room.from, room.until) = (room.arrival, room.departure);
        if actual != (room.arrival, room.departure) {
            room.before = None;
        }
    }
    let desk_chose = was.room_type.is_some() && room.room_type != was.room_type;
    if is.room_type != was.room_type && !desk_chose || room.room_type.is_none() {
        room.room_type = new.room_type;
    }
    if is.quantity != was.quantity {
        room.quantity = is.quantity;
    }
    room.told = Some(is);
}

/// Sets the types that the codes of a revision mean, where they were not known; says whether there
/// was one.
pub fn only_map(entry: &mut Entry, revision: &ReservationRevision) -> bool {
    let pairs = pairs(entry, revision);
    let mut any = false;
    for (new, pair) in revision.rooms.iter().zip(pairs) {
        let Some(room) = pair.map(|at| &mut entry.rooms[at]) else {
            continue;
        };
        let Some(told) = &mut room.told else { continue };
        if told.room_type.is_none() && told.code == new.told.room_code {
            told.room_type = new.room_type;
            room.room_type = new.room_type;
            any = true;
        }
    }
    any
}
