//! The dates of an OTA message to Booking.com, and the codes they are for.

use jiff::civil::{Date, Weekday};
use roxmltree::Node;

use crate::hotel::Hotel;
use crate::night::{PERIOD_MAX, date, length, nights};

use super::answer::Fault;

/// Whether `End` is the last night meant. Not confirmed by the published pages; other providers
/// treat it so. The one place that says it.
const END_IS_INCLUDED: bool = true;

/// What an element is about: a room type, perhaps a rate, and spans of nights (ends excluded).
pub(crate) struct Scope {
    pub(crate) room: String,
    pub(crate) rate: Option<String>,
    pub(crate) spans: Vec<(Date, Date)>,
}

/// Reads a `StatusApplicationControl`.
pub(crate) fn scope(
    control: Option<Node<'_, '_>>,
    hotel: &Hotel,
    today: Option<Date>,
) -> Result<Scope, Fault> {
    let Some(control) = control else {
        return Err(Fault::new(321, "StatusApplicationControl is missing"));
    };
    let Some(room) = control
        .attribute("InvTypeCode")
        .filter(|code| !code.is_empty())
    else {
        return Err(Fault::new(321, "ROOM_ID_MISSING: InvTypeCode is missing"));
    };
    let Some(known) = hotel.rooms.get(room) else {
        return Err(Fault::new(
            402,
            format!("ROOM_ID_INVALID: no room type {room} here"),
        ));
    };
    let rate = control.attribute("RatePlanCode");
    if let Some(rate) = rate
        && !known.rates.iter().any(|code| code == rate)
    {
        return Err(Fault::new(
            249,
            format!("room type {room} has no rate {rate}"),
        ));
    }
    Ok(Scope {
        room: room.to_owned(),
        rate: rate.map(str::to_owned),
        spans: spans(control, today)?,
    })
}

fn spans(control: Node<'_, '_>, today: Option<Date>) -> Result<Vec<(Date, Date)>, Fault> {
    let start = day(control, "Start")?;
    let end = day(control, "End")?;
    let to = if END_IS_INCLUDED {
        end.tomorrow().map_err(|_| not_a_date("End"))?
    } else {
        end
    };
    if start >= to {
        return Err(Fault::new(404, "FROM_DATE_SHOULD_BE_LESS_THAN_TO_DATE"));
    }
    if length(start, to) > PERIOD_MAX {
        return Err(Fault::new(404, "the period is too long"));
    }
    let oldest = today.map(|today| today.yesterday().unwrap_or(today));
    if oldest.is_some_and(|oldest| start < oldest) {
        return Err(Fault::new(
            404,
            "NOT_A_VALID_DATE: more than one day in the past",
        ));
    }
    let days = weekdays(control)?;
    if days.is_empty() {
        return Ok(vec![(start, to)]);
    }
    Ok(nights(start, to)
        .filter(|night| days.contains(&night.weekday()))
        .map(|night| (night, night.tomorrow().unwrap_or(night)))
        .collect())
}

/// The weekdays that an element is limited to; empty for all.
fn weekdays(control: Node<'_, '_>) -> Result<Vec<Weekday>, Fault> {
    let mut days = Vec::new();
    for (name, weekday) in WEEKDAYS {
        match control.attribute(*name) {
            Some("1" | "true") => days.push(*weekday),
            Some("0" | "false") | None => {}
            Some(other) => {
                return Err(Fault::new(320, format!("{name}=\"{other}\" is no boolean")));
            }
        }
    }
    Ok(days)
}

fn day(control: Node<'_, '_>, name: &str) -> Result<Date, Fault> {
    let Some(text) = control.attribute(name) else {
        return Err(Fault::new(321, format!("{name} is missing")));
    };
    date(text).ok_or_else(|| not_a_date(name))
}

fn not_a_date(name: &str) -> Fault {
    Fault::new(404, format!("NOT_A_VALID_DATE: {name}"))
}

const WEEKDAYS: &[(&str, Weekday)] = &[
    ("Mon", Weekday::Monday),
    ("Tue", Weekday::Tuesday),
    ("Weds", Weekday::Wednesday),
    ("Thur", Weekday::Thursday),
    ("Fri", Weekday::Friday),
    ("Sat", Weekday::Saturday),
    ("Sun", Weekday::Sunday),
];
