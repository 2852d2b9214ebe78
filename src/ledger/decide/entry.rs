//! An entry: rooms moved from one pool to another over a range of nights, or something told.

use std::sync::Arc;

use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use keyrack_model::inventory::Pool;
use keyrack_model::stay::StayRange;
use uuid::Uuid;

use crate::command::By;

/// A line of the ledger to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whose.
    pub property: PropertyId,
    /// By which command.
    pub command_id: Uuid,
    /// Which line of it; the first carries the event.
    pub line: i32,
    /// Of which reservation, in which version.
    pub reservation: Option<(ReservationId, i64)>,
    /// What happened: `held`, `confirmed`, `cancelled` …; `moved` on further lines.
    pub kind: &'static str,
    /// What was moved; `None` only tells.
    pub moved: Option<Move>,
    /// Nights that it speaks of without moving a room: to be told again.
    pub about: Option<(RoomTypeId, StayRange)>,
    /// Why.
    pub reason: Option<String>,
    /// Who asked.
    pub by: Arc<By>,
}

impl Entry {
    /// The nights that it speaks of, moved or to be told again.
    pub fn nights(&self) -> Option<(RoomTypeId, StayRange)> {
        self.moved.map(|m| (m.room_type, m.nights)).or(self.about)
    }
}

/// Rooms moved from one pool to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Of which plain type.
    pub room_type: RoomTypeId,
    /// Over which nights.
    pub nights: StayRange,
    /// How many rooms, at least 1.
    pub quantity: i32,
    /// Out of this pool.
    pub from: Pool,
    /// Into this one.
    pub to: Pool,
}
