//! ARI: availability, rates and inventory restrictions, as told to channels.

use serde::{Deserialize, Serialize};

use crate::id::{RatePlanId, RoomTypeId};
use crate::money::Money;
use crate::restriction::Restrictions;
use crate::stay::{StayDate, StayRange};

/// Which cell of ARI: a night of a room type, or of one of its rate plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AriKey {
    /// Whose inventory.
    pub room_type: RoomTypeId,
    /// `None` is the room type itself, which carries the rooms.
    pub rate_plan: Option<RatePlanId>,
    /// The night.
    pub night: StayDate,
}

/// The price of a night for a number of guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OccupancyRate {
    /// Number of guests.
    pub guests: u8,
    /// For the whole room and night.
    pub rate: Money,
}

/// What a channel may be told of a cell: absolute, never a difference.
///
/// A cell without a rate plan carries `rooms`; one with a rate plan carries rate and restrictions.
/// Both carry `closed`. What a channel does not take is left out by its adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AriValues {
    /// Rooms still sellable; `None` on cells of a rate plan.
    pub rooms: Option<i32>,
    /// Closed for sale by any layer: staff, sold out, buffer, no price, horizon, not expressible.
    pub closed: bool,
    /// The price of the room for standard occupancy.
    pub rate: Option<Money>,
    /// Prices by number of guests, where the plan has them.
    pub occupancy_rates: Vec<OccupancyRate>,
    /// Only those that the channel can express.
    pub restrictions: Restrictions,
}

/// A cell and what is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AriCell {
    /// Which.
    pub key: AriKey,
    /// What.
    pub values: AriValues,
}

/// Equal neighbours joined, in the channel's codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AriSpan {
    /// The nights `from..to`; an adapter whose channel includes the end converts.
    pub nights: StayRange,
    /// The channel's code of the room.
    pub channel_room_code: String,
    /// The channel's code of the rate; `None` speaks of the room itself.
    pub channel_rate_code: Option<String>,
    /// What is told.
    pub values: AriValues,
}

/// What one message (or one set of messages) tells one hotel's listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AriPush {
    /// The channel's code of the hotel.
    pub hotel_code: String,
    /// A complete set replaces all that the channel knows; else only the listed nights change.
    pub complete: bool,
    /// The spans, ordered by room code, rate code (rooms first) and night.
    pub spans: Vec<AriSpan>,
}
