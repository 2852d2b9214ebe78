//! Holds and their ends: confirm, cancel, extend, expire.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::command::HoldEnd;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::{Source, Status};

use super::draw::draw_as_fact;
use super::entry::Entry;
use super::expected::{Expected, No, Yes};
use super::house::House;

/// The entry, where it is there and in the version that the caller read.
pub fn read(house: &House, id: ReservationId, version: Option<i64>) -> Result<Entry, Expected> {
    let Some(entry) = house.entries.get(&id) else {
        return Err(Expected::no("not_found"));
    };
    if version.is_some_and(|read| read != entry.version) {
        return Err(Expected::No(No {
            code: "version_mismatch",
            current: Some(entry.version),
            ..No::default()
        }));
    }
    Ok(Entry::clone(entry))
}

/// Nothing changed: the answer is the present state.
pub fn unchanged(house: &House, id: ReservationId) -> Expected {
    Expected::Yes(Yes {
        reservation: Some((id, Arc::clone(&house.entries[&id]))),
        ..Yes::default()
    })
}

/// Writes the entry in its next version; the answer is that.
pub fn changed(house: &mut House, id: ReservationId, mut entry: Entry, now: Timestamp) -> Expected {
    entry.version += 1;
    let touched = house.write(id, entry, now);
    Expected::Yes(Yes {
        reservation: Some((id, Arc::clone(&house.entries[&id]))),
        touched,
        short: None,
    })
}

/// Writes what a refused payment leaves behind.
fn refused(
    house: &mut House,
    id: ReservationId,
    mut entry: Entry,
    payment: Option<&String>,
    now: Timestamp,
) {
    if entry.owes(payment) {
        entry.version += 1;
        house.write(id, entry, now);
    }
}

/// Where the hold is dead and nobody has swept it: the entry as if somebody had.
pub fn swept(house: &mut House, id: ReservationId, entry: Entry, now: Timestamp) -> Entry {
    if !entry.is_unswept(now) {
        return entry;
    }
    house.sweep(id, now);
    Entry::clone(&house.entries[&id])
}

/// A hold becomes a stay: alive it is honoured; dead, only where rooms are taken anew.
pub fn confirm(
    house: &mut House,
    id: ReservationId,
    payment: Option<&String>,
    version: Option<i64>,
    now: Timestamp,
) -> Expected {
    let mut entry = match read(house, id, version) {
        Ok(entry) => entry,
        Err(no) => return no,
    };
    let pays = |entry: &mut Entry| {
        entry.status = Status::Confirmed;
        entry.payment = payment.cloned();
        entry.guaranteed |= payment.is_some();
    };
    match entry.status {
        Status::Held if entry.is_alive(now) => {
            pays(&mut entry);
            changed(house, id, entry, now)
        }
        Status::Held | Status::Expired => {
            let entry = swept(house, id, entry, now);
            // A payment that is owed back pays nothing any more.
            let is_owed = payment.is_some_and(|payment| entry.refunds.contains(payment));
            if house.rules.retakes
                && !is_owed
                && let Some(mut entry) = anew(house, &entry, now)
            {
                pays(&mut entry);
                return changed(house, id, entry, now);
            }
            refused(house, id, entry, payment, now);
            Expected::no("hold_expired")
        }
        Status::Confirmed | Status::CheckedIn | Status::Completed | Status::NoShow => {
            if payment.is_none() || payment == entry.payment.as_ref() {
                return unchanged(house, id);
            }
            refused(house, id, entry, payment, now);
            Expected::no("already_confirmed")
        }
        Status::Cancelled => {
            refused(house, id, entry, payment, now);
            Expected::no("illegal_transition")
        }
    }
}

/// The rooms of a dead hold taken once more, where they are free: from where they came.
fn anew(house: &House, expired: &Entry, now: Timestamp) -> Option<Entry> {
    let dead = house.dead(now);
    let mut entry = expired.clone();
    entry.status = Status::Confirmed;
    draw_as_fact(house, Some(expired), &mut entry, &dead);
    house.short(None, &entry, &dead).is_empty().then_some(entry)
}

/// The rooms come back once; a repeat is the same success.
pub fn cancel(
    house: &mut House,
    id: ReservationId,
    told_channel: bool,
    version: Option<i64>,
    now: Timestamp,
) -> Expected {
    let entry = match read(house, id, version) {
        Ok(entry) => entry,
        Err(no) => return no,
    };
    // Dead from its instant, whoever tidies up.
    let mut entry = swept(house, id, entry, now);
    match entry.status {
        Status::Cancelled | Status::Expired => unchanged(house, id),
        Status::Held | Status::Confirmed => {
            if entry.source == Source::Channel && !told_channel {
                return Expected::no("invalid");
            }
            entry.status = Status::Cancelled;
            changed(house, id, entry, now)
        }
        _ => Expected::no("illegal_transition"),
    }
}

/// When a hold that is made or extended now ends; `None` where that is not in the future.
pub fn end(until: HoldEnd, default_seconds: i32, now: Timestamp) -> Option<Timestamp> {
    let after = |seconds: i64| now.saturating_add(SignedDuration::from_secs(seconds)).ok();
    let until = match until {
        HoldEnd::Default => after(i64::from(default_seconds))?,
        HoldEnd::Seconds(seconds) => after(i64::from(seconds))?,
        HoldEnd::Until(instant) => instant,
    };
    (until > now).then_some(until)
}

/// A hold lives longer, a bounded number of times.
pub fn extend(
    house: &mut House,
    id: ReservationId,
    until: HoldEnd,
    version: Option<i64>,
    now: Timestamp,
) -> Expected {
    let mut entry = match read(house, id, version) {
        Ok(entry) => entry,
        Err(no) => return no,
    };
    if entry.status == Status::Expired || entry.is_unswept(now) {
        return Expected::no("hold_expired");
    }
    if entry.status != Status::Held || entry.extensions >= house.rules.extensions_max {
        return Expected::no("illegal_transition");
    }
    let types = entry.present().filter_map(|room| room.room_type);
    let default = house.rules.hold_seconds(entry.source, types);
    let Some(until) = end(until, default, now) else {
        return Expected::no("invalid");
    };
    entry.hold = Some((until, house.rules.dead_at(until)));
    entry.extensions += 1;
    changed(house, id, entry, now)
}

/// The sweeper lets a dead hold go.
pub fn expire(house: &mut House, id: ReservationId, now: Timestamp) -> Expected {
    let mut entry = match read(house, id, None) {
        Ok(entry) => entry,
        Err(no) => return no,
    };
    if !entry.is_unswept(now) {
        return Expected::no("illegal_transition");
    }
    entry.status = Status::Expired;
    changed(house, id, entry, now)
}
