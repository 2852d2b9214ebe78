//! What a fake channel would answer to one message standing alone.
//!
//! The kind of the message is told by its root element. What the channel knows beforehand is the
//! hotels of the published samples with their codes, and nothing else: so that a message for
//! another hotel or category is refused, as by the real one. Everything was announced, and dates
//! may lie anywhere. `X-Sandbox-` headers change it:
//!
//! | header | meaning |
//! | --- | --- |
//! | `X-Sandbox-Hotel: CODE` | this is the only hotel |
//! | `X-Sandbox-Categories: A,B` | its room types (default: all of the samples) |
//! | `X-Sandbox-Rates: A,B` | the rates of its room types (`booking_com`) |
//! | `X-Sandbox-Capabilities: A,B` | what was announced, whole names or ends (`alpinebits`) |
//! | `X-Sandbox-Today: YYYY-MM-DD` | how far back dates may reach (`booking_com`) |
//! | `X-AlpineBits-ClientProtocolVersion` | as on the wire; default 2024-10 |

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::alpinebits::answer::{INV_COUNT, Refusal};
use crate::alpinebits::capability::{self, Capabilities, VERSION};
use crate::alpinebits::{answer, free_rooms, guest_requests, handshake, judge};
use crate::booking_com::ari::{AVAILABILITY, Kind, RATES};
use crate::booking_com::queue::Queue;
use crate::booking_com::{acknowledgement, answer as booking_answer, ari, judge as booking_judge};
use crate::channel::{ALPINEBITS, BOOKING_COM, Channel};
use crate::clock::Clock;
use crate::edge::{Answer, Heard};
use crate::faults::Struck;
use crate::hotel::Room;
use crate::night::date;
use crate::settings::{AlpineBitsSettings, BookingComSettings};
use crate::xml::{Writer, child, text, tree};

/// An answer to one message, and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckAnswer {
    /// The HTTP status.
    pub status: u16,
    #[serde(serialize_with = "as_text")]
    pub body: Vec<u8>,
    pub verdict: Verdict,
    /// Why it is rejected, or what was taken, in one sentence.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accept,
    Reject,
}

fn as_text<S: Serializer>(body: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(body))
}

/// What the fake channel would answer to a message; never fails.
pub fn check(channel: &str, body: &[u8], headers: &[(String, String)]) -> CheckAnswer {
    let headers = Headers(headers);
    let heard = match channel {
        ALPINEBITS => alpinebits(body, &headers),
        BOOKING_COM => booking_com(body, &headers),
        other => {
            let why = format!("there is no fake channel {other}");
            Heard::refused(Answer::new(404, "text/plain", why.clone()), why)
        }
    };
    let verdict = if heard.accepted {
        Verdict::Accept
    } else {
        Verdict::Reject
    };
    let reason = if heard.refused.is_empty() {
        "everything in the message is taken".to_owned()
    } else {
        heard.refused.join("; ")
    };
    CheckAnswer {
        status: heard.answer.status,
        body: heard.answer.body,
        verdict,
        reason,
    }
}

struct Headers<'a>(&'a [(String, String)]);

impl<'a> Headers<'a> {
    fn one(&self, name: &str) -> Option<&'a str> {
        let mut all = self.0.iter();
        all.find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        let value = self.one(name)?;
        Some(
            value
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .collect(),
        )
    }
}

/// The root element's name, if the body is a message at all.
fn kind_of(body: &[u8]) -> Result<String, String> {
    let document = text(body).and_then(tree)?;
    Ok(document.root_element().tag_name().name().to_owned())
}

fn alpinebits(body: &[u8], headers: &Headers<'_>) -> Heard {
    let kind = match kind_of(body) {
        Ok(kind) => kind,
        Err(why) => return answer::error(INV_COUNT, &Refusal::new(450, why)),
    };
    let version = headers
        .one("x-alpinebits-clientprotocolversion")
        .unwrap_or(VERSION);
    if version != VERSION && kind != "OTA_PingRQ" {
        return answer::plain(400, &format!("version {version} is not spoken"));
    }
    let capabilities = announced(headers);
    let now = Clock::default().now();
    match kind.as_str() {
        "OTA_PingRQ" => handshake::receive(body, &capabilities).0,
        "OTA_HotelInvCountNotifRQ" => {
            let channel = portal(headers);
            let mut state = channel.state();
            let read = free_rooms::receive(&mut state, body, &capabilities, false, now);
            read.map_or_else(|refused| *refused, |taken| taken.answer(Vec::new()))
        }
        "OTA_ReadRQ" => {
            let channel = portal(headers);
            let mut state = channel.state();
            let struck = Struck::default();
            guest_requests::read(&mut state, body, &capabilities, &struck, &[], now)
        }
        "OTA_NotifReportRQ" => match guest_requests::read_report(body) {
            Ok(_) => answer::success(answer::REPORT, &[], |_| {}),
            Err(refusal) => answer::error(answer::REPORT, &refusal),
        },
        "OTA_ResRetrieveRS" | "OTA_HotelResNotifRQ" => requests(body, &kind, &capabilities),
        "OTA_PingRS" | "OTA_HotelInvCountNotifRS" | "OTA_NotifReportRS" | "OTA_HotelResNotifRS" => {
            outcome(body)
        }
        other => answer::plain(400, &format!("{other} belongs to no action of this portal")),
    }
}

/// Capabilities by whole name, or by the end of it.
fn announced(headers: &Headers<'_>) -> Capabilities {
    let Some(listed) = headers.list("x-sandbox-capabilities") else {
        return capability::all();
    };
    let named = |name: &&str| listed.iter().any(|part| name.ends_with(*part));
    capability::ALL
        .iter()
        .copied()
        .filter(|name| named(name))
        .map(str::to_owned)
        .collect()
}

/// A portal that knows the hotels of the samples, or the one that the headers name.
fn portal(headers: &Headers<'_>) -> Channel {
    let settings = AlpineBitsSettings::default();
    let channel = Channel::alpinebits(&settings, Clock::default(), 1, None)
        .expect("without a journal file nothing is opened");
    let listed = headers.list("x-sandbox-categories");
    let every: Vec<&str> = SAMPLE_HOTELS
        .iter()
        .flat_map(|(_, codes)| codes.to_vec())
        .collect();
    let rooms = |codes: &[&str]| -> Vec<Room> {
        codes
            .iter()
            .map(|code| Room::new(code, &["BAR"], PLENTY))
            .collect()
    };
    match headers.one("x-sandbox-hotel") {
        Some(hotel) => channel.add_hotel(hotel, &rooms(&listed.unwrap_or(every))),
        None => {
            for (hotel, codes) in SAMPLE_HOTELS {
                let codes = listed.as_deref().unwrap_or(codes);
                channel.add_hotel(hotel, &rooms(codes));
            }
        }
    }
    channel
}

/// Guest requests as the portal itself would send them, judged by the rules; the answer is the
/// acknowledgement that a client owes.
fn requests(body: &[u8], kind: &str, capabilities: &Capabilities) -> Heard {
    let document = match text(body).and_then(tree) {
        Ok(document) => document,
        Err(why) => return answer::error(answer::RES_NOTIF, &Refusal::new(450, why)),
    };
    let root = document.root_element();
    if child(root, "Errors").is_some() {
        return outcome(body);
    }
    let pulled = kind == "OTA_ResRetrieveRS";
    let name = if pulled {
        "ReservationsList"
    } else {
        "HotelReservations"
    };
    let list = child(root, name).filter(|_| !pulled || child(root, "Success").is_some());
    let Some(list) = list else {
        let why = format!("Success or {name} is missing");
        return answer::error(answer::RES_NOTIF, &Refusal::new(321, why));
    };
    let judged = judge::reservations(list, capabilities);
    let refused: Vec<String> = judged
        .iter()
        .filter_map(|one| one.as_ref().err())
        .map(|(_, why)| why.text.clone())
        .collect();
    let body = acknowledgement_of(&judged, pulled);
    Heard {
        answer: Answer::new(200, "application/xml; charset=utf-8", body),
        accepted: refused.is_empty(),
        refused,
        ..Heard::default()
    }
}

fn acknowledgement_of(judged: &[judge::Judged], pulled: bool) -> String {
    let root = if pulled {
        "OTA_NotifReportRQ"
    } else {
        "OTA_HotelResNotifRS"
    };
    let mut xml = Writer::new(root, &[("Version", "1.000")]);
    xml.empty("Success", &[]);
    let refused: Vec<_> = judged.iter().filter_map(|one| one.as_ref().err()).collect();
    if !refused.is_empty() {
        xml.open("Warnings", &[]);
        for (id, why) in refused {
            let attributes = [("Type", "3"), ("Code", "450"), ("RecordID", id.as_str())];
            xml.leaf("Warning", &attributes, &why.text);
        }
        xml.close();
    }
    let taken: Vec<_> = judged.iter().flatten().collect();
    if !taken.is_empty() {
        if pulled {
            xml.open("NotifDetails", &[]);
            xml.open("HotelNotifReport", &[]);
        }
        xml.open("HotelReservations", &[]);
        for (kind, id) in taken {
            xml.open("HotelReservation", &[]);
            xml.empty("UniqueID", &[("Type", kind), ("ID", id)]);
            xml.close();
        }
        xml.close();
    }
    xml.finish()
}

/// An answer as the portal itself gives them: a success or errors, never both.
fn outcome(body: &[u8]) -> Heard {
    let read = text(body).and_then(tree).map(|document| {
        let root = document.root_element();
        (
            child(root, "Success").is_some(),
            child(root, "Errors").is_some(),
        )
    });
    match read {
        Ok((true, false) | (false, true)) => Heard::accepted(Answer::new(200, "text/plain", "")),
        Ok(_) => answer::plain(400, "either Success or Errors is required"),
        Err(why) => answer::plain(400, &why),
    }
}

fn booking_com(body: &[u8], headers: &Headers<'_>) -> Heard {
    let now = Clock::default().now();
    let root = "OTA_ErrorRS";
    let kind = match kind_of(body) {
        Ok(kind) => kind,
        Err(why) => {
            return booking_answer::refusal(root, 400, booking_answer::Fault::new(450, why), now);
        }
    };
    match kind.as_str() {
        "OTA_HotelAvailNotifRQ" => tell(body, headers, &AVAILABILITY, now),
        "OTA_HotelRateAmountNotifRQ" => tell(body, headers, &RATES, now),
        "OTA_HotelResNotifRS" => acknowledged(Queue::New, body, now),
        "OTA_HotelResModifyNotifRS" => acknowledged(Queue::Modify, body, now),
        "OTA_HotelResNotifRQ" => booking_judge::queue(Queue::New, body, now),
        "OTA_HotelResModifyNotifRQ" => booking_judge::queue(Queue::Modify, body, now),
        other => {
            let fault = booking_answer::Fault::new(450, format!("{other} is not spoken here"));
            booking_answer::refusal(root, 400, fault, now)
        }
    }
}

fn tell(body: &[u8], headers: &Headers<'_>, kind: &Kind, now: Timestamp) -> Heard {
    let settings = BookingComSettings::default();
    let channel = Channel::booking_com(&settings, Clock::default(), 1, None)
        .expect("without a journal file nothing is opened");
    let hotel = headers.one("x-sandbox-hotel").unwrap_or(BOOKING_HOTEL);
    let codes = headers
        .list("x-sandbox-categories")
        .unwrap_or_else(|| BOOKING_ROOMS.to_vec());
    let rates = headers
        .list("x-sandbox-rates")
        .unwrap_or_else(|| BOOKING_RATES.to_vec());
    let rooms: Vec<Room> = codes
        .iter()
        .map(|code| Room::new(code, &rates, PLENTY))
        .collect();
    channel.add_hotel(hotel, &rooms);
    let today = headers.one("x-sandbox-today").and_then(date);
    let mut state = channel.state();
    ari::receive(&mut state, kind, body, today, false, now)
}

/// An acknowledgement alone: taken as one of messages that wait.
fn acknowledged(queue: Queue, body: &[u8], now: Timestamp) -> Heard {
    match acknowledgement::read(queue, body) {
        Ok(_) => {
            let outcome = booking_answer::Outcome::default();
            booking_answer::outcome(queue.response(), &outcome, now)
        }
        Err(why) => {
            let fault = booking_answer::Fault::new(450, why);
            booking_answer::refusal(queue.response(), 400, fault, now)
        }
    }
}

/// The hotels of the published AlpineBits samples and their categories.
const SAMPLE_HOTELS: &[(&str, &[&str])] = &[
    ("HTL1", &["DBL", "SGL"]),
    ("9996", &["double"]),
    ("123", &["DOUBLE", "bigsuite"]),
];
const BOOKING_HOTEL: &str = "7200";
const BOOKING_ROOMS: &[&str] = &["4711", "4712"];
const BOOKING_RATES: &[&str] = &["901", "902"];
/// Physical rooms of hotels about which nothing else is known.
const PLENTY: u32 = 999;
