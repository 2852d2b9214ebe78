//! What lies in the row of a transfer.

use keyrack_model::id::{PropertyId, ReservationId, RoomStayId, RoomTypeId};
use serde::{Deserialize, Serialize};

use crate::decide::overbooking::end::CaseMove;
use crate::decide::refusal::Refusal;

/// A guest on his way, with where he goes by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leg {
    pub reservation: ReservationId,
    /// Which of its rooms; `None` is all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_stay: Option<RoomStayId>,
    /// The version that was read: whoever has changed it since keeps it.
    pub version: i64,
    pub property: PropertyId,
    pub code: String,
    pub room_type: RoomTypeId,
    /// The reservation that it will be there.
    pub taken_as: ReservationId,
}

/// What was said of the whole, as it lies in the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub cost_minor: Option<i64>,
    pub note: Option<String>,
    pub told_channel: bool,
    pub may_approve: bool,
}

impl Leg {
    /// The refusal of the other house. Its nights are of types there, which nobody here knows.
    pub fn refused_there(&self, number: i64, code: &str) -> Refusal {
        let words = format!(
            "the guest of reservation {number} cannot sleep at {} ({}): choose another hotel, type \
             or way",
            self.code,
            code.replace('_', " ")
        );
        Refusal::IllegalTransition(words)
    }

    /// The refusal of a guest whose nights are over there.
    pub fn no_night_left(&self, number: i64) -> Refusal {
        let words = format!(
            "reservation {number} has no night left that could be slept at {}: choose another \
             guest",
            self.code
        );
        Refusal::IllegalTransition(words)
    }

    /// His move out of the house.
    pub fn release(&self) -> CaseMove {
        CaseMove {
            reservation: self.reservation,
            version: Some(self.version),
            room_stay: self.room_stay,
            to: None,
            elsewhere: Some(self.code.clone()),
        }
    }
}
