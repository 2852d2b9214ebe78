//! A wish for rooms that are not to be had.

use jiff::Timestamp;
use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use keyrack_model::reservation::{Guest, Source};
use keyrack_model::stay::Stay;
use uuid::Uuid;

/// A wish as it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWish {
    /// Its nights.
    pub stay: Stay,
    /// The types that would do, in order of preference.
    pub room_types: Vec<RoomTypeId>,
    /// Rooms.
    pub quantity: i32,
    /// Adults in each.
    pub adults: Option<i32>,
    /// Where it comes from.
    pub source: Source,
    /// Whom to tell: with an e-mail address or a telephone number.
    pub guest: Guest,
    /// Staff's note.
    pub note: Option<String>,
    /// How long an offer stands; `None` takes the property's time of a hold.
    pub answer_seconds: Option<i32>,
}

/// A wish as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its id.
    pub id: Uuid,
    /// Whose.
    pub property: PropertyId,
    /// `waiting`, `offered`, `accepted`, `cancelled`, `ended`.
    pub status: String,
    /// Counts changes.
    pub version: i64,
    /// What is wished.
    pub wish: NewWish,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it stands at its place in the queue.
    pub queued_at: Timestamp,
    /// How often it was offered something.
    pub offers: i32,
    /// The present offer, or the last: its hold, of which type, until when.
    pub offer: Option<(ReservationId, RoomTypeId, Option<Timestamp>)>,
    /// When it was claimed for the offer.
    pub offered_at: Option<Timestamp>,
    /// Not looked at before.
    pub look_after: Option<Timestamp>,
    /// How it ended: `date_passed`, `unanswered`.
    pub outcome: Option<String>,
    /// When.
    pub ended_at: Option<Timestamp>,
}

impl Waiting {
    /// It waits, or has an offer.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "waiting" | "offered")
    }

    /// Its place in the list.
    pub(crate) fn place(&self) -> Place {
        Place {
            is_over: !self.is_open(),
            queued_at: self.queued_at,
            wish: self.id,
        }
    }
}

/// A place in the list of wishes: not open ones last, then by the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// It is not open any more.
    pub is_over: bool,
    /// Its place in the queue.
    pub queued_at: Timestamp,
    /// Which.
    pub wish: Uuid,
}
