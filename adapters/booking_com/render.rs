//! Our words in their messages: availability, restrictions, rates, acknowledgements.

use std::collections::HashSet;

use keyrack_model::adapter::{Inbound, Outbound, Receipt, ReceiptOutcome, RenderError, Session};
use keyrack_model::ari::{AriPush, AriSpan};

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
/// Bytes of an element that thanks for a reservation, as a rule.
const THANKS_LENGTH: usize = 90;
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
fn locator(span: usize, aspect: usize) -> i64 {
    i64::try_from(span * ASPECTS_MAX + aspect + 1).unwrap_or(i64::MAX)
}

/// The span behind the number of an element.
pub(super) fn span_of(locator: &str) -> Option<usize> {
    let number: usize = locator.parse().ok()?;
    Some(number.checked_sub(1)? / ASPECTS_MAX)
}

/// What is told of a span, ready to be written.
fn statuses(index: usize, span: &AriSpan) -> impl Iterator<Item = Status<'_>> {
    let aspects = aspects(span).into_iter().flatten().enumerate();
    aspects.map(move |(number, aspect)| Status {
        locator: locator(index, number),
        nights: span.nights,
        room: &span.channel_room_code,
        rate: span.channel_rate_code.as_deref(),
        aspect,
    })
}

/// The aspects of a span, all of them: what is left out would stay as it is. A switch comes before
/// the limit, since the limit of a closed room shows no effect.
fn aspects(span: &AriSpan) -> [Option<Aspect>; 5] {
    let values = &span.values;
    if span.channel_rate_code.is_none() {
        let told = values.rooms.map(|rooms| {
            let closed = values.closed || rooms <= 0;
            let limit = if closed { 0 } else { rooms.min(ROOMS_MAX) };
            (Aspect::Switch(Switch::Sale, !closed), Aspect::Limit(limit))
        });
        let (switch, limit) = told.unzip();
        return [switch, limit, None, None, None];
    }
    let rules = &values.restrictions;
    let closed = values.closed || rules.stop_sell;
    let min = |nights: Option<i32>| nights.unwrap_or(NO_MIN_STAY).max(NO_MIN_STAY);
    [
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
    .map(Some)
}

fn amounts(index: usize, span: &AriSpan) -> Option<Amounts<'_>> {
    let rate = span.channel_rate_code.as_deref()?;
    let (standard, by_guests) = (span.values.rate, span.values.occupancy_rates.as_slice());
    (standard.is_some() || !by_guests.is_empty()).then(|| Amounts {
        locator: locator(index, 0),
        nights: span.nights,
        room: &span.channel_room_code,
        rate,
        standard,
        by_guests,
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
    let (mut new, mut modified, mut unsure) = (Vec::new(), Vec::new(), Vec::new());
    for receipt in receipts {
        match queue_of(inbound, receipt) {
            Queue::New => new.push(receipt),
            Queue::Modified => modified.push(receipt),
            Queue::Either => unsure.push(receipt),
        }
    }
    let mut messages = Vec::new();
    for (queue, told) in [(Queue::Modified, modified), (Queue::New, new)] {
        let (recorded, refused): (Vec<&Receipt>, Vec<&Receipt>) =
            told.into_iter().partition(|receipt| is_recorded(receipt));
        let (recorded, refused) = (each_once(recorded), each_once(refused));
        let together = recorded
            .chunks(RECEIPTS_PER_MESSAGE_MAX)
            .chain(refused.chunks(RECEIPTS_PER_MESSAGE_MAX));
        for chunk in together.chain(unsure.chunks(1)) {
            messages.push(answer(session, queue, chunk)?);
        }
    }
    Ok(messages)
}

/// The first of each reference.
fn each_once(mut receipts: Vec<&Receipt>) -> Vec<&Receipt> {
    let mut seen = HashSet::with_capacity(receipts.len());
    receipts.retain(|receipt| seen.insert(&receipt.reference));
    receipts
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
    let length = (receipts.len() + 10) * THANKS_LENGTH;
    Writer::long_message(length, root, &attributes, |w| {
        w.empty("Success", &[]);
        w.element(list, &[], |w| {
            w.element(item, &[], |w| {
                w.element("ResGlobalInfo", &[], |w| {
                    w.element("HotelReservationIDs", &[], |w| {
                        for receipt in receipts {
                            w.tag("HotelReservationID")
                                .text("ResID_Value", &receipt.reference)
                                .word("ResID_Source", "PMS")
                                .word("ResID_Type", "14")
                                .empty();
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
