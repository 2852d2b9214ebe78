//! Their messages in our words.

use std::collections::BTreeMap;

use keyrack_model::adapter::{Inbound, ParseFault, Parsed};
use keyrack_model::ari::AriPush;
use keyrack_model::money::Money;
use keyrack_model::reservation::{Guest, GuestName, ReportedRoom, ReservationReport, RevisionKind};
use keyrack_model::stay::{Stay, StayDate, plus_days};

use super::render::END;
use super::wire::{self, HotelReservation, MISSED, Message, NAMES, POLL_LIMIT, Queue};
use crate::fault::{fault, refused_unread, unreadable};
use crate::mask::mask;
use crate::ota2003::message::{amount, code, date, instant, money, reasons, required_date};
use crate::ota2003::res_notif::{Remarks, customer, guest_counts, rooms_fit};
use crate::ota2003::{avail_notif, rate_amount_notif};
use crate::xml::{self, Document, Element};

/// Longer than any booking number; what is longer is none.
const REFERENCE_BYTES_MAX: usize = 64;

/// What a message held.
pub(super) fn parse(inbound: &Inbound) -> Parsed {
    if let Some(refused) = refused_unread(&inbound.bytes, &NAMES) {
        return refused;
    }
    // Cards are masked first, so that no path leads from here to a stored one.
    let masked = mask(&inbound.bytes, &NAMES);
    let text = xml::text(&masked);
    let document = match xml::read(&text) {
        Ok(document) => document,
        Err(fault) => return unreadable(fault.why, &masked),
    };
    let mut parsed = match wire::message(document.root()) {
        Message::Reservations(queue, list) => {
            let is_missed = inbound.topic == MISSED;
            reservations(&document, Source { queue, is_missed }, &list)
        }
        Message::Availability(root) => ari(avail_notif::read(root, END), &masked),
        Message::Rates(root) => ari(rate_amount_notif::read(root, END), &masked),
        Message::Answer(answer) if answer.errors.is_empty() => Parsed::default(),
        Message::Answer(answer) => unreadable(
            format!("an answer that refuses: {}", reasons(&answer.errors)),
            &masked,
        ),
        Message::Ok => Parsed::default(),
        Message::Fault(errors) => unreadable(refusal(&errors), &masked),
        Message::OtherDialect => unreadable(
            "a message of the flat XML dialect; this connection speaks OTA: one of the two is \
             used for reservations, not both",
            &masked,
        ),
        Message::Unknown(name) => unreadable(
            format!("<{name}> is no message that is exchanged here"),
            &masked,
        ),
    };
    parsed.trace = ruid(&document.comments);
    parsed
}

/// The request id: `RUID: [ZGVtbw==]`.
pub(super) fn ruid(comments: &[String]) -> Option<String> {
    let id = comments
        .iter()
        .find_map(|comment| comment.strip_prefix("RUID:"))?
        .trim();
    let id = id.trim_start_matches('[').trim_end_matches(']');
    (!id.is_empty()).then(|| id.to_owned())
}

fn refusal(errors: &[(Option<String>, String)]) -> String {
    let each = errors.iter().take(20).map(|(code, words)| match code {
        Some(code) => format!("{words} (code {code})"),
        None => words.clone(),
    });
    let each: Vec<String> = each.collect();
    format!("the channel refused: {}", each.join("; "))
}

fn ari(told: Result<AriPush, String>, masked: &[u8]) -> Parsed {
    match told {
        Ok(push) => Parsed {
            ari: Some(push),
            ..Parsed::default()
        },
        Err(why) => unreadable(why, masked),
    }
}

/// Where reservations come from.
#[derive(Clone, Copy)]
struct Source {
    /// By the outermost element.
    queue: Queue,
    /// Among those that fell back to e-mail, states of both queues may stand together.
    is_missed: bool,
}

fn reservations(document: &Document<'_>, source: Source, list: &[HotelReservation<'_>]) -> Parsed {
    let mut parsed = Parsed {
        has_more: list.len() >= POLL_LIMIT,
        ..Parsed::default()
    };
    for (number, reservation) in list.iter().enumerate() {
        match report(source, reservation) {
            Ok(report) => parsed.reports.push(report),
            Err(why) => {
                let broken = broken(document, source.queue, number, reservation, &why);
                parsed.faults.push(broken);
            }
        }
    }
    parsed
}

fn broken(
    document: &Document<'_>,
    queue: Queue,
    number: usize,
    reservation: &HotelReservation<'_>,
    why: &str,
) -> ParseFault {
    let reference = reference(reservation).ok();
    let at = format!(
        "{} reservation {}, {}",
        queue.name(),
        number + 1,
        reference.unwrap_or("without a reference")
    );
    fault(at, why, &document.raw(reservation.element), reference)
}

/// The booking number.
fn reference<'a>(reservation: &HotelReservation<'a>) -> Result<&'a str, String> {
    let own = |id: &&Element<'a>| {
        let source = id.attribute("ResID_Source");
        source.is_some_and(|source| source.eq_ignore_ascii_case("BOOKING.COM"))
    };
    let typed = |id: &&Element<'a>| id.attribute("ResID_Type") == Some("14");
    let ids = || reservation.ids.iter();
    let id = ids()
        .find(own)
        .or_else(|| ids().find(typed))
        .or_else(|| ids().next());
    id.and_then(|id| id.attribute("ResID_Value"))
        .filter(|reference| reference.len() <= REFERENCE_BYTES_MAX)
        .ok_or_else(|| "HotelReservationID needs ResID_Value, the booking number".to_owned())
}

fn report(source: Source, told: &HotelReservation<'_>) -> Result<ReservationReport, String> {
    let reference = reference(told)?;
    let kind = kind(source, told)?;
    rooms_fit(told.room_stays.len())?;
    let booker = booker(told);
    let sleepers = sleepers(told);
    let mut remarks = Remarks::default();
    let mut rooms = Vec::new();
    let mut hotel_code = told.global.and_then(hotel);
    let mut commission = None;
    let mut is_virtual_card = false;
    for stay in told.room_stays.iter().copied() {
        hotel_code = one_hotel(hotel_code, hotel(stay))?;
        let room = room(stay, &sleepers, &mut is_virtual_card);
        match (room, kind) {
            (Ok(room), _) => rooms.push(room),
            // A cancellation frees what we know; its own rooms are decoration.
            (Err(_), RevisionKind::Cancelled) => {}
            (Err(why), _) => return Err(why),
        }
        commission = sum(commission, room_commission(stay));
        remark(stay, &mut remarks);
    }
    if let Some(global) = told.global {
        remarks.add_all(global);
    }
    let total = told.global.and_then(|global| global.child("Total"));
    Ok(ReservationReport {
        hotel_code: hotel_code.map(code),
        reference: reference.to_owned(),
        kind,
        order: order(kind, told),
        booked_at: booked_at(told),
        total: total.and_then(amount).or_else(|| rooms_total(&rooms)),
        rooms,
        guest: booker,
        commission,
        payment_model: is_virtual_card.then(|| "VCC".to_owned()),
        remarks: remarks.list,
        is_quote: false,
        acknowledge_as: Some(answered_in(source, kind).name().to_owned()),
    })
}

/// A new one may already be cancelled: the new queue tells the latest state of a booking whose
/// first message was not acknowledged.
fn kind(source: Source, told: &HotelReservation<'_>) -> Result<RevisionKind, String> {
    let status = told.status.map(str::to_ascii_lowercase).unwrap_or_default();
    match (source.queue, told.room_stays.is_empty()) {
        _ if matches!(status.as_str(), "cancel" | "cancelled" | "canceled") => {
            Ok(RevisionKind::Cancelled)
        }
        (Queue::New, true) => Err("a new reservation needs at least one RoomStay".to_owned()),
        (Queue::New, false) if source.is_missed && status == "modify" => Ok(RevisionKind::Modified),
        (Queue::New, false) => Ok(RevisionKind::New),
        (_, true) => Ok(RevisionKind::Cancelled),
        (_, false) => Ok(RevisionKind::Modified),
    }
}

/// The queue whose acknowledgement takes the reservation out. A missed cancellation is one of a
/// booking that was told before, or of one that never was: only the channel knows.
fn answered_in(source: Source, kind: RevisionKind) -> Queue {
    match (source.queue, source.is_missed, kind) {
        (Queue::New, true, RevisionKind::Cancelled) => Queue::Either,
        (Queue::New, true, RevisionKind::Modified) => Queue::Modified,
        (queue, ..) => queue,
    }
}

/// The time of the last change; of a new booking without one, its creation. Nothing for a change
/// without a time: `ResID_Date` and `TimeStamp` do not tell two states apart, and a guessed order
/// could make the newer look old. Without an order, the later received wins.
fn order(kind: RevisionKind, told: &HotelReservation<'_>) -> Option<i64> {
    let created = told.created.filter(|_| kind == RevisionKind::New);
    let at = told.modified.or(created).and_then(instant)?;
    Some(at.as_microsecond())
}

/// `CreateDateTime`, else `ResID_Date`; taken as UTC where no offset is told (unconfirmed).
fn booked_at(told: &HotelReservation<'_>) -> Option<jiff::Timestamp> {
    let dated = told.ids.iter().find_map(|id| id.attribute("ResID_Date"));
    told.created.or(dated).and_then(instant)
}

fn hotel(element: Element<'_>) -> Option<&str> {
    element.child("BasicPropertyInfo")?.attribute("HotelCode")
}

fn one_hotel<'a>(known: Option<&'a str>, told: Option<&'a str>) -> Result<Option<&'a str>, String> {
    match (known, told) {
        (Some(known), Some(told)) if known != told => Err(format!(
            "a reservation belongs to one hotel, but this one names {known} and {told}"
        )),
        (known, told) => Ok(known.or(told)),
    }
}

/// Guests by the number under which a room names them.
fn sleepers<'a>(told: &HotelReservation<'a>) -> BTreeMap<&'a str, Guest> {
    let each = told.guests.iter().filter_map(|guest| {
        let number = guest.attribute("ResGuestRPH")?;
        Some((number, person(*guest)?))
    });
    each.collect()
}

/// Who booked; where only guests are told, the first of them.
fn booker(told: &HotelReservation<'_>) -> Guest {
    let global = told.global.and_then(person);
    let first = told.guests.iter().copied().find_map(person);
    global.or(first).unwrap_or_default()
}

fn person(element: Element<'_>) -> Option<Guest> {
    let path = ["Profiles", "ProfileInfo", "Profile", "Customer"];
    let mut found = element.every(path).map(customer);
    found.find(|guest| !guest.name.is_empty())
}

fn room(
    stay: Element<'_>,
    sleepers: &BTreeMap<&str, Guest>,
    is_virtual_card: &mut bool,
) -> Result<ReportedRoom, String> {
    let mut nightly = Vec::new();
    let mut nights = Vec::new();
    let mut rate_code = None;
    for rate in stay.every(["RoomRates", "RoomRate"]) {
        let night = required_date(rate, "EffectiveDate")?;
        nights.push(night);
        if let Some(told) = rate.attribute("RatePlanCode") {
            let (bare, is_virtual) = without_card_mark(told);
            *is_virtual_card |= is_virtual;
            rate_code.get_or_insert_with(|| code(bare));
        }
        let price = rate.at(&["Rates", "Rate", "Total"]).and_then(amount);
        nightly.extend(price.map(|price| (night, price)));
    }
    nightly.sort_by_key(|(night, _)| *night);
    let (arrival, departure) = dates(stay, &nights)?;
    let (adults, children_ages) = guest_counts(stay);
    let kind = stay.at(&["RoomTypes", "RoomType"]);
    let units = kind.and_then(|kind| kind.attribute("NumberOfUnits")?.parse().ok());
    let guest = stay
        .every(["ResGuestRPHs", "ResGuestRPH"])
        .find_map(|number| sleepers.get(number.attribute("RPH")?));
    Ok(ReportedRoom {
        room_key: stay.attribute("IndexNumber").map(code),
        // Without a code the room is unmapped: staff hear of it, the guest is kept.
        room_code: kind
            .and_then(|kind| kind.attribute("RoomTypeCode"))
            .map(code)
            .unwrap_or_default(),
        rate_code,
        arrival: Some(arrival),
        departure: Some(departure),
        quantity: units.filter(|units| (1..=99).contains(units)).unwrap_or(1),
        nightly,
        total: stay.child("Total").and_then(amount),
        adults,
        children_ages,
        guest_name: guest.map(|guest| GuestName(guest.name.clone())),
    })
}

/// Arrival and departure: told as a span, else the first night and the day after the last.
fn dates(stay: Element<'_>, nights: &[StayDate]) -> Result<(StayDate, StayDate), String> {
    let span = stay.child("TimeSpan");
    let told = |name: &str| -> Result<Option<StayDate>, String> {
        let Some(text) = span.and_then(|span| span.attribute(name)) else {
            return Ok(None);
        };
        let read = date(text);
        read.map(Some)
            .ok_or_else(|| format!("{name} {text:?} is no date of the calendar"))
    };
    let first = nights.iter().min().copied();
    let after = nights.iter().max().map(|night| plus_days(*night, 1));
    let arrival = told("Start")?.or(first);
    let departure = told("End")?.or(after);
    let (Some(arrival), Some(departure)) = (arrival, departure) else {
        return Err("a RoomStay needs RoomRates with EffectiveDate, or a TimeSpan".to_owned());
    };
    // The same day twice is odd and recorded all the same; the wrong way round is not.
    let fits = arrival == departure || Stay::new(arrival, departure).is_some();
    fits.then_some((arrival, departure)).ok_or_else(|| {
        format!("the departure {departure} must lie after the arrival {arrival}, and not years")
    })
}

/// The rate's own code: with virtual cards switched on it carries a mark at its end.
fn without_card_mark(code: &str) -> (&str, bool) {
    match code.strip_suffix("VCC") {
        Some(bare) if !bare.is_empty() => (bare.trim_end_matches(['-', '_', ' ']), true),
        _ => (code, false),
    }
}

fn room_commission(stay: Element<'_>) -> Option<Money> {
    let path = [
        "RatePlans",
        "RatePlan",
        "Commission",
        "CommissionPayableAmount",
    ];
    let told = stay.every(path);
    told.fold(None, |total, each| sum(total, money(each, "Amount")))
}

fn rooms_total(rooms: &[ReportedRoom]) -> Option<Money> {
    let totals: Option<Vec<Money>> = rooms.iter().map(|room| room.total).collect();
    totals?
        .into_iter()
        .try_fold(None, |total: Option<Money>, each| match total {
            None => Some(Some(each)),
            Some(total) => Some(Some(total.checked_add(each)?)),
        })?
}

fn sum(total: Option<Money>, more: Option<Money>) -> Option<Money> {
    match (total, more) {
        (Some(total), Some(more)) => total.checked_add(more).or(Some(total)),
        (total, more) => total.or(more),
    }
}

fn remark(stay: Element<'_>, remarks: &mut Remarks) {
    remarks.add_all(stay);
    for description in stay.every(["RoomTypes", "RoomType", "RoomDescription"]) {
        let meals = description.child("MealPlan").map(Element::text);
        let meals = meals.or_else(|| description.attribute("MealPlan"));
        if let Some(meals) = meals.filter(|meals| !meals.is_empty()) {
            remarks.add(&format!("Meals: {meals}"));
        }
    }
}
