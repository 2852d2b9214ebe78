//! What a property goes by, as the auditor reads it.

use std::collections::BTreeMap;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use keyrack_model::id::RoomTypeId;
use keyrack_model::reservation::Source;
use keyrack_model::stay::{StayDate, plus_days};

use super::allotment::{self, Mapped};
use super::entry::{Room, Rooms};
use crate::ids::PropertyIds;
use crate::shape::PropertyShape;

/// What a property goes by.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Its time zone.
    pub zone: TimeZone,
    /// Nights ahead that can be sold.
    pub horizon_days: i32,
    /// First night that may be booked.
    pub bookable_from: Option<StayDate>,
    /// How long a hold lives.
    pub hold_seconds: i32,
    /// How long one from the web lives, where that differs.
    pub web_hold_seconds: Option<i32>,
    /// How long its rooms stay kept after that.
    pub grace_seconds: i32,
    /// How often it may be extended.
    pub extensions_max: i32,
    /// A late confirm takes the rooms anew.
    pub retakes: bool,
    /// Which no-shows keep their nights.
    pub no_show_keeps: String,
    /// Nearer than so many days, what was meant needs a case as well.
    pub meant_days: i32,
    /// Its types.
    pub types: BTreeMap<RoomTypeId, Type>,
    /// Who does not sell a type from the shared pool alone.
    pub mapped: Mapped,
}

/// A room type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Rooms of a new night.
    pub rooms: i32,
    /// Holds of it live so long at most.
    pub hold_seconds: Option<i32>,
    /// Rooms of plain types that one unit takes; of a plain type, one of itself.
    pub parts: Vec<(RoomTypeId, i32)>,
    /// It has rooms of its own.
    pub is_plain: bool,
}

impl Rules {
    /// The rules of a shape under the ids of a ledger.
    pub fn of(shape: &PropertyShape, ids: &PropertyIds) -> Self {
        let types = shape.types.iter().zip(&ids.types).map(|(t, id)| {
            let parts = t.components.iter().map(|(part, n)| (ids.types[*part], *n));
            let mut parts: Vec<_> = parts.collect();
            if t.is_plain() {
                parts.push((*id, 1));
            }
            let known = Type {
                rooms: t.rooms,
                hold_seconds: t.hold_seconds,
                parts,
                is_plain: t.is_plain(),
            };
            (*id, known)
        });
        Self {
            zone: TimeZone::get(&shape.zone).unwrap_or(TimeZone::UTC),
            horizon_days: shape.horizon_days,
            bookable_from: shape
                .bookable_from
                .map(|offset| plus_days(shape.first_night, offset)),
            hold_seconds: shape.hold_seconds,
            web_hold_seconds: shape.web_hold_seconds,
            grace_seconds: shape.confirm_grace_seconds,
            extensions_max: shape.extensions_max,
            retakes: shape.late_confirm_retakes,
            no_show_keeps: shape.no_show_keeps.clone(),
            meant_days: shape.meant_overbooking_case_days,
            types: types.collect(),
            mapped: allotment::mapped(shape, ids),
        }
    }

    /// The business day: until four in the morning it is still yesterday.
    pub fn today(&self, now: Timestamp) -> StayDate {
        let local = self.zone.to_datetime(now);
        if local.time() < Time::constant(4, 0, 0, 0) {
            plus_days(local.date(), -1)
        } else {
            local.date()
        }
    }

    /// The day of the calendar, which begins at midnight.
    pub fn calendar_day(&self, now: Timestamp) -> StayDate {
        self.zone.to_datetime(now).date()
    }

    /// How long a hold of these types from this source lives.
    pub fn hold_seconds(&self, source: Source, types: impl Iterator<Item = RoomTypeId>) -> i32 {
        let mut seconds = self.hold_seconds;
        if source == Source::Web {
            seconds = self.web_hold_seconds.unwrap_or(seconds);
        }
        for room_type in types {
            let scarce = self.types.get(&room_type).and_then(|t| t.hold_seconds);
            seconds = seconds.min(scarce.unwrap_or(seconds));
        }
        seconds
    }

    /// When a hold that ends then is dead.
    pub fn dead_at(&self, until: Timestamp) -> Timestamp {
        let grace = SignedDuration::from_secs(i64::from(self.grace_seconds));
        until.saturating_add(grace).unwrap_or(until)
    }

    /// What some rooms take, by night of plain type.
    pub fn taken<'a>(&self, rooms: impl Iterator<Item = &'a Room>) -> Rooms {
        let mut taken = Rooms::new();
        for room in rooms.filter(|room| !room.is_gone) {
            let Some(known) = room.room_type.and_then(|id| self.types.get(&id)) else {
                continue;
            };
            for night in room.nights() {
                for (part, count) in &known.parts {
                    *taken.entry((*part, night)).or_insert(0) += count * room.quantity;
                }
            }
        }
        taken
    }
}
