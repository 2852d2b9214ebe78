//! Guest requests as the fake portal writes them.

use jiff::Timestamp;

use crate::money::decimals;
use crate::reservation::{Guest, Reservation, RoomStay, Version, VersionState};
use crate::xml::Writer;

use super::guest_requests::unique_id_type;

/// Writes one version of a reservation; daily prices only to a client that can read them.
pub(crate) fn one(xml: &mut Writer, of: &Reservation, version: usize, room_rates: bool) {
    let version = &of.versions[version];
    let (created, modified) = (instant(of.booked_at), instant(version.at));
    let status = match version.state {
        VersionState::Requested => "Requested",
        VersionState::Booked => "Reserved",
        VersionState::Modified => "Modify",
        VersionState::Cancelled => "Cancelled",
    };
    let mut attributes = vec![("CreateDateTime", created.as_str())];
    if version.number > 1 {
        attributes.push(("LastModifyDateTime", &modified));
    }
    attributes.push(("ResStatus", status));
    if matches!(version.state, VersionState::Booked | VersionState::Modified) {
        attributes.push(("RoomStayReservation", "true"));
    }
    xml.open("HotelReservation", &attributes);
    let kind = unique_id_type(version.state);
    xml.empty("UniqueID", &[("Type", kind), ("ID", &of.reference)]);
    // The body of a cancellation may be missing, and here it is.
    if version.state != VersionState::Cancelled {
        body(xml, of, version, room_rates);
    }
    xml.close();
}

fn body(xml: &mut Writer, of: &Reservation, version: &Version, room_rates: bool) {
    xml.open("RoomStays", &[]);
    for stay in &version.rooms {
        room_stay(xml, stay, version, room_rates);
    }
    xml.close();
    guest(xml, &version.guest);
    xml.open("ResGlobalInfo", &[]);
    if let Some(comment) = &version.guest.comment {
        xml.open("Comments", &[]);
        xml.open("Comment", &[("Name", "customer comment")]);
        xml.leaf("Text", &[], comment);
        xml.close();
        xml.close();
    }
    xml.open("CancelPenalties", &[]);
    xml.open("CancelPenalty", &[]);
    xml.open("PenaltyDescription", &[]);
    xml.leaf(
        "Text",
        &[],
        "Free cancellation until 3 days before arrival.",
    );
    xml.close();
    xml.close();
    xml.close();
    xml.empty("BasicPropertyInfo", &[("HotelCode", &of.hotel)]);
    xml.close();
}

fn room_stay(xml: &mut Writer, stay: &RoomStay, version: &Version, room_rates: bool) {
    xml.open("RoomStay", &[]);
    xml.open("RoomTypes", &[]);
    xml.empty("RoomType", &[("RoomTypeCode", &stay.room)]);
    xml.close();
    xml.open("RatePlans", &[]);
    xml.open("RatePlan", &[("RatePlanCode", &stay.rate)]);
    let meals = [("MealPlanIndicator", "true"), ("MealPlanCodes", "3")];
    xml.empty("MealsIncluded", &meals);
    xml.close();
    xml.close();
    if room_rates && version.state != VersionState::Requested {
        rates(xml, stay, &version.currency);
    }
    xml.open("GuestCounts", &[]);
    xml.empty("GuestCount", &[("Count", &stay.adults.to_string())]);
    for age in &stay.child_ages {
        xml.empty("GuestCount", &[("Count", "1"), ("Age", &age.to_string())]);
    }
    xml.close();
    let (start, end) = (stay.arrival.to_string(), stay.departure.to_string());
    xml.empty("TimeSpan", &[("Start", &start), ("End", &end)]);
    if version.state != VersionState::Requested {
        if let Some(card) = &version.guest.card {
            guarantee(xml, card, &version.guest);
        }
        let total = decimal(stay.total_minor(), &version.currency);
        let total = [
            ("AmountAfterTax", total.as_str()),
            ("CurrencyCode", &version.currency),
        ];
        xml.empty("Total", &total);
    }
    xml.close();
}

fn rates(xml: &mut Writer, stay: &RoomStay, currency: &str) {
    xml.open("RoomRates", &[]);
    let codes = [
        ("RatePlanCode", stay.rate.as_str()),
        ("RoomTypeCode", &stay.room),
    ];
    xml.open("RoomRate", &codes);
    xml.open("Rates", &[]);
    for (night, minor) in stay.nights().zip(&stay.prices_minor) {
        let (from, to) = (
            night.to_string(),
            night.tomorrow().unwrap_or(night).to_string(),
        );
        let attributes = [
            ("EffectiveDate", from.as_str()),
            ("ExpireDate", &to),
            ("ExpireDateExclusiveInd", "true"),
            ("RateTimeUnit", "Day"),
            ("UnitMultiplier", "1"),
        ];
        xml.open("Rate", &attributes);
        let amount = decimal(*minor, currency);
        xml.empty(
            "Base",
            &[("AmountAfterTax", &amount), ("CurrencyCode", currency)],
        );
        xml.close();
    }
    xml.close();
    xml.close();
    xml.close();
}

fn guarantee(xml: &mut Writer, card: &str, guest: &Guest) {
    let code = if card.starts_with('4') { "VI" } else { "MC" };
    let holder = format!("{} {}", guest.given_name, guest.surname);
    xml.open("Guarantee", &[]);
    xml.open("GuaranteesAccepted", &[]);
    xml.open("GuaranteeAccepted", &[]);
    xml.open("PaymentCard", &[("CardCode", code), ("ExpireDate", "1234")]);
    xml.leaf("CardHolderName", &[], &holder);
    xml.open("CardNumber", &[]);
    xml.leaf("PlainText", &[], card);
    xml.close();
    xml.close();
    xml.close();
    xml.close();
    xml.close();
}

fn guest(xml: &mut Writer, guest: &Guest) {
    xml.open("ResGuests", &[]);
    xml.open("ResGuest", &[]);
    xml.open("Profiles", &[]);
    xml.open("ProfileInfo", &[]);
    xml.open("Profile", &[]);
    xml.open("Customer", &[("Language", "de")]);
    xml.open("PersonName", &[]);
    xml.leaf("GivenName", &[], &guest.given_name);
    xml.leaf("Surname", &[], &guest.surname);
    xml.close();
    xml.leaf("Email", &[], &guest.email);
    for _ in 0..6 {
        xml.close();
    }
}

/// An amount as a plain decimal.
fn decimal(minor: i64, currency: &str) -> String {
    let places = decimals(currency);
    if places == 0 {
        return minor.to_string();
    }
    let unit = 10_i64.pow(places);
    let width = usize::try_from(places).unwrap_or(0);
    format!("{}.{:0width$}", minor / unit, minor % unit)
}

fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()
}
