//! Facts: what a channel tells of a reference. Never refused.

use jiff::Timestamp;
use keyrack_ledger::command::Fact;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::{RevisionKind, Source, Status};

use super::draw::draw_as_fact;
use super::entry::Entry;
use super::expected::{Expected, Yes};
use super::hold::{changed, swept, unchanged};
use super::house::{House, Known};
use super::told::{apply, only_map, room};

/// What a channel tells.
pub fn record(house: &mut House, fact: &Fact, now: Timestamp) -> Expected {
    let report = &fact.revision.report;
    let key = (fact.revision.account, report.reference.clone());
    let is_cancel = report.kind == RevisionKind::Cancelled;
    let Some(known) = house.references.get(&key).cloned() else {
        if is_cancel {
            remember(house, fact, None, true);
            return Expected::Yes(Yes::default());
        }
        return create(house, fact, None, now);
    };
    let of = known.reservation;
    let entry = of.map(|id| Entry::clone(&house.entries[&id]));
    // It is replayed when the mapping is made.
    let maps = !is_cancel
        && fact.revision.unmapped().next().is_none()
        && entry
            .as_ref()
            .is_some_and(|entry| entry.has_unmapped() && !is_over(entry, now));
    if is_older(&known, fact) {
        return match (of, entry) {
            (Some(id), Some(entry)) if maps => map_only(house, fact, id, entry, now),
            (None, _) if !is_cancel => cancelled_before_it_came(house, fact, known, now),
            _ => answer(house, of),
        };
    }
    if known.hash == fact.hash && known.is_cancelled == is_cancel && !maps {
        return answer(house, of);
    }
    if known.is_cancelled && (is_cancel || !is_newer(&known, fact)) {
        // A cancel that tells no order is the oldest.
        if is_cancel && report.order > known.order {
            remember(house, fact, of, true);
        }
        if is_cancel || of.is_some() {
            return answer(house, of);
        }
        return cancelled_before_it_came(house, fact, known, now);
    }
    let (Some(id), Some(entry)) = (of, entry) else {
        if is_cancel {
            return answer(house, None);
        }
        return create(house, fact, None, now);
    };
    let entry = swept(house, id, entry, now);
    if is_cancel {
        return cancel(house, fact, id, entry, now);
    }
    if is_over(&entry, now) {
        return create(house, fact, Some(id), now);
    }
    let before = entry;
    let mut entry = before.clone();
    apply(&mut entry, &fact.revision, house.rules.today(now));
    if entry.status == Status::Held {
        entry.status = Status::Confirmed;
    }
    draw_as_fact(house, Some(&before), &mut entry, &house.dead(now));
    remember(house, fact, Some(id), false);
    changed(house, id, entry, now)
}

/// The present state, nothing changed.
fn answer(house: &House, of: Option<ReservationId>) -> Expected {
    match of {
        Some(id) => unchanged(house, id),
        None => Expected::Yes(Yes::default()),
    }
}

/// Ended here, whatever the channel believes.
fn is_over(entry: &Entry, now: Timestamp) -> bool {
    matches!(entry.status, Status::Cancelled | Status::Expired) || entry.is_unswept(now)
}

/// By the channel's order; where it tells none, a first state after a later one.
fn is_older(known: &Known, fact: &Fact) -> bool {
    let report = &fact.revision.report;
    match (report.order, known.order) {
        (Some(told), Some(last)) => told < last,
        _ => report.kind == RevisionKind::New && known.kind == RevisionKind::Modified,
    }
}

fn is_newer(known: &Known, fact: &Fact) -> bool {
    match (fact.revision.report.order, known.order) {
        (Some(told), Some(last)) => told > last,
        _ => false,
    }
}

fn remember(house: &mut House, fact: &Fact, of: Option<ReservationId>, is_cancelled: bool) {
    let report = &fact.revision.report;
    let key = (fact.revision.account, report.reference.clone());
    let last = house.references.get(&key).and_then(|known| known.order);
    let known = Known {
        reservation: of,
        order: report.order.or(last),
        kind: report.kind,
        hash: fact.hash.clone(),
        is_cancelled,
    };
    house.references.insert(key, known);
}

/// A reservation as the channel tells it.
fn blank(house: &House, fact: &Fact, now: Timestamp) -> Entry {
    let today = house.rules.today(now);
    let told = (1..).zip(&fact.revision.rooms);
    Entry {
        status: Status::Confirmed,
        version: 0,
        source: Source::Channel,
        channel: Some((
            fact.revision.account,
            fact.revision.report.reference.clone(),
        )),
        hold: None,
        extensions: 0,
        payment: None,
        guaranteed: false,
        refunds: Vec::new(),
        keeps_nights: false,
        successor_of: None,
        undo: None,
        rooms: told.map(|(id, told)| room(id, told, today)).collect(),
        drawn: Vec::new(),
    }
}

fn create(
    house: &mut House,
    fact: &Fact,
    successor_of: Option<ReservationId>,
    now: Timestamp,
) -> Expected {
    let mut entry = blank(house, fact, now);
    entry.successor_of = successor_of;
    draw_as_fact(house, None, &mut entry, &house.dead(now));
    remember(house, fact, Some(fact.reservation), false);
    changed(house, fact.reservation, entry, now)
}

/// The cancel came first: the late news is kept as cancelled, and the cancel stays the last word.
fn cancelled_before_it_came(
    house: &mut House,
    fact: &Fact,
    known: Known,
    now: Timestamp,
) -> Expected {
    let mut entry = blank(house, fact, now);
    entry.status = Status::Cancelled;
    let key = (
        fact.revision.account,
        fact.revision.report.reference.clone(),
    );
    let reservation = Some(fact.reservation);
    house.references.insert(
        key,
        Known {
            reservation,
            ..known
        },
    );
    changed(house, fact.reservation, entry, now)
}

/// The channel's cancel: rooms that were slept in stay taken, and staff are told.
fn cancel(
    house: &mut House,
    fact: &Fact,
    id: ReservationId,
    mut entry: Entry,
    now: Timestamp,
) -> Expected {
    remember(house, fact, Some(id), true);
    match entry.status {
        Status::Cancelled | Status::Expired => unchanged(house, id),
        Status::Held | Status::Confirmed => {
            entry.status = Status::Cancelled;
            changed(house, id, entry, now)
        }
        Status::CheckedIn | Status::Completed | Status::NoShow => changed(house, id, entry, now),
    }
}

/// An older state whose codes are mapped by now says which types were meant, and nothing else.
fn map_only(
    house: &mut House,
    fact: &Fact,
    id: ReservationId,
    before: Entry,
    now: Timestamp,
) -> Expected {
    let mut entry = before.clone();
    if only_map(&mut entry, &fact.revision) {
        draw_as_fact(house, Some(&before), &mut entry, &house.dead(now));
        changed(house, id, entry, now)
    } else {
        unchanged(house, id)
    }
}
