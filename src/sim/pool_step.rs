//! Steps on pools, in abstract ids, and what they mean to a ledger.

use keyrack_ledger::command::Command;
use keyrack_ledger::decide::allotment::{AgreedRooms, Agreement, Allotment, Owner};
use keyrack_ledger::decide::refusal::Force;
use keyrack_model::allotment::Release;
use keyrack_model::id::AllotmentId;
use keyrack_model::stay::{Stay, Weekdays, plus_days};
use serde::{Deserialize, Serialize};

use crate::command::force;
use crate::ids::Ids;
use crate::pool_shape::OwnerShape;
use crate::step::Read;

/// Rooms are agreed, or given back: from today on these, and no others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agree {
    /// Which house.
    pub property: usize,
    /// Which of its allotments.
    pub allotment: usize,
    /// What is agreed: a later one overrides an earlier.
    pub values: Vec<Kept>,
    /// Days before the stay date at which it falls back.
    pub release_days: i32,
    /// The day on which all of it falls back, as an offset from night 0.
    pub cut_off: Option<i32>,
    /// What is forced; empty forces nothing.
    pub force: Vec<Force>,
    /// Only asks what would happen.
    pub dry_run: bool,
    /// As read when.
    pub version: Read,
}

/// Rooms that are kept over some nights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The first, as an offset from night 0.
    pub from: i32,
    /// How many nights, at least 1.
    pub count: i32,
    /// Bits of the weekdays, Monday lowest.
    pub weekdays: u8,
    /// Rooms.
    pub rooms: i32,
}

impl Agree {
    /// As a command; `None` where no such allotment is.
    pub(crate) fn command(&self, ids: &Ids) -> Option<Command> {
        let shape = ids.shape(self.property);
        let known = shape.pools.allotments.get(self.allotment)?;
        let property = ids.property(self.property);
        let allotment = property.allotments[self.allotment];
        let owner = match known.owner {
            OwnerShape::Account(at) => Owner::Account(property.accounts[at]),
            OwnerShape::Group => Owner::Group(property.group),
        };
        let night = |offset| ids.night(self.property, offset);
        let values = self.values.iter().map(|kept| AgreedRooms {
            nights: stay(ids, self.property, (kept.from, kept.count)),
            weekdays: Weekdays::from_bits(kept.weekdays),
            rooms: kept.rooms,
        });
        let all = shape.born();
        Some(Command::Agree(Box::new(Agreement {
            allotment,
            terms: Allotment {
                code: known.code.clone(),
                owner,
                room_type: property.types[known.room_type],
                release: Release {
                    period_days: self.release_days,
                    cut_off: self.cut_off.map(night),
                },
                group_cut_off: match known.owner {
                    OwnerShape::Group => shape.pools.group_cut_off.map(night),
                    OwnerShape::Account(_) => None,
                },
                is_orphan: false,
                version: ids.agreed(allotment, self.version),
            },
            nights: Stay::new(night(all.start), night(all.end + 40)),
            values: values.collect(),
            force: force(&self.force),
            dry_run: self.dry_run,
        })))
    }
}

/// Some nights of a property.
pub(crate) fn stay(ids: &Ids, property: usize, (from, count): (i32, i32)) -> Stay {
    let from = ids.night(property, from);
    let stay = Stay::new(from, plus_days(from, count.max(1)));
    stay.expect("the end is after the beginning")
}

/// A worker lets go what is due of an allotment; `None` where no such allotment is.
pub(crate) fn release(
    property: usize,
    allotment: usize,
    nights: (i32, i32),
    ids: &Ids,
) -> Option<Command> {
    let allotment: AllotmentId = *ids.property(property).allotments.get(allotment)?;
    Some(Command::ReleaseAllotment {
        allotment,
        nights: stay(ids, property, nights),
    })
}
