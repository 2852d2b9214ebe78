//! A channel's abilities, a connection to it, an account at it, and the mapping of codes.

use serde::{Deserialize, Serialize};

use crate::id::{
    AccountId, AllotmentId, ChannelCode, ConnectionId, PropertyId, RatePlanId, RoomTypeId,
};
use crate::restriction::RestrictionKind;

/// What a channel can do. The engine reads it and never asks which channel it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Asked by us for reservations; `false` where it delivers them by itself.
    pub is_polled: bool,
    /// One poll answers for all hotels of the connection; else one exchange a hotel.
    pub polls_whole_connection: bool,
    /// Seconds from one complete poll to the next.
    pub poll_seconds: u32,
    /// Seconds to wait after an acknowledgement before the next poll.
    pub settle_after_acknowledge_seconds: u32,
    /// Seconds from one question for missed reservations to the next; `None` where it has none.
    pub missed_seconds: Option<u32>,
    /// Seconds after which a message that was not acknowledged falls back to e-mail.
    pub fallback_seconds: u32,
    /// A revision is the whole new state; else a room left out is unchanged.
    pub snapshot_revisions: bool,
    /// Takes single nights; else only complete sets.
    pub takes_deltas: bool,
    /// Takes (and wants, daily) complete sets.
    pub takes_complete_sets: bool,
    /// Takes prices.
    pub takes_rates: bool,
    /// Knows rate plans below the room; else only the room is told.
    pub knows_rate_plans: bool,
    /// Restrictions that it can express.
    pub restrictions: &'static [RestrictionKind],
    /// Reopens a night by itself when a guest cancels there, so that "nothing to sell" is told
    /// as 0 and closed.
    pub reopens_by_itself: bool,
    /// The largest number of rooms it can be told.
    pub rooms_max: i32,
    /// Spans in one message at most.
    pub spans_per_message_max: usize,
    /// Nights ahead that it takes at most.
    pub horizon_nights_max: i32,
    /// Requests per minute and connection.
    pub requests_per_minute: u32,
    /// Seconds after which a quiet channel that cannot be polled is safe to raise; 0 for one that
    /// sells nothing by itself, `None` for one that can be polled.
    pub settle_seconds: Option<u32>,
    /// Needs [`crate::adapter::Goal::SignIn`] before anything else.
    pub signs_in: bool,
    /// Seconds after which what signing in learned is learned anew.
    pub sign_in_seconds: u32,
}

/// One login at a channel, for one property or many; without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// Which dialect.
    pub channel: ChannelCode,
}

/// Where an account stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountState {
    /// Polls and records, tells nothing.
    Setup,
    /// Told and polled.
    Live,
    /// Polls and records; pushes rest.
    Paused,
    /// Told zero and closed everywhere; still takes bookings in.
    Closed,
}

impl AccountState {
    /// The state as the database spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Live => "live",
            Self::Paused => "paused",
            Self::Closed => "closed",
        }
    }

    /// The reverse of [`AccountState::as_str`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Setup, Self::Live, Self::Paused, Self::Closed]
            .into_iter()
            .find(|state| state.as_str() == name)
    }
}

/// What to do with a restriction that the channel cannot express.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inexpressible {
    /// Close the night there.
    #[default]
    Close,
    /// Tell something stricter that it can express.
    Approximate,
    /// The hotel keeps it at the channel by hand.
    KeptAtChannel,
}

/// How an account wants to be told; each key is optional in the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccountSettings {
    /// Gather changes for this many seconds before a raise is pushed; 0 is at once. Lowering and
    /// closing never waits.
    pub gather_seconds: u32,
    /// Local hour of the property (0 to 23) of the daily full resync.
    pub resync_hour: u8,
    /// Nights ahead that are told; the property's horizon and the channel's limit bound it.
    pub horizon_days: Option<i32>,
    /// Code of the room type that unmapped rooms take.
    pub fallback_room_type: Option<String>,
    /// Hundredths of a percent on top of each rate.
    pub markup_percent_hundredths: i64,
    /// What to do with restrictions that the channel cannot express.
    pub inexpressible: Inexpressible,
    /// Repeating a number on a night with so many rooms or fewer waits for a complete poll.
    pub scarcity_rooms: i32,
}

impl Default for AccountSettings {
    fn default() -> Self {
        Self {
            gather_seconds: 0,
            resync_hour: 3,
            horizon_days: None,
            fallback_room_type: None,
            markup_percent_hundredths: 0,
            inexpressible: Inexpressible::Close,
            scarcity_rooms: 2,
        }
    }
}

/// One property's listing at a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its property.
    pub property: PropertyId,
    /// Its code within the property.
    pub code: String,
    /// The login that it goes through.
    pub connection: ConnectionId,
    /// Which dialect.
    pub channel: ChannelCode,
    /// The channel's code of the hotel.
    pub hotel_code: String,
    /// Where it stands.
    pub state: AccountState,
    /// How it wants to be told.
    pub settings: AccountSettings,
}

/// From which pool an account sells.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PoolMode {
    /// First come, first served.
    #[default]
    Shared,
    /// What is left of its allotment, and nothing else.
    Allotment,
    /// What is left of its allotment, then what is free.
    AllotmentThenShared,
}

impl PoolMode {
    /// The mode as database and contract spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Allotment => "allotment",
            Self::AllotmentThenShared => "allotment_then_shared",
        }
    }

    /// The reverse of [`PoolMode::as_str`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Shared, Self::Allotment, Self::AllotmentThenShared]
            .into_iter()
            .find(|mode| mode.as_str() == name)
    }
}

/// Our room type and rate plan and the channel's codes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelMapping {
    /// Ours.
    pub room_type: RoomTypeId,
    /// Ours; `None` maps the room alone.
    pub rate_plan: Option<RatePlanId>,
    /// The channel's code of the room.
    pub channel_room_code: String,
    /// The channel's code of the rate.
    pub channel_rate_code: Option<String>,
    /// From which pool it sells.
    pub pool: PoolMode,
    /// The allotment, where the pool is not the shared one alone.
    pub allotment: Option<AllotmentId>,
}
