//! `keyrack inspect`: what we understand of a message or feed, as JSON.
//!
//! One file gives one object. Several files are successive states of one feed or queue: a list of
//! objects, each with its file and with the `changes` that it brings to what stood before.

mod changes;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use keyrack_model::adapter::{ChannelAdapter, Inbound, ParseFault, Parsed};
use keyrack_model::ari::{AriPush, AriValues};
use keyrack_model::reservation::ReservationReport;
use keyrack_model::stay::StayDate;
use serde::Serialize;

use crate::header;
use crate::say;
use changes::{ChangeView, Known};

/// Arguments of `keyrack inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// Whose dialect, such as `booking_com`.
    channel: String,
    /// The message; several are successive states of one feed or queue.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A header that came with it, as `Name: value`.
    #[arg(long = "header", value_name = "HEADER", value_parser = header::parse)]
    headers: Vec<(String, String)>,
    /// IANA zone of the property, for dialects that tell instants where dates are meant.
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Which question it answers, in the dialect's own words, where the message does not say it.
    #[arg(long, default_value = "")]
    topic: String,
}

/// What was understood of one message.
#[derive(Debug, Serialize)]
struct Understood<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    reservations: &'a [ReservationReport],
    ari: Vec<SpanView<'a>>,
    faults: &'a [ParseFault],
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeView>>,
}

/// A range of nights and what is told of it.
#[derive(Debug, Serialize)]
struct SpanView<'a> {
    hotel_code: &'a str,
    /// Part of a set that replaces all that was told before.
    complete: bool,
    channel_room_code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_rate_code: Option<&'a str>,
    from: StayDate,
    to: StayDate,
    #[serde(flatten)]
    values: &'a AriValues,
}

/// Prints what was understood; says whether every message could be read as a whole.
pub fn inspect(arguments: &InspectArguments) -> Result<bool> {
    let adapter = adapter(&arguments.channel)?;
    if let Some(zone) = &arguments.time_zone {
        jiff::tz::TimeZone::get(zone).with_context(|| format!("{zone} is no IANA time zone"))?;
    }
    let mut all = Vec::new();
    for path in &arguments.files {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let parsed = adapter.parse(&Inbound {
            bytes,
            headers: arguments.headers.clone(),
            topic: arguments.topic.clone(),
            time_zone: arguments.time_zone.clone(),
            ..Inbound::default()
        });
        all.push((path.display().to_string(), parsed));
    }
    let json = match all.as_slice() {
        [(_, alone)] => serde_json::to_string_pretty(&understood(None, alone, None))?,
        states => serde_json::to_string_pretty(&successive(adapter.as_ref(), states))?,
    };
    say::line(&json);
    Ok(!all.iter().any(|(_, parsed)| parsed.is_unreadable))
}

fn successive<'a>(
    adapter: &dyn ChannelAdapter,
    states: &'a [(String, Parsed)],
) -> Vec<Understood<'a>> {
    let mut known = Known::of(adapter.capabilities().snapshot_revisions);
    let mut each = Vec::new();
    for (file, parsed) in states {
        let changes = known.take(&parsed.reports);
        each.push(understood(Some(file.clone()), parsed, Some(changes)));
    }
    each
}

fn understood(
    file: Option<String>,
    parsed: &Parsed,
    changes: Option<Vec<ChangeView>>,
) -> Understood<'_> {
    Understood {
        file,
        reservations: &parsed.reports,
        ari: parsed.ari.as_ref().map(spans).unwrap_or_default(),
        faults: &parsed.faults,
        changes,
    }
}

fn spans(push: &AriPush) -> Vec<SpanView<'_>> {
    let spans = push.spans.iter().map(|span| SpanView {
        hotel_code: &push.hotel_code,
        complete: push.complete,
        channel_room_code: &span.channel_room_code,
        channel_rate_code: span.channel_rate_code.as_deref(),
        from: span.nights.arrival(),
        to: span.nights.departure(),
        values: &span.values,
    });
    spans.collect()
}

fn adapter(code: &str) -> Result<std::sync::Arc<dyn ChannelAdapter>> {
    let Some(adapter) = keyrack_adapters::by_code(code) else {
        let all = keyrack_adapters::all();
        let known: Vec<String> = all.iter().map(|one| one.channel().to_string()).collect();
        bail!("there is no channel {code}; known are {}", known.join(", "));
    };
    Ok(adapter)
}

#[cfg(test)]
mod tests {
    // Whatever stands in a file that is inspected: it is shown, or why not is.
    use keyrack_strangers::{Message, grows_with_its_input, hostile};
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    /// What channels sent, from the adapters' own fixtures.
    fn samples() -> Vec<Vec<u8>> {
        let adapters = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../adapters");
        let folders = keyrack_adapters::all().into_iter().map(|adapter| {
            let folder = adapters.join(adapter.channel().as_str()).join("fixtures");
            fs::read_dir(folder).expect("fixtures")
        });
        let paths = folders
            .flatten()
            .map(|entry| entry.expect("a fixture").path());
        let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == "xml"));
        paths
            .map(|path| fs::read(path).expect("a fixture"))
            .collect()
    }

    fn shown(channel: &str, messages: &[&[u8]]) -> String {
        let adapter = adapter(channel).expect("a channel");
        let states: Vec<(String, Parsed)> = messages
            .iter()
            .map(|bytes| {
                let inbound = Inbound {
                    bytes: bytes.to_vec(),
                    ..Inbound::default()
                };
                ("a file".to_owned(), adapter.parse(&inbound))
            })
            .collect();
        let all = successive(adapter.as_ref(), &states);
        serde_json::to_string_pretty(&all).expect("JSON")
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 150, ..Default::default() })]

        #[test]
        fn any_message_is_shown_alone_and_after_another(
            Message(first) in hostile(samples()), Message(second) in hostile(samples()),
        ) {
            for channel in ["booking_com", "alpinebits"] {
                let json = shown(channel, &[&first, &second]);
                prop_assert!(json.len() < 80 * (first.len() + second.len()) + 2_000_000);
            }
        }
    }

    #[test]
    fn the_work_grows_with_the_reservations_of_a_queue() {
        let booking = |n: usize| {
            format!(
                "<HotelReservation><ResGlobalInfo><HotelReservationIDs><HotelReservationID \
                 ResID_Value='R{n}'/></HotelReservationIDs></ResGlobalInfo><RoomStays><RoomStay>\
                 <TimeSpan Start='2030-01-01' End='2030-01-02'/></RoomStay></RoomStays>\
                 </HotelReservation>"
            )
        };
        let queue = |n: usize| {
            let bookings: String = (0..n).map(booking).collect();
            format!(
                "<OTA_HotelResNotifRQ><HotelReservations>{bookings}</HotelReservations>\
                 </OTA_HotelResNotifRQ>"
            )
        };
        grows_with_its_input("reservations", 3_000, queue, |text| {
            let bytes = text.as_bytes();
            assert!(shown("booking_com", &[bytes, bytes]).contains("R2999"));
        });
    }
}
