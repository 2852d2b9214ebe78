//! OTA_HotelRateAmountNotifRQ: prices of a room and rate, for standard occupancy or by guests.

use keyrack_model::ari::{AriPush, OccupancyRate};
use keyrack_model::money::Money;
use keyrack_model::stay::StayRange;

use super::avail_notif::{Spans, read_list, write_control};
use super::message::{EndRule, NAMESPACE, amount};
use crate::xml::Element;
use crate::xml::figures::Figures;
use crate::xml::write::Writer;

/// The prices of a span, ready to be written.
pub(crate) struct Amounts<'a> {
    /// Names this element in the channel's answer; from 1.
    pub(crate) locator: usize,
    pub(crate) nights: StayRange,
    pub(crate) room: &'a str,
    pub(crate) rate: &'a str,
    /// Number of guests (`None`: standard occupancy) and price of a night.
    pub(crate) amounts: Vec<(Option<u8>, Money)>,
}

/// Writes a message for one hotel. `version` is the channel's own.
pub(crate) fn write(hotel: &str, version: &str, end: EndRule, rates: &[Amounts<'_>]) -> Vec<u8> {
    let attributes = [("xmlns", NAMESPACE), ("Version", version)];
    Writer::message("OTA_HotelRateAmountNotifRQ", &attributes, |w| {
        w.element("RateAmountMessages", &[("HotelCode", hotel)], |w| {
            for rate in rates {
                let locator = Figures::place(rate.locator);
                w.element(
                    "RateAmountMessage",
                    &[("LocatorID", locator.as_str())],
                    |w| {
                        write_control(w, end, rate.nights, rate.room, Some(rate.rate));
                        write_amounts(w, &rate.amounts);
                    },
                );
            }
        });
    })
}

fn write_amounts(w: &mut Writer, amounts: &[(Option<u8>, Money)]) {
    w.element("Rates", &[], |w| {
        w.element("Rate", &[], |w| {
            w.element("BaseByGuestAmts", &[], |w| {
                for (guests, money) in amounts {
                    let minor = Figures::number(money.minor);
                    let places = Figures::number(money.currency.exponent());
                    let number = Figures::number(guests.unwrap_or_default());
                    let attributes = [
                        ("NumberOfGuests", number.as_str()),
                        ("AmountAfterTax", minor.as_str()),
                        ("CurrencyCode", money.currency.code()),
                        ("DecimalPlaces", places.as_str()),
                    ];
                    let attributes = match guests {
                        Some(_) => &attributes[..],
                        None => &attributes[1..],
                    };
                    w.empty("BaseByGuestAmt", attributes);
                }
            });
        });
    });
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
