//! Walks the samples beside the repository, holds every file of our dialects against its manifest,
//! counts that none was skipped, and shows that each expectation bites.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use keyrack_adapters::by_code;
use keyrack_model::adapter::{ChannelAdapter, Inbound, Parsed, Receipt, ReceiptOutcome};
use keyrack_model::reservation::{ReportedRoom, ReservationReport, RevisionKind};

mod fixture;

use fixture::booking_facts::booking_facts;
use fixture::case::{inbound, receipts, session, xml_of};
use fixture::expected;
use fixture::manifest::{Row, alter, files, period, rows, samples};

const FREE_ROOMS_HANDSHAKE_AND_REQUESTS: &[&str] = &[
    "OTA_HotelInvCountNotifRQ",
    "OTA_HotelInvCountNotifRS",
    "OTA_ResRetrieveRS",
    "OTA_HotelResNotifRQ",
    "OTA_HotelResNotifRS",
    "OTA_ReadRQ",
    "OTA_NotifReportRQ",
    "OTA_NotifReportRS",
    "OTA_PingRQ",
    "OTA_PingRS",
];

fn alpinebits_rows(folder: &Path) -> Vec<Row> {
    let mut rows = rows(folder, "version", "2024-10");
    rows.retain(|row| FREE_ROOMS_HANDSHAKE_AND_REQUESTS.contains(&row.message.as_str()));
    rows
}

#[test]
fn no_alpinebits_sample_is_skipped() {
    let Some(folder) = samples("alpinebits") else {
        return;
    };
    let listed: BTreeSet<String> = alpinebits_rows(&folder)
        .into_iter()
        .map(|r| r.file)
        .collect();
    let known: BTreeSet<String> = expected::ALPINEBITS
        .iter()
        .map(|(file, _)| (*file).to_owned())
        .collect();
    assert_eq!(listed, known);
    let ours = |file: &String| {
        let text = fs::read_to_string(folder.join(file)).expect("a sample");
        FREE_ROOMS_HANDSHAKE_AND_REQUESTS
            .iter()
            .any(|name| text.contains(&format!("<{name} ")))
    };
    let there: BTreeSet<String> = files(&folder, ".")
        .into_iter()
        .filter(|file| file.contains("v2024-10/") && ours(file))
        .collect();
    assert_eq!(
        there, known,
        "a file is missing in the manifest, or the other way round"
    );
    assert_eq!(known.len(), 52);
}

#[test]
fn each_alpinebits_sample_means_what_its_manifest_says() {
    let Some(folder) = samples("alpinebits") else {
        return;
    };
    let mut held = 0;
    for row in alpinebits_rows(&folder) {
        let facts = expected_facts(&row);
        hold_alpinebits(&folder, &row, &facts).expect("as the manifest says");
        held += 1;
    }
    assert_eq!(held, expected::ALPINEBITS.len());
}

#[test]
fn each_expectation_of_an_alpinebits_sample_bites() {
    let Some(folder) = samples("alpinebits") else {
        return;
    };
    for row in alpinebits_rows(&folder) {
        let facts = expected_facts(&row);
        let mut flips = vec![(row.clone(), [&facts[..], &["one more".to_owned()]].concat())];
        if let Some(accepts) = accepts(&row.outcome) {
            let outcome = if accepts { "reject" } else { "accept" }.to_owned();
            flips.push((
                Row {
                    outcome,
                    ..row.clone()
                },
                facts.clone(),
            ));
        }
        for place in 0..facts.len() {
            let mut without = facts.clone();
            without.remove(place);
            flips.push((row.clone(), without));
            let mut altered = facts.clone();
            altered[place] = alter(&facts[place]);
            flips.push((row.clone(), altered));
        }
        for (flipped, facts) in flips {
            let held = hold_alpinebits(&folder, &flipped, &facts);
            assert!(held.is_err(), "{} holds although {facts:?}", row.file);
        }
    }
}

fn expected_facts(row: &Row) -> Vec<String> {
    let found = expected::ALPINEBITS
        .iter()
        .find(|(file, _)| *file == row.file);
    let (_, facts) = found.unwrap_or_else(|| panic!("{} has no expectation", row.file));
    facts.iter().map(|fact| (*fact).to_owned()).collect()
}

/// What the manifest demands; nothing of mere examples.
fn accepts(outcome: &str) -> Option<bool> {
    let begins = |words: &[&str]| words.iter().any(|word| outcome.starts_with(word));
    if begins(&["well-formed protocol example"]) {
        None
    } else if begins(&["reject", "refuse"]) {
        Some(false)
    } else if begins(&[
        "accept",
        "acknowledge without effect",
        "R1001 acknowledged, R1002 refused",
        "answer with",
        "EchoData in the answer",
    ]) {
        Some(true)
    } else {
        panic!("the manifest says something new: {outcome}")
    }
}

/// Hotels of the samples and their categories: what a mapping would know.
const KNOWN: &[(&str, &[&str])] = &[
    ("HTL1", &["DBL", "SGL", "*"]),
    ("9996", &["double"]),
    ("123", &["DOUBLE", "bigsuite"]),
];

fn is_mapped(parsed: &Parsed) -> bool {
    parsed.ari.as_ref().is_none_or(|push| {
        let hotel = KNOWN.iter().find(|(hotel, _)| *hotel == push.hotel_code);
        hotel.is_some_and(|(_, categories)| {
            push.spans.iter().all(|span| {
                let code = span.channel_room_code.split('/').next().unwrap_or_default();
                categories.contains(&code)
            })
        })
    })
}

fn hold_alpinebits(folder: &Path, row: &Row, expected: &[String]) -> Result<(), String> {
    let adapter = by_code("alpinebits").expect("the channel");
    let bytes = fs::read(folder.join(&row.file)).expect("a sample");
    let inbound = inbound(&bytes, "guest_requests:");
    let parsed = adapter.parse(&inbound);
    let is_accepted = parsed.faults.is_empty() && is_mapped(&parsed);
    if accepts(&row.outcome).is_some_and(|demanded| demanded != is_accepted) {
        return Err(format!("{}: {}", row.file, row.outcome));
    }
    let mut found = facts(&parsed);
    found.extend(answered(&*adapter, &inbound, &parsed));
    let agrees = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(found, expected)| says(found, expected));
    agrees
        .then_some(())
        .ok_or_else(|| format!("{}: {found:?} where {expected:?}", row.file))
}

/// Equal; of a refusal, its head and a word of its reason.
fn says(found: &str, expected: &str) -> bool {
    match (found.split_once(": "), expected.split_once(": ")) {
        (Some((head, reason)), Some((expected, word))) => head == expected && reason.contains(word),
        _ => found == expected,
    }
}

fn facts(parsed: &Parsed) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(push) = &parsed.ari {
        let kind = if push.complete { "set" } else { "delta" };
        facts.push(format!("{kind} {}", push.hotel_code));
        for span in &push.spans {
            let rooms = match (span.values.closed, span.values.rooms) {
                (false, Some(rooms)) => rooms.to_string(),
                _ => "closed".to_owned(),
            };
            facts.push(format!(
                "{} {} {rooms}",
                span.channel_room_code, span.nights
            ));
        }
    }
    for report in &parsed.reports {
        if report.kind == RevisionKind::Cancelled {
            facts.push(format!("{} cancelled", report.reference));
        }
        for room in &report.rooms {
            facts.push(room_fact(report, room));
            for (night, price) in &room.nightly {
                let price = price.to_decimal();
                facts.push(format!("{} night {night} {price}", report.reference));
            }
        }
    }
    for fault in &parsed.faults {
        match &fault.reference {
            Some(reference) => facts.push(format!("refused {reference}: {}", fault.why)),
            None => facts.push(format!("unreadable: {}", fault.why)),
        }
    }
    facts
}

fn room_fact(report: &ReservationReport, room: &ReportedRoom) -> String {
    let guests = format!("{}+{}", room.adults.unwrap_or(0), room.children_ages.len());
    if report.is_quote {
        return format!("{} quote {guests}", report.reference);
    }
    format!(
        "{} {} {} {} {} {guests}",
        report.reference,
        report.kind.as_str(),
        period(room),
        room.room_code,
        room.total
            .map(|total| total.to_string())
            .unwrap_or_default()
    )
}

/// What our acknowledgement says: thanks by type and reference, refusals by reference.
fn answered(adapter: &dyn ChannelAdapter, inbound: &Inbound, parsed: &Parsed) -> Vec<String> {
    let answers = adapter.acknowledge(inbound, &receipts(parsed), &session(adapter));
    let mut said = Vec::new();
    for answer in answers.expect("an answer") {
        let body = String::from_utf8(answer.body).expect("text");
        let values = |piece: &str, name: &str| {
            let (_, after) = piece
                .split_once(&format!("{name}=\""))
                .expect("an attribute");
            after.split('"').next().unwrap_or_default().to_owned()
        };
        for piece in body.split("<UniqueID ").skip(1) {
            said.push(format!(
                "thanks {} {}",
                values(piece, "Type"),
                values(piece, "ID")
            ));
        }
        for piece in body.split("<Warning ").skip(1) {
            said.push(format!("refuses {}", values(piece, "RecordID")));
        }
    }
    said
}

#[test]
fn our_own_messages_are_written_like_the_alpinebits_samples() {
    let Some(folder) = samples("alpinebits/authored/v2024-10") else {
        return;
    };
    let adapter = by_code("alpinebits").expect("the channel");
    let bare = |bytes: &[u8]| -> String {
        let text = String::from_utf8_lossy(bytes).replace("/>", "></>");
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("> <", "><")
    };
    for file in [
        "freerooms-complete-two-categories.xml",
        "freerooms-delta-one-night.xml",
        "freerooms-reset.xml",
    ] {
        let sample = fs::read(folder.join(file)).expect("a sample");
        let push = adapter
            .parse(&inbound(&sample, ""))
            .ari
            .expect("free rooms");
        let ours = adapter.render(&push, &session(&*adapter)).expect("one");
        assert_eq!(bare(xml_of(&ours[0].body)), bare(&sample), "{file}");
    }
    let sample = fs::read(folder.join("guestrequests-ack-partial.xml")).expect("a sample");
    let mut receipts = receipts(&Parsed::default());
    for (reference, outcome) in [
        (
            "R1001",
            ReceiptOutcome::Recorded {
                number: "K1".to_owned(),
            },
        ),
        (
            "R1002",
            ReceiptOutcome::Refused {
                why: "Unable to process reservation".to_owned(),
            },
        ),
    ] {
        receipts.push(Receipt {
            reference: reference.to_owned(),
            acknowledge_as: Some("14".to_owned()),
            outcome,
        });
    }
    let ours = adapter
        .acknowledge(&Inbound::default(), &receipts, &session(&*adapter))
        .expect("one");
    assert_eq!(bare(xml_of(&ours[0].body)), bare(&sample));
}

// Booking.com: the manifest itself says what each sample means, word by word.

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
