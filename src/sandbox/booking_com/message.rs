//! Reservations as the fake Booking.com writes them.

use jiff::Timestamp;
use jiff::civil::Date;

use crate::edge::Answer;
use crate::reservation::{Guest, Reservation, RoomStay, Version, VersionState};
use crate::xml::Writer;

use super::answer::{XML, ruid};
use super::queue::Queue;
use crate::money::decimals;

/// How the reservations of one answer are written.
pub(crate) struct Manner {
    pub(crate) cancel_names_hotel: bool,
    /// Each reservation says what it is by `ResStatus`, as among missed ones of both queues.
    pub(crate) states_named: bool,
}

/// The answer to asking a queue.
pub(crate) fn queue(
    queue: Queue,
    reservations: &[Reservation],
    manner: &Manner,
    now: Timestamp,
) -> Answer {
    let (root, list, item) = match queue {
        Queue::New => (
            "OTA_HotelResNotifRQ",
            "HotelReservations",
            "HotelReservation",
        ),
        Queue::Modify => (
            "OTA_HotelResModifyNotifRQ",
            "HotelResModifies",
            "HotelResModify",
        ),
    };
    let stamp = now.to_string();
    let attributes = [
        ("TimeStamp", stamp.as_str()),
        ("Target", "Production"),
        ("Version", "2.001"),
    ];
    let mut xml = Writer::new(root, &attributes);
    xml.open(list, &[]);
    for reservation in reservations {
        one(&mut xml, item, reservation, manner);
    }
    let comment = format!("RUID: [{}]", ruid(now));
    Answer::new(200, XML, xml.finish_with_comment(&comment))
}

fn one(xml: &mut Writer, item: &'static str, reservation: &Reservation, manner: &Manner) {
    let latest = reservation.latest();
    let status = match latest.state {
        VersionState::Cancelled => Some("Cancel"),
        VersionState::Modified if manner.states_named => Some("Modify"),
        _ if manner.states_named => Some("Commit"),
        _ => None,
    };
    let attributes: Vec<(&str, &str)> = status.iter().map(|s| ("ResStatus", *s)).collect();
    xml.open(item, &attributes);
    if latest.state == VersionState::Cancelled {
        cancelled(xml, reservation, manner);
    } else {
        xml.open("RoomStays", &[]);
        for stay in &latest.rooms {
            room_stay(xml, &reservation.hotel, stay, latest);
        }
        xml.close();
        xml.empty("Services", &[]);
        guests(xml, &latest.guest);
        global(xml, reservation);
    }
    xml.close();
}

/// A cancellation lacks nearly everything.
fn cancelled(xml: &mut Writer, reservation: &Reservation, manner: &Manner) {
    if manner.cancel_names_hotel {
        xml.open("RoomStays", &[]);
        xml.open("RoomStay", &[]);
        xml.empty("BasicPropertyInfo", &[("HotelCode", &reservation.hotel)]);
        xml.close();
        xml.close();
    }
    xml.open("ResGlobalInfo", &[]);
    identity(xml, reservation);
    xml.close();
}

fn room_stay(xml: &mut Writer, hotel: &str, stay: &RoomStay, version: &Version) {
    xml.open("RoomStay", &[("IndexNumber", &stay.instance.to_string())]);
    xml.open("RoomTypes", &[]);
    xml.open("RoomType", &[("RoomTypeCode", &stay.room)]);
    xml.open(
        "RoomDescription",
        &[("Name", &format!("Room {}", stay.room))],
    );
    xml.leaf("Text", &[], "A room of the sandbox.");
    xml.close();
    xml.close();
    xml.close();
    xml.open("RoomRates", &[]);
    for (night, price) in stay.nights().zip(&stay.prices_minor) {
        room_rate(xml, night, &stay.rate, *price, &version.currency);
    }
    xml.close();
    xml.open("GuestCounts", &[]);
    let adults = stay.adults.to_string();
    xml.empty(
        "GuestCount",
        &[("AgeQualifyingCode", "10"), ("Count", &adults)],
    );
    for age in &stay.child_ages {
        let age = age.to_string();
        xml.empty(
            "GuestCount",
            &[("AgeQualifyingCode", "8"), ("Count", "1"), ("Age", &age)],
        );
    }
    xml.close();
    total(xml, stay.total_minor(), &version.currency);
    xml.empty("BasicPropertyInfo", &[("HotelCode", hotel)]);
    xml.open("ResGuestRPHs", &[]);
    xml.empty("ResGuestRPH", &[("RPH", "1")]);
    xml.close();
    xml.close();
}

fn room_rate(xml: &mut Writer, night: Date, rate: &str, minor: i64, currency: &str) {
    let night = night.to_string();
    xml.open(
        "RoomRate",
        &[("EffectiveDate", &night), ("RatePlanCode", rate)],
    );
    xml.open("Rates", &[]);
    xml.open("Rate", &[]);
    total(xml, minor, currency);
    xml.close();
    xml.close();
    xml.close();
}

fn guests(xml: &mut Writer, guest: &Guest) {
    xml.open("ResGuests", &[]);
    xml.open("ResGuest", &[("ResGuestRPH", "1")]);
    customer(xml, guest);
    xml.close();
    xml.close();
}

fn customer(xml: &mut Writer, guest: &Guest) {
    xml.open("Profiles", &[]);
    xml.open("ProfileInfo", &[]);
    xml.open("Profile", &[]);
    xml.open("Customer", &[]);
    xml.open("PersonName", &[]);
    xml.leaf("GivenName", &[], &guest.given_name);
    xml.leaf("Surname", &[], &guest.surname);
    xml.close();
    xml.leaf("Email", &[], &guest.email);
    xml.close();
    xml.close();
    xml.close();
    xml.close();
}

fn global(xml: &mut Writer, reservation: &Reservation) {
    let latest = reservation.latest();
    xml.open("ResGlobalInfo", &[]);
    if let Some(card) = &latest.guest.card {
        guarantee(xml, card, &latest.guest);
    }
    total(xml, latest.total_minor(), &latest.currency);
    if let Some(comment) = &latest.guest.comment {
        xml.open("Comments", &[]);
        xml.open("Comment", &[]);
        xml.leaf("Text", &[], comment);
        xml.close();
        xml.close();
    }
    identity(xml, reservation);
    customer(xml, &latest.guest);
    xml.close();
}

fn guarantee(xml: &mut Writer, card: &str, guest: &Guest) {
    let holder = format!("{} {}", guest.given_name, guest.surname);
    let code = if card.starts_with('4') { "VI" } else { "MC" };
    let attributes = [
        ("CardCode", code),
        ("CardNumber", card),
        ("SeriesCode", "123"),
        ("ExpireDate", "1234"),
    ];
    xml.open("Guarantee", &[]);
    xml.open("GuaranteesAccepted", &[]);
    xml.open("GuaranteeAccepted", &[]);
    xml.open("PaymentCard", &attributes);
    xml.leaf("CardHolderName", &[], &holder);
    xml.close();
    xml.close();
    xml.close();
    xml.close();
}

fn identity(xml: &mut Writer, reservation: &Reservation) {
    let booked = second(reservation.booked_at);
    xml.open("HotelReservationIDs", &[]);
    let attributes = [
        ("ResID_Value", reservation.reference.as_str()),
        ("ResID_Source", "BOOKING.COM"),
        ("ResID_Type", "14"),
        ("ResID_Date", &booked),
    ];
    xml.empty("HotelReservationID", &attributes);
    xml.close();
}

fn total(xml: &mut Writer, minor: i64, currency: &str) {
    let (amount, places) = (minor.to_string(), decimals(currency).to_string());
    let attributes = [
        ("AmountAfterTax", amount.as_str()),
        ("CurrencyCode", currency),
        ("DecimalPlaces", &places),
    ];
    xml.empty("Total", &attributes);
}

/// `YYYY-MM-DDThh:mm:ss`, without a zone, as the real one writes it.
fn second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}
