//! Availability, restrictions and prices: `OTA_HotelAvailNotif` and `OTA_HotelRateAmountNotif`.
//!
//! An element that is wrong is named and left out; the others are applied. Only a message of
//! which nothing could be applied is refused as a whole.

use jiff::Timestamp;
use jiff::civil::Date;
use rand::Rng;
use roxmltree::Node;

use crate::edge::Heard;
use crate::hotel::{Applied, Hotel, What};
use crate::money::decimals;
use crate::state::State;
use crate::xml::{at, child, children, text, tree};

use super::answer::{Fault, Outcome, outcome, refusal};
use super::period::{Scope, scope};

/// Reads one element for a hotel, as of a day.
type Element = fn(Node<'_, '_>, &Hotel, Option<Date>) -> Result<Vec<Applied>, Fault>;

/// One of the two messages: its names, and how one of its elements is read.
pub(crate) struct Kind {
    pub(crate) request: &'static str,
    pub(crate) response: &'static str,
    list: &'static str,
    item: &'static str,
    element: Element,
}

/// Availability and restrictions.
pub(crate) const AVAILABILITY: Kind = Kind {
    request: "OTA_HotelAvailNotifRQ",
    response: "OTA_HotelAvailNotifRS",
    list: "AvailStatusMessages",
    item: "AvailStatusMessage",
    element: availability,
};

/// Prices.
pub(crate) const RATES: Kind = Kind {
    request: "OTA_HotelRateAmountNotifRQ",
    response: "OTA_HotelRateAmountNotifRS",
    list: "RateAmountMessages",
    item: "RateAmountMessage",
    element: rates,
};

/// Deals with one message. `today` bounds how far back it may reach; `partial` spoils one
/// element on purpose.
pub(crate) fn receive(
    state: &mut State,
    kind: &Kind,
    body: &[u8],
    today: Option<Date>,
    partial: bool,
    now: Timestamp,
) -> Heard {
    let malformed = |why: String| refusal(kind.response, 400, Fault::new(450, why), now);
    let document = match text(body).and_then(tree) {
        Ok(document) => document,
        Err(why) => return malformed(why),
    };
    let root = document.root_element();
    if root.tag_name().name() != kind.request {
        return malformed(format!("the root element is not {}", kind.request));
    }
    let mut lists = children(root, kind.list);
    let (Some(list), None) = (lists.next(), lists.next()) else {
        return malformed(format!("exactly one {} is required", kind.list));
    };
    let Some(code) = list.attribute("HotelCode") else {
        return refusal(
            kind.response,
            400,
            Fault::new(392, "HotelCode is missing"),
            now,
        );
    };
    let Some(hotel) = state.hotels.get(code).filter(|hotel| hotel.linked) else {
        let fault = Fault::new(392, format!("Access denied for hotel {code}"));
        return refusal(kind.response, 403, fault, now);
    };
    let elements: Vec<Node<'_, '_>> = children(list, kind.item).collect();
    if elements.is_empty() {
        let fault = Fault::new(321, format!("ROOM_ELEMENT_REQUIRED: no {}", kind.item));
        return refusal(kind.response, 400, fault, now);
    }
    let spoilt = (partial && elements.len() > 1).then(|| state.rng.random_range(0..elements.len()));
    let (mut result, mut applied) = (Outcome::default(), Vec::new());
    for (place, element) in elements.iter().enumerate() {
        let number = (place + 1).to_string();
        let record = element.attribute("LocatorID").unwrap_or(&number);
        let read = if spoilt == Some(place) {
            Err(Fault::new(
                450,
                "this element could not be processed, please try again",
            ))
        } else {
            (kind.element)(*element, hotel, today)
        };
        match read {
            Ok(told) => {
                result.applied += 1;
                applied.extend(told);
            }
            Err(fault) => result.errors.push(fault.about(record)),
        }
    }
    state.tell(code, &applied, now);
    let mut heard = outcome(kind.response, &result, now);
    heard.hotel = Some(code.to_owned());
    heard.applied = applied;
    heard
}

fn availability(
    element: Node<'_, '_>,
    hotel: &Hotel,
    today: Option<Date>,
) -> Result<Vec<Applied>, Fault> {
    let scope = scope(child(element, "StatusApplicationControl"), hotel, today)?;
    let mut told = Vec::new();
    for part in element.children().filter(Node::is_element) {
        match part.tag_name().name() {
            "StatusApplicationControl" | "UniqueID" => {}
            "RestrictionStatus" => told.push(restriction(part)?),
            "LengthsOfStay" => told.extend(lengths_of_stay(part)?),
            other => return Err(Fault::new(320, format!("element {other} is not known"))),
        }
    }
    let mut applied = spread(&scope, scope.rate.as_deref(), &told);
    if let Some(limit) = element.attribute("BookingLimit") {
        let rooms = whole(limit, "BookingLimit")?;
        if rooms > BOOKING_LIMIT_MAX {
            let why = format!("BookingLimit is above {BOOKING_LIMIT_MAX}");
            return Err(Fault::new(320, why));
        }
        match element.attribute("BookingLimitMessageType") {
            None | Some("SetLimit") => {}
            Some(other) => {
                let why = format!("BookingLimitMessageType {other} is not accepted");
                return Err(Fault::new(320, why));
            }
        }
        // The limit belongs to the room type, whatever rate stands beside it.
        applied.extend(spread(&scope, None, &[What::Number(rooms)]));
    }
    if applied.is_empty() {
        return Err(Fault::new(321, "the element sets nothing"));
    }
    Ok(applied)
}

fn restriction(status: Node<'_, '_>) -> Result<What, Fault> {
    let closed = match status.attribute("Status") {
        Some("Open") => false,
        Some("Close") => true,
        other => {
            return Err(Fault::new(
                320,
                format!("Status {other:?} is not Open or Close"),
            ));
        }
    };
    match status.attribute("Restriction") {
        None | Some("Master") => Ok(What::Closed(closed)),
        Some("Arrival") => Ok(What::ClosedToArrival(closed)),
        Some("Departure") => Ok(What::ClosedToDeparture(closed)),
        Some(other) => Err(Fault::new(320, format!("Restriction {other} is not known"))),
    }
}

fn lengths_of_stay(list: Node<'_, '_>) -> Result<Vec<What>, Fault> {
    let at_arrival = matches!(list.attribute("ArrivalDateBased"), Some("1" | "true"));
    children(list, "LengthOfStay")
        .map(|length| {
            let nights = whole(length.attribute("Time").unwrap_or(""), "Time")?;
            if !matches!(length.attribute("TimeUnit"), None | Some("Day")) {
                return Err(Fault::new(320, "TimeUnit is not Day"));
            }
            match (length.attribute("MinMaxMessageType"), at_arrival) {
                (Some("SetMinLOS"), false) => Ok(What::MinStay(nights)),
                (Some("SetMinLOS"), true) => Ok(What::MinStayArrival(nights)),
                (Some("SetMaxLOS"), false) => Ok(What::MaxStay(nights)),
                (Some("SetMaxLOS"), true) => Ok(What::MaxStayArrival(nights)),
                (other, _) => Err(Fault::new(
                    320,
                    format!("MinMaxMessageType {other:?} is not known"),
                )),
            }
        })
        .collect()
}

fn rates(element: Node<'_, '_>, hotel: &Hotel, today: Option<Date>) -> Result<Vec<Applied>, Fault> {
    let scope = scope(child(element, "StatusApplicationControl"), hotel, today)?;
    if scope.rate.is_none() {
        return Err(Fault::new(321, "RatePlanCode is missing"));
    }
    let amounts = at(element, &["Rates", "Rate", "BaseByGuestAmts"]);
    let prices = amounts
        .into_iter()
        .flat_map(|amounts| children(amounts, "BaseByGuestAmt"))
        .map(price)
        .collect::<Result<Vec<What>, Fault>>()?;
    if prices.is_empty() {
        return Err(Fault::new(321, "no BaseByGuestAmt"));
    }
    Ok(spread(&scope, scope.rate.as_deref(), &prices))
}

fn price(amount: Node<'_, '_>) -> Result<What, Fault> {
    let told = amount
        .attribute("AmountAfterTax")
        .or_else(|| amount.attribute("AmountBeforeTax"))
        .ok_or_else(|| Fault::new(321, "the amount is missing"))?;
    let currency = amount.attribute("CurrencyCode").unwrap_or("");
    if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(Fault::new(320, "CurrencyCode is not a currency"));
    }
    let minor = minor(told, amount.attribute("DecimalPlaces"), currency)?;
    if minor == 0 {
        return Err(Fault::new(320, "the amount is not above zero"));
    }
    let guests = match amount.attribute("NumberOfGuests") {
        None => 0,
        Some(guests) => u8::try_from(whole(guests, "NumberOfGuests")?)
            .map_err(|_| Fault::new(320, "NumberOfGuests is too large"))?,
    };
    Ok(What::Price {
        minor,
        currency: currency.to_owned(),
        guests,
    })
}

/// The same things told for every span of a scope.
fn spread(scope: &Scope, rate: Option<&str>, told: &[What]) -> Vec<Applied> {
    let mut applied = Vec::new();
    for (from, to) in &scope.spans {
        applied.extend(told.iter().map(|what| Applied {
            room: scope.room.clone(),
            rate: rate.map(str::to_owned),
            from: *from,
            to: *to,
            what: what.clone(),
        }));
    }
    applied
}

fn whole(text: &str, name: &str) -> Result<u32, Fault> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| Fault::new(320, format!("{name}=\"{text}\" is no whole number")))
}

/// An amount in minor units: digits that `DecimalPlaces` shifts, or without it a plain decimal.
fn minor(told: &str, places: Option<&str>, currency: &str) -> Result<i64, Fault> {
    let wrong = || {
        Fault::new(
            320,
            format!("the amount {told} is not a price in {currency}"),
        )
    };
    let (digits, places) = match places {
        Some(places) => (told.to_owned(), whole(places, "DecimalPlaces")?),
        None => {
            let (whole, part) = told.split_once('.').unwrap_or((told, ""));
            let places = u32::try_from(part.len()).map_err(|_| wrong())?;
            (format!("{whole}{part}"), places)
        }
    };
    let amount = i64::from(whole(&digits, "the amount")?);
    let exponent = decimals(currency);
    if places <= exponent {
        return Ok(amount * 10_i64.pow(exponent - places));
    }
    let surplus = 10_i64.checked_pow(places - exponent).ok_or_else(wrong)?;
    (amount % surplus == 0)
        .then_some(amount / surplus)
        .ok_or_else(wrong)
}

const BOOKING_LIMIT_MAX: u32 = 254;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_digits_and_places_or_a_plain_decimal() {
        assert_eq!(minor("14850", Some("2"), "EUR"), Ok(14_850));
        assert_eq!(minor("45", Some("0"), "EUR"), Ok(4_500));
        assert_eq!(minor("148.5", None, "EUR"), Ok(14_850));
        assert_eq!(minor("12000", Some("0"), "JPY"), Ok(12_000));
        assert_eq!(minor("1200000", Some("2"), "JPY"), Ok(12_000));
        assert!(minor("148.505", None, "EUR").is_err());
        assert!(minor("148.50", Some("2"), "EUR").is_err());
        assert!(minor("-1", Some("2"), "EUR").is_err());
    }
}
