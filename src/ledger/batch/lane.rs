//! What a command keeps to itself while it is decided and applied.
//!
//! Two batches never hold one lane, so that within a process hardly anybody is first on a row that
//! another rests on; where somebody is, here (who lets dead holds of other types go) or in another
//! process, the versions of the rows say so. A wish for rooms holds the types whose nights it
//! takes, a change of a reservation that is remembered those that it has and wishes, anything else
//! its whole property. A lane for every property alone left batches a third as full: whoever asks
//! next is seldom at a hotel that nobody is busy with.

use keyrack_model::id::{PropertyId, RoomTypeId};

use super::memory::Memory;
use super::proof::changed_by;
use crate::command::{Answer, Asked, Command, WishedRoom};
use crate::decide::rules::Rules;
use keyrack_model::id_map::{IdMap, IdSet};

/// What a command holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// All of a property.
    Whole(PropertyId),
    /// Nights of these types of it.
    Types(PropertyId, Vec<RoomTypeId>),
}

impl Lane {
    /// That of a command, by what is known of its reservation and of the rules of its property.
    /// What is out of date costs a second try and nothing else.
    pub(super) fn of(asked: &Asked, rules: Option<&Rules>, memory: &Memory) -> Self {
        match rules.and_then(|rules| types(asked, rules, memory)) {
            Some(mut types) => {
                types.sort_unstable();
                types.dedup();
                Self::Types(asked.property, types)
            }
            None => Self::Whole(asked.property),
        }
    }
}

/// The plain types whose nights a command may change, where that is known.
fn types(asked: &Asked, rules: &Rules, memory: &Memory) -> Option<Vec<RoomTypeId>> {
    let key = changed_by(asked)?;
    let (mut types, wished): (_, &[WishedRoom]) = match &asked.command {
        Command::Request(wish) => (Vec::new(), &wish.rooms),
        Command::Modify(change) => {
            let wished = change.rooms.as_deref().unwrap_or_default();
            (memory.types_of(key)?, wished)
        }
        _ => (memory.types_of(key)?, &[]),
    };
    for room in wished {
        types.extend(rules.parts(room.room_type)?.iter().map(|(part, _)| *part));
    }
    // Without any it would hold nothing, and two of them could meet.
    (!types.is_empty()).then_some(types)
}

/// Lanes that are held.
#[derive(Debug, Default)]
pub(crate) struct Held(IdMap<PropertyId, Part>);

#[derive(Debug)]
enum Part {
    Whole,
    Types(IdSet<RoomTypeId>),
}

impl Held {
    /// Whether the lane meets any of these.
    pub(super) fn meets(&self, lane: &Lane) -> bool {
        match lane {
            Lane::Whole(property) => self.0.contains_key(property),
            Lane::Types(property, types) => match self.0.get(property) {
                None => false,
                Some(Part::Whole) => true,
                Some(Part::Types(held)) => types.iter().any(|one| held.contains(one)),
            },
        }
    }

    pub(super) fn hold(&mut self, lane: &Lane) {
        match lane {
            Lane::Whole(property) => {
                self.0.insert(*property, Part::Whole);
            }
            Lane::Types(property, types) => {
                let part = self.0.entry(*property);
                let part = part.or_insert_with(|| Part::Types(IdSet::default()));
                if let Part::Types(held) = part {
                    held.extend(types);
                }
            }
        }
    }

    /// Holds all of that as well.
    pub(super) fn hold_all(&mut self, of: &Self) {
        for (property, part) in &of.0 {
            match part {
                Part::Whole => {
                    self.0.insert(*property, Part::Whole);
                }
                Part::Types(types) => {
                    let held = self.0.entry(*property);
                    let held = held.or_insert_with(|| Part::Types(IdSet::default()));
                    if let Part::Types(held) = held {
                        held.extend(types);
                    }
                }
            }
        }
    }

    /// Lets go what a batch held; nobody else held any of it.
    pub(super) fn free(&mut self, of: &Self) {
        for (property, part) in &of.0 {
            let is_free = match (self.0.get_mut(property), part) {
                (Some(Part::Types(held)), Part::Types(types)) => {
                    held.retain(|one| !types.contains(one));
                    held.is_empty()
                }
                _ => true,
            };
            if is_free {
                self.0.remove(property);
            }
        }
    }

    fn types(&self) -> impl Iterator<Item = (PropertyId, RoomTypeId)> {
        self.0.iter().flat_map(|(property, part)| {
            let types = match part {
                Part::Whole => None,
                Part::Types(types) => Some(types.iter()),
            };
            types.into_iter().flatten().map(|one| (*property, *one))
        })
    }
}

/// What the next batch may expect of a lane, by what the last one in it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    /// To write rows that others read: one batch at a time.
    #[default]
    Exclusive,
    /// To write nothing, as where all is sold: others may do so beside it. Where one writes
    /// nevertheless, the versions of the rows say so.
    Open,
}

impl Mood {
    /// By the answers to a batch.
    pub(super) fn after(answers: &[Answer]) -> Self {
        if answers.iter().all(Result::is_err) {
            Self::Open
        } else {
            Self::Exclusive
        }
    }
}

/// Of types of rooms; the others are exclusive.
#[derive(Default)]
pub(super) struct Moods(IdMap<(PropertyId, RoomTypeId), Mood>);

impl Moods {
    pub(super) fn of(&self, lane: &Lane) -> Mood {
        let Lane::Types(property, types) = lane else {
            return Mood::Exclusive;
        };
        let mut moods = types.iter().map(|one| self.0.get(&(*property, *one)));
        let first = moods.next().flatten().copied().unwrap_or_default();
        if moods.all(|mood| mood == Some(&first)) {
            first
        } else {
            Mood::Exclusive
        }
    }

    pub(super) fn set(&mut self, held: &Held, mood: Mood) {
        for of in held.types() {
            if mood == Mood::Exclusive {
                self.0.remove(&of);
            } else if self.0.len() < MOODS_MAX {
                self.0.insert(of, mood);
            }
        }
    }
}

/// Types whose mood is known at most; the others are exclusive.
const MOODS_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn types(property: i64, types: &[i64]) -> Lane {
        let types = types.iter().copied().map(RoomTypeId);
        Lane::Types(PropertyId(property), types.collect())
    }

    #[test]
    fn types_meet_their_like_and_a_whole_property_meets_all_of_it() {
        let whole = |property| Lane::Whole(PropertyId(property));
        let mut held = Held::default();
        assert!(!held.meets(&whole(1)));
        held.hold(&types(1, &[1, 2]));
        for (lane, meets) in [
            (types(1, &[2, 3]), true),
            (types(1, &[3]), false),
            (types(2, &[1]), false),
            (whole(1), true),
            (whole(2), false),
        ] {
            assert_eq!(held.meets(&lane), meets, "{lane:?}");
        }
        held.hold(&types(1, &[3]));
        let all = |lane: &Lane| {
            let mut all = Held::default();
            all.hold(lane);
            all
        };
        held.free(&all(&types(1, &[1, 2])));
        assert!(held.meets(&types(1, &[3])) && !held.meets(&types(1, &[1])));
        held.free(&all(&types(1, &[3])));
        assert!(!held.meets(&whole(1)));
        held.hold(&whole(2));
        assert!(held.meets(&types(2, &[9])));
        held.free(&all(&whole(2)));
        assert!(!held.meets(&types(2, &[9])));
    }
}
