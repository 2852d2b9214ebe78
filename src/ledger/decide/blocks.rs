//! Blocks of physical rooms, with what they count on the nights of their type.
//!
//! # Why
//!
//! A night has one number `out_of_order`. Staff state it as a total; a block adds its room to it
//! when it is made and takes it away when it ends, so the number that staff see is always the one
//! that counts. What staff stated by hand is the number less the blocked rooms. A block never
//! brings it above the physical count nor, when it ends, below 0: a total stated below the blocked
//! rooms is believed.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use keyrack_model::id::{PropertyId, RoomId, RoomTypeId};
use keyrack_model::inventory::{NightBalance, Pool};
use keyrack_model::stay::{StayDate, StayRange, ranges};

use super::capacity::shifts;
use super::draft::Draft;
use super::refusal::Refusal;
use super::revise::TypeNight;
use crate::command::{Answer, Block, Receipt};

/// A physical room as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRoom {
    /// Its id.
    pub id: RoomId,
    /// Of which type it is.
    pub room_type: RoomTypeId,
    /// Counts as a room of its type.
    pub is_active: bool,
    /// Counts changes.
    pub version: i64,
    /// Stays in which it is blocked.
    pub blocks: Vec<Block>,
    /// Stays in which a guest has it, with the number of the reservation.
    pub guests: Vec<(StayRange, i64)>,
}

/// The new blocks of a room, and what the decision rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockChange {
    /// The room with its blocks and its version after the change.
    pub room: SeenRoom,
    /// The version that was read.
    pub version_read: i64,
    /// Nights that were not there: they count their blocks when they are born, so they must still
    /// not be there.
    pub unborn: Vec<StayRange>,
}

impl Draft {
    /// A room by its code, with the changes so far.
    fn room(&self, property: PropertyId, code: &str) -> Option<&SeenRoom> {
        self.seen.rooms.get(&(property, code.to_owned()))
    }

    /// A night with the changes so far, where it is there: one that is not is left unborn.
    fn born(&self, property: PropertyId, (room_type, night): TypeNight) -> Option<NightBalance> {
        let seen = self.seen.nights.get(&(property, room_type, night))?;
        Some(seen.balance)
    }

    /// Puts the new blocks of a room down.
    fn put_blocks(&mut self, property: PropertyId, code: &str, change: BlockChange) {
        let key = (property, code.to_owned());
        self.seen.rooms.insert(key, change.room.clone());
        match self.blocks.entry((property, change.room.id)) {
            Entry::Vacant(entry) => _ = entry.insert(change),
            Entry::Occupied(mut entry) => {
                let kept = entry.get_mut();
                kept.room = change.room;
                kept.unborn.extend(change.unborn);
            }
        }
    }
}

/// Puts blocks in place of those that the room has. What is past has been counted.
pub fn set_blocks(draft: &mut Draft, property: PropertyId, code: &str, blocks: &[Block]) -> Answer {
    let Some(known) = draft.room(property, code).cloned() else {
        return Err(Refusal::NotFound("room".to_owned()));
    };
    let taken = taken_by(&known, blocks);
    if !taken.is_empty() {
        return Err(room_is_taken(&taken));
    }
    let mut blocks = blocks.to_vec();
    blocks.sort_by_key(|block| block.nights.arrival());
    if blocks == known.blocks {
        return Ok(told("repeated", Vec::new()));
    }
    let today = draft.rules(property).business_day(draft.now());
    let mut unborn = Vec::new();
    let mut out = BTreeMap::new();
    let counts = shifted(&known, &blocks);
    for (night, by) in counts.into_iter().filter(|(night, _)| *night >= today) {
        match draft.born(property, (known.room_type, night)) {
            Some(balance) => _ = out.insert(night, possible(&balance, by)),
            None => unborn.push(night),
        }
    }
    let moved = shifts(known.room_type, &out, Pool::Free, Pool::OutOfOrder);
    for m in &moved {
        draft.carry_out(property, m);
    }
    let nights = moved.iter().map(|m| (m.room_type, m.nights)).collect();
    let reason = Some(format!("blocks of room {code}"));
    draft.write(property, None, "blocks_set", moved, reason);
    let change = BlockChange {
        version_read: known.version,
        room: SeenRoom {
            version: known.version + 1,
            blocks,
            ..known
        },
        unborn: ranges(unborn),
    };
    draft.put_blocks(property, code, change);
    Ok(told("blocks_set", nights))
}

/// Nights on which the room is no longer blocked (-1) or newly is (1); none where it counts
/// nothing.
pub fn shifted(known: &SeenRoom, blocks: &[Block]) -> BTreeMap<StayDate, i32> {
    let mut shifts = BTreeMap::new();
    for (blocks, by) in [(known.blocks.as_slice(), -1), (blocks, 1)] {
        let nights = blocks.iter().flat_map(|block| block.nights.nights());
        for night in nights.filter(|_| known.is_active) {
            *shifts.entry(night).or_default() += by;
        }
    }
    shifts.retain(|_, by| *by != 0);
    shifts
}

/// So much of a shift as the night can bear.
fn possible(balance: &NightBalance, by: i32) -> i32 {
    if by > 0 {
        by.min(balance.physical - balance.out_of_order).max(0)
    } else {
        by.max(-balance.out_of_order)
    }
}

/// Numbers of the reservations that have the room in one of the blocks.
fn taken_by(known: &SeenRoom, blocks: &[Block]) -> BTreeSet<i64> {
    let meets = |stay: &StayRange| {
        let mut blocks = blocks.iter();
        blocks.any(|block| block.nights.intersection(*stay).is_some())
    };
    let guests = known.guests.iter().filter(|(stay, _)| meets(stay));
    guests.map(|(_, number)| *number).collect()
}

/// The refusal to block a room that somebody has; nobody is named where it was taken just now.
pub fn room_is_taken(by: &BTreeSet<i64>) -> Refusal {
    let numbers: Vec<String> = by.iter().map(i64::to_string).collect();
    let sentence = if numbers.is_empty() {
        "somebody has taken the room in this stay just now".to_owned()
    } else {
        format!("the room is taken by reservation {}", numbers.join(", "))
    };
    Refusal::invalid("/blocks", sentence)
}

fn told(did: &str, nights: Vec<(RoomTypeId, StayRange)>) -> Receipt {
    Receipt {
        reservation: None,
        did: did.to_owned(),
        nights,
        short: Vec::new(),
        is_replay: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn night(physical: i32, out_of_order: i32) -> NightBalance {
        NightBalance {
            physical,
            out_of_order,
            ..NightBalance::default()
        }
    }

    #[test]
    fn a_block_counts_within_the_rooms_that_there_are() {
        for (physical, out_of_order, by, expected) in [
            (3, 1, 1, 1),
            (3, 3, 1, 0),
            (1, 2, 1, 0),
            (3, 1, -1, -1),
            (3, 0, -1, 0),
            (1, 2, -1, -1),
        ] {
            assert_eq!(
                possible(&night(physical, out_of_order), by),
                expected,
                "{physical} {out_of_order} {by}"
            );
        }
    }
}
