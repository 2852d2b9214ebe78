//! The rooms of a night, and their arithmetic.

use serde::{Deserialize, Serialize};

/// What is counted of one night of one room type, in rooms (or beds).
///
/// Invariant: every count is at least 0, and `oversold` is exactly
/// `max(0, held + sold + allotted + out_of_order - physical - overbooking_limit)`, held by
/// [`NightBalance::settled`]; the schema checks both again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NightBalance {
    /// Rooms of the type that exist and are active.
    pub physical: i32,
    /// Of these, what cannot be sold.
    pub out_of_order: i32,
    /// How far beyond physical the hotel means to sell.
    pub overbooking_limit: i32,
    /// Kept in allotments: agreed, not yet taken, not yet released.
    pub allotted: i32,
    /// Taken by held reservations.
    pub held: i32,
    /// Taken by confirmed and checked-in reservations.
    pub sold: i32,
    /// The overdraft.
    pub oversold: i32,
}

impl NightBalance {
    /// The same night with its overdraft worked out anew.
    #[must_use]
    pub fn settled(self) -> Self {
        let taken = self.held + self.sold + self.allotted + self.out_of_order;
        let oversold = (taken - self.physical - self.overbooking_limit).max(0);
        Self { oversold, ..self }
    }

    /// Free sale: what a wish may still take. Never below 0.
    pub fn free(self) -> i32 {
        let taken = self.held + self.sold + self.allotted + self.out_of_order;
        (self.physical + self.overbooking_limit - taken).max(0)
    }

    /// Rooms that stand and can be slept in.
    pub fn usable(self) -> i32 {
        (self.physical - self.out_of_order).max(0)
    }

    /// Rooms sold beyond those that can be slept in; 0 where each guest has a bed, and where there
    /// is no guest at all, be there fewer rooms than are out of order.
    pub fn beyond(self) -> i32 {
        (self.sold - self.usable()).max(0)
    }

    /// More sold than there are rooms to sleep in: an overbooking case must be open.
    pub fn is_overbooked(self) -> bool {
        self.beyond() > 0
    }
}

/// Where rooms of a night lie. An entry moves rooms from one pool to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// Not in the house: where capacity comes from and goes to.
    Outside,
    /// Meant overbooking: where the overbooking limit comes from and goes to.
    Limit,
    /// The shared pool, sellable to whoever comes first.
    Free,
    /// Kept in allotments.
    Allotted,
    /// What cannot be sold.
    OutOfOrder,
    /// Taken by a hold.
    Held,
    /// Taken by a confirmed stay.
    Sold,
}

impl Pool {
    /// The pool as the ledger writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Limit => "limit",
            Self::Free => "free",
            Self::Allotted => "allotted",
            Self::OutOfOrder => "out_of_order",
            Self::Held => "held",
            Self::Sold => "sold",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn r12_one_room_sold_leaves_the_others() {
        for sold in 0..=15 {
            let night = NightBalance {
                physical: 15,
                sold,
                ..NightBalance::default()
            }
            .settled();
            assert_eq!((night.free(), night.oversold), (15 - sold, 0));
        }
    }

    #[test]
    fn a_burst_pipe_on_a_full_house_is_an_overdraft() {
        let full = NightBalance {
            physical: 3,
            sold: 3,
            out_of_order: 1,
            ..Default::default()
        };
        let night = full.settled();
        assert_eq!(
            (night.free(), night.oversold, night.is_overbooked()),
            (0, 1, true)
        );
    }

    proptest! {
        #[test]
        fn rooms_are_neither_made_nor_lost(p in 0..50i32, o in 0..50i32, l in 0..5i32,
                                           h in 0..60i32, s in 0..60i32) {
            let night = NightBalance {
                physical: p, out_of_order: o, overbooking_limit: l, held: h, sold: s,
                ..NightBalance::default()
            }.settled();
            prop_assert!(night.free() >= 0 && night.oversold >= 0);
            prop_assert!(night.free() == 0 || night.oversold == 0);
            prop_assert_eq!(p + l + night.oversold, night.free() + o + h + s);
        }
    }
}
