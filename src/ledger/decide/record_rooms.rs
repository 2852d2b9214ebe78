//! The rooms of a fact: what the channel booked beside what is, and how a revision moves the
//! latter.

use std::collections::{BTreeMap, HashMap, VecDeque};

use keyrack_model::id::{RoomStayId, RoomTypeId};
use keyrack_model::reservation::{GuestName, ReportedRoom, ReservationRevision, RevisionRoom};
use keyrack_model::stay::{Stay, StayDate, plus_days};

use super::rules::Rules;
use super::state::{Booked, RoomStay};

/// Which nights of a fact make sense: the others are recorded and not taken.
#[derive(Clone, Copy, Debug)]
pub struct Clip {
    /// The business day.
    pub today: StayDate,
    from: StayDate,
    until: StayDate,
}

impl Clip {
    /// From somewhat before the business day to somewhat beyond the longest horizon.
    pub fn around(today: StayDate) -> Self {
        Self {
            today,
            from: plus_days(today, -400),
            until: plus_days(today, 2_200),
        }
    }

    fn taken(self, arrival: StayDate, departure: StayDate) -> (StayDate, StayDate) {
        let (from, until) = (arrival.max(self.from), departure.min(self.until));
        match Stay::new(from, until) {
            Some(stay) => (stay.arrival(), stay.departure()),
            None => (arrival, arrival),
        }
    }

    /// No nights, or nights that make no sense.
    pub fn is_odd(self, told: &ReportedRoom) -> bool {
        match (told.arrival, told.departure) {
            (Some(arrival), Some(departure)) => {
                arrival >= departure || self.taken(arrival, departure) != (arrival, departure)
            }
            _ => true,
        }
    }
}

/// Rooms that are new, with ids from `first`.
pub fn new_rooms(rules: &Rules, rooms: &[RevisionRoom], clip: Clip, first: i32) -> Vec<RoomStay> {
    (first..)
        .zip(rooms)
        .map(|(id, room)| new_room(rules, room, clip, RoomStayId(id)))
        .collect()
}

fn new_room(rules: &Rules, room: &RevisionRoom, clip: Clip, id: RoomStayId) -> RoomStay {
    let (arrival, departure) = dates(&room.told, clip);
    let (taken_from, taken_until) = clip.taken(arrival, departure);
    let parts = room
        .room_type
        .and_then(|id| rules.types.get(&id))
        .map(|t| &t.components);
    RoomStay {
        id,
        room_type: room.room_type,
        rate_plan: room.rate_plan,
        arrival,
        departure,
        taken_from,
        taken_until,
        quantity: room.told.quantity.max(1),
        is_given_back: false,
        components: parts.filter(|parts| !parts.is_empty()).cloned(),
        adults: room.told.adults,
        children_ages: room.told.children_ages.clone(),
        nightly: room.told.nightly.clone(),
        booked: Some(booked(room)),
    }
}

/// Arrival and departure that can be kept, also of a report that tells nonsense.
fn dates(told: &ReportedRoom, clip: Clip) -> (StayDate, StayDate) {
    let arrival = told.arrival.or(told.departure).unwrap_or(clip.today);
    (arrival, told.departure.unwrap_or(arrival).max(arrival))
}

fn booked(room: &RevisionRoom) -> Booked {
    Booked {
        room_key: room.told.room_key.clone(),
        room_code: room.told.room_code.clone(),
        rate_code: room.told.rate_code.clone(),
        // A fallback is no mapping: when the code is mapped the type must follow.
        room_type: room.room_type.filter(|_| !room.is_fallback),
        arrival: room.told.arrival,
        departure: room.told.departure,
        quantity: room.told.quantity.max(1),
        total: room.told.total,
    }
}

/// Applies the difference between what the channel said before and says now; says whether both the
/// channel and the desk had changed the same field. There the channel's dates win and the type
/// stays.
pub fn revise_rooms(
    rules: &Rules,
    rooms: &mut Vec<RoomStay>,
    revision: &ReservationRevision,
    clip: Clip,
) -> bool {
    let pairs = matched(rooms, &revision.rooms);
    let mut by_both = false;
    for (index, told) in &pairs {
        let told = &revision.rooms[*told];
        by_both |= revise_room(rules, &mut rooms[*index], told, clip);
    }
    if revision.is_snapshot {
        for (index, room) in rooms.iter_mut().enumerate() {
            if room.booked.is_some() && !pairs.iter().any(|(known, _)| *known == index) {
                room.is_given_back = true;
            }
        }
    }
    let is_new = |index: usize| !pairs.iter().any(|(_, told)| *told == index);
    let new: Vec<RevisionRoom> = revision
        .rooms
        .iter()
        .enumerate()
        .filter(|(index, _)| is_new(*index))
        .map(|(_, room)| room.clone())
        .collect();
    let first = rooms.iter().map(|room| room.id.0).max().unwrap_or(0) + 1;
    rooms.extend(new_rooms(rules, &new, clip, first));
    by_both
}

/// Pairs of present room and told room: by the channel's key where both have one, else by code,
/// else in order.
fn matched(rooms: &[RoomStay], told: &[RevisionRoom]) -> Vec<(usize, usize)> {
    let mut open = Open::of(rooms);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut left: Vec<usize> = (0..told.len()).collect();
    for by in [By::Key, By::Code, By::Order] {
        left.retain(|at| match open.take(by, &told[*at]) {
            Some(room) => {
                pairs.push((room, *at));
                false
            }
            None => true,
        });
    }
    pairs
}

/// How a told room finds the one that is meant.
#[derive(Clone, Copy)]
enum By {
    Key,
    Code,
    Order,
}

/// Present rooms that no told room has taken yet, each in every queue that it may be taken from: a
/// message names a thousand rooms, and each is looked at a few times only.
struct Open<'a> {
    is_taken: Vec<bool>,
    by_key: HashMap<&'a str, VecDeque<usize>>,
    by_code: HashMap<&'a str, VecDeque<usize>>,
    keyless_by_code: HashMap<&'a str, VecDeque<usize>>,
    in_order: VecDeque<usize>,
}

impl<'a> Open<'a> {
    fn of(rooms: &'a [RoomStay]) -> Self {
        let mut open = Self {
            is_taken: vec![false; rooms.len()],
            by_key: HashMap::new(),
            by_code: HashMap::new(),
            keyless_by_code: HashMap::new(),
            in_order: VecDeque::new(),
        };
        // What staff typed from the channel's e-mail has no words of the channel yet. Later, a room
        // that the desk has added is none of the channel's.
        let is_typed = rooms.iter().all(|room| room.booked.is_none());
        let present = rooms.iter().enumerate();
        for (at, room) in present.filter(|(_, room)| !room.is_given_back) {
            if is_typed {
                open.in_order.push_back(at);
            }
            let Some(booked) = &room.booked else { continue };
            let code = booked.room_code.as_str();
            open.by_code.entry(code).or_default().push_back(at);
            match booked.room_key.as_deref() {
                Some(key) => open.by_key.entry(key).or_default().push_back(at),
                None => {
                    let keyless = open.keyless_by_code.entry(code).or_default();
                    keyless.push_back(at);
                }
            }
        }
        open
    }

    fn take(&mut self, by: By, told: &RevisionRoom) -> Option<usize> {
        let code = told.told.room_code.as_str();
        let queue = match (by, told.told.room_key.as_deref()) {
            (By::Key, key) => self.by_key.get_mut(key?)?,
            (By::Code, Some(_)) => self.keyless_by_code.get_mut(code)?,
            (By::Code, None) => self.by_code.get_mut(code)?,
            (By::Order, _) => &mut self.in_order,
        };
        let first = std::iter::from_fn(|| queue.pop_front()).find(|at| !self.is_taken[*at])?;
        self.is_taken[first] = true;
        Some(first)
    }
}

/// Sets the types that the codes of a revision mean, where no mapping knew them; says whether there
/// was one.
pub fn map_rooms(rules: &Rules, rooms: &mut [RoomStay], revision: &ReservationRevision) -> bool {
    let mut any = false;
    for (index, told) in matched(rooms, &revision.rooms) {
        let (room, told) = (&mut rooms[index], &revision.rooms[told]);
        let Some(known) = &mut room.booked else {
            continue;
        };
        if known.room_type.is_none() && known.room_code == told.told.room_code {
            known.room_type = told.room_type;
            set_type(rules, room, told.room_type);
            any = true;
        }
    }
    any
}

fn set_type(rules: &Rules, room: &mut RoomStay, room_type: Option<RoomTypeId>) {
    room.room_type = room_type;
    let parts = room_type
        .and_then(|id| rules.types.get(&id))
        .map(|t| &t.components);
    room.components = parts.filter(|parts| !parts.is_empty()).cloned();
}

fn revise_room(rules: &Rules, room: &mut RoomStay, new: &RevisionRoom, clip: Clip) -> bool {
    let was = room.booked.clone().unwrap_or_else(|| Booked {
        room_key: None,
        room_code: String::new(),
        rate_code: None,
        room_type: room.room_type,
        arrival: Some(room.arrival),
        departure: Some(room.departure),
        quantity: room.quantity,
        total: None,
    });
    let is = booked(new);
    let mut by_both = false;
    if (is.arrival, is.departure) != (was.arrival, was.departure) {
        let desk = Some(room.arrival) != was.arrival || Some(room.departure) != was.departure;
        by_both |= desk;
        (room.arrival, room.departure) = dates(&new.told, clip);
        (room.taken_from, room.taken_until) = clip.taken(room.arrival, room.departure);
    }
    if is.room_type != was.room_type || room.room_type.is_none() {
        // Unmapped or on its fallback before: nobody at the desk chose that type.
        let desk = was.room_type.is_some() && room.room_type != was.room_type;
        by_both |= desk;
        if !desk {
            set_type(rules, room, new.room_type);
        }
    }
    if is.quantity != was.quantity {
        by_both |= room.quantity != was.quantity;
        room.quantity = is.quantity;
    }
    if !new.told.nightly.is_empty() {
        room.nightly = new.told.nightly.clone();
    }
    room.rate_plan = new.rate_plan.or(room.rate_plan);
    room.adults = new.told.adults.or(room.adults);
    if !new.told.children_ages.is_empty() {
        room.children_ages = new.told.children_ages.clone();
    }
    room.booked = Some(is);
    by_both
}

/// Nights that the channel gives back by itself when it cancels or changes these rooms, and that no
/// move of ours speaks of, since the desk had put the guest elsewhere.
pub fn reopened_there(rules: &Rules, rooms: &[RoomStay]) -> Vec<(RoomTypeId, Stay)> {
    let mut reopened = Vec::new();
    for room in rooms.iter().filter(|room| !room.is_given_back) {
        let Some(booked) = &room.booked else { continue };
        let (Some(room_type), Some(arrival), Some(departure)) =
            (booked.room_type, booked.arrival, booked.departure)
        else {
            continue;
        };
        let Some(stay) = Stay::new(arrival, departure) else {
            continue;
        };
        if room.room_type != Some(room_type) || room.taken() != Some(stay) {
            let parts = rules.parts(room_type).unwrap_or_default();
            reopened.extend(parts.into_iter().map(|(part, _)| (part, stay)));
        }
    }
    reopened
}

/// Names of who sleeps where, by the order of the rooms.
pub fn guest_names(rooms: &[RevisionRoom]) -> BTreeMap<i32, GuestName> {
    (1..)
        .zip(rooms)
        .filter_map(|(id, room)| Some((id, room.told.guest_name.clone()?)))
        .collect()
}
