//! A queue being asked: what may be asked for, how often, and what goes into the answer.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rand::Rng;
use rand::seq::SliceRandom as _;

use crate::clock::elapsed_ms;
use crate::edge::Heard;
use crate::faults::Struck;
use crate::reservation::Reservation;
use crate::state::State;

use super::account::{BookingCom, Desk, Rhythm};
use super::answer::Fault;
use super::message::{self, Manner};
use super::queue::{Filter, Queue, queue_of};

/// Reads the query; a status and a fault if it asks for what it may not have.
pub(crate) fn filter(
    channel: &BookingCom,
    state: &State,
    query: &BTreeMap<String, String>,
) -> Result<Filter, (u16, Fault)> {
    let hotels: Vec<String> = query
        .get("hotel_ids")
        .into_iter()
        .flat_map(|list| list.split(','))
        .map(|hotel| hotel.trim().to_owned())
        .filter(|hotel| !hotel.is_empty())
        .collect();
    let denied = hotels
        .iter()
        .find(|code| !state.hotels.get(*code).is_some_and(|hotel| hotel.linked));
    if let Some(denied) = denied {
        return Err((
            403,
            Fault::new(392, format!("Access denied for hotel {denied}")),
        ));
    }
    let changed_since = match query.get("last_change") {
        Some(_) if channel.settings.recovery => {
            let why = "last_change cannot be used with the recovery of reservations";
            return Err((400, Fault::new(450, why)));
        }
        Some(text) => {
            let since = instant(text);
            Some(since.ok_or_else(|| (400, Fault::new(404, "last_change is no date")))?)
        }
        None => None,
    };
    let limit = match query.get("limit").map(|limit| limit.parse()) {
        Some(Ok(limit)) if limit > 0 => limit,
        Some(_) => return Err((400, Fault::new(320, "limit is no number above zero"))),
        None => usize::MAX,
    };
    Ok(Filter {
        hotels,
        id: query.get("id").cloned(),
        changed_since,
        acknowledged_since: None,
        limit,
    })
}

/// `YYYY-MM-DD`, with or without a time, in UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let text = text.replace(' ', "T");
    let utc = jiff::tz::TimeZone::UTC;
    let moment: jiff::civil::DateTime = text.parse().ok()?;
    moment.to_zoned(utc).ok().map(|zoned| zoned.timestamp())
}

/// Keeps the rhythm of a queue: a poll too early is noted, and one too soon after an
/// acknowledgement gets the acknowledged again.
pub(crate) fn paced(
    channel: &BookingCom,
    queue: Queue,
    mut filter: Filter,
    now: Timestamp,
) -> (Filter, Option<String>) {
    let mut desk = channel.desk();
    let rhythm = rhythm(&mut desk, queue);
    let sooner = |since: Option<Timestamp>, least_ms: u32| {
        since.filter(|at| elapsed_ms(*at, now) < i64::from(least_ms))
    };
    let settings = &channel.settings;
    let mut remark = sooner(rhythm.asked_at, settings.poll_interval_ms)
        .map(|_| "asked again before the interval was over".to_owned());
    if let Some(acknowledged) = sooner(rhythm.acknowledged_at, settings.ack_settle_ms) {
        filter.acknowledged_since = Some(acknowledged);
        remark = Some("asked too soon after an acknowledgement".to_owned());
    }
    rhythm.asked_at = Some(now);
    (filter, remark)
}

pub(crate) fn rhythm(desk: &mut Desk, queue: Queue) -> &mut Rhythm {
    match queue {
        Queue::New => &mut desk.new,
        Queue::Modify => &mut desk.modify,
    }
}

pub(crate) fn deliver(
    channel: &BookingCom,
    state: &mut State,
    queue: Queue,
    mut references: Vec<String>,
    struck: &Struck,
    remark: Option<String>,
    now: Timestamp,
) -> Heard {
    if struck.duplicate
        && let Some(again) = acknowledged_before(state, queue, &references)
    {
        references.push(again);
    }
    if struck.reorder {
        references.shuffle(&mut state.rng);
    }
    let reservations = hand_out(state, &references, struck, now);
    let manner = Manner {
        cancel_names_hotel: channel.settings.cancel_names_hotel,
        states_named: false,
    };
    let answer = message::queue(queue, &reservations, &manner, now);
    Heard {
        references,
        remark,
        ..Heard::accepted(answer)
    }
}

/// Any reservation whose latest version had been acknowledged in this queue.
fn acknowledged_before(state: &mut State, queue: Queue, but: &[String]) -> Option<String> {
    let done: Vec<String> = state
        .reservations
        .values()
        .filter(|reservation| reservation.latest().acknowledged_at.is_some())
        .filter(|reservation| queue_of(reservation) == queue)
        .filter(|reservation| !but.contains(&reservation.reference))
        .map(|reservation| reservation.reference.clone())
        .collect();
    let place = (!done.is_empty()).then(|| state.rng.random_range(0..done.len()))?;
    done.into_iter().nth(place)
}

/// Notes that the latest versions went into an answer, and gives copies of them. What is lost
/// on the way was not delivered: nobody can acknowledge it.
pub(crate) fn hand_out(
    state: &mut State,
    references: &[String],
    struck: &Struck,
    now: Timestamp,
) -> Vec<Reservation> {
    let mut out = Vec::new();
    for reference in references {
        if let Some(reservation) = state.reservations.get_mut(reference) {
            if !struck.lose_answer {
                reservation.latest_mut().delivered_at.push(now);
            }
            out.push(reservation.clone());
        }
    }
    out
}
