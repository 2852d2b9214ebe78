//! Samples of Booking.com's OTA dialect: the manifest itself says what each means, word by word.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use keyrack_adapters::by_code;
use keyrack_model::adapter::{
    ChannelAdapter, Inbound, Outcome, Parsed, Receipt, ReceiptOutcome, Reply,
};
use keyrack_model::ari::AriPush;
use keyrack_model::reservation::{ReportedRoom, ReservationReport, RevisionKind};
use keyrack_model::stay::plus_days;

use crate::fixture::{self, receipts, session};
use crate::{Row, alter, files, period, rows, samples};

fn booking_rows(folder: &Path) -> Vec<Row> {
    rows(folder, "dialect", "booking_com OTA")
}

#[test]
fn no_booking_com_sample_of_the_ota_dialect_is_skipped() {
    let Some(folder) = samples("channels/bookingcom") else {
        return;
    };
    let listed: BTreeSet<String> = booking_rows(&folder).into_iter().map(|r| r.file).collect();
    let ota = |file: &String| {
        let text = fs::read_to_string(folder.join(file)).expect("a sample");
        text.contains("<OTA_")
    };
    let there: BTreeSet<String> = files(&folder, ".").into_iter().filter(ota).collect();
    assert_eq!(listed, there);
    assert_eq!(listed.len(), 4);
}

#[test]
fn each_booking_com_sample_means_what_its_manifest_says() {
    let Some(folder) = samples("channels/bookingcom") else {
        return;
    };
    let mut held = 0;
    for row in booking_rows(&folder) {
        hold_booking(&folder, &row).expect("as the manifest says");
        held += 1;
    }
    assert_eq!(held, 4);
}

#[test]
fn each_expectation_of_a_booking_com_sample_bites() {
    let Some(folder) = samples("channels/bookingcom") else {
        return;
    };
    for row in booking_rows(&folder) {
        let facts = booking_facts(&folder, &row);
        assert!(facts.len() >= 3, "{} says more", row.file);
        for fact in facts {
            let outcome = row.outcome.replace(&fact, &alter(&fact));
            assert_ne!(outcome, row.outcome);
            let flipped = Row {
                outcome,
                ..row.clone()
            };
            assert!(
                hold_booking(&folder, &flipped).is_err(),
                "{}: {fact}",
                row.file
            );
        }
    }
}

fn hold_booking(folder: &Path, row: &Row) -> Result<(), String> {
    for fact in booking_facts(folder, row) {
        if !row.outcome.contains(&fact) {
            return Err(format!("{}: {fact:?} where {:?}", row.file, row.outcome));
        }
    }
    Ok(())
}

/// What we make of a sample, in the manifest's words.
fn booking_facts(folder: &Path, row: &Row) -> Vec<String> {
    let adapter = by_code("booking_com").expect("the channel");
    let bytes = fs::read(folder.join(&row.file)).expect("a sample");
    let inbound = fixture::inbound(&bytes, "");
    let parsed = adapter.parse(&inbound);
    assert!(
        parsed.faults.is_empty(),
        "{}: {:?}",
        row.file,
        parsed.faults
    );
    if let Some(push) = &parsed.ari {
        return availability_facts(push);
    }
    if parsed.reports.is_empty() {
        return acknowledgement_facts(&*adapter, &inbound, &bytes);
    }
    assert_eq!(parsed.trace.as_deref(), Some("ZGVtbw=="));
    let mut facts = vec![format!("{} reservation:", parsed.reports.len())];
    for report in &parsed.reports {
        assert_eq!(report.hotel_code.as_deref(), Some("7200"));
        facts.extend(
            report
                .rooms
                .iter()
                .flat_map(|room| room_facts(report, room)),
        );
    }
    if parsed.reports[0].kind == RevisionKind::Modified {
        let before = fs::read(folder.join("ota_new_three_nights.xml")).expect("a sample");
        let before = adapter.parse(&fixture::inbound(&before, ""));
        let nights = |parsed: &Parsed| -> BTreeSet<_> {
            let nightly = parsed.reports[0].rooms[0].nightly.iter();
            nightly.map(|(night, _)| *night).collect()
        };
        let gone: Vec<_> = nights(&before)
            .difference(&nights(&parsed))
            .copied()
            .collect();
        assert_eq!(gone.len(), 1);
        facts.push(format!("only night {} is released", gone[0]));
    }
    let answer = adapter
        .acknowledge(&inbound, &receipts(&parsed), &session(&*adapter))
        .expect("an answer");
    let body = String::from_utf8(answer[0].body.clone()).expect("text");
    let root = body
        .split("<OTA_")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    facts.push(format!("acknowledge with OTA_{}", root.expect("a root")));
    facts
}

fn room_facts(report: &ReservationReport, room: &ReportedRoom) -> Vec<String> {
    let total = room.total.expect("a total");
    assert_eq!(report.total, Some(total));
    let mut facts = vec![format!(
        "{} {} {} {}×{} {total}",
        report.reference,
        report.kind.as_str(),
        period(room),
        room.room_code,
        room.quantity
    )];
    if report.kind == RevisionKind::New {
        let prices: Vec<String> = room.nightly.iter().map(|(_, p)| p.to_decimal()).collect();
        facts.push(format!("nights {}", prices.join(", ")));
    }
    facts.push(format!(
        "rate {}",
        room.rate_code.as_deref().expect("a rate")
    ));
    facts.push(format!(
        "room instance {}",
        room.room_key.as_deref().expect("a key")
    ));
    facts.push(format!("{} adults", room.adults.expect("adults")));
    let age = room.children_ages[0].expect("an age");
    facts.push(format!("{} child of {age}", room.children_ages.len()));
    facts
}

fn availability_facts(push: &AriPush) -> Vec<String> {
    let mut facts = vec![format!("hotel {}", push.hotel_code)];
    for span in &push.spans {
        let room = &span.channel_room_code;
        let last = plus_days(span.nights.departure(), -1);
        facts.push(format!("nights {}..{last}", span.nights.arrival()));
        match (&span.channel_rate_code, span.values.rooms) {
            (None, Some(rooms)) => facts.push(format!("room type {room} booking limit {rooms}")),
            (Some(rate), None) => {
                let rules = span.values.restrictions;
                assert!(rules.closed_to_arrival);
                facts.push(format!("{room} with rate plan {rate} closed to arrival"));
                let untouched = !rules.closed_to_departure && !span.values.closed;
                facts.extend(untouched.then(|| "departure and sale not touched".to_owned()));
            }
            other => panic!("{other:?}"),
        }
    }
    facts
}

/// The sample is our own message: made anew, it must be the same but for its time.
fn acknowledgement_facts(
    adapter: &dyn ChannelAdapter,
    inbound: &Inbound,
    sample: &[u8],
) -> Vec<String> {
    let sample = String::from_utf8(sample.to_vec()).expect("text");
    let numbers: Vec<String> = sample
        .split("ResID_Value=\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split('"').next()?.to_owned()))
        .collect();
    let receipts: Vec<_> = numbers
        .iter()
        .map(|number| Receipt {
            reference: number.clone(),
            acknowledge_as: Some("new".to_owned()),
            outcome: ReceiptOutcome::Recorded {
                number: "K1".to_owned(),
            },
        })
        .collect();
    let answer = adapter
        .acknowledge(inbound, &receipts, &session(adapter))
        .expect("an answer")
        .remove(0);
    let ours = String::from_utf8(answer.body.clone()).expect("text");
    let timeless = sample
        .replace(" TimeStamp=\"2030-01-05T10:13:00+00:00\"", "")
        .replace(" Target=\"Production\"", "");
    assert_eq!(ours.trim(), timeless.trim());
    let later = Reply {
        status: 400,
        headers: Vec::new(),
        body: Vec::new(),
    };
    assert_eq!(adapter.judge(&answer, &later).outcome, Outcome::Stale);
    let able = adapter.capabilities();
    vec![
        format!("acknowledges {} as processed", numbers.join(" and ")),
        "HTTP 400 means that a later version exists".to_owned(),
        format!("wait {} s", able.settle_after_acknowledge_seconds),
    ]
}
