//! The messages in the standard's own words: actions, topics, capabilities, elements. No logic.

use serde::{Deserialize, Serialize};

use crate::mask;
use crate::xml::Element;

/// The version that is spoken.
pub(super) const VERSION: &str = "2024-10";

// Form field `action`.
pub(super) const DO_HANDSHAKE: &str = "OTA_Ping:Handshaking";
pub(super) const DO_FREE_ROOMS: &str = "OTA_HotelInvCountNotif:FreeRooms";
pub(super) const DO_READ: &str = "OTA_Read:GuestRequests";
pub(super) const DO_REPORT: &str = "OTA_NotifReport:GuestRequests";

// What a message is about: `Outbound::topic` and `Inbound::topic`.
pub(super) const HANDSHAKE: &str = "handshake";
pub(super) const FREE_ROOMS: &str = "free_rooms";
/// Followed by the code of the hotel that was asked for: a cancellation need not name it.
pub(super) const GUEST_REQUESTS: &str = "guest_requests:";
pub(super) const ACKNOWLEDGE: &str = "acknowledge";

/// The outermost element of the answer to a topic.
pub(super) fn answer_of(topic: &str) -> Option<&'static str> {
    match topic {
        HANDSHAKE => Some("OTA_PingRS"),
        FREE_ROOMS => Some("OTA_HotelInvCountNotifRS"),
        ACKNOWLEDGE => Some("OTA_NotifReportRS"),
        _ if topic.starts_with(GUEST_REQUESTS) => Some("OTA_ResRetrieveRS"),
        _ => None,
    }
}

// Actions and capabilities, as the handshake spells them.
pub(super) const ACTION_PING: &str = "action_OTA_Ping";
pub(super) const ACTION_FREE_ROOMS: &str = "action_OTA_HotelInvCountNotif";
pub(super) const ACTION_READ: &str = "action_OTA_Read";
pub(super) const CATEGORIES: &str = "OTA_HotelInvCountNotif_accept_categories";
pub(super) const ROOMS: &str = "OTA_HotelInvCountNotif_accept_rooms";
pub(super) const DELTAS: &str = "OTA_HotelInvCountNotif_accept_deltas";
pub(super) const COMPLETE_SET: &str = "OTA_HotelInvCountNotif_accept_complete_set";
pub(super) const OUT_OF_ORDER: &str = "OTA_HotelInvCountNotif_accept_out_of_order";
pub(super) const OUT_OF_MARKET: &str = "OTA_HotelInvCountNotif_accept_out_of_market";
pub(super) const CLOSING_SEASONS: &str = "OTA_HotelInvCountNotif_accept_closing_seasons";
pub(super) const ROOM_RATES: &str = "OTA_Read_accept_RoomRates";

/// The longest codes that the schema allows.
pub(super) const HOTEL_CODE_MAX: usize = 16;
pub(super) const ROOM_CODE_MAX: usize = 8;
pub(super) const REFERENCE_MAX: usize = 32;

/// Where cards stand, and what is never a card.
pub(super) const NAMES: mask::Names = mask::Names {
    secret: &[
        "CardNumber",
        "PlainText",
        "EncryptedValue",
        "MagneticStripe",
        "SeriesCode",
        "CVV",
        "CVC",
        "cc_number",
        "cc_cvc",
    ],
    kept: &[
        "ID",
        "RecordID",
        "ResID_Value",
        "HotelCode",
        "RoomTypeCode",
        "RatePlanCode",
        "InvTypeCode",
        "InvCode",
        "PhoneNumber",
        "RoomStayGroupID",
    ],
};

/// What the two sides of a handshake can do, per version.
#[derive(Serialize, Deserialize)]
pub(super) struct Announcement {
    pub(super) versions: Vec<Version>,
}

/// What can be done in a version.
#[derive(Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) version: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) actions: Vec<Action>,
}

/// An action and its capabilities.
#[derive(Serialize, Deserialize)]
pub(super) struct Action {
    pub(super) action: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) supports: Vec<String>,
}

/// What a handshake agreed on: actions and capabilities of our version.
#[derive(Serialize, Deserialize)]
pub(super) struct Agreed {
    pub(super) version: String,
    pub(super) supports: Vec<String>,
}

impl Agreed {
    /// Whether both sides have it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.supports.iter().any(|known| known == name)
    }
}

/// A guest request.
pub(super) struct HotelReservation<'a> {
    pub(super) element: Element<'a>,
    pub(super) status: Option<&'a str>,
    pub(super) created: Option<&'a str>,
    pub(super) modified: Option<&'a str>,
    pub(super) id_type: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) room_stays: Vec<Element<'a>>,
    pub(super) customer: Option<Element<'a>>,
    pub(super) global: Option<Element<'a>>,
}

/// The guest requests of a list.
pub(super) fn reservations(list: Element<'_>) -> Vec<HotelReservation<'_>> {
    let customer = [
        "ResGuests",
        "ResGuest",
        "Profiles",
        "ProfileInfo",
        "Profile",
        "Customer",
    ];
    list.children("HotelReservation")
        .map(|element| HotelReservation {
            element,
            status: element.attribute("ResStatus"),
            created: element.attribute("CreateDateTime"),
            modified: element.attribute("LastModifyDateTime"),
            id_type: element
                .at(&["UniqueID"])
                .and_then(|id| id.attribute("Type")),
            id: element.at(&["UniqueID"]).and_then(|id| id.attribute("ID")),
            room_stays: element.every(["RoomStays", "RoomStay"]).collect(),
            customer: element.at(&customer),
            global: element.child("ResGlobalInfo"),
        })
        .collect()
}
