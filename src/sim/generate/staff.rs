//! Wishes by chance.

use keyrack_ledger::decide::refusal::Force;
use keyrack_model::reservation::Source;

use super::channel::Channel;
use super::dice::Dice;
use super::known::Known;
use crate::shape::{PropertyShape, Shape};
use crate::step::{Hold, Request, Room};

/// Whoever wishes at one property.
pub struct Staff<'a> {
    dice: &'a mut Dice,
    at: usize,
    house: &'a PropertyShape,
    today: i32,
    minutes: i64,
}

impl<'a> Staff<'a> {
    pub fn new(dice: &'a mut Dice, shape: &'a Shape, at: usize, known: &Known<'_>) -> Self {
        Self {
            dice,
            at,
            house: &shape.properties[at],
            today: known.today(shape, at),
            minutes: known.now.duration_since(shape.start).as_mins(),
        }
    }

    pub fn request(&mut self, payments: &mut u32, channel: &mut Channel) -> Request {
        let count = self.dice.one(&[1, 1, 1, 2, 2, 3]);
        let mut rooms: Vec<Room> = (0..count).map(|_| self.room()).collect();
        if self.dice.percent(1) {
            rooms.clear();
        }
        let is_held = self.dice.percent(65);
        let payment = (!is_held && self.dice.percent(60)).then(|| {
            *payments += 1;
            *payments
        });
        let typed = self
            .dice
            .percent(14)
            .then(|| channel.typed(self.dice, self.at));
        let source = if typed.is_some() && self.dice.percent(80) {
            Source::Channel
        } else {
            self.dice
                .one(&[Source::Phone, Source::Web, Source::WalkIn, Source::Email])
        };
        Request {
            property: self.at,
            hold: is_held.then(|| self.hold()),
            source,
            force: force(self.dice),
            rooms,
            payment,
            channel: typed,
            guaranteed: self.dice.percent(15),
        }
    }

    pub fn hold(&mut self) -> Hold {
        hold(self.dice, self.minutes)
    }

    pub fn room(&mut self) -> Room {
        room(self.dice, self.house, self.today)
    }
}

/// A room somewhere on the nights that the script plays on, mostly not past.
pub fn room(dice: &mut Dice, house: &PropertyShape, today: i32) -> Room {
    let first = if dice.percent(5) { today - 2 } else { today };
    let room_type = dice.below(house.types.len());
    Room {
        room_stay: None,
        room_type,
        from: dice.between(first, house.nights.max(today + 3)),
        nights: dice.one(&[1, 1, 2, 2, 3, 4]),
        quantity: match dice.below(40) {
            0 => 0,
            1..8 => 2,
            8 => 3,
            _ => 1,
        },
        allotment: named(dice, house, room_type),
    }
}

/// An allotment that a room names: mostly one of its own type, where there is one.
pub fn named(dice: &mut Dice, house: &PropertyShape, room_type: usize) -> Option<usize> {
    if !dice.percent(25) {
        return None;
    }
    let count = house.pools.allotments.len();
    let fits = |at: &usize| house.pools.allotments[*at].room_type == room_type;
    let of_it: Vec<usize> = (0..count).filter(fits).collect();
    if of_it.is_empty() {
        return (count > 0 && dice.percent(5)).then(|| dice.below(count));
    }
    Some(dice.one(&of_it))
}

/// An end on a whole minute, which no step ever meets.
pub fn hold(dice: &mut Dice, minutes: i64) -> Hold {
    match dice.below(10) {
        0..6 => Hold::Default,
        6..8 => Hold::Seconds(dice.one(&[30, 90, 630, 7_230])),
        8 => Hold::Until(minutes + i64::from(dice.between(0, 300))),
        _ => Hold::Until(minutes - i64::from(dice.between(1, 3))),
    }
}

/// Mostly nothing, else some of what may be forced.
pub fn force(dice: &mut Dice) -> Vec<Force> {
    if !dice.percent(14) {
        return Vec::new();
    }
    let all = [
        Force::Oversell,
        Force::Past,
        Force::Closed,
        Force::Restriction,
        Force::Allotment,
    ];
    all.into_iter().filter(|_| dice.percent(50)).collect()
}
