//! Where the rooms of a reservation come from: its account's or its group's allotment, or the
//! shared pool. What a room has it keeps; what it no longer takes goes back to where it came from.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, AllotmentId, RoomTypeId};
use keyrack_model::stay::StayDate;

use super::entry::{Cell, Drawn, Entry, Room};
use super::house::{Dead, House};

/// From which allotments a room may come, in order, and whether from nowhere else.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// In order.
    pub from: Vec<AllotmentId>,
    /// Not from the shared pool.
    pub is_only: bool,
}

impl Source {
    /// What a room names, else how its account sells the night. With `may_pass` it may come from
    /// elsewhere as well.
    pub fn of_wish(
        named: Option<AllotmentId>,
        sold: Option<(PoolMode, AllotmentId)>,
        may_pass: bool,
    ) -> Self {
        let (from, is_only) = match (named, sold) {
            (Some(named), _) => (vec![named], true),
            (None, Some((PoolMode::Allotment, of))) => (vec![of], true),
            (None, Some((PoolMode::AllotmentThenShared, of))) => (vec![of], false),
            (None, Some((PoolMode::Shared, _)) | None) => (Vec::new(), false),
        };
        Self {
            from,
            is_only: is_only && !may_pass,
        }
    }

    /// A room that goes on comes from where it has rooms already, then from the shared pool.
    pub fn goes_on(before: &Entry, room: &Room) -> Self {
        let mut source = Self::default();
        for one in before.drawn.iter().filter(|one| one.room == room.id) {
            if Some(one.room_type) == room.room_type && !source.from.contains(&one.allotment) {
                source.from.push(one.allotment);
            }
        }
        source
    }
}

/// Whether a room takes a night as a room of a plain type that may be drawn.
fn takes(house: &House, room: &Room, room_type: RoomTypeId, night: StayDate) -> bool {
    let is_plain = house
        .rules
        .types
        .get(&room_type)
        .is_some_and(|t| t.is_plain);
    let in_range = room.from <= night && night < room.until;
    is_plain && !room.is_gone && room.room_type == Some(room_type) && in_range
}

/// What rooms no longer take they no longer have of an allotment. Of fewer rooms, those from the
/// shared pool go first.
pub fn settle(house: &House, entry: &mut Entry) {
    let mut left: BTreeMap<(i32, StayDate), i32> = BTreeMap::new();
    let Entry { rooms, drawn, .. } = entry;
    for one in drawn.iter_mut() {
        let room = rooms.iter().find(|room| room.id == one.room);
        let room = room.filter(|room| takes(house, room, one.room_type, one.night));
        let most = room.map_or(0, |room| room.quantity);
        let left = left.entry((one.room, one.night)).or_insert(most);
        one.rooms = one.rooms.min(*left);
        *left -= one.rooms;
    }
    drawn.retain(|one| one.rooms > 0);
}

/// Rooms that a room stay draws on a night.
fn drawn_on(entry: &Entry, room: i32, night: StayDate) -> i32 {
    let of_it = |one: &&Drawn| one.room == room && one.night == night;
    entry.drawn.iter().filter(of_it).map(|one| one.rooms).sum()
}

/// Rooms that a room stay had of the shared pool on a night.
fn shared_on(house: &House, before: &Entry, room: &Room, night: StayDate) -> i32 {
    let Some(room_type) = room.room_type else {
        return 0;
    };
    let old = before.rooms.iter().find(|old| old.id == room.id);
    let old = old.filter(|old| takes(house, old, room_type, night));
    old.map_or(0, |old| old.quantity - drawn_on(before, old.id, night))
}

/// How many rooms are drawn more than before, by allotment and night.
pub fn difference(before: Option<&Entry>, after: &Entry) -> BTreeMap<(AllotmentId, StayDate), i32> {
    let mut by = BTreeMap::new();
    for (sign, entry) in [(-1, before), (1, Some(after))] {
        for one in entry
            .into_iter()
            .filter(|e| e.takes())
            .flat_map(|e| &e.drawn)
        {
            *by.entry((one.allotment, one.night)).or_insert(0) += sign * one.rooms;
        }
    }
    by
}

/// Draws what the rooms newly take, as far as their sources reach; says on which nights a room that
/// may come from nowhere else found too little. Rooms of dead holds are there where `dead` says so.
pub fn draw(
    house: &House,
    before: Option<&Entry>,
    after: &mut Entry,
    dead: Option<&Dead>,
    source: &dyn Fn(&Room, StayDate) -> Source,
) -> BTreeSet<Cell> {
    let before = before.filter(|entry| entry.takes());
    settle(house, after);
    let mut short = BTreeSet::new();
    for room in after.rooms.clone() {
        let Some(room_type) = room.room_type else {
            continue;
        };
        for night in room.nights().filter(|n| takes(house, &room, room_type, *n)) {
            let kept = before.map_or(0, |entry| shared_on(house, entry, &room, night));
            let mut fresh = room.quantity - drawn_on(after, room.id, night);
            fresh -= kept.min(fresh);
            let source = source(&room, night);
            for allotment in source.from {
                let more = difference(before, after);
                let more = more.get(&(allotment, night)).copied().unwrap_or(0);
                let gone = dead.map_or(0, |dead| dead.drawn(allotment, night));
                let known = house.allotments.get(&allotment);
                let left = known.map_or(0, |a| a.night(night).with_taken(more - gone).left());
                let rooms = fresh.min(left);
                if rooms > 0 {
                    fresh -= rooms;
                    after.drawn.push(Drawn {
                        room: room.id,
                        allotment,
                        room_type,
                        night,
                        rooms,
                    });
                }
            }
            if fresh > 0 && source.is_only {
                short.insert((room_type, night));
            }
        }
    }
    short
}

/// A fact takes from the allotments of its account, that of its mapping first, then from what is
/// shared, whatever the mapping says.
pub fn of_account(house: &House, account: AccountId, room_type: RoomTypeId) -> Vec<AllotmentId> {
    let mapped = house.rules.mapped.get(&(account, room_type));
    let mut from: Vec<AllotmentId> = mapped.iter().map(|(_, id)| *id).collect();
    for (id, one) in &house.allotments {
        let is_its = one.account == Some(account) && one.room_type == room_type;
        if is_its && !from.contains(id) {
            from.push(*id);
        }
    }
    from
}

/// Draws what a reservation takes as a fact: from where its rooms were, then from the allotments of
/// its account.
pub fn draw_as_fact(house: &House, before: Option<&Entry>, after: &mut Entry, dead: &Dead) {
    let account = after.channel.as_ref().map(|(account, _)| *account);
    if before.is_none_or(|entry| !entry.takes()) {
        after.drawn.clear();
    }
    let source = |room: &Room, _| {
        let mut source = before.map_or_else(Source::default, |b| Source::goes_on(b, room));
        if let Some((account, room_type)) = account.zip(room.room_type) {
            for id in of_account(house, account, room_type) {
                if !source.from.contains(&id) {
                    source.from.push(id);
                }
            }
        }
        source
    };
    let dead = house.ignores_dead.then_some(dead);
    draw(house, before, after, dead, &source);
}
