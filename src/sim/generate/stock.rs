//! What happens by chance to the nights.

use super::desk::Desk;
use crate::step::{Nights, Step, Stock};

impl Desk<'_> {
    /// Nights of a type, hardly ever of one without rooms of its own.
    fn nights(&mut self) -> Nights {
        let plain: Vec<usize> = self.house.plain_types().collect();
        let from = self.dice.between(self.today() - 1, self.house.nights);
        Nights {
            room_type: if self.dice.percent(3) {
                self.dice.below(self.house.types.len())
            } else {
                self.dice.one(&plain)
            },
            from,
            count: self.dice.between(1, 5),
        }
    }

    fn stock(&mut self) -> Stock {
        let nights = self.nights();
        let rooms = self.house.types[nights.room_type].rooms;
        let most = rooms + i32::from(self.dice.percent(20));
        let least = -i32::from(self.dice.percent(10));
        let out_of_order = self.dice.percent(70);
        let overbooking_limit = self.dice.percent(40);
        Stock {
            nights,
            out_of_order: out_of_order.then(|| self.dice.between(0, most)),
            overbooking_limit: overbooking_limit.then(|| self.dice.between(least, 2)),
        }
    }

    pub fn set_nights(&mut self) -> Option<Step> {
        let count = self.dice.one(&[1, 1, 1, 2, 3]);
        Some(Step::SetNights {
            property: self.at,
            changes: (0..count).map(|_| self.stock()).collect(),
            dry_run: self.dice.percent(10),
        })
    }

    pub fn set_blocks(&mut self) -> Option<Step> {
        let plain: Vec<usize> = self.house.plain_types().collect();
        let room_type = self.dice.one(&plain);
        let rooms = self.house.types[room_type].rooms;
        let mut blocks = Vec::new();
        let first = self.today() - 1;
        let mut from = self.dice.between(first, self.house.nights);
        for _ in 0..self.dice.below(3) {
            let count = self.dice.between(1, 4);
            if from + count <= self.house.born().end {
                blocks.push((from, count));
            }
            from += count + self.dice.between(0, 3);
        }
        let last = rooms - i32::from(!self.dice.percent(5));
        Some(Step::SetBlocks {
            property: self.at,
            room_type,
            room: self.dice.between(0, last),
            blocks,
        })
    }

    pub fn set_physical(&mut self) -> Option<Step> {
        let nights = self.nights();
        let rooms = self.house.types[nights.room_type].rooms;
        Some(Step::SetPhysical {
            property: self.at,
            nights,
            rooms: rooms + self.dice.one(&[-2, -1, -1, 0, 0, 1]),
            forced: self.dice.percent(30),
            dry_run: self.dice.percent(10),
        })
    }

    pub fn review(&mut self) -> Option<Step> {
        Some(Step::Review {
            property: self.at,
            nights: self.nights(),
        })
    }
}
