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
