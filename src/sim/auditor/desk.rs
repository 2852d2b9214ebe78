//! What happens at the desk: arrival, departure, no-show, a mistake taken back, the roll-over.

use jiff::Timestamp;
use keyrack_ledger::command::Progress;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, plus_days};

use super::draw::draw_as_fact;
use super::entry::Entry;
use super::expected::Expected;
use super::hold::{changed, read, unchanged};
use super::house::House;

/// A step of a stay.
pub fn progress(
    house: &mut House,
    id: ReservationId,
    step: Progress,
    version: Option<i64>,
    now: Timestamp,
) -> Expected {
    let entry = match read(house, id, version) {
        Ok(entry) => entry,
        Err(no) => return no,
    };
    let today = house.rules.today(now);
    let before = entry.clone();
    let mut next = match step {
        Progress::CheckIn => arrives(entry, today, Status::CheckedIn),
        Progress::NoShow { keep } => {
            let by_rule = match house.rules.no_show_keeps.as_str() {
                "all" => true,
                "none" => false,
                _ => entry.guaranteed,
            };
            let mut next = arrives(entry, today, Status::NoShow);
            if let Next::Changed(entry) = &mut next {
                entry.keeps_nights = keep.unwrap_or(by_rule);
            }
            next
        }
        Progress::CheckOut => leaves(entry, today),
        Progress::Undo => undo(entry, today),
        Progress::Complete => complete(entry, today),
        Progress::ReleaseNoShow => release(entry, today),
        Progress::Overdue => overdue(entry, today),
    };
    if let (Progress::Undo | Progress::Overdue, Next::Changed(entry)) = (step, &mut next) {
        draw_as_fact(house, Some(&before), entry, &house.dead(now));
    }
    match next {
        Next::Changed(entry) => changed(house, id, *entry, now),
        Next::Same => unchanged(house, id),
        Next::Illegal => Expected::no("illegal_transition"),
    }
}

enum Next {
    Changed(Box<Entry>),
    Same,
    Illegal,
}

/// Remembers what an undo goes back to.
fn remember(entry: &mut Entry, today: StayDate) {
    entry.undo = Some((entry.status, today));
    for room in &mut entry.rooms {
        room.before = (!room.is_gone).then_some((room.from, room.until, room.departure));
    }
}

/// A confirmed guest arrives, or does not, on the day of arrival or later.
fn arrives(mut entry: Entry, today: StayDate, to: Status) -> Next {
    if entry.status == to {
        return Next::Same;
    }
    let is_early = entry.arrival().is_some_and(|arrival| arrival > today);
    if entry.status != Status::Confirmed || is_early {
        return Next::Illegal;
    }
    remember(&mut entry, today);
    entry.status = to;
    Next::Changed(Box::new(entry))
}

/// The guest leaves: nights from today on come back.
fn leaves(mut entry: Entry, today: StayDate) -> Next {
    match entry.status {
        Status::Completed => return Next::Same,
        Status::CheckedIn => {}
        _ => return Next::Illegal,
    }
    remember(&mut entry, today);
    for room in entry.present_mut() {
        room.until = room.until.min(today).max(room.from);
        room.departure = room.departure.min(today).max(room.arrival);
    }
    entry.status = Status::Completed;
    Next::Changed(Box::new(entry))
}

/// Back to what it was; nights that were given back are taken anew as a fact.
fn undo(mut entry: Entry, today: StayDate) -> Next {
    let Some((status, on)) = entry.undo.take() else {
        return Next::Illegal;
    };
    if entry.status == Status::Completed && on != today {
        return Next::Illegal;
    }
    for room in &mut entry.rooms {
        if let Some((from, until, departure)) = room.before.take() {
            (room.from, room.until, room.departure) = (from, until, departure);
        }
    }
    entry.status = status;
    entry.keeps_nights = false;
    Next::Changed(Box::new(entry))
}

/// The departure is past and nobody told us of an arrival.
fn complete(mut entry: Entry, today: StayDate) -> Next {
    let is_past = entry.departure().is_none_or(|departure| departure <= today);
    if entry.status != Status::Confirmed || !is_past {
        return Next::Illegal;
    }
    entry.status = Status::Completed;
    Next::Changed(Box::new(entry))
}

/// A no-show keeps the first night of each room only.
fn release(mut entry: Entry, today: StayDate) -> Next {
    let has_begun = entry.arrival().is_some_and(|arrival| arrival < today);
    if entry.status != Status::NoShow || entry.keeps_nights || !has_begun {
        return Next::Illegal;
    }
    let mut changes = false;
    for room in entry.present_mut() {
        let first = plus_days(room.from, 1);
        changes |= first < room.until;
        room.until = room.until.min(first);
    }
    if changes {
        Next::Changed(Box::new(entry))
    } else {
        Next::Same
    }
}

/// A guest who should have left takes tonight as well.
fn overdue(mut entry: Entry, today: StayDate) -> Next {
    let is_past = entry
        .departure()
        .is_some_and(|departure| departure <= today);
    if entry.status != Status::CheckedIn || !is_past {
        return Next::Illegal;
    }
    let last = entry.present().map(|room| room.until).max();
    for room in entry.present_mut().filter(|room| Some(room.until) == last) {
        room.until = room.until.max(plus_days(today, 1));
    }
    Next::Changed(Box::new(entry))
}
