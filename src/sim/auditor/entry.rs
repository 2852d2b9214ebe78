//! A reservation as the auditor keeps it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use keyrack_ledger::command::WishedRoom;
use keyrack_model::id::{AccountId, AllotmentId, ReservationId, RoomTypeId};
use keyrack_model::reservation::{Source, Status};
use keyrack_model::stay::StayDate;

/// A reservation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it stands. A dead hold that nobody has swept still says `held`.
    pub status: Status,
    /// Counts every change, from 1.
    pub version: i64,
    /// Where it came from.
    pub source: Source,
    /// Through which listing, under which reference.
    pub channel: Option<(AccountId, String)>,
    /// Of a hold, or of one that was: when it ends, and when it is dead.
    pub hold: Option<(Timestamp, Timestamp)>,
    /// How often it was extended.
    pub extensions: i32,
    /// What confirmed it.
    pub payment: Option<String>,
    /// Prepaid or guaranteed.
    pub guaranteed: bool,
    /// Payments that are owed back.
    pub refunds: Vec<String>,
    /// A no-show whose other nights stay taken.
    pub keeps_nights: bool,
    /// What it continues.
    pub successor_of: Option<ReservationId>,
    /// What an undo goes back to, and the business day of the step.
    pub undo: Option<(Status, StayDate)>,
    /// Its rooms, those given back among them.
    pub rooms: Vec<Room>,
    /// Which of them came from allotments; of an entry that takes no rooms: what it had.
    pub drawn: Vec<Drawn>,
}

/// Rooms that came from an allotment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drawn {
    /// For which room.
    pub room: i32,
    /// From which allotment.
    pub allotment: AllotmentId,
    /// Of which type.
    pub room_type: RoomTypeId,
    /// On which night.
    pub night: StayDate,
    /// How many.
    pub rooms: i32,
}

/// A room of it, or several alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// 1, 2, 3 … within the reservation, never used again.
    pub id: i32,
    /// `None` while the channel's code is not mapped.
    pub room_type: Option<RoomTypeId>,
    /// First night.
    pub arrival: StayDate,
    /// Morning after the last night.
    pub departure: StayDate,
    /// First night that is taken.
    pub from: StayDate,
    /// End of the nights that are taken.
    pub until: StayDate,
    /// Rooms.
    pub quantity: i32,
    /// Given back.
    pub is_gone: bool,
    /// What the channel says of it.
    pub told: Option<Told>,
    /// `from`, `until`, `departure` before the last step at the desk, unless changed since.
    pub before: Option<(StayDate, StayDate, StayDate)>,
}

/// A room in the channel's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The channel's key of it.
    pub key: Option<String>,
    /// The channel's code of its type.
    pub code: String,
    /// Which of ours that is; `None` while it is not mapped.
    pub room_type: Option<RoomTypeId>,
    /// First night.
    pub arrival: Option<StayDate>,
    /// Morning after the last night.
    pub departure: Option<StayDate>,
    /// Rooms.
    pub quantity: i32,
}

impl Entry {
    /// A hold whose rooms are kept at this instant.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.status == Status::Held && self.hold.is_some_and(|(_, dead)| now < dead)
    }

    /// A hold that is dead and that nobody has swept.
    pub fn is_unswept(&self, now: Timestamp) -> bool {
        self.status == Status::Held && !self.is_alive(now)
    }

    /// Whether its rooms are taken; also of a dead hold that nobody has swept.
    pub fn takes(&self) -> bool {
        !matches!(self.status, Status::Cancelled | Status::Expired)
    }

    /// The rooms that it still has.
    pub fn present(&self) -> impl Iterator<Item = &Room> {
        self.rooms.iter().filter(|room| !room.is_gone)
    }

    /// The rooms that it still has, to be changed.
    pub fn present_mut(&mut self) -> impl Iterator<Item = &mut Room> {
        self.rooms.iter_mut().filter(|room| !room.is_gone)
    }

    /// The first arrival.
    pub fn arrival(&self) -> Option<StayDate> {
        self.present().map(|room| room.arrival).min()
    }

    /// The last departure.
    pub fn departure(&self) -> Option<StayDate> {
        self.present().map(|room| room.departure).max()
    }

    /// The id of the next room.
    pub fn next_room(&self) -> i32 {
        self.rooms.iter().map(|room| room.id).max().unwrap_or(0) + 1
    }

    /// A room whose code is not mapped: it takes nothing, or a room of the fallback type.
    pub fn has_unmapped(&self) -> bool {
        let unmapped = |room: &Room| room.told.as_ref().is_some_and(|t| t.room_type.is_none());
        self.present().any(unmapped)
    }

    /// Writes that a payment is owed back; says whether that is new.
    pub fn owes(&mut self, payment: Option<&String>) -> bool {
        match payment {
            Some(payment) if !self.refunds.contains(payment) => {
                self.refunds.push(payment.clone());
                true
            }
            _ => false,
        }
    }
}

impl Room {
    /// A room that staff or a guest asks for.
    pub fn wished(id: i32, wished: &WishedRoom) -> Self {
        Self {
            id,
            room_type: Some(wished.room_type),
            arrival: wished.stay.arrival(),
            departure: wished.stay.departure(),
            from: wished.stay.arrival(),
            until: wished.stay.departure(),
            quantity: wished.quantity,
            is_gone: false,
            told: None,
            before: None,
        }
    }

    /// Each night that it takes.
    pub fn nights(&self) -> impl Iterator<Item = StayDate> + use<> {
        nights(self.from, self.until)
    }
}

/// A night of a plain type.
pub type Cell = (RoomTypeId, StayDate);

/// Rooms on nights of plain types.
pub type Rooms = BTreeMap<Cell, i32>;

/// Each night of `from..until`.
pub fn nights(from: StayDate, until: StayDate) -> impl Iterator<Item = StayDate> {
    let after = |night: &StayDate| night.tomorrow().ok();
    std::iter::successors(Some(from), after).take_while(move |night| *night < until)
}
