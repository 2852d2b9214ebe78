//! The two reservation queues: what is offered, until when, and what an acknowledgement does.
//!
//! Only the latest version of a reservation is ever offered. Until some version of it has been
//! acknowledged or mailed it is offered as new, whatever its state; afterwards as a change.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::clock::elapsed_ms;
use crate::reservation::{Reservation, Version};
use crate::settings::BookingComSettings;
use crate::state::State;

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    New,
    /// Modified and cancelled.
    Modify,
}

impl Queue {
    /// The last part of its address.
    pub(crate) fn endpoint(self) -> &'static str {
        match self {
            Queue::New => "OTA_HotelResNotif",
            Queue::Modify => "OTA_HotelResModifyNotif",
        }
    }

    /// The root of what the client posts and gets back.
    pub(crate) fn response(self) -> &'static str {
        match self {
            Queue::New => "OTA_HotelResNotifRS",
            Queue::Modify => "OTA_HotelResModifyNotifRS",
        }
    }
}

/// The queue in which the latest version of a reservation belongs.
pub(crate) fn queue_of(reservation: &Reservation) -> Queue {
    let earlier = &reservation.versions[..reservation.versions.len() - 1];
    if earlier.iter().any(has_arrived) {
        Queue::Modify
    } else {
        Queue::New
    }
}

fn has_arrived(version: &Version) -> bool {
    version.acknowledged_at.is_some() || version.mailed_at.is_some()
}

/// Lets what nobody acknowledged in time fall out of the queues, and mails what is due.
pub(crate) fn let_fall(state: &mut State, settings: &BookingComSettings, now: Timestamp) {
    let due: Vec<(String, Timestamp)> = state
        .reservations
        .values()
        .filter(|reservation| reservation.latest().is_waiting())
        .filter(|reservation| is_late(reservation.latest(), settings.fallback_after_ms, now))
        .map(|reservation| (reservation.reference.clone(), reservation.latest().at))
        .collect();
    for (reference, at) in due {
        let fell = later(at, settings.fallback_after_ms);
        if let Some(reservation) = state.reservations.get_mut(&reference) {
            reservation.latest_mut().fell_back_at = Some(fell);
        }
    }
    let mailed: Vec<(String, usize, Timestamp)> = state
        .reservations
        .values()
        .filter_map(|reservation| {
            let at = mail_due(reservation.latest(), settings)?;
            let place = reservation.versions.len() - 1;
            (at <= now).then(|| (reservation.reference.clone(), place, at))
        })
        .collect();
    for (reference, version, at) in mailed {
        state.mail(&reference, version, at);
    }
}

/// When a version that fell out of its queue is mailed: at once, or with recovery a day later,
/// unless the guest comes before that is of use or the client had refused it.
fn mail_due(version: &Version, settings: &BookingComSettings) -> Option<Timestamp> {
    let fell = version.fell_back_at?;
    if version.mailed_at.is_some() || version.acknowledged_at.is_some() {
        return None;
    }
    let comes_soon = version.arrival().is_some_and(|arrival| {
        let in_two_days = fell + SignedDuration::from_hours(48);
        arrival <= day_of(in_two_days)
    });
    if settings.recovery && version.rejected_at.is_none() && !comes_soon {
        Some(later(version.at, settings.mail_after_ms))
    } else {
        Some(fell)
    }
}

fn is_late(version: &Version, after_ms: u32, now: Timestamp) -> bool {
    after_ms > 0 && elapsed_ms(version.at, now) >= i64::from(after_ms)
}

fn later(at: Timestamp, ms: u32) -> Timestamp {
    at + SignedDuration::from_millis(i64::from(ms))
}

fn day_of(at: Timestamp) -> Date {
    at.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Which reservations a client asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// All hotels if empty.
    pub(crate) hotels: Vec<String>,
    pub(crate) id: Option<String>,
    /// Also what was acknowledged, if it changed since.
    pub(crate) changed_since: Option<Timestamp>,
    /// Also what was acknowledged since: asked too soon after an acknowledgement.
    pub(crate) acknowledged_since: Option<Timestamp>,
    pub(crate) limit: usize,
}

/// The references that a queue offers now, the oldest change first.
pub(crate) fn offered(state: &State, queue: Queue, filter: &Filter) -> Vec<String> {
    let mut found: Vec<(&Timestamp, &String)> = state
        .reservations
        .values()
        .filter(|reservation| is_for(state, reservation, filter))
        .filter(|reservation| queue_of(reservation) == queue)
        .filter(|reservation| {
            let latest = reservation.latest();
            let changed = filter.changed_since.is_some_and(|since| latest.at >= since);
            let again = filter
                .acknowledged_since
                .zip(latest.acknowledged_at)
                .is_some_and(|(since, at)| at >= since);
            latest.is_waiting() || changed || again
        })
        .map(|reservation| (&reservation.latest().at, &reservation.reference))
        .collect();
    found.sort();
    found.truncate(filter.limit);
    found
        .into_iter()
        .map(|(_, reference)| reference.clone())
        .collect()
}

/// The references that fell out of the queues and were not yet mailed.
pub(crate) fn missed(state: &State, filter: &Filter) -> Vec<String> {
    let mut found: Vec<(Option<Timestamp>, &String)> = state
        .reservations
        .values()
        .filter(|reservation| is_for(state, reservation, filter))
        .filter(|reservation| {
            let latest = reservation.latest();
            latest.fell_back_at.is_some()
                && latest.mailed_at.is_none()
                && latest.acknowledged_at.is_none()
                && latest.rejected_at.is_none()
        })
        .map(|reservation| (reservation.latest().fell_back_at, &reservation.reference))
        .collect();
    found.sort();
    found
        .into_iter()
        .map(|(_, reference)| reference.clone())
        .collect()
}

fn is_for(state: &State, reservation: &Reservation, filter: &Filter) -> bool {
    let linked = state
        .hotels
        .get(&reservation.hotel)
        .is_some_and(|hotel| hotel.linked);
    let hotel = filter.hotels.is_empty() || filter.hotels.contains(&reservation.hotel);
    let id = filter
        .id
        .as_ref()
        .is_none_or(|id| *id == reservation.reference);
    linked && hotel && id
}

/// Why an acknowledgement is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Unknown,
    /// Not the latest version, not the right queue, or never delivered.
    WrongMessage,
}

/// Whether a client may acknowledge the latest version of a reservation in this queue.
pub(crate) fn may_acknowledge(
    state: &State,
    queue: Queue,
    reference: &str,
) -> Result<(), NotTaken> {
    let reservation = state.reservations.get(reference).ok_or(NotTaken::Unknown)?;
    let linked = state
        .hotels
        .get(&reservation.hotel)
        .is_some_and(|hotel| hotel.linked);
    if !linked {
        return Err(NotTaken::Unknown);
    }
    let seen = !reservation.latest().delivered_at.is_empty();
    if queue_of(reservation) == queue && seen {
        Ok(())
    } else {
        Err(NotTaken::WrongMessage)
    }
}

/// Takes the client's word for it: `taken` lets the message leave the queue, the opposite
/// leaves it there.
pub(crate) fn acknowledge(state: &mut State, reference: &str, taken: bool, now: Timestamp) {
    let Some(reservation) = state.reservations.get_mut(reference) else {
        return;
    };
    let latest = reservation.latest_mut();
    if taken {
        latest.acknowledged_at.get_or_insert(now);
    } else if latest.acknowledged_at.is_none() {
        latest.rejected_at = Some(now);
    }
    let number = latest.number;
    state.log.acknowledged(now, reference, number, taken);
}
