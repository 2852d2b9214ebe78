//! What an account may be told of a night: rooms of its pools, less what is kept back, never more
//! than can be slept in, nothing where it is closed.

use jiff::Timestamp;
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, days_between, plus_days};

use super::entry::Cell;
use super::house::{Dead, House};

/// What is told of a room type on a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Rooms.
    pub rooms: i32,
    /// Closed.
    pub closed: bool,
}

/// What a channel takes.
#[derive(Clone, Copy, Debug)]
pub struct Takes {
    /// It reopens a night by itself: nothing to sell is told as closed, too.
    pub reopens: bool,
    /// No larger number.
    pub rooms_max: i32,
    /// So many nights ahead.
    pub nights_max: i32,
}

impl House {
    /// What must be told of a night whose parts are all there.
    pub fn told(
        &self,
        account: AccountId,
        (room_type, night): Cell,
        takes: Takes,
        (now, dead): (Timestamp, &Dead),
    ) -> Told {
        let pool = self.pool_rooms(account, (room_type, night), dead);
        let today = self.rules.today(now);
        let mut rooms = pool;
        for rule in &self.buffers {
            if speaks_of(rule, account, room_type, night, today) {
                rooms = rooms.min(left_by(rule.kind, pool));
            }
        }
        let usable = |part: Cell| {
            let night = self.night(part);
            night.physical - night.out_of_order
        };
        let usable = self.least((room_type, night), &usable);
        rooms = rooms.min(usable).max(0).min(takes.rooms_max);
        let nights_ahead = self.rules.horizon_days.min(takes.nights_max);
        let is_early = self.rules.bookable_from.is_some_and(|from| night < from);
        let mut closed = night < today || night >= plus_days(today, nights_ahead) || is_early;
        if closed {
            rooms = 0;
        }
        closed |= rooms == 0 && takes.reopens;
        Told { rooms, closed }
    }

    /// Rooms of the pools from which an account sells a night.
    fn pool_rooms(&self, account: AccountId, cell: Cell, dead: &Dead) -> i32 {
        let free = self.least(cell, &|part| self.free(part, dead));
        let Some((mode, of)) = self.sells(account, cell) else {
            return free;
        };
        let own = self.allotments.get(&of);
        let own = own.map_or(0, |own| {
            let gone = dead.drawn(of, cell.1);
            own.night(cell.1).with_taken(-gone).left()
        });
        match mode {
            PoolMode::Shared => free,
            PoolMode::Allotment => own,
            PoolMode::AllotmentThenShared => own + free,
        }
    }

    /// Units of a type for which there are rooms of each of its parts.
    fn least(&self, (room_type, night): Cell, rooms: &dyn Fn(Cell) -> i32) -> i32 {
        let parts = self.rules.types.get(&room_type).map(|known| &known.parts);
        let units = parts.into_iter().flatten().map(|(part, each)| {
            let rooms = rooms((*part, night));
            // Of rooms that are wanting no unit can be made.
            if rooms < 0 { -1 } else { rooms / each }
        });
        units.min().unwrap_or(0)
    }

    /// The plain types that a type takes rooms of.
    pub fn parts(&self, room_type: RoomTypeId) -> impl Iterator<Item = RoomTypeId> {
        let known = self.rules.types.get(&room_type);
        let parts = known.into_iter().flat_map(|known| &known.parts);
        parts.map(|(part, _)| *part)
    }
}

/// Whether a rule keeps rooms of a night back from an account.
fn speaks_of(
    rule: &BufferRule,
    account: AccountId,
    room_type: RoomTypeId,
    night: StayDate,
    today: StayDate,
) -> bool {
    let ahead = days_between(today, night);
    let in_range = |nights: Stay| nights.arrival() <= night && night < nights.departure();
    rule.account.is_none_or(|of| of == account)
        && rule.room_type.is_none_or(|of| of == room_type)
        && rule.nights.is_none_or(in_range)
        && rule.weekdays.contains(night)
        && rule.lead_days_min.is_none_or(|least| ahead >= least)
        && rule.lead_days_max.is_none_or(|most| ahead <= most)
}

/// Rooms that a rule leaves of those of the pool.
fn left_by(kind: BufferKind, pool: i32) -> i32 {
    match kind {
        BufferKind::KeepBack(rooms) => pool - rooms,
        BufferKind::CloseAt(rooms) => {
            if pool <= rooms {
                0
            } else {
                pool
            }
        }
        BufferKind::Cap(rooms) => pool.min(rooms),
        BufferKind::SharePercent(percent) => pool * percent / 100,
        // Nothing is measured: one room is kept back.
        BufferKind::Safety(_) => pool - 1,
    }
}
