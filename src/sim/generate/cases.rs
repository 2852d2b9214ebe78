//! Overbooking cases, worked by chance.

use keyrack_model::overbooking::Ending;
use keyrack_model::stay::{StayDate, days_between};

use super::dice::Dice;
use super::known::Known;
use crate::auditor::entry::{Cell, Entry};
use crate::auditor::house::House;
use crate::case_step::Does;
use crate::shape::{PropertyShape, Shape};
use crate::step::{Step, Work};

/// Whoever works the cases of one property.
pub struct Cases<'a> {
    dice: &'a mut Dice,
    at: usize,
    shape: &'a PropertyShape,
    known: &'a Known<'a>,
    house: Option<&'a House>,
}

/// Who is moved: reservation, room stay, and into which type.
type Moves = Vec<(usize, Option<i32>, Option<usize>)>;

impl<'a> Cases<'a> {
    pub fn new(dice: &'a mut Dice, shape: &'a Shape, at: usize, known: &'a Known<'a>) -> Self {
        let property = known.ids.property(at).property;
        Self {
            dice,
            at,
            shape: &shape.properties[at],
            known,
            house: known.books.house(property),
        }
    }

    /// A step on a case; `None` where there is none.
    pub fn step(&mut self) -> Option<Step> {
        let house = self.house?;
        let cells: Vec<(Cell, bool)> = house
            .cases
            .values()
            .flat_map(|file| {
                let nights = file.nights.keys();
                nights.map(|night| ((file.room_type, *night), file.is_open))
            })
            .collect();
        if cells.is_empty() {
            return None;
        }
        let (cell, is_open) = self.dice.one(&cells);
        let room_type = self.index(cell)?;
        let does = match self.dice.below(10) {
            _ if !is_open => Does::Reopen,
            0 if self.dice.percent(50) => Does::Assign,
            0 => Does::Note,
            1 => Does::Propose,
            2 => Does::Approve,
            _ => self.end(house, cell),
        };
        let first: StayDate = self.shape.first_night;
        Some(Step::Work(Work {
            property: self.at,
            night: (room_type, days_between(first, cell.1)),
            does,
        }))
    }

    /// The index of a night's type.
    fn index(&self, cell: Cell) -> Option<usize> {
        let types = &self.known.ids.property(self.at).types;
        types.iter().position(|id| *id == cell.0)
    }

    fn end(&mut self, house: &House, cell: Cell) -> Does {
        let ending = self.dice.one(&[
            Ending::Upgrade,
            Ending::Upgrade,
            Ending::Upgrade,
            Ending::Swap,
            Ending::Walk,
            Ending::Walk,
            Ending::RelocatedByChannel,
            Ending::AcceptedAsIs,
            Ending::AcceptedAsIs,
            Ending::Cured,
        ]);
        let count = match ending {
            Ending::AcceptedAsIs | Ending::Cured => 0,
            Ending::Swap => 2,
            _ => self.dice.one(&[1, 1, 1, 2]),
        };
        let mut moves = Moves::new();
        let mut from = cell;
        for _ in 0..count {
            let to = self.dice.below(self.shape.types.len());
            if let Some((of, room)) = self.guest(house, from, &moves) {
                let stays = matches!(ending, Ending::Upgrade | Ending::Swap);
                // Whoever is swapped comes to where the other was.
                let back = (ending == Ending::Swap && from != cell).then(|| self.index(cell));
                let to = back.flatten().unwrap_or(to);
                moves.push((of, stays.then_some(room), stays.then_some(to)));
                if ending == Ending::Swap {
                    from = (self.known.ids.property(self.at).types[to], cell.1);
                }
            }
        }
        Does::End {
            ending,
            moves,
            told_channel: self.dice.percent(90),
        }
    }

    /// Somebody who sleeps in a type on a night, with the room stay.
    fn guest(&mut self, house: &House, cell: Cell, moves: &Moves) -> Option<(usize, i32)> {
        let is_here = |entry: &Entry| {
            let here = entry.present().find(|room| {
                room.room_type == Some(cell.0) && room.from <= cell.1 && cell.1 < room.until
            });
            here.filter(|_| entry.takes()).map(|room| room.id)
        };
        let all = house.entries.iter().filter_map(|(id, entry)| {
            let of = self.known.ids.handle(*id)?;
            let is_moved = moves.iter().any(|(known, ..)| *known == of);
            Some((of, is_here(entry)?)).filter(|_| !is_moved)
        });
        let all: Vec<(usize, i32)> = all.collect();
        (!all.is_empty()).then(|| self.dice.one(&all))
    }
}
