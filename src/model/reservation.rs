//! Reservations: what a channel told, what it means in our words, who sleeps where.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{AccountId, PropertyId, RatePlanId, RoomTypeId};
use crate::money::Money;
use crate::stay::StayDate;

/// Where a reservation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Takes rooms until its hold is dead.
    Held,
    /// Takes rooms.
    Confirmed,
    /// The guest is in the house.
    CheckedIn,
    /// Its nights are past.
    Completed,
    /// Did not arrive.
    NoShow,
    /// Takes nothing.
    Cancelled,
    /// A hold that nobody confirmed; takes nothing.
    Expired,
}

impl Status {
    /// The status as API and database spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Confirmed => "confirmed",
            Self::CheckedIn => "checked_in",
            Self::Completed => "completed",
            Self::NoShow => "no_show",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// The status as people say it of a reservation: "it is …".
    pub fn in_words(self) -> &'static str {
        match self {
            Self::CheckedIn => "checked in",
            Self::Completed => "checked out",
            Self::NoShow => "a no-show",
            other => other.as_str(),
        }
    }

    /// The reverse of [`Status::as_str`].
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Held,
            Self::Confirmed,
            Self::CheckedIn,
            Self::Completed,
            Self::NoShow,
            Self::Cancelled,
            Self::Expired,
        ]
        .into_iter()
        .find(|status| status.as_str() == name)
    }
}

/// Where a reservation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Taken on the telephone.
    Phone,
    /// At the desk, for tonight.
    WalkIn,
    /// The hotel's own site.
    Web,
    /// By letter.
    Email,
    /// Drawn from a group.
    Group,
    /// Told by a channel.
    Channel,
}

impl Source {
    /// The source as API and database spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Phone => "phone",
            Self::WalkIn => "walk_in",
            Self::Web => "web",
            Self::Email => "email",
            Self::Group => "group",
            Self::Channel => "channel",
        }
    }

    /// The reverse of [`Source::as_str`].
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Phone,
            Self::WalkIn,
            Self::Web,
            Self::Email,
            Self::Group,
            Self::Channel,
        ]
        .into_iter()
        .find(|source| source.as_str() == name)
    }
}

/// Who comes. Personal data: `Debug` shows none of it.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guest {
    /// Full name.
    pub name: String,
    /// E-mail, perhaps an alias of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// Language tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guest(..)")
    }
}

/// What a revision is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RevisionKind {
    /// The first state.
    New,
    /// A later state, whole.
    Modified,
    /// No longer comes.
    Cancelled,
}

impl RevisionKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Modified => "modified",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One room of a report, in the channel's codes and as odd as the channel told it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReportedRoom {
    /// The channel's stable key of this room within the reservation, where it has one.
    pub room_key: Option<String>,
    /// The channel's code of the room type.
    pub room_code: String,
    /// The channel's code of the rate; the first where it differs by night.
    pub rate_code: Option<String>,
    /// First night.
    pub arrival: Option<StayDate>,
    /// Morning after the last night. May equal the arrival: facts are recorded all the same.
    pub departure: Option<StayDate>,
    /// Rooms of this kind.
    pub quantity: i32,
    /// Price per night for one room, where told.
    pub nightly: Vec<(StayDate, Money)>,
    /// Total of this room, where told.
    pub total: Option<Money>,
    /// Adults.
    pub adults: Option<i32>,
    /// Age of each child, where told; `None` is a child of unknown age.
    pub children_ages: Vec<Option<i32>>,
    /// Who sleeps here. Personal data.
    pub guest_name: Option<GuestName>,
}

/// A guest's name: `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GuestName(pub String);

impl fmt::Debug for GuestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuestName(..)")
    }
}

/// One state of a reservation as a channel told it, in its own codes, before mapping.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReservationReport {
    /// The channel's code of the hotel; `None` where a cancel says nothing but the reference.
    pub hotel_code: Option<String>,
    /// The channel's reference, unique within the account.
    pub reference: String,
    /// Which kind of state.
    pub kind: RevisionKind,
    /// Order among the states of this reference: the channel's revision number, or its
    /// modification time in microseconds. `None` where the channel tells neither.
    pub order: Option<i64>,
    /// When the guest booked, where told.
    pub booked_at: Option<Timestamp>,
    /// The rooms; of a cancel, perhaps none.
    pub rooms: Vec<ReportedRoom>,
    /// Who booked.
    pub guest: Guest,
    /// Price of the whole, or of a cancellation its fee.
    pub total: Option<Money>,
    /// What the channel keeps.
    pub commission: Option<Money>,
    /// Who collects: the channel's own words.
    pub payment_model: Option<String>,
    /// Wishes and remarks, in the guest's words. Personal data.
    pub remarks: Vec<GuestName>,
    /// A quote: nobody has booked, availability is not touched.
    pub is_quote: bool,
    /// What the acknowledgement must name beside the reference, such as the kind of identifier.
    pub acknowledge_as: Option<String>,
}

/// One room of a revision: a report's room with our ids where the mapping knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionRoom {
    /// The room as told.
    pub told: ReportedRoom,
    /// Ours; `None` where the code is not mapped.
    pub room_type: Option<RoomTypeId>,
    /// Taken instead of an unmapped type: the account's fallback type.
    pub is_fallback: bool,
    /// Ours; `None` where there is no rate or it is not mapped.
    pub rate_plan: Option<RatePlanId>,
}

/// A report after mapping: a fact for the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationRevision {
    /// Whose reservation.
    pub property: PropertyId,
    /// Through which listing.
    pub account: AccountId,
    /// What was told.
    pub report: ReservationReport,
    /// The rooms in our ids, in the report's order.
    pub rooms: Vec<RevisionRoom>,
    /// A room left out is cancelled (`true`, a snapshot) or unchanged (`false`, a patch).
    pub is_snapshot: bool,
    /// When its bytes reached us.
    pub received_at: Timestamp,
}

impl ReservationRevision {
    /// Codes that no mapping knows.
    pub fn unmapped(&self) -> impl Iterator<Item = &str> {
        self.rooms
            .iter()
            .filter(|room| room.room_type.is_none() || room.is_fallback)
            .map(|room| room.told.room_code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_leaves_no_trace_in_a_log() {
        let guest = Guest {
            name: "Ada Example".into(),
            ..Guest::default()
        };
        let room = ReportedRoom {
            guest_name: Some(GuestName("Ada".into())),
            ..Default::default()
        };
        assert!(!format!("{guest:?} {room:?}").contains("Ada"));
    }

    #[test]
    fn each_status_reads_back() {
        for status in [
            Status::Held,
            Status::CheckedIn,
            Status::NoShow,
            Status::Expired,
        ] {
            assert_eq!(Status::from_name(status.as_str()), Some(status));
        }
        assert_eq!(Status::from_name("gone"), None);
    }
}
