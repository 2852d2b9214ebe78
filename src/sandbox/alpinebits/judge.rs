//! The rules of guest requests as a message, for whoever asks about one standing alone.

use jiff::Timestamp;
use roxmltree::Node;

use crate::night::date;
use crate::xml::{at, child, children};

use super::answer::Refusal;
use super::capability::{Capabilities, ROOM_RATES};
use super::guest_requests::unique_id;

/// A reservation that keeps the rules by `UniqueID` type and ID, or the ID of one that does not,
/// and why.
pub(crate) type Judged = Result<(String, String), (String, Refusal)>;

/// Judges every reservation of a list.
pub(crate) fn reservations(list: Node<'_, '_>, capabilities: &Capabilities) -> Vec<Judged> {
    children(list, "HotelReservation")
        .map(|reservation| {
            let id = child(reservation, "UniqueID").and_then(|id| id.attribute("ID"));
            let id = id.unwrap_or_default().to_owned();
            one(reservation, capabilities).map_err(|refusal| (id, refusal))
        })
        .collect()
}

fn one(
    reservation: Node<'_, '_>,
    capabilities: &Capabilities,
) -> Result<(String, String), Refusal> {
    let id = unique_id(reservation)?;
    let wrong = |code: u16, why: &str| Err(Refusal::new(code, format!("{}: {why}", id.1)));
    let created = reservation.attribute("CreateDateTime").unwrap_or_default();
    let modified = reservation
        .attribute("LastModifyDateTime")
        .unwrap_or(created);
    if created.parse::<Timestamp>().is_err() || modified.parse::<Timestamp>().is_err() {
        return wrong(404, "the times are no instants with a zone");
    }
    let status = reservation.attribute("ResStatus").unwrap_or_default();
    let kind = match status {
        "Requested" | "Reserved" | "Modify" => "14",
        "Cancelled" => "15",
        _ => return wrong(320, "ResStatus is not known"),
    };
    if id.0 != kind {
        return wrong(320, &format!("{status} needs a UniqueID of type {kind}"));
    }
    if status == "Cancelled" && child(reservation, "RoomStays").is_none() {
        return Ok(id);
    }
    let hotel = at(reservation, &["ResGlobalInfo", "BasicPropertyInfo"]);
    if hotel
        .and_then(|hotel| hotel.attribute("HotelCode"))
        .is_none()
    {
        return wrong(392, "HotelCode is missing");
    }
    let stays: Vec<Node<'_, '_>> = child(reservation, "RoomStays")
        .into_iter()
        .flat_map(|stays| children(stays, "RoomStay"))
        .collect();
    if stays.is_empty() {
        return wrong(321, "no RoomStay");
    }
    for stay in stays {
        if let Err(why) = room_stay(stay, status, capabilities) {
            return wrong(320, &why);
        }
    }
    Ok(id)
}

fn room_stay(stay: Node<'_, '_>, status: &str, capabilities: &Capabilities) -> Result<(), String> {
    let of_rooms = matches!(status, "Reserved" | "Modify");
    if child(stay, "RoomRates").is_some() && !capabilities.contains(ROOM_RATES) {
        return Err(format!("{ROOM_RATES} was not announced"));
    }
    if let Some(span) = child(stay, "TimeSpan") {
        time_span(span, of_rooms)?;
    } else if of_rooms {
        return Err("TimeSpan is missing".to_owned());
    }
    if !of_rooms {
        return Ok(());
    }
    let room = at(stay, &["RoomTypes", "RoomType"]);
    if room
        .and_then(|room| room.attribute("RoomTypeCode"))
        .is_none()
    {
        return Err("RoomTypeCode is missing".to_owned());
    }
    for name in ["RatePlans", "GuestCounts", "Total"] {
        if child(stay, name).is_none() {
            return Err(format!("{name} is missing"));
        }
    }
    Ok(())
}

fn time_span(span: Node<'_, '_>, of_rooms: bool) -> Result<(), String> {
    let day = |name: &str| {
        let told = span.attribute(name)?;
        Some(date(told).ok_or_else(|| format!("{name} {told} is no date")))
    };
    match (day("Start").transpose()?, day("End").transpose()?) {
        (Some(start), Some(end)) if start < end => Ok(()),
        (Some(_), Some(_)) => Err("departure is not after arrival".to_owned()),
        _ if of_rooms => Err("Start or End is missing".to_owned()),
        _ => window(span),
    }
}

/// A quote may name a window of arrivals and a number of nights.
fn window(span: Node<'_, '_>) -> Result<(), String> {
    let nights = span.attribute("Duration").and_then(|told| {
        let digits = told.strip_prefix('P')?.strip_suffix('N')?;
        digits.parse::<u32>().ok().filter(|nights| *nights > 0)
    });
    if nights.is_none() {
        return Err("neither Start and End nor a Duration in nights".to_owned());
    }
    let Some(window) = child(span, "StartDateWindow") else {
        return Ok(());
    };
    let day = |name: &str| window.attribute(name).and_then(date);
    match (day("EarliestDate"), day("LatestDate")) {
        (Some(earliest), Some(latest)) if earliest <= latest => Ok(()),
        _ => Err("the window of arrivals is no period".to_owned()),
    }
}
