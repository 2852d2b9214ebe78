//! What is agreed by chance, and when somebody looks for what is due.

use keyrack_model::channel::PoolMode;

use super::dice::Dice;
use super::known::Known;
use super::staff::force;
use crate::pool_step::Kept;
use crate::rule_step::{Keep, KeepsBack, On, Switches};
use crate::shape::{PropertyShape, Shape};
use crate::step::{Agree, Read, Step};

/// Whoever keeps rooms at one property.
pub struct Pools<'a> {
    dice: &'a mut Dice,
    at: usize,
    house: &'a PropertyShape,
    today: i32,
}

impl<'a> Pools<'a> {
    pub fn new(dice: &'a mut Dice, shape: &'a Shape, at: usize, known: &Known<'_>) -> Self {
        Self {
            dice,
            at,
            house: &shape.properties[at],
            today: known.today(shape, at),
        }
    }

    /// A step on pools, or on what is told.
    pub fn step(&mut self) -> Step {
        let kind = self.dice.below(20);
        let count = self.house.pools.allotments.len();
        let property = self.at;
        let allotment = self.dice.below(count);
        match kind {
            0..8 if count > 0 => Step::Agree(self.agree(allotment)),
            8..11 if count > 0 => Step::Release {
                property,
                allotment,
                nights: (-3, self.house.nights + 20),
            },
            11..14 if count > 0 => Step::ReleaseDue,
            14..17 if count > 0 => Step::PoolRules {
                property,
                rules: (0..self.dice.below(4)).map(|_| self.switches()).collect(),
            },
            _ => Step::BufferRules {
                property,
                rules: (0..self.dice.below(5)).map(|_| self.keeps_back()).collect(),
            },
        }
    }

    fn switches(&mut self) -> Switches {
        let begins = self.dice.below(3);
        let at_most = i32::try_from(begins).unwrap_or(0);
        let is_scarce = self.dice.percent(70);
        Switches {
            account: self.dice.below(self.house.accounts.len()),
            on: self.on(),
            mode: self.dice.one(&[
                PoolMode::Allotment,
                PoolMode::Allotment,
                PoolMode::AllotmentThenShared,
                PoolMode::Shared,
            ]),
            scarce: is_scarce.then(|| (at_most, at_most + self.dice.between(1, 3))),
        }
    }

    fn keeps_back(&mut self) -> KeepsBack {
        let of_one = self.dice.percent(50);
        let kinds = [
            Keep::Back,
            Keep::CloseAt,
            Keep::Cap,
            Keep::SharePercent,
            Keep::Safety,
        ];
        let kind = self.dice.one(&kinds);
        let (min, max) = (self.dice.percent(20), self.dice.percent(20));
        KeepsBack {
            account: of_one.then(|| self.dice.below(self.house.accounts.len())),
            on: self.on(),
            lead: (
                min.then(|| self.dice.between(0, 3)),
                max.then(|| self.dice.between(3, 8)),
            ),
            number: match kind {
                Keep::SharePercent => self.dice.one(&[0, 30, 50, 70, 99, 100]),
                Keep::Safety => 0,
                _ => self.dice.between(0, 3),
            },
            kind,
        }
    }

    fn on(&mut self) -> On {
        let (of_one, some_nights) = (self.dice.percent(40), self.dice.percent(40));
        On {
            room_type: of_one.then(|| self.dice.below(self.house.types.len())),
            nights: some_nights.then(|| {
                let from = self.dice.between(self.today - 1, self.house.nights);
                (from, self.dice.between(1, 9))
            }),
            weekdays: self.weekdays(),
        }
    }

    fn weekdays(&mut self) -> u8 {
        if self.dice.percent(25) {
            self.dice.one(&[0b001_1111, 0b110_0000, 0b101_0101])
        } else {
            0b111_1111
        }
    }

    fn agree(&mut self, allotment: usize) -> Agree {
        let values = (0..self.dice.one(&[0, 1, 1, 1, 2, 3])).map(|_| self.kept());
        let values = values.collect();
        let cut_off = self.dice.percent(20);
        Agree {
            property: self.at,
            allotment,
            values,
            release_days: self.dice.one(&[0, 0, 1, 1, 2, 3, 5]),
            cut_off: cut_off.then(|| self.dice.between(self.today, self.today + 4)),
            force: force(self.dice),
            dry_run: self.dice.percent(8),
            version: if self.dice.percent(4) {
                Read::Stale
            } else {
                Read::Last
            },
        }
    }

    fn kept(&mut self) -> Kept {
        let from = self.dice.between(self.today - 1, self.house.nights);
        Kept {
            from,
            count: self.dice.between(1, 8),
            weekdays: self.weekdays(),
            rooms: self.dice.one(&[0, 1, 1, 1, 2, 3]),
        }
    }
}
