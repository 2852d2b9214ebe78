//! The pools of a property that a seed makes: groups, allotments, and how accounts sell.

use keyrack_model::channel::PoolMode;
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

/// An allotment, with nothing agreed yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AllotmentShape {
    /// Its code, unique within the property.
    pub code: String,
    /// Whose.
    pub owner: OwnerShape,
    /// Of which plain type.
    pub room_type: usize,
}

/// Whose an allotment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OwnerShape {
    /// An account's, by index.
    Account(usize),
    /// The group's.
    Group,
}

/// The pools of a property.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolShape {
    /// Its allotments.
    pub allotments: Vec<AllotmentShape>,
    /// Cut-off of its only group, as an offset from night 0; `None` where it has no cut-off.
    pub group_cut_off: Option<i32>,
    /// Accounts that do not sell a type from the shared pool alone: account, mode, and from which
    /// allotment, whose type it is.
    pub mapped: Vec<(usize, PoolMode, usize)>,
}

impl PoolShape {
    /// How an account sells a type, and from which allotment; `None` where from what is shared.
    pub fn mapping(&self, account: usize, room_type: usize) -> Option<(PoolMode, usize)> {
        let of_it = |(of, _, allotment): &&(usize, PoolMode, usize)| {
            *of == account && self.allotments[*allotment].room_type == room_type
        };
        let found = self.mapped.iter().find(of_it);
        found.map(|(_, mode, allotment)| (*mode, *allotment))
    }

    pub(crate) fn chosen(rng: &mut SmallRng, plain: usize, accounts: usize) -> Self {
        let mut pools = Self {
            group_cut_off: rng.random_bool(0.5).then(|| rng.random_range(1..8)),
            ..Self::default()
        };
        if rng.random_bool(0.3) {
            return pools;
        }
        for at in 0..rng.random_range(1..=3) {
            let owner = if rng.random_bool(0.7) {
                OwnerShape::Account(rng.random_range(0..accounts))
            } else {
                OwnerShape::Group
            };
            // Often of the same type: they quarrel about its rooms.
            let room_type = rng.random_range(0..plain.min(2));
            pools.allotments.push(AllotmentShape {
                code: format!("A{at}"),
                owner,
                room_type,
            });
            let modes = [
                PoolMode::Allotment,
                PoolMode::AllotmentThenShared,
                PoolMode::Shared,
            ];
            let mode = modes.choose(rng).copied().unwrap_or_default();
            if let OwnerShape::Account(account) = owner
                && mode != PoolMode::Shared
                && pools.mapping(account, room_type).is_none()
            {
                pools.mapped.push((account, mode, at));
            }
        }
        pools
    }
}
