//! Whatever bytes a channel sends: every door of every adapter answers in words, within bounds,
//! and nothing breaks. The bytes are the fixtures, made hostile.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use keyrack_adapters::all;
use keyrack_model::adapter::{ChannelAdapter, Goal, Outbound, Parsed, Reply, Step};
use keyrack_strangers::{Message, hostile};
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;
use proptest::test_runner::Config;
use serde_json::{Value, json};

mod fixture;

use fixture::case::{folder, inbound, receipts, session, xml_of};
use fixture::sent::{everything_sent, first};

/// Every fixture of every channel, what is sent as well as what comes, and the answers that no
/// fixture holds.
fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = ANSWERS.iter().map(|text| text.as_bytes().into()).collect();
    for adapter in all() {
        for entry in fs::read_dir(folder(&*adapter)).expect("fixtures") {
            let path = entry.expect("a fixture").path();
            let bytes = fs::read(&path).expect("a fixture");
            samples.push(xml_of(&bytes).to_vec());
            samples.push(bytes);
        }
        samples.extend(everything_sent(&*adapter).into_iter().map(|sent| sent.body));
    }
    samples.retain(|sample| !sample.is_empty());
    samples
}

/// Answers to what is sent: token, handshake, success, warnings, errors, refusals in plain text.
const ANSWERS: [&str; 12] = [
    r#"{"jwt":"header.payload.signature","ruid":"ZGVtbw=="}"#,
    r#"{"errors":[{"code":"401","message":"no"}],"ruid":"ZGVtbw=="}"#,
    "ERROR:unknown or missing action",
    "<ok/>\n<!-- RUID: [ZGVtbw==] -->",
    "<fault code=\"401\" string=\"Authorization Required\"/>",
    "<errors><error><code>403</code><message>no access</message></error></errors>",
    "<OTA_HotelAvailNotifRS xmlns=\"http://www.opentravel.org/OTA/2003/05\" Version=\"1.0\">\
     <Success/><Warnings><Warning Type=\"3\" Code=\"WARN_DUPLICATE_DATES\" RecordID=\"3\">twice\
     </Warning></Warnings></OTA_HotelAvailNotifRS>",
    "<OTA_HotelRateAmountNotifRS Version=\"1.0\"><Errors><Error Type=\"3\" Code=\"448\" \
     RecordID=\"99999999999999999999\" ShortText=\"no\"/></Errors></OTA_HotelRateAmountNotifRS>",
    "<OTA_HotelResNotifRS Version=\"1.0\"><Success/></OTA_HotelResNotifRS>",
    "<OTA_HotelInvCountNotifRS Version=\"1.000\"><Success/><Warnings><Warning Type=\"11\" \
     Status=\"ALPINEBITS_SEND_FREEROOMS\">please</Warning></Warnings></OTA_HotelInvCountNotifRS>",
    "<OTA_NotifReportRS Version=\"1.000\"><Success/></OTA_NotifReportRS>",
    "<OTA_PingRS Version=\"8.000\"><Success/><Warnings><Warning Type=\"11\" \
     Status=\"ALPINEBITS_HANDSHAKE\">{\"versions\":[{\"version\":\"2024-10\",\"actions\":[{\
     \"action\":\"action_OTA_Read\",\"supports\":[\"OTA_Read_GuestRequests_RoomRates\"]}]}]}\
     </Warning></Warnings><EchoData>{\"versions\":[]}</EchoData></OTA_PingRS>",
];

/// What each channel is sent, by its code.
fn sent() -> &'static BTreeMap<String, Vec<Outbound>> {
    static SENT: OnceLock<BTreeMap<String, Vec<Outbound>>> = OnceLock::new();
    SENT.get_or_init(|| {
        let all = all().into_iter();
        all.map(|adapter| (adapter.channel().to_string(), everything_sent(&*adapter)))
            .collect()
    })
}

/// The questions that a message may answer.
fn topics() -> impl Strategy<Value = String> {
    let mut topics: Vec<String> = all()
        .iter()
        .flat_map(|adapter| everything_sent(&**adapter))
        .map(|sent| sent.topic)
        .collect();
    topics.extend([String::new(), "guest_requests.\u{0}".to_owned()]);
    select(topics)
}

/// What a database can keep, a person can read and memory can hold.
fn is_within_bounds(parsed: &Parsed, bytes: usize) -> Result<(), String> {
    let told = json!([parsed.reports, parsed.faults, parsed.trace]);
    if holds_nul(&told) {
        return Err("no text of the database holds a NUL".to_owned());
    }
    let length = told.to_string().len();
    if length > 64 * bytes + 1_000_000 {
        return Err(format!("{length} bytes out of {bytes}"));
    }
    for fault in &parsed.faults {
        let lengths = [&fault.at, &fault.why, &fault.raw].map(|text| text.chars().count());
        let reference = fault.reference.as_ref().map_or(0, String::len);
        if lengths.iter().any(|length| *length > 500) || reference > 128 {
            return Err(format!("too long to be shown: {lengths:?}, {reference}"));
        }
    }
    // Rows are found by these.
    let rooms = parsed.reports.iter().flat_map(|report| &report.rooms);
    let codes = rooms.flat_map(|room| {
        let rate = room.rate_code.as_ref();
        [Some(&room.room_code), rate, room.room_key.as_ref()]
    });
    let own = parsed.reports.iter().map(|report| Some(&report.reference));
    let hotels = parsed
        .reports
        .iter()
        .map(|report| report.hotel_code.as_ref());
    let lengths = codes.chain(own).chain(hotels).flatten().map(String::len);
    match lengths.max().unwrap_or(0) {
        ..=256 => Ok(()),
        long => Err(format!("a code of {long} bytes")),
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| name.contains('\0') || holds_nul(field)),
        _ => false,
    }
}

fn is_wide(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

fn takes(adapter: &dyn ChannelAdapter, bytes: &[u8], topic: &str) -> Result<(), String> {
    let message = inbound(bytes, topic);
    let parsed = adapter.parse(&message);
    if parsed.is_unreadable && !(parsed.reports.is_empty() && parsed.faults.len() == 1) {
        return Err("what cannot be read tells one fault and nothing else".to_owned());
    }
    is_within_bounds(&parsed, bytes.len())?;
    let kept = adapter.redact(bytes);
    if adapter.redact(&kept) != kept {
        return Err("masked twice is not masked once".to_owned());
    }
    if !is_wide(bytes) && adapter.parse(&inbound(&kept, topic)) != parsed {
        return Err("what is kept means something else".to_owned());
    }
    adapter
        .acknowledge(&message, &receipts(&parsed), &session(adapter))
        .map_err(|error| error.why)?;
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 250, ..Config::default() })]

    #[test]
    fn whatever_a_channel_sends_is_read_or_refused_in_words(
        Message(bytes) in hostile(samples()), topic in topics(),
    ) {
        for adapter in all() {
            prop_assert_eq!(takes(&*adapter, &bytes, &topic), Ok(()), "{}", adapter.channel());
        }
    }

    #[test]
    fn whatever_a_channel_answers_is_judged(
        Message(body) in hostile(samples()), status in 100..600_u16,
        which in any::<proptest::sample::Index>(), wait in any::<String>(),
    ) {
        let reply = Reply { status, headers: vec![("retry-after".to_owned(), wait)], body };
        for adapter in all() {
            let sent = &sent()[&adapter.channel().to_string()];
            let verdict = adapter.judge(which.get(sent), &reply);
            let json = serde_json::to_value(&verdict).expect("JSON");
            prop_assert!(!holds_nul(&json), "no text of the database holds a NUL");
            let why = verdict.why.map_or(0, |why| why.len());
            let parts = verdict.refused.iter().map(|part| part.why.len()).max();
            prop_assert!(why < 40_000 && parts.unwrap_or(0) < 4_000, "{why} {parts:?}");
            let session = session(&*adapter);
            for goal in [Goal::SignIn, Goal::Poll, Goal::PollMissed, Goal::Test] {
                let last = Some((which.get(sent), &reply));
                adapter.next(&session, &Step { last, round: 1, ..first(goal) });
            }
        }
    }
}
