//! OTA_HotelRateAmountNotifRQ: prices of a room and rate, for standard occupancy or by guests.

use keyrack_model::ari::{AriPush, OccupancyRate};
use keyrack_model::money::Money;
use keyrack_model::stay::StayRange;

use super::avail_notif::{Spans, read_list, write_control};
use super::message::{EndRule, NAMESPACE, amount};
use crate::xml::Element;
use crate::xml::write::Writer;

/// The prices of a span, ready to be written.
pub(crate) struct Amounts<'a> {
    /// Names this element in the channel's answer; from 1.
    pub(crate) locator: i64,
    pub(crate) nights: StayRange,
    pub(crate) room: &'a str,
    pub(crate) rate: &'a str,
    /// Price of a night with as many guests as the room is meant for.
    pub(crate) standard: Option<Money>,
    /// Prices with others.
    pub(crate) by_guests: &'a [OccupancyRate],
}

/// Bytes of an element, as a rule.
const AMOUNTS_LENGTH: usize = 480;

/// Writes a message for one hotel. `version` is the channel's own.
pub(crate) fn write(hotel: &str, version: &str, end: EndRule, rates: &[Amounts<'_>]) -> Vec<u8> {
    let length = (rates.len() + 1) * AMOUNTS_LENGTH;
    let attributes = [("xmlns", NAMESPACE), ("Version", version)];
    Writer::long_message(length, "OTA_HotelRateAmountNotifRQ", &attributes, |w| {
        w.tag("RateAmountMessages")
            .text("HotelCode", hotel)
            .holding(|w| {
                for rate in rates {
                    w.tag("RateAmountMessage")
                        .number("LocatorID", rate.locator)
                        .holding(|w| {
                            write_control(w, end, rate.nights, rate.room, Some(rate.rate));
                            write_amounts(w, rate);
                        });
                }
            });
    })
}

fn write_amounts(w: &mut Writer, rate: &Amounts<'_>) {
    w.tag("Rates").holding(|w| {
        w.tag("Rate").holding(|w| {
            w.tag("BaseByGuestAmts").holding(|w| {
                if let Some(money) = rate.standard {
                    write_amount(w, None, money);
                }
                for each in rate.by_guests {
                    write_amount(w, Some(each.guests), each.rate);
                }
            });
        });
    });
}

fn write_amount(w: &mut Writer, guests: Option<u8>, money: Money) {
    w.tag("BaseByGuestAmt")
        .with(guests, |tag, guests| tag.number("NumberOfGuests", guests))
        .number("AmountAfterTax", money.minor)
        .word("CurrencyCode", money.currency.code())
        .number("DecimalPlaces", money.currency.exponent())
        .empty();
}

/// What such a message says, span by span; errors as in
/// [`avail_notif::read`](super::avail_notif::read).
pub(crate) fn read(root: Element<'_>, end: EndRule) -> Result<AriPush, String> {
    read_list(
        root,
        ["RateAmountMessages", "RateAmountMessage"],
        |each, spans| read_amounts(each, end, spans),
    )
}

fn read_amounts(message: Element<'_>, end: EndRule, spans: &mut Spans) -> Result<(), String> {
    let control = message
        .child("StatusApplicationControl")
        .ok_or("StatusApplicationControl is missing")?;
    let nights = end.read(control)?;
    let room = control
        .attribute("InvTypeCode")
        .ok_or("InvTypeCode is missing")?;
    let rate = control
        .attribute("RatePlanCode")
        .ok_or("RatePlanCode is missing")?;
    for base in message.every(["Rates", "Rate", "BaseByGuestAmts", "BaseByGuestAmt"]) {
        let money = amount(base).ok_or("BaseByGuestAmt needs an amount and its currency")?;
        let values = &mut spans.of(nights, room, Some(rate)).values;
        match base.attribute("NumberOfGuests").map(str::parse) {
            None => values.rate = Some(money),
            Some(Ok(guests)) => values.occupancy_rates.push(OccupancyRate {
                guests,
                rate: money,
            }),
            Some(Err(_)) => return Err("NumberOfGuests is no number".to_owned()),
        }
    }
    Ok(())
}
