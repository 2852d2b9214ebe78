//! OTA_HotelAvailNotifRQ: booking limits, open and closed, arrivals, departures, lengths of stay.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use keyrack_model::ari::{AriPush, AriSpan};
use keyrack_model::stay::StayRange;

use super::message::{EndRule, NAMESPACE};
use crate::xml::Element;
use crate::xml::write::Writer;

/// One aspect of one span; what a message leaves out stays as it is at the channel.
pub(crate) enum Aspect {
    /// Rooms still sellable.
    Limit(i32),
    /// For sale, arrivals or departures: open or closed.
    Switch(Switch, bool),
    /// Shortest stay that touches the night.
    Through {
        /// Nights.
        min: i32,
    },
    /// Stays that arrive on the night.
    Arriving {
        /// Nights at least.
        min: i32,
        /// Nights at most.
        max: i32,
    },
}

/// What is opened and closed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// The sale.
    Sale,
    /// Arrivals.
    Arrival,
    /// Departures.
    Departure,
}

/// An aspect of a span, ready to be written.
pub(crate) struct Status<'a> {
    /// Names this element in the channel's answer; from 1.
    pub(crate) locator: i64,
    pub(crate) nights: StayRange,
    pub(crate) room: &'a str,
    pub(crate) rate: Option<&'a str>,
    pub(crate) aspect: Aspect,
}

/// Bytes of an element, as a rule.
const STATUS_LENGTH: usize = 320;

/// Writes a message for one hotel. `version` is the channel's own.
pub(crate) fn write(hotel: &str, version: &str, end: EndRule, statuses: &[Status<'_>]) -> Vec<u8> {
    let length = (statuses.len() + 1) * STATUS_LENGTH;
    let attributes = [("xmlns", NAMESPACE), ("Version", version)];
    Writer::long_message(length, "OTA_HotelAvailNotifRQ", &attributes, |w| {
        w.tag("AvailStatusMessages")
            .text("HotelCode", hotel)
            .holding(|w| {
                for status in statuses {
                    write_status(w, end, status);
                }
            });
    })
}

fn write_status(w: &mut Writer, end: EndRule, status: &Status<'_>) {
    let limit = match status.aspect {
        Aspect::Limit(rooms) => Some(rooms),
        _ => None,
    };
    w.tag("AvailStatusMessage")
        .with(limit, |tag, rooms| {
            tag.number("BookingLimit", rooms)
                .word("BookingLimitMessageType", "SetLimit")
        })
        .number("LocatorID", status.locator)
        .holding(|w| {
            write_control(w, end, status.nights, status.room, status.rate);
            match status.aspect {
                Aspect::Limit(_) => {}
                Aspect::Switch(switch, open) => write_switch(w, switch, open),
                Aspect::Through { min } => {
                    w.tag("LengthsOfStay")
                        .holding(|w| length(w, "SetMinLOS", min));
                }
                Aspect::Arriving { min, max } => {
                    w.tag("LengthsOfStay")
                        .word("ArrivalDateBased", "true")
                        .holding(|w| {
                            length(w, "SetMinLOS", min);
                            length(w, "SetMaxLOS", max);
                        });
                }
            }
        });
}

fn write_switch(w: &mut Writer, switch: Switch, open: bool) {
    let restriction = match switch {
        Switch::Sale => None,
        Switch::Arrival => Some("Arrival"),
        Switch::Departure => Some("Departure"),
    };
    w.tag("RestrictionStatus")
        .with(restriction, |tag, kind| tag.word("Restriction", kind))
        .word("Status", if open { "Open" } else { "Close" })
        .empty();
}

fn length(w: &mut Writer, kind: &'static str, nights: i32) {
    w.tag("LengthOfStay")
        .number("Time", nights)
        .word("TimeUnit", "Day")
        .word("MinMaxMessageType", kind)
        .empty();
}

/// The nights, room and rate that a message speaks of.
pub(crate) fn write_control(
    w: &mut Writer,
    end: EndRule,
    nights: StayRange,
    room: &str,
    rate: Option<&str>,
) {
    let (start, end) = end.write(nights);
    w.tag("StatusApplicationControl")
        .day("Start", start)
        .day("End", end)
        .text("InvTypeCode", room)
        .with(rate, |tag, rate| tag.text("RatePlanCode", rate))
        .empty();
}

/// What such a message says, span by span; a limit always speaks of the room. Errors are
/// sentences that name the element by its number.
pub(crate) fn read(root: Element<'_>, end: EndRule) -> Result<AriPush, String> {
    read_list(
        root,
        ["AvailStatusMessages", "AvailStatusMessage"],
        |each, spans| read_status(each, end, spans),
    )
}

/// Reads a list of elements that tell spans of one hotel: all of it, or why not.
pub(crate) fn read_list(
    root: Element<'_>,
    [list, item]: [&str; 2],
    each: impl Fn(Element<'_>, &mut Spans) -> Result<(), String>,
) -> Result<AriPush, String> {
    let outer = root
        .child(list)
        .ok_or_else(|| format!("{list} is missing"))?;
    let hotel_code = outer
        .attribute("HotelCode")
        .ok_or_else(|| format!("{list} needs HotelCode"))?;
    let mut spans = Spans::default();
    for (number, element) in outer.children(item).enumerate() {
        each(element, &mut spans).map_err(|why| format!("{item} {}: {why}", number + 1))?;
    }
    Ok(AriPush {
        hotel_code: hotel_code.to_owned(),
        complete: false,
        spans: spans.list,
    })
}

fn read_status(message: Element<'_>, end: EndRule, spans: &mut Spans) -> Result<(), String> {
    let control = message
        .child("StatusApplicationControl")
        .ok_or("StatusApplicationControl is missing")?;
    let nights = end.read(control)?;
    let room = control
        .attribute("InvTypeCode")
        .ok_or("InvTypeCode is missing")?;
    let rate = control.attribute("RatePlanCode");
    if let Some(limit) = message.attribute("BookingLimit") {
        let rooms = limit.parse().ok().filter(|rooms| *rooms >= 0);
        let rooms: i32 = rooms.ok_or_else(|| format!("BookingLimit {limit:?} is no number"))?;
        spans.of(nights, room, None).values.rooms = Some(rooms);
    }
    if let Some(status) = message.child("RestrictionStatus") {
        let closed = match status.attribute("Status") {
            Some("Close") => true,
            Some("Open") => false,
            other => return Err(format!("Status {other:?} is neither Open nor Close")),
        };
        let values = &mut spans.of(nights, room, rate).values;
        match status.attribute("Restriction") {
            None | Some("Master") => values.closed = closed,
            Some("Arrival") => values.restrictions.closed_to_arrival = closed,
            Some("Departure") => values.restrictions.closed_to_departure = closed,
            Some(other) => return Err(format!("Restriction {other:?} is not known")),
        }
    }
    if let Some(lengths) = message.child("LengthsOfStay") {
        let arriving = matches!(lengths.attribute("ArrivalDateBased"), Some("true" | "1"));
        for length in lengths.children("LengthOfStay") {
            let time = length.attribute("Time").and_then(|time| time.parse().ok());
            let time: i32 = time.ok_or("LengthOfStay needs Time, a number of nights")?;
            let restrictions = &mut spans.of(nights, room, rate).values.restrictions;
            let min = (time > 1).then_some(time);
            match (length.attribute("MinMaxMessageType"), arriving) {
                (Some("SetMinLOS"), true) => restrictions.min_stay_arrival = min,
                (Some("SetMinLOS"), false) => restrictions.min_stay_through = min,
                (Some("SetMaxLOS"), _) => restrictions.max_stay = (time > 0).then_some(time),
                (other, _) => return Err(format!("MinMaxMessageType {other:?} is not known")),
            }
        }
    }
    Ok(())
}

/// Spans in the order in which they are first spoken of.
#[derive(Default)]
pub(crate) struct Spans {
    list: Vec<AriSpan>,
    /// By the hash of nights, room and rate, under a secret of this process.
    places: HashMap<u64, Vec<usize>>,
    hasher: RandomState,
}

impl Spans {
    /// The span of these nights, room and rate.
    pub(crate) fn of(&mut self, nights: StayRange, room: &str, rate: Option<&str>) -> &mut AriSpan {
        let is_it = |span: &AriSpan| {
            span.nights == nights
                && span.channel_room_code == room
                && span.channel_rate_code.as_deref() == rate
        };
        // Messages tell one span's aspects one after the other.
        let place = match self.list.last().is_some_and(is_it) {
            true => self.list.len() - 1,
            false => {
                let hash = self.hasher.hash_one((nights, room, rate));
                let places = self.places.entry(hash).or_default();
                let known = places.iter().find(|place| is_it(&self.list[**place]));
                known.copied().unwrap_or_else(|| {
                    self.list.push(AriSpan {
                        nights,
                        channel_room_code: room.to_owned(),
                        channel_rate_code: rate.map(str::to_owned),
                        values: Default::default(),
                    });
                    places.push(self.list.len() - 1);
                    self.list.len() - 1
                })
            }
        };
        &mut self.list[place]
    }
}
