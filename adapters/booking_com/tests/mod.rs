//! The traps of the channel, each as a sentence.

use keyrack_model::adapter::{
    ChannelAdapter, Demand, Exchange, Goal, Inbound, Method, Outbound, Outcome, Parsed, Receipt,
    ReceiptOutcome, Reply, Session, Step,
};
use keyrack_model::ari::{AriPush, AriSpan, AriValues};
use keyrack_model::money::{Currency, Money};
use keyrack_model::reservation::RevisionKind;
use keyrack_model::restriction::Restrictions;
use keyrack_model::stay::Stay;
use secrecy::{ExposeSecret, SecretString};

use super::BookingCom;

mod incoming;
mod outgoing;

pub(super) const BOOKING: BookingCom = BookingCom;

pub(super) fn session(learned: &str) -> Session {
    Session {
        endpoint: Some("http://desk.test/".to_owned()),
        user: "machine".to_owned(),
        secret: SecretString::from("open-sesame"),
        learned: SecretString::from(learned.to_owned()),
        settings: serde_json::Value::Null,
    }
}

pub(super) fn signed_in() -> Session {
    session("{\"jwt\":\"j.w.t\"}")
}

pub(super) fn night(date: &str, amount: &str, more: &str) -> String {
    format!(
        "<RoomRate EffectiveDate='{date}' RatePlanCode='901'><Rates><Rate><Total \
         AmountAfterTax='{amount}' CurrencyCode='EUR' {more}/></Rate></Rates></RoomRate>"
    )
}

pub(super) fn room(key: &str, inside: &str) -> String {
    format!(
        "<RoomStay IndexNumber='{key}'><RoomTypes><RoomType RoomTypeCode='4711'/></RoomTypes>\
         {inside}<BasicPropertyInfo HotelCode='7200'/></RoomStay>"
    )
}

pub(super) fn booking(attributes: &str, number: &str, rooms: &str) -> String {
    let stays = if rooms.is_empty() {
        String::new()
    } else {
        format!("<RoomStays>{rooms}</RoomStays>")
    };
    format!(
        "<HotelReservation {attributes}>{stays}<ResGlobalInfo><HotelReservationIDs>\
         <HotelReservationID ResID_Value='{number}' ResID_Source='BOOKING.COM'/>\
         </HotelReservationIDs></ResGlobalInfo></HotelReservation>"
    )
}

pub(super) fn new_queue(bookings: &str) -> Parsed {
    parse(&format!(
        "<OTA_HotelResNotifRQ><HotelReservations>{bookings}</HotelReservations>\
         </OTA_HotelResNotifRQ>"
    ))
}

pub(super) fn modified_queue(bookings: &str) -> Parsed {
    let bookings = bookings.replace("HotelReservation ", "HotelResModify ");
    let bookings = bookings.replace("/HotelReservation>", "/HotelResModify>");
    parse(&format!(
        "<OTA_HotelResModifyNotifRQ><HotelResModifies>{bookings}</HotelResModifies>\
         </OTA_HotelResModifyNotifRQ>"
    ))
}

pub(super) fn parse(message: &str) -> Parsed {
    BOOKING.parse(&inbound(message))
}

pub(super) fn inbound(message: &str) -> Inbound {
    Inbound {
        bytes: message.as_bytes().to_vec(),
        ..Inbound::default()
    }
}

pub(super) fn two_nights() -> String {
    let places = "DecimalPlaces='2'";
    let nights = night("2030-03-01", "15000", places) + &night("2030-03-02", "14850", places);
    format!("<RoomRates>{nights}</RoomRates>")
}

pub(super) fn reply(status: u16, body: &str) -> Reply {
    Reply {
        status,
        headers: vec![("retry-after".to_owned(), "17".to_owned())],
        body: body.as_bytes().to_vec(),
    }
}

pub(super) fn sent(topic: &str) -> Outbound {
    Outbound {
        topic: topic.to_owned(),
        method: Method::Post,
        url: String::new(),
        headers: Vec::new(),
        body: Vec::new(),
        timeout_seconds: 1,
    }
}

pub(super) fn outcome(topic: &str, status: u16, body: &str) -> Outcome {
    BOOKING.judge(&sent(topic), &reply(status, body)).outcome
}

pub(super) fn span(rate: Option<&str>, values: AriValues) -> AriSpan {
    let [from, to] = ["2030-03-01", "2030-03-04"].map(|date| date.parse().unwrap());
    AriSpan {
        nights: Stay::new(from, to).unwrap(),
        channel_room_code: "4711".to_owned(),
        channel_rate_code: rate.map(str::to_owned),
        values,
    }
}

pub(super) fn rooms(count: i32, closed: bool) -> AriSpan {
    let values = AriValues {
        rooms: Some(count),
        closed,
        ..AriValues::default()
    };
    span(None, values)
}

pub(super) fn render(spans: Vec<AriSpan>) -> Vec<String> {
    let push = AriPush {
        hotel_code: "7200".to_owned(),
        complete: false,
        spans,
    };
    let messages = BOOKING.render(&push, &signed_in()).expect("messages");
    let bodies = messages.into_iter().map(|message| message.body);
    bodies
        .map(|body| String::from_utf8(body).unwrap())
        .collect()
}
