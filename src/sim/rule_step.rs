//! Steps that set rules of pools and of what is told, in abstract ids.

use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_ledger::decide::pool_rule::{PoolRule, Scarcity};
use keyrack_model::channel::PoolMode;
use keyrack_model::stay::{Stay, Weekdays};
use serde::{Deserialize, Serialize};

use crate::ids::Ids;
use crate::pool_step::stay;

/// A rule that switches the pool of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// Whose.
    pub account: usize,
    /// On which nights of which types.
    pub on: On,
    /// How it sells then.
    pub mode: PoolMode,
    /// Only from so many free rooms on, until so many.
    pub scarce: Option<(i32, i32)>,
}

/// A rule that keeps rooms back from what is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepsBack {
    /// Only from this account.
    pub account: Option<usize>,
    /// On which nights of which types.
    pub on: On,
    /// So many days ahead at least, and at most.
    pub lead: (Option<i32>, Option<i32>),
    /// What it does.
    pub kind: Keep,
    /// Rooms, or hundredths.
    pub number: i32,
}

/// Which nights of which types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct On {
    /// Only of this type.
    pub room_type: Option<usize>,
    /// Only from this night on, so many: an offset from night 0.
    pub nights: Option<(i32, i32)>,
    /// Bits of the weekdays, Monday lowest.
    pub weekdays: u8,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// Tells so many fewer.
    Back,
    /// Tells 0 when so many or fewer are left.
    CloseAt,
    /// Tells so many at most.
    Cap,
    /// Tells so many of a hundred.
    SharePercent,
    /// Tells as many fewer as could be sold on stale numbers.
    Safety,
}

impl On {
    fn nights(&self, property: usize, ids: &Ids) -> Option<Stay> {
        self.nights.map(|nights| stay(ids, property, nights))
    }
}

impl Switches {
    /// As a ledger knows it.
    pub fn rule(&self, property: usize, ids: &Ids) -> PoolRule {
        PoolRule {
            account: ids.property(property).accounts[self.account],
            room_type: self.on.room_type.map(|of| ids.room_type(property, of)),
            nights: self.on.nights(property, ids),
            weekdays: Weekdays::from_bits(self.on.weekdays),
            mode: self.mode,
            scarcity: self
                .scarce
                .map(|(at_most, again_at)| Scarcity { at_most, again_at }),
        }
    }
}

impl KeepsBack {
    /// As a ledger knows it.
    pub(crate) fn rule(&self, property: usize, ids: &Ids) -> BufferRule {
        let account = self.account.map(|at| ids.property(property).accounts[at]);
        BufferRule {
            account,
            room_type: self.on.room_type.map(|of| ids.room_type(property, of)),
            nights: self.on.nights(property, ids),
            weekdays: Weekdays::from_bits(self.on.weekdays),
            lead_days_min: self.lead.0,
            lead_days_max: self.lead.1,
            kind: match self.kind {
                Keep::Back => BufferKind::KeepBack(self.number),
                Keep::CloseAt => BufferKind::CloseAt(self.number),
                Keep::Cap => BufferKind::Cap(self.number),
                Keep::SharePercent => BufferKind::SharePercent(self.number),
                Keep::Safety => BufferKind::Safety(self.number),
            },
        }
    }
}
