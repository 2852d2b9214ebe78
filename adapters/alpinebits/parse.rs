//! Their messages in our words.

use keyrack_model::adapter::{Inbound, Parsed};
use keyrack_model::money::Money;
use keyrack_model::reservation::{Guest, ReportedRoom, ReservationReport, RevisionKind};
use keyrack_model::stay::{Stay, StayDate};

use super::prices::{Allowance, nightly};
use super::wire::{self, GUEST_REQUESTS, HotelReservation, NAMES, REFERENCE_MAX};
use super::{free_rooms, handshake};
use crate::fault::{fault, kept, refused_unread, unreadable};
use crate::mask::mask;
use crate::ota2003::message::{self, amount, answer, date, instant, money, reasons, required_date};
use crate::ota2003::res_notif::{Remarks, customer, guest_counts, rooms_fit};
use crate::xml::{self, Document, Element};

/// What a message held.
pub(super) fn parse(inbound: &Inbound) -> Parsed {
    if let Some(refused) = refused_unread(&inbound.bytes, &NAMES) {
        return refused;
    }
    // Cards are masked first, so that no path leads from here to a stored one.
    let masked = mask(&inbound.bytes, &NAMES);
    if let Some(words) = error_text(&masked) {
        return unreadable(format!("the portal refused: {words}"), &masked);
    }
    let text = xml::text(&masked);
    let document = match xml::read(&text) {
        Ok(document) => document,
        Err(fault) => return unreadable(fault.why, &masked),
    };
    match message(&document, &inbound.topic) {
        Ok(parsed) => parsed,
        Err(why) => unreadable(why, &masked),
    }
}

/// The words of a refusal below the level of messages: plain text that starts with `ERROR`.
pub(super) fn error_text(body: &[u8]) -> Option<String> {
    let head = &body[..body.len().min(1_000)];
    let head = String::from_utf8_lossy(head);
    let head = head.trim_start_matches('\u{feff}').trim();
    head.starts_with("ERROR").then(|| kept(head, 300))
}

/// By the outermost element; everything that is sent either way can be read, for `inspect`.
fn message(document: &Document<'_>, topic: &str) -> Result<Parsed, String> {
    let root = document.root();
    let told = answer(root);
    match root.name() {
        name if name.ends_with("RS") && !told.errors.is_empty() => {
            return Err(format!("an answer that refuses: {}", reasons(&told.errors)));
        }
        name if name.ends_with("RS") && !told.success => {
            return Err("an answer needs Success or Errors".to_owned());
        }
        "OTA_ResRetrieveRS" => {
            return Ok(requests(document, root.child("ReservationsList"), topic));
        }
        "OTA_HotelResNotifRQ" => {
            return Ok(requests(document, root.child("HotelReservations"), topic));
        }
        "OTA_HotelInvCountNotifRQ" => {
            let ari = free_rooms::read(root, &|_| true)?;
            return Ok(Parsed {
                ari: Some(ari),
                ..Parsed::default()
            });
        }
        "OTA_PingRQ" => handshake::read_request(root)?,
        "OTA_PingRS"
        | "OTA_HotelInvCountNotifRS"
        | "OTA_NotifReportRQ"
        | "OTA_NotifReportRS"
        | "OTA_HotelResNotifRS"
        | "OTA_ReadRQ" => {}
        other => return Err(format!("<{other}> is no message that is exchanged here")),
    }
    Ok(Parsed::default())
}

fn requests(document: &Document<'_>, list: Option<Element<'_>>, topic: &str) -> Parsed {
    let asked_for = topic
        .strip_prefix(GUEST_REQUESTS)
        .filter(|hotel| !hotel.is_empty());
    let mut parsed = Parsed::default();
    let told = list.map(wire::reservations).unwrap_or_default();
    let mut allowance = Allowance::default();
    for (number, told) in told.iter().enumerate() {
        match report(told, asked_for, &mut allowance) {
            Ok(report) => parsed.reports.push(report),
            Err(why) => {
                let name = told.id.unwrap_or("without an ID");
                let at = format!("HotelReservation {}, {name}", number + 1);
                let raw = document.raw(told.element);
                let reference = told.id.filter(|id| is_reference(id));
                parsed.faults.push(fault(at, why, &raw, reference));
            }
        }
    }
    // Lists are in no order. A change or cancellation without a time of its own goes last: it
    // must not be taken for older than what it changes.
    parsed.reports.sort_by_key(|report| {
        let time = report.order.unwrap_or(i64::MAX);
        (time, report.kind)
    });
    parsed
}

fn is_reference(id: &str) -> bool {
    id.chars().count() <= REFERENCE_MAX
}

fn report(
    told: &HotelReservation<'_>,
    asked_for: Option<&str>,
    allowance: &mut Allowance,
) -> Result<ReservationReport, String> {
    let reference = told
        .id
        .filter(|id| is_reference(id))
        .ok_or("UniqueID needs an ID of 1 to 32 characters")?;
    let (kind, is_quote) = kind(told)?;
    rooms_fit(told.room_stays.len())?;
    let mut remarks = Remarks::default();
    let mut rooms = Vec::new();
    let mut commission: Option<Money> = None;
    for stay in told.room_stays.iter().copied() {
        match room(stay, is_quote, &mut remarks, allowance) {
            Ok(room) => rooms.push(room),
            // A cancellation frees what we know; its own rooms are decoration.
            Err(_) if kind == RevisionKind::Cancelled => {}
            Err(why) => return Err(why),
        }
        let path = [
            "RatePlans",
            "RatePlan",
            "Commission",
            "CommissionPayableAmount",
        ];
        let more = stay.at(&path).and_then(|each| money(each, "Amount"));
        commission = match (commission, more) {
            (Some(sum), Some(more)) => sum.checked_add(more).or(Some(sum)),
            (sum, more) => sum.or(more),
        };
    }
    if rooms.is_empty() && kind != RevisionKind::Cancelled && !is_quote {
        return Err("a reservation needs at least one RoomStay".to_owned());
    }
    let hotel = told
        .global
        .and_then(|global| global.child("BasicPropertyInfo"));
    let hotel = hotel.and_then(|info| info.attribute("HotelCode"));
    if let Some(global) = told.global {
        remarks.add_all(global);
    }
    Ok(ReservationReport {
        hotel_code: hotel.or(asked_for).map(message::code),
        reference: reference.to_owned(),
        kind,
        order: order(kind, told),
        booked_at: told.created.and_then(instant),
        total: total(&rooms),
        rooms,
        guest: told.customer.map_or_else(Guest::default, customer),
        commission,
        payment_model: None,
        remarks: remarks.list,
        is_quote,
        acknowledge_as: told.id_type.map(str::to_owned),
    })
}

/// The kind, and whether it is a quote. The schema allows every pair of status and type; the
/// standard knows only these.
fn kind(told: &HotelReservation<'_>) -> Result<(RevisionKind, bool), String> {
    match (told.status, told.id_type) {
        (Some("Requested"), Some("14")) => Ok((RevisionKind::New, true)),
        (Some("Reserved"), Some("14")) => Ok((RevisionKind::New, false)),
        (Some("Modify"), Some("14")) => Ok((RevisionKind::Modified, false)),
        (Some("Cancelled"), Some("15")) => Ok((RevisionKind::Cancelled, false)),
        (status, id_type) => Err(format!(
            "ResStatus {} does not go with UniqueID Type {}: Requested, Reserved and Modify are \
             named by 14, Cancelled by 15",
            status.unwrap_or("(none)"),
            id_type.unwrap_or("(none)")
        )),
    }
}

/// The time of the last change; of a new one without it, its creation. A change or cancellation
/// without a time of its own has no order: the later received wins.
fn order(kind: RevisionKind, told: &HotelReservation<'_>) -> Option<i64> {
    let created = told.created.filter(|_| kind == RevisionKind::New);
    let at = told.modified.or(created).and_then(instant)?;
    Some(at.as_microsecond())
}

fn room(
    stay: Element<'_>,
    is_quote: bool,
    remarks: &mut Remarks,
    allowance: &mut Allowance,
) -> Result<ReportedRoom, String> {
    let period = match stay.child("TimeSpan") {
        Some(span) if is_quote => wished(span, remarks)?,
        Some(span) => Some(period(span)?),
        None if is_quote => None,
        None => return Err("a RoomStay needs a TimeSpan".to_owned()),
    };
    let plan = stay.at(&["RatePlans", "RatePlan"]);
    if let Some(meals) = plan.and_then(|plan| plan.child("MealsIncluded")) {
        remark_meals(meals, remarks);
    }
    let nights = period.and_then(|(arrival, departure)| Stay::new(arrival, departure));
    let (adults, children_ages) = guest_counts(stay);
    let code = |element: Option<Element<'_>>, name: &str| {
        let code = element.and_then(|element| element.attribute(name));
        code.map(message::code)
    };
    Ok(ReportedRoom {
        room_key: None,
        // Without a code the room is unmapped: staff hear of it, the guest is kept.
        room_code: code(stay.at(&["RoomTypes", "RoomType"]), "RoomTypeCode").unwrap_or_default(),
        rate_code: code(plan, "RatePlanCode"),
        arrival: period.map(|(arrival, _)| arrival),
        departure: period.map(|(_, departure)| departure),
        quantity: 1,
        nightly: nights.map_or_else(Vec::new, |nights| nightly(stay, nights, allowance)),
        total: stay.child("Total").and_then(amount),
        adults,
        children_ages,
        guest_name: None,
    })
}

/// Arrival and departure: here the end is no night. Refused where nobody would sleep.
fn period(span: Element<'_>) -> Result<(StayDate, StayDate), String> {
    let arrival = required_date(span, "Start")?;
    let departure = required_date(span, "End")?;
    Stay::new(arrival, departure)
        .map(|_| (arrival, departure))
        .ok_or_else(|| {
            format!("End {departure} must lie at least a night after Start {arrival}, not years")
        })
}

/// What a quote wishes: a period, or a number of nights within a window of arrivals, which is
/// kept as a remark.
fn wished(
    span: Element<'_>,
    remarks: &mut Remarks,
) -> Result<Option<(StayDate, StayDate)>, String> {
    if span.attribute("Start").is_some() || span.attribute("End").is_some() {
        return period(span).map(Some);
    }
    let nights = span.attribute("Duration").and_then(|nights| {
        let number = nights.strip_prefix('P')?.strip_suffix('N')?;
        number.parse::<u16>().ok()
    });
    let window = span.child("StartDateWindow");
    let edge = |name: &str| window.and_then(|window| date(window.attribute(name)?));
    if let (Some(earliest), Some(latest)) = (edge("EarliestDate"), edge("LatestDate")) {
        let nights = nights.map(|nights| format!(", {nights} nights"));
        let nights = nights.unwrap_or_default();
        remarks.add(&format!("Arrival between {earliest} and {latest}{nights}"));
    }
    Ok(None)
}

fn remark_meals(meals: Element<'_>, remarks: &mut Remarks) {
    let words = match meals.attribute("MealPlanCodes") {
        Some("1") => "all inclusive",
        Some("3") => "bed and breakfast",
        Some("10") => "full board",
        Some("12") => "half board",
        Some("14") => "room only",
        Some(other) => {
            remarks.add(&format!("Meals: code {other}"));
            return;
        }
        None => return,
    };
    remarks.add(&format!("Meals: {words}"));
}

/// The sum of all rooms, where each has a total in one currency.
fn total(rooms: &[ReportedRoom]) -> Option<Money> {
    let mut totals = rooms.iter().map(|room| room.total);
    let first = totals.next()??;
    totals.try_fold(first, |sum, each| sum.checked_add(each?))
}
