//! Our words in their messages: availability, restrictions, rates, acknowledgements.

use std::collections::HashSet;

use keyrack_model::adapter::{Inbound, Outbound, Receipt, ReceiptOutcome, RenderError, Session};
use keyrack_model::ari::{AriPush, AriSpan};
use keyrack_model::money::Money;

use super::request::post;
use super::wire::{
    ACKNOWLEDGE_MODIFIED, ACKNOWLEDGE_NEW, AVAILABILITY, AVAILABILITY_PATH, MODIFIED,
    MODIFIED_PATH, NEW_PATH, Queue, RATES, RATES_PATH, SECURE_HOST, SUPPLY_HOST,
};
use crate::ota2003::avail_notif::{self, Aspect, Status, Switch};
use crate::ota2003::message::{EndRule, NAMESPACE};
use crate::ota2003::rate_amount_notif::{self, Amounts};
use crate::xml::write::Writer;

/// Spans in one message at most.
pub(super) const SPANS_PER_MESSAGE_MAX: usize = 100;
/// Unconfirmed: public integrations take `End` as a night. Compare by reading back with a test
/// property before going live.
pub(super) const END: EndRule = EndRule::IsNight;
/// Unconfirmed: a length of 0 clears a maximum stay.
const ANY_STAY: i32 = 0;
/// A minimum of one night restricts nothing.
const NO_MIN_STAY: i32 = 1;
const ROOMS_MAX: i32 = 254;
const RECEIPTS_PER_MESSAGE_MAX: usize = 100;
const VERSION: &str = "1.0";
const RESERVATION_VERSION: &str = "2.001";
/// Table ERR: unable to process.
const UNABLE_TO_PROCESS: &str = "450";
/// Elements of one span at most.
const ASPECTS_MAX: usize = 8;

/// The messages of a push: availability first, for a rate that is a second late costs cents, and
/// a close that is a second late costs a guest.
pub(super) fn render(push: &AriPush, session: &Session) -> Result<Vec<Outbound>, RenderError> {
    let spans: Vec<(usize, &AriSpan)> = push.spans.iter().enumerate().collect();
    let mut messages = Vec::new();
    for chunk in spans.chunks(SPANS_PER_MESSAGE_MAX) {
        let statuses: Vec<Status<'_>> = chunk
            .iter()
            .flat_map(|(index, span)| statuses(*index, span))
            .collect();
        if !statuses.is_empty() {
            let body = avail_notif::write(&push.hotel_code, VERSION, END, &statuses);
            messages.push(post(
                session,
                AVAILABILITY,
                SUPPLY_HOST,
                AVAILABILITY_PATH,
                body,
            )?);
        }
    }
    for chunk in spans.chunks(SPANS_PER_MESSAGE_MAX) {
        let rates: Vec<Amounts<'_>> = chunk
            .iter()
            .filter_map(|(index, span)| amounts(*index, span))
            .collect();
        if !rates.is_empty() {
            let body = rate_amount_notif::write(&push.hotel_code, VERSION, END, &rates);
            messages.push(post(session, RATES, SUPPLY_HOST, RATES_PATH, body)?);
        }
    }
    Ok(messages)
}

/// The number of an element, from which an error leads back to the span. That errors name it as
/// `RecordID` or `LocatorID` is unconfirmed.
fn locator(span: usize, aspect: usize) -> usize {
    span * ASPECTS_MAX + aspect + 1
}

/// The span behind the number of an element.
pub(super) fn span_of(locator: &str) -> Option<usize> {
    let number: usize = locator.parse().ok()?;
    Some(number.checked_sub(1)? / ASPECTS_MAX)
}

/// The aspects of a span, all of them: what is left out would stay as it is. A switch comes before
/// the limit, since the limit of a closed room shows no effect.
fn statuses(index: usize, span: &AriSpan) -> Vec<Status<'_>> {
    let values = &span.values;
    let aspects = match span.channel_rate_code {
        None => {
            let Some(rooms) = values.rooms else {
                return Vec::new();
            };
            let closed = values.closed || rooms <= 0;
            let limit = if closed { 0 } else { rooms.min(ROOMS_MAX) };
            vec![Aspect::Switch(Switch::Sale, !closed), Aspect::Limit(limit)]
        }
        Some(_) => {
            let rules = &values.restrictions;
            let closed = values.closed || rules.stop_sell;
            let min = |nights: Option<i32>| nights.unwrap_or(NO_MIN_STAY).max(NO_MIN_STAY);
            vec![
                Aspect::Switch(Switch::Sale, !closed),
                Aspect::Switch(Switch::Arrival, !rules.closed_to_arrival),
                Aspect::Switch(Switch::Departure, !rules.closed_to_departure),
                Aspect::Through {
                    min: min(rules.min_stay_through),
                },
                Aspect::Arriving {
                    min: min(rules.min_stay_arrival),
                    max: rules.max_stay.unwrap_or(ANY_STAY).max(ANY_STAY),
                },
            ]
        }
    };
    let numbered = aspects.into_iter().enumerate();
    numbered
        .map(|(number, aspect)| Status {
            locator: locator(index, number),
            nights: span.nights,
            room: &span.channel_room_code,
            rate: span.channel_rate_code.as_deref(),
            aspect,
        })
        .collect()
}

fn amounts(index: usize, span: &AriSpan) -> Option<Amounts<'_>> {
    let rate = span.channel_rate_code.as_deref()?;
    let standard = span.values.rate.map(|money| (None, money));
    let by_guests = span.values.occupancy_rates.iter();
    let amounts: Vec<(Option<u8>, Money)> = standard
        .into_iter()
        .chain(by_guests.map(|each| (Some(each.guests), each.rate)))
        .collect();
    (!amounts.is_empty()).then(|| Amounts {
        locator: locator(index, 0),
        nights: span.nights,
        room: &span.channel_room_code,
        rate,
        amounts,
    })
}

/// One "thank you" for all that was stored in a queue and one "no" for the rest: an answer has
/// Success or Errors, never both. What may stand in either queue is answered in both, in messages
/// of its own: the channel takes a message whole or not at all, and one of the two is wrong.
pub(super) fn acknowledge(
    inbound: &Inbound,
    receipts: &[Receipt],
    session: &Session,
) -> Result<Vec<Outbound>, RenderError> {
    let mut messages = Vec::new();
    for queue in [Queue::Modified, Queue::New] {
        let of = |wanted: Queue| {
            let named = receipts.iter().map(move |r| (queue_of(inbound, r), r));
            named.filter_map(move |(named, receipt)| (named == wanted).then_some(receipt))
        };
        let mut seen = HashSet::new();
        let (recorded, refused): (Vec<&Receipt>, Vec<&Receipt>) = of(queue)
            .filter(|receipt| seen.insert((is_recorded(receipt), &receipt.reference)))
            .partition(|receipt| is_recorded(receipt));
        let unsure: Vec<&Receipt> = of(Queue::Either).collect();
        let together = recorded
            .chunks(RECEIPTS_PER_MESSAGE_MAX)
            .chain(refused.chunks(RECEIPTS_PER_MESSAGE_MAX));
        for chunk in together.chain(unsure.chunks(1)) {
            messages.push(answer(session, queue, chunk)?);
        }
    }
    Ok(messages)
}

/// The queue that a receipt answers: as its report said; for what could not be read, as the
/// question was.
fn queue_of(inbound: &Inbound, receipt: &Receipt) -> Queue {
    match receipt.acknowledge_as.as_deref() {
        Some(name) if name == Queue::New.name() => Queue::New,
        Some(name) if name == Queue::Modified.name() => Queue::Modified,
        Some(name) if name == Queue::Either.name() => Queue::Either,
        _ if inbound.topic == MODIFIED => Queue::Modified,
        _ => Queue::New,
    }
}

fn is_recorded(receipt: &Receipt) -> bool {
    matches!(receipt.outcome, ReceiptOutcome::Recorded { .. })
}

/// Receipts of one outcome in one message.
fn answer(session: &Session, queue: Queue, receipts: &[&Receipt]) -> Result<Outbound, RenderError> {
    let (topic, path) = match queue {
        Queue::Modified => (ACKNOWLEDGE_MODIFIED, MODIFIED_PATH),
        Queue::New | Queue::Either => (ACKNOWLEDGE_NEW, NEW_PATH),
    };
    let body = match receipts.iter().all(|receipt| is_recorded(receipt)) {
        true => thanks(queue, receipts),
        false => refusals(queue, receipts),
    };
    post(session, topic, SECURE_HOST, path, body)
}

/// Root, list and item of an answer.
fn shape(queue: Queue) -> [&'static str; 3] {
    match queue {
        Queue::New | Queue::Either => [
            "OTA_HotelResNotifRS",
            "HotelReservations",
            "HotelReservation",
        ],
        Queue::Modified => [
            "OTA_HotelResModifyNotifRS",
            "HotelResModifies",
            "HotelResModify",
        ],
    }
}

fn thanks(queue: Queue, receipts: &[&Receipt]) -> Vec<u8> {
    let [root, list, item] = shape(queue);
    let attributes = [("xmlns", NAMESPACE), ("Version", RESERVATION_VERSION)];
    Writer::message(root, &attributes, |w| {
        w.empty("Success", &[]);
        w.element(list, &[], |w| {
            w.element(item, &[], |w| {
                w.element("ResGlobalInfo", &[], |w| {
                    w.element("HotelReservationIDs", &[], |w| {
                        for receipt in receipts {
                            let attributes = [
                                ("ResID_Value", receipt.reference.as_str()),
                                ("ResID_Source", "PMS"),
                                ("ResID_Type", "14"),
                            ];
                            w.empty("HotelReservationID", &attributes);
                        }
                    });
                });
            });
        });
    })
}

fn refusals(queue: Queue, receipts: &[&Receipt]) -> Vec<u8> {
    let [root, ..] = shape(queue);
    let attributes = [("xmlns", NAMESPACE), ("Version", RESERVATION_VERSION)];
    Writer::message(root, &attributes, |w| {
        w.element("Errors", &[], |w| {
            for receipt in receipts {
                let why = match &receipt.outcome {
                    ReceiptOutcome::Refused { why } => why.chars().take(200).collect(),
                    ReceiptOutcome::Recorded { .. } => String::new(),
                };
                let attributes = [
                    ("Type", "3"),
                    ("Code", UNABLE_TO_PROCESS),
                    ("RecordID", receipt.reference.as_str()),
                    ("ShortText", &why),
                ];
                w.empty("Error", &attributes);
            }
        });
    })
}
