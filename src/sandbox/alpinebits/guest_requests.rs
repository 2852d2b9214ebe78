//! Guest requests by pull: `OTA_Read:GuestRequests` and `OTA_NotifReport:GuestRequests`.
//!
//! Each version of a reservation is a message of its own. It is offered until it is acknowledged
//! (or refused: that too takes it out of the queue, marked), and in no promised order.

use jiff::{SignedDuration, Timestamp};
use rand::Rng;
use rand::seq::SliceRandom as _;
use roxmltree::Node;

use crate::clock::elapsed_ms;
use crate::edge::Heard;
use crate::faults::Struck;
use crate::reservation::{Reservation, Version, VersionState};
use crate::state::State;
use crate::xml::{at, child, children, text, tree};

use super::answer::{REPORT, RETRIEVE, Refusal, Warning, error, success};
use super::capability::{Capabilities, ROOM_RATES};
use super::message;

/// The place of one version among all reservations.
type Place = (String, usize);

/// Lets what nobody acknowledged in time fall to the mailbox.
pub(crate) fn let_fall(state: &mut State, after_ms: u32, now: Timestamp) {
    if after_ms == 0 {
        return;
    }
    let due: Vec<(Place, Timestamp)> = state
        .reservations
        .values()
        .flat_map(places)
        .filter(|(_, version)| version.is_waiting())
        .filter(|(_, version)| elapsed_ms(version.at, now) >= i64::from(after_ms))
        .map(|(place, version)| (place, version.at))
        .collect();
    for ((reference, version), at) in due {
        let fell = at + SignedDuration::from_millis(i64::from(after_ms));
        if let Some(reservation) = state.reservations.get_mut(&reference) {
            reservation.versions[version].fell_back_at = Some(fell);
        }
        state.mail(&reference, version, fell);
    }
}

/// Answers `OTA_Read:GuestRequests`.
pub(crate) fn read(
    state: &mut State,
    body: &[u8],
    capabilities: &Capabilities,
    struck: &Struck,
    warnings: &[Warning],
    now: Timestamp,
) -> Heard {
    let (hotel, since) = match question(body) {
        Ok(question) => question,
        Err(refusal) => return error(RETRIEVE, &refusal),
    };
    if !state.hotels.get(&hotel).is_some_and(|hotel| hotel.linked) {
        let why = format!("hotel {hotel} is not known or not yours");
        return error(RETRIEVE, &Refusal::new(392, why));
    }
    let mut offered = offered(state, &hotel, since);
    if struck.duplicate
        && let Some(again) = acknowledged_before(state, &hotel, &offered)
    {
        offered.push(again);
    }
    if struck.reorder {
        offered.shuffle(&mut state.rng);
    }
    if !struck.lose_answer {
        for (reference, version) in &offered {
            if let Some(reservation) = state.reservations.get_mut(reference) {
                reservation.versions[*version].delivered_at.push(now);
            }
        }
    }
    let rates = capabilities.contains(ROOM_RATES);
    let mut heard = success(RETRIEVE, warnings, |xml| {
        xml.open("ReservationsList", &[]);
        for (reference, version) in &offered {
            if let Some(reservation) = state.reservations.get(reference) {
                message::one(xml, reservation, *version, rates);
            }
        }
        xml.close();
    });
    heard.hotel = Some(hotel);
    heard.references = offered
        .into_iter()
        .map(|(reference, _)| reference)
        .collect();
    heard
}

/// The hotel asked for, and since when.
fn question(body: &[u8]) -> Result<(String, Option<Timestamp>), Refusal> {
    let document = text(body)
        .and_then(tree)
        .map_err(|why| Refusal::new(450, why))?;
    let root = document.root_element();
    if root.tag_name().name() != "OTA_ReadRQ" {
        return Err(Refusal::new(450, "the root element is not OTA_ReadRQ"));
    }
    if root.attribute("Version").is_none() {
        return Err(Refusal::new(321, "Version is missing"));
    }
    let request = at(root, &["ReadRequests", "HotelReadRequest"]);
    let request = request.ok_or_else(|| Refusal::new(321, "HotelReadRequest is missing"))?;
    let hotel = request
        .attribute("HotelCode")
        .filter(|code| !code.is_empty());
    let hotel = hotel.ok_or_else(|| Refusal::new(392, "HotelCode is missing"))?;
    let since = match child(request, "SelectionCriteria") {
        None => None,
        Some(criteria) => {
            let start = criteria.attribute("Start").unwrap_or_default();
            let since = start.parse().map_err(|_| {
                Refusal::new(404, format!("Start {start} is no instant with a zone"))
            })?;
            Some(since)
        }
    };
    Ok((hotel.to_owned(), since))
}

/// What waits; or, with an instant, everything made after it, acknowledged or not.
fn offered(state: &State, hotel: &str, since: Option<Timestamp>) -> Vec<Place> {
    let mut found: Vec<(Timestamp, Place)> = state
        .reservations
        .values()
        .filter(|reservation| reservation.hotel == hotel)
        .flat_map(places)
        .filter(|(_, version)| match since {
            Some(since) => version.at > since,
            None => version.is_waiting(),
        })
        .map(|(place, version)| (version.at, place))
        .collect();
    found.sort();
    found.into_iter().map(|(_, place)| place).collect()
}

fn acknowledged_before(state: &mut State, hotel: &str, but: &[Place]) -> Option<Place> {
    let done: Vec<Place> = state
        .reservations
        .values()
        .filter(|reservation| reservation.hotel == hotel)
        .flat_map(places)
        .filter(|(place, version)| version.acknowledged_at.is_some() && !but.contains(place))
        .map(|(place, _)| place)
        .collect();
    let place = (!done.is_empty()).then(|| state.rng.random_range(0..done.len()))?;
    done.into_iter().nth(place)
}

fn places(reservation: &Reservation) -> impl Iterator<Item = (Place, &Version)> {
    let versions = reservation.versions.iter().enumerate();
    versions.map(|(place, version)| ((reservation.reference.clone(), place), version))
}

/// What a client says of the requests it got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// `UniqueID` type and ID of what it took.
    pub(crate) taken: Vec<(String, String)>,
    /// IDs of what it could not take.
    pub(crate) refused: Vec<String>,
}

/// Answers `OTA_NotifReport:GuestRequests`.
pub(crate) fn report(
    state: &mut State,
    body: &[u8],
    mut warnings: Vec<Warning>,
    now: Timestamp,
) -> Heard {
    let report = match read_report(body) {
        Ok(report) => report,
        Err(refusal) => return error(REPORT, &refusal),
    };
    let mut references = Vec::new();
    for (kind, reference) in &report.taken {
        match settle(state, reference, Some(kind), true, now) {
            true => references.push(reference.clone()),
            false => warnings.push(Warning::no_effect(reference, "no such request waits")),
        }
    }
    for reference in &report.refused {
        match settle(state, reference, None, false, now) {
            true => references.push(reference.clone()),
            false => warnings.push(Warning::no_effect(reference, "no such request waits")),
        }
    }
    let mut heard = success(REPORT, &warnings, |_| {});
    heard.references = references;
    heard
}

/// Reads a report; why it is none.
pub(crate) fn read_report(body: &[u8]) -> Result<Report, Refusal> {
    let document = text(body)
        .and_then(tree)
        .map_err(|why| Refusal::new(450, why))?;
    let root = document.root_element();
    if root.tag_name().name() != "OTA_NotifReportRQ" {
        return Err(Refusal::new(
            450,
            "the root element is not OTA_NotifReportRQ",
        ));
    }
    if root.attribute("Version").is_none() || child(root, "Success").is_none() {
        return Err(Refusal::new(321, "Version or Success is missing"));
    }
    let mut report = Report::default();
    let warnings = child(root, "Warnings");
    for warning in warnings
        .into_iter()
        .flat_map(|list| children(list, "Warning"))
    {
        let record = warning.attribute("RecordID").filter(|id| !id.is_empty());
        let record = record.ok_or_else(|| Refusal::new(321, "RecordID is missing"))?;
        report.refused.push(record.to_owned());
    }
    let list = at(
        root,
        &["NotifDetails", "HotelNotifReport", "HotelReservations"],
    );
    for reservation in list
        .into_iter()
        .flat_map(|list| children(list, "HotelReservation"))
    {
        report.taken.push(unique_id(reservation)?);
    }
    Ok(report)
}

/// The type (14 or 15) and ID of a reservation.
pub(crate) fn unique_id(reservation: Node<'_, '_>) -> Result<(String, String), Refusal> {
    let id = child(reservation, "UniqueID");
    let kind = id.and_then(|id| id.attribute("Type")).unwrap_or_default();
    let value = id.and_then(|id| id.attribute("ID")).unwrap_or_default();
    if !matches!(kind, "14" | "15") || !(1..=32).contains(&value.chars().count()) {
        return Err(Refusal::new(
            320,
            "UniqueID is missing or of another type than 14 or 15",
        ));
    }
    Ok((kind.to_owned(), value.to_owned()))
}

/// Takes every delivered version of that type out of the queue; whether there was one.
fn settle(
    state: &mut State,
    reference: &str,
    kind: Option<&str>,
    taken: bool,
    now: Timestamp,
) -> bool {
    let Some(reservation) = state.reservations.get_mut(reference) else {
        return false;
    };
    let mut settled = Vec::new();
    for version in &mut reservation.versions {
        let of_kind = kind.is_none_or(|kind| kind == unique_id_type(version.state));
        if of_kind && !version.delivered_at.is_empty() && version.acknowledged_at.is_none() {
            version.acknowledged_at = Some(now);
            version.rejected_at = (!taken).then_some(now);
            settled.push(version.number);
        }
    }
    for number in &settled {
        state.log.acknowledged(now, reference, *number, taken);
    }
    !settled.is_empty()
}

/// 15 for cancellations, 14 for all else.
pub(crate) fn unique_id_type(state: VersionState) -> &'static str {
    match state {
        VersionState::Cancelled => "15",
        _ => "14",
    }
}
