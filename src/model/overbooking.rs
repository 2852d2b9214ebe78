//! Overbooking cases: more sold than there is, and what is known of why.

use serde::{Deserialize, Serialize};

/// Why a night was oversold. `Undetermined` until the evidence has been weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Not yet worked out.
    Undetermined,
    /// The guest booked before our close could have reached the channel.
    SoldBeforeCloseCouldArrive,
    /// The close was never accepted by the channel.
    PushFailed,
    /// The room's code was not mapped.
    Unmapped,
    /// The channel opened the room by itself.
    ChannelReopened,
    /// Staff overrode the stock.
    StaffForced,
    /// Rooms were taken away.
    CapacityCut,
    /// Within the overbooking limit.
    Meant,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Undetermined,
        Self::SoldBeforeCloseCouldArrive,
        Self::PushFailed,
        Self::Unmapped,
        Self::ChannelReopened,
        Self::StaffForced,
        Self::CapacityCut,
        Self::Meant,
    ];

    /// The cause as API and database spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undetermined => "undetermined",
            Self::SoldBeforeCloseCouldArrive => "sold_before_close_could_arrive",
            Self::PushFailed => "push_failed",
            Self::Unmapped => "unmapped",
            Self::ChannelReopened => "channel_reopened",
            Self::StaffForced => "staff_forced",
            Self::CapacityCut => "capacity_cut",
            Self::Meant => "meant",
        }
    }
}

/// How a case ends, and at the same time a way out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// A guest gets a room of another type.
    Upgrade,
    /// Two or more guests change their room types at once.
    Swap,
    /// A guest sleeps in another hotel of the same owner.
    SisterProperty,
    /// A guest is sent to another hotel at our cost.
    Walk,
    /// The channel that sold the room has found another hotel for its guest.
    RelocatedByChannel,
    /// A cancellation or a change has given the rooms back.
    Cured,
    /// Nothing is done, for a reason that is written down.
    AcceptedAsIs,
}

impl Ending {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Upgrade,
        Self::Swap,
        Self::SisterProperty,
        Self::Walk,
        Self::RelocatedByChannel,
        Self::Cured,
        Self::AcceptedAsIs,
    ];

    /// The ending as API and database spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Swap => "swap",
            Self::SisterProperty => "sister_property",
            Self::Walk => "walk",
            Self::RelocatedByChannel => "relocated_by_channel",
            Self::Cured => "cured",
            Self::AcceptedAsIs => "accepted_as_is",
        }
    }

    /// The reverse of [`Ending::as_str`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == name)
    }

    /// Whether guests leave the house by it: their reservations here are cancelled.
    pub fn lets_guests_go(self) -> bool {
        matches!(
            self,
            Self::Walk | Self::SisterProperty | Self::RelocatedByChannel
        )
    }
}
