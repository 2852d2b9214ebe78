//! Our words in their messages: free rooms, questions, acknowledgements.

use std::collections::HashSet;

use keyrack_model::adapter::{Demand, Outbound, Receipt, ReceiptOutcome, RenderError, Session};
use keyrack_model::ari::{AriPush, AriSpan};
use keyrack_model::stay::Stay;

use super::free_rooms::{self, Count};
use super::handshake;
use super::request::post;
use super::wire::{
    ACKNOWLEDGE, ACTION_FREE_ROOMS, Agreed, CATEGORIES, COMPLETE_SET, DELTAS, DO_FREE_ROOMS,
    DO_HANDSHAKE, DO_READ, DO_REPORT, FREE_ROOMS, GUEST_REQUESTS, HANDSHAKE, HOTEL_CODE_MAX,
    REFERENCE_MAX, ROOM_CODE_MAX,
};
use crate::ota2003::message::NAMESPACE;
use crate::xml::write::Writer;

/// Spans in one message at most: a few hundred kilobytes.
pub(super) const SPANS_PER_MESSAGE_MAX: usize = 2_000;
const ROOMS_MAX: i32 = 9_999;
const RECEIPTS_PER_MESSAGE_MAX: usize = 200;
/// Bytes of an element that thanks for a request, as a rule.
const REPORT_LENGTH: usize = 90;
/// UniqueID type of a reservation or quote.
const RESERVATION: &str = "14";

/// The messages of a push, in the order in which they must be sent.
///
/// A complete set that does not fit one message begins with a complete one, which empties the
/// nights that it does not list, and goes on with single nights. A portal without complete sets
/// is told every night singly; one without single nights demands a complete set.
pub(super) fn render(push: &AriPush, session: &Session) -> Result<Vec<Outbound>, RenderError> {
    let agreed = agreed(session)?;
    for (name, why) in [
        (ACTION_FREE_ROOMS, "the portal does not take free rooms"),
        (
            CATEGORIES,
            "the portal takes distinct rooms only, and keyrack tells categories",
        ),
    ] {
        if !agreed.has(name) {
            return Err(RenderError::of(why));
        }
    }
    let counts = counts(&push.spans)?;
    if push.hotel_code.chars().count() > HOTEL_CODE_MAX {
        return Err(RenderError::of(format!(
            "{:?} is longer than the code of a hotel may be there",
            push.hotel_code
        )));
    }
    match (push.complete, agreed.has(COMPLETE_SET), agreed.has(DELTAS)) {
        (true, true, takes_deltas) => complete(push, &counts, takes_deltas, session),
        (false, _, true) | (true, false, true) => deltas(push, &counts, session),
        (false, true, false) => Err(RenderError {
            why: "the portal takes no single nights: a complete set is needed".to_owned(),
            demand: Some(Demand::Availability),
        }),
        (_, false, false) => Err(RenderError::of(
            "the portal takes neither complete sets nor single nights",
        )),
    }
}

fn agreed(session: &Session) -> Result<Agreed, RenderError> {
    session.learned().ok_or_else(|| RenderError {
        why: "no handshake was held yet: sign in first".to_owned(),
        demand: Some(Demand::SignIn),
    })
}

fn complete(
    push: &AriPush,
    counts: &[Count<'_>],
    takes_deltas: bool,
    session: &Session,
) -> Result<Vec<Outbound>, RenderError> {
    let first = match takes_deltas {
        true => counts.len().min(SPANS_PER_MESSAGE_MAX),
        false => counts.len(),
    };
    let (first, rest) = counts.split_at(first);
    let body = free_rooms::write(&push.hotel_code, true, first);
    let mut messages = vec![post(session, FREE_ROOMS, DO_FREE_ROOMS, &body)?];
    messages.extend(deltas(push, rest, session)?);
    Ok(messages)
}

fn deltas(
    push: &AriPush,
    counts: &[Count<'_>],
    session: &Session,
) -> Result<Vec<Outbound>, RenderError> {
    counts
        .chunks(SPANS_PER_MESSAGE_MAX)
        .map(|chunk| {
            let body = free_rooms::write(&push.hotel_code, false, chunk);
            post(session, FREE_ROOMS, DO_FREE_ROOMS, &body)
        })
        .collect()
}

/// The counts of rooms, equal neighbours joined; what speaks of rates has no place here.
fn counts(spans: &[AriSpan]) -> Result<Vec<Count<'_>>, RenderError> {
    let mut counts: Vec<Count<'_>> = spans
        .iter()
        .filter(|span| span.channel_rate_code.is_none())
        .filter_map(|span| {
            let closed = span.values.closed || span.values.restrictions.stop_sell;
            let rooms = if closed { 0 } else { span.values.rooms? };
            Some(Count {
                room: &span.channel_room_code,
                nights: span.nights,
                rooms: rooms.clamp(0, ROOMS_MAX),
            })
        })
        .collect();
    counts.sort_by(|a, b| (a.room, a.nights).cmp(&(b.room, b.nights)));
    let mut joined: Vec<Count<'_>> = Vec::new();
    for count in counts {
        // As many bytes are at most as many characters.
        let fits = (1..=ROOM_CODE_MAX).contains(&count.room.len());
        if !fits && !(1..=ROOM_CODE_MAX).contains(&count.room.chars().count()) {
            return Err(RenderError::of(format!(
                "{:?} is no code of a room category there: 1 to {ROOM_CODE_MAX} characters",
                count.room
            )));
        }
        match joined.last_mut().filter(|last| last.room == count.room) {
            Some(last) if last.nights.departure() > count.nights.arrival() => {
                return Err(RenderError::of(format!(
                    "{} would be told twice for {}: two room types are mapped to it",
                    count.room,
                    count.nights.arrival()
                )));
            }
            Some(last) if adjoins(last, &count) => {
                let whole = Stay::new(last.nights.arrival(), count.nights.departure());
                last.nights = whole.unwrap_or(last.nights);
            }
            _ => joined.push(count),
        }
    }
    Ok(joined)
}

fn adjoins(last: &Count<'_>, next: &Count<'_>) -> bool {
    last.rooms == next.rooms
        && last.nights.departure() == next.nights.arrival()
        && Stay::new(last.nights.arrival(), next.nights.departure()).is_some()
}

/// The handshake.
pub(super) fn shake_hands(session: &Session) -> Result<Outbound, RenderError> {
    post(session, HANDSHAKE, DO_HANDSHAKE, &handshake::write())
}

/// The question for every guest request of a hotel that was not yet acknowledged.
pub(super) fn read_requests(session: &Session, hotel: &str) -> Result<Outbound, RenderError> {
    let attributes = [("xmlns", NAMESPACE), ("Version", "1.001")];
    let body = Writer::message("OTA_ReadRQ", &attributes, |w| {
        w.element("ReadRequests", &[], |w| {
            w.empty("HotelReadRequest", &[("HotelCode", hotel)]);
        });
    });
    let topic = format!("{GUEST_REQUESTS}{hotel}");
    post(session, &topic, DO_READ, &body)
}

/// Names each request by type and reference as it came, the refused ones as warnings.
pub(super) fn acknowledge(
    receipts: &[Receipt],
    session: &Session,
) -> Result<Vec<Outbound>, RenderError> {
    receipts
        .chunks(RECEIPTS_PER_MESSAGE_MAX)
        .map(|chunk| post(session, ACKNOWLEDGE, DO_REPORT, &report(chunk)))
        .collect()
}

fn report(receipts: &[Receipt]) -> Vec<u8> {
    let attributes = [("xmlns", NAMESPACE), ("Version", "1.000")];
    let refused: Vec<(&Receipt, &str)> = receipts
        .iter()
        .filter_map(|receipt| match &receipt.outcome {
            ReceiptOutcome::Refused { why } => Some((receipt, why.as_str())),
            ReceiptOutcome::Recorded { .. } => None,
        })
        .collect();
    // Several states of one request are thanked for once.
    let mut named = HashSet::with_capacity(receipts.len());
    let recorded: Vec<&Receipt> = receipts
        .iter()
        .filter(|receipt| matches!(receipt.outcome, ReceiptOutcome::Recorded { .. }))
        .filter(|receipt| named.insert((&receipt.reference, &receipt.acknowledge_as)))
        .collect();
    let length = (receipts.len() + 6) * REPORT_LENGTH;
    Writer::long_message(length, "OTA_NotifReportRQ", &attributes, |w| {
        w.empty("Success", &[]);
        if !refused.is_empty() {
            w.element("Warnings", &[], |w| {
                for (receipt, why) in &refused {
                    let reference = beginning(&receipt.reference, 64);
                    // Table EWT 3: business rule; table ERR 450: unable to process.
                    let attributes = [("Type", "3"), ("Code", "450"), ("RecordID", reference)];
                    w.element("Warning", &attributes, |w| w.text(why));
                }
            });
        }
        if !recorded.is_empty() {
            w.element("NotifDetails", &[], |w| {
                w.element("HotelNotifReport", &[], |w| {
                    w.element("HotelReservations", &[], |w| {
                        for receipt in &recorded {
                            thanks(w, receipt);
                        }
                    });
                });
            });
        }
    })
}

fn thanks(w: &mut Writer, receipt: &Receipt) {
    let kind = receipt.acknowledge_as.as_deref().unwrap_or(RESERVATION);
    w.tag("HotelReservation").holding(|w| {
        w.tag("UniqueID")
            .text("Type", kind)
            .text("ID", beginning(&receipt.reference, REFERENCE_MAX))
            .empty();
    });
}

/// The first characters of a text.
fn beginning(text: &str, chars_max: usize) -> &str {
    let end = match text.len() <= chars_max {
        true => None,
        false => text.char_indices().nth(chars_max),
    };
    end.map_or(text, |(end, _)| &text[..end])
}
