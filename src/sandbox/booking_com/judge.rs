//! The rules of reservation messages of Booking.com, for whoever asks about one standing alone.

use jiff::Timestamp;
use roxmltree::Node;

use crate::edge::Heard;
use crate::night::date;
use crate::xml::{at, child, children, text, tree};

use super::answer::{Fault, Outcome, outcome, refusal};
use super::queue::Queue;

/// Judges a message with reservations; the answer is the acknowledgement a client owes.
pub(crate) fn queue(queue: Queue, body: &[u8], now: Timestamp) -> Heard {
    let response = queue.response();
    let document = match text(body).and_then(tree) {
        Ok(document) => document,
        Err(why) => return refusal(response, 400, Fault::new(450, why), now),
    };
    let (list, item) = match queue {
        Queue::New => ("HotelReservations", "HotelReservation"),
        Queue::Modify => ("HotelResModifies", "HotelResModify"),
    };
    let Some(list) = child(document.root_element(), list) else {
        return refusal(
            response,
            400,
            Fault::new(321, format!("{list} is missing")),
            now,
        );
    };
    let mut judged = Outcome::default();
    for reservation in children(list, item) {
        match one(reservation) {
            Ok(()) => judged.applied += 1,
            Err(fault) => judged.errors.push(fault),
        }
    }
    outcome(response, &judged, now)
}

fn one(reservation: Node<'_, '_>) -> Result<(), Fault> {
    let ids = at(
        reservation,
        &["ResGlobalInfo", "HotelReservationIDs", "HotelReservationID"],
    );
    let reference = ids
        .and_then(|id| id.attribute("ResID_Value"))
        .unwrap_or_default();
    if reference.is_empty() {
        return Err(Fault::new(321, "ResID_Value is missing"));
    }
    if reservation.attribute("ResStatus") == Some("Cancel") {
        return Ok(());
    }
    let stays: Vec<Node<'_, '_>> = child(reservation, "RoomStays")
        .into_iter()
        .flat_map(|stays| children(stays, "RoomStay"))
        .collect();
    for stay in stays {
        room_stay(stay).map_err(|why| Fault::new(320, why).about(reference))?;
    }
    Ok(())
}

fn room_stay(stay: Node<'_, '_>) -> Result<(), String> {
    if stay.attribute("IndexNumber").is_none() {
        return Err("IndexNumber is missing".to_owned());
    }
    let room = at(stay, &["RoomTypes", "RoomType"]);
    if room
        .and_then(|room| room.attribute("RoomTypeCode"))
        .is_none()
    {
        return Err("RoomTypeCode is missing".to_owned());
    }
    let property = child(stay, "BasicPropertyInfo");
    if property
        .and_then(|property| property.attribute("HotelCode"))
        .is_none()
    {
        return Err("HotelCode is missing".to_owned());
    }
    let nights: Vec<Node<'_, '_>> = child(stay, "RoomRates")
        .into_iter()
        .flat_map(|rates| children(rates, "RoomRate"))
        .collect();
    if nights.is_empty() {
        return Err("no RoomRate, so no night".to_owned());
    }
    let dated = |rate: &Node<'_, '_>| rate.attribute("EffectiveDate").and_then(date).is_some();
    if !nights.iter().all(dated) {
        return Err("EffectiveDate is no date".to_owned());
    }
    Ok(())
}
