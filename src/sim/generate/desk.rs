//! What happens by chance to what is booked, to the nights, and to the clock.

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, days_between};

use super::dice::Dice;
use super::known::Known;
use super::staff::{force, hold, room};
use crate::auditor::entry::Entry;
use crate::shape::{PropertyShape, Shape};
use crate::step::{Change, Desk as Does, Handle, Read, Room, Step};

/// The desk of one property.
pub struct Desk<'a> {
    pub(super) dice: &'a mut Dice,
    shape: &'a Shape,
    pub(super) at: usize,
    pub(super) house: &'a PropertyShape,
    handles: &'a [Handle],
    known: &'a Known<'a>,
}

impl<'a> Desk<'a> {
    pub fn new(
        dice: &'a mut Dice,
        shape: &'a Shape,
        at: usize,
        handles: &'a [Handle],
        known: &'a Known<'a>,
    ) -> Self {
        Self {
            dice,
            shape,
            at,
            house: &shape.properties[at],
            handles,
            known,
        }
    }

    fn entry(&self, of: Handle) -> Option<&'a Entry> {
        let id: ReservationId = self.known.ids.reservation(of)?;
        let of = |at| {
            self.known
                .books
                .entry(self.known.ids.property(at).property, id)
        };
        (0..self.shape.properties.len()).find_map(of)
    }

    /// A reservation, recent ones and those that fit before others.
    fn pick(&mut self, fits: impl Fn(&Entry) -> bool) -> Option<Handle> {
        let count = self.handles.len();
        let mut last = None;
        for _ in 0..10 {
            let recent = if self.dice.percent(70) { 12 } else { count };
            let back = self.dice.below(count.min(recent));
            let of = *self.handles.get(count.checked_sub(back + 1)?)?;
            last = Some(of);
            if self.entry(of).is_some_and(&fits) {
                break;
            }
        }
        last
    }

    /// Whose door: hardly ever the wrong one.
    fn door(&mut self) -> usize {
        if self.dice.percent(2) {
            self.dice.below(self.shape.properties.len())
        } else {
            self.at
        }
    }

    fn version(&mut self) -> Read {
        match self.dice.below(20) {
            0 => Read::Stale,
            1..6 => Read::Last,
            _ => Read::No,
        }
    }

    fn minutes(&self) -> i64 {
        self.known.now.duration_since(self.shape.start).as_mins()
    }

    pub(super) fn today(&self) -> i32 {
        self.known.today(self.shape, self.at)
    }

    /// A moment, or up to the end of a hold and not beyond, or just beyond, or a night.
    pub fn wait(&mut self) -> Step {
        let now = self.known.now;
        let is_held = |entry: &Entry| entry.status == Status::Held;
        let end = self
            .pick(is_held)
            .and_then(|of| self.entry(of))
            .filter(|entry| entry.is_alive(now))
            .and_then(|entry| entry.hold);
        let minutes = match (self.dice.below(20), end) {
            (0..6, Some((until, _))) => self.around(until),
            (6..12, Some((_, dead))) => self.around(dead),
            (17..19, _) => 24 * 60,
            (19, _) => u32::try_from(self.dice.between(60, 600)).unwrap_or(60),
            _ => self.dice.one(&[1, 1, 2, 3, 11]),
        };
        Step::Wait { minutes }
    }

    /// Half a minute before or after an instant.
    fn around(&mut self, instant: Timestamp) -> u32 {
        let whole = instant.duration_since(self.known.now).as_mins();
        let minutes = whole + i64::from(self.dice.between(0, 1));
        u32::try_from(minutes.clamp(1, 3 * 24 * 60)).unwrap_or(1)
    }

    pub fn confirm(&mut self, payments: &mut u32) -> Option<Step> {
        let held = |entry: &Entry| matches!(entry.status, Status::Held | Status::Expired);
        let of = self.pick(held)?;
        let payment = match self.dice.below(10) {
            0..6 => {
                *payments += 1;
                Some(*payments)
            }
            6 => None,
            _ => self.entry(of).and_then(paid_before).or(Some(*payments)),
        };
        Some(Step::Confirm {
            property: self.door(),
            of,
            payment,
            version: self.version(),
        })
    }

    pub fn cancel(&mut self) -> Option<Step> {
        Some(Step::Cancel {
            of: self.pick(|entry| entry.status != Status::Cancelled)?,
            property: self.door(),
            told_channel: self.dice.percent(70),
            version: self.version(),
        })
    }

    pub fn extend(&mut self) -> Option<Step> {
        let minutes = self.minutes();
        Some(Step::Extend {
            of: self.pick(|entry| entry.status == Status::Held)?,
            property: self.door(),
            until: hold(self.dice, minutes),
            version: self.version(),
        })
    }

    pub fn expire(&mut self) -> Option<Step> {
        let now = self.known.now;
        Some(Step::Expire {
            of: self.pick(|entry| entry.is_unswept(now))?,
            property: self.door(),
        })
    }

    pub fn progress(&mut self) -> Option<Step> {
        let house = self
            .known
            .books
            .house(self.known.ids.property(self.at).property)?;
        let today = house.rules.today(self.known.now);
        let begun = |entry: &Entry| {
            let has_arrived = entry.arrival().is_some_and(|arrival| arrival <= today);
            has_arrived && !matches!(entry.status, Status::Cancelled | Status::Expired)
        };
        let of = self.pick(begun)?;
        let status = self.entry(of).map(|entry| entry.status);
        let keep = self.dice.one(&[None, None, Some(true), Some(false)]);
        let likely: &[Does] = match status {
            Some(Status::Confirmed) => &[Does::CheckIn, Does::CheckIn, Does::Complete],
            Some(Status::CheckedIn) => &[Does::CheckOut, Does::Undo, Does::Overdue],
            Some(Status::Completed) => &[Does::Undo],
            Some(Status::NoShow) => &[Does::ReleaseNoShow, Does::ReleaseNoShow, Does::Undo],
            _ => &[Does::Undo],
        };
        let step = match self.dice.below(12) {
            0..8 => self.dice.one(likely),
            8..10 => Does::NoShow(keep),
            _ => self.dice.one(&[
                Does::CheckIn,
                Does::CheckOut,
                Does::Undo,
                Does::Complete,
                Does::ReleaseNoShow,
                Does::Overdue,
            ]),
        };
        Some(Step::Progress {
            property: self.door(),
            of,
            step,
            version: self.version(),
        })
    }

    pub fn modify(&mut self) -> Option<Step> {
        let alive = |entry: &Entry| {
            matches!(
                entry.status,
                Status::Held | Status::Confirmed | Status::CheckedIn
            )
        };
        let of = self.pick(alive)?;
        let rooms = if self.dice.percent(10) {
            None
        } else {
            Some(self.entry(of).map(|e| self.other(e)).unwrap_or_default())
        };
        Some(Step::Modify(Change {
            property: self.door(),
            of,
            rooms,
            told_channel: self.dice.percent(80),
            force: force(self.dice),
            version: if self.dice.percent(5) {
                Read::Stale
            } else {
                Read::Last
            },
        }))
    }

    /// The present rooms, with a change or two.
    fn other(&mut self, entry: &Entry) -> Vec<Room> {
        let types = Arc::new(self.known.ids.property(self.at).types.clone());
        let first: StayDate = self.house.first_night;
        let as_wished = |room: &crate::auditor::entry::Room| Room {
            room_stay: Some(room.id),
            room_type: types
                .iter()
                .position(|id| Some(*id) == room.room_type)
                .unwrap_or(0),
            from: days_between(first, room.arrival),
            nights: days_between(room.arrival, room.departure).max(1),
            quantity: room.quantity,
            allotment: None,
        };
        let mut rooms: Vec<Room> = entry.present().map(as_wished).collect();
        for _ in 0..self.dice.one(&[0, 1, 1, 1, 2]) {
            let (at, count) = (self.dice.below(rooms.len()), rooms.len());
            let added = room(self.dice, self.house, self.today());
            let Some(changed) = rooms.get_mut(at) else {
                rooms.push(added);
                continue;
            };
            match self.dice.below(10) {
                0..2 => changed.from += self.dice.one(&[-1, 1]),
                2..4 => changed.nights = (changed.nights + self.dice.one(&[-1, 1])).max(1),
                4 => changed.room_type = added.room_type,
                5 => changed.quantity = self.dice.between(1, 2),
                6 => {
                    rooms.remove(at);
                }
                7..9 if count > 1 => {
                    let other = (at + 1) % count;
                    let (a, b) = (rooms[at].room_type, rooms[other].room_type);
                    (rooms[at].room_type, rooms[other].room_type) = (b, a);
                }
                _ => rooms.push(added),
            }
        }
        rooms
    }
}

/// A payment that the reservation has seen before.
fn paid_before(entry: &Entry) -> Option<u32> {
    let known = entry.payment.as_ref().or(entry.refunds.last())?;
    known.strip_prefix("pay-")?.parse().ok()
}
