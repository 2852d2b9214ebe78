//! The messages in the channel's own words: hosts, paths, topics, elements. No logic.

use serde::{Deserialize, Serialize};

use crate::mask;
use crate::ota2003::message::{Answer, answer};
use crate::xml::Element;

/// Reservations, with card data.
pub(super) const SECURE_HOST: &str = "https://secure-supply-xml.booking.com";
/// Rates and availability.
pub(super) const SUPPLY_HOST: &str = "https://supply-xml.booking.com";
/// Tokens.
pub(super) const TOKEN_HOST: &str = "https://connectivity-authentication.booking.com";

pub(super) const TOKEN_PATH: &str = "/token-based-authentication/exchange";
pub(super) const NEW_PATH: &str = "/hotels/ota/OTA_HotelResNotif";
pub(super) const MODIFIED_PATH: &str = "/hotels/ota/OTA_HotelResModifyNotif";
pub(super) const AVAILABILITY_PATH: &str = "/hotels/ota/OTA_HotelAvailNotif";
pub(super) const RATES_PATH: &str = "/hotels/ota/OTA_HotelRateAmountNotif";
/// Unconfirmed: the documentation shows the end of the path only.
pub(super) const MISSED_PATH: &str = "/reservations-flow-control/missed-reservations";

// What a message is about: `Outbound::topic` and `Inbound::topic`.
pub(super) const SIGN_IN: &str = "sign_in";
pub(super) const TEST: &str = "test";
pub(super) const NEW: &str = "reservations.new";
pub(super) const MODIFIED: &str = "reservations.modified";
pub(super) const MISSED: &str = "reservations.missed";
pub(super) const ACKNOWLEDGE_NEW: &str = "acknowledge.new";
pub(super) const ACKNOWLEDGE_MODIFIED: &str = "acknowledge.modified";
pub(super) const AVAILABILITY: &str = "availability";
pub(super) const RATES: &str = "rates";

/// Reservations asked for at once.
pub(super) const POLL_LIMIT: usize = 100;

/// Where cards stand, in both dialects of the channel, and what is never a card.
pub(super) const NAMES: mask::Names = mask::Names {
    secret: &[
        "CardNumber",
        "MaskedCardNumber",
        "PlainText",
        "EncryptedValue",
        "MagneticStripe",
        "SeriesCode",
        "CVV",
        "CVC",
        "cc_number",
        "cc_cvc",
        "cc_cvv",
        "card_number",
        "security_code",
    ],
    kept: &[
        "ResID_Value",
        "RecordID",
        "LocatorID",
        "IndexNumber",
        "HotelCode",
        "RoomTypeCode",
        "RatePlanCode",
        "InvTypeCode",
        "EchoToken",
        "PhoneNumber",
        "RPH",
        "ResGuestRPH",
    ],
};

/// The body of the token exchange.
#[derive(Serialize)]
pub(super) struct Credentials<'a> {
    pub(super) client_id: &'a str,
    pub(super) client_secret: &'a str,
}

/// Its answer, and what signing in learned. Has no `Debug`.
#[derive(Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) jwt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ruid: Option<String>,
}

/// The request id where an answer is JSON.
#[derive(Deserialize)]
pub(super) struct Traced {
    pub(super) ruid: String,
}

/// The two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    New,
    Modified,
    /// One of the two, and only the channel knows which.
    Either,
}

impl Queue {
    /// The queue as a receipt names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Modified => "modified",
            Self::Either => "either",
        }
    }
}

/// A message by its outermost element.
pub(super) enum Message<'a> {
    Reservations(Queue, Vec<HotelReservation<'a>>),
    Availability(Element<'a>),
    Rates(Element<'a>),
    /// An answer, ours or theirs.
    Answer(Answer),
    /// `fault` and `errors` of the flat dialect: code and words.
    Fault(Vec<(Option<String>, String)>),
    /// `ok` of the flat dialect.
    Ok,
    /// The flat dialect.
    OtherDialect,
    Unknown(&'a str),
}

/// A reservation of either queue.
pub(super) struct HotelReservation<'a> {
    pub(super) element: Element<'a>,
    /// Of the reservation, else of the message.
    pub(super) status: Option<&'a str>,
    pub(super) created: Option<&'a str>,
    pub(super) modified: Option<&'a str>,
    pub(super) ids: Vec<Element<'a>>,
    pub(super) room_stays: Vec<Element<'a>>,
    pub(super) guests: Vec<Element<'a>>,
    pub(super) global: Option<Element<'a>>,
}

/// Reads the outermost element.
pub(super) fn message(root: Element<'_>) -> Message<'_> {
    match root.name() {
        "OTA_HotelResNotifRQ" => Message::Reservations(
            Queue::New,
            reservations(root, ["HotelReservations", "HotelReservation"]),
        ),
        "OTA_HotelResModifyNotifRQ" => Message::Reservations(
            Queue::Modified,
            reservations(root, ["HotelResModifies", "HotelResModify"]),
        ),
        "OTA_HotelAvailNotifRQ" => Message::Availability(root),
        "OTA_HotelRateAmountNotifRQ" => Message::Rates(root),
        "OTA_HotelResNotifRS"
        | "OTA_HotelResModifyNotifRS"
        | "OTA_HotelAvailNotifRS"
        | "OTA_HotelRateAmountNotifRS"
        | "OTA_ErrorRS" => Message::Answer(answer(root)),
        "fault" => Message::Fault(vec![(owned(root, "code"), text_or(root, "string"))]),
        "errors" => Message::Fault(root.every(["error"]).map(flat).collect()),
        "ok" => Message::Ok,
        "reservations" | "request" => Message::OtherDialect,
        other => Message::Unknown(other),
    }
}

fn reservations<'a>(root: Element<'a>, path: [&str; 2]) -> Vec<HotelReservation<'a>> {
    let of_message = root.attribute("ResStatus");
    let each = root.every(path);
    each.map(|element| HotelReservation {
        element,
        status: element.attribute("ResStatus").or(of_message),
        created: element.attribute("CreateDateTime"),
        modified: element.attribute("LastModifyDateTime"),
        ids: element.every(IDS).collect(),
        room_stays: element.every(["RoomStays", "RoomStay"]).collect(),
        guests: element.every(["ResGuests", "ResGuest"]).collect(),
        global: element.child("ResGlobalInfo"),
    })
    .collect()
}

/// Where a reservation's numbers stand.
const IDS: [&str; 3] = ["ResGlobalInfo", "HotelReservationIDs", "HotelReservationID"];

fn flat(error: Element<'_>) -> (Option<String>, String) {
    let words = error.child("message").map(Element::text);
    let code = error.child("code").map(|code| code.text().to_owned());
    (code, words.unwrap_or_else(|| error.text()).to_owned())
}

fn owned(element: Element<'_>, name: &str) -> Option<String> {
    element.attribute(name).map(str::to_owned)
}

fn text_or(element: Element<'_>, name: &str) -> String {
    owned(element, name).unwrap_or_else(|| element.text().to_owned())
}
