//! What successive states of a feed or queue change: per reservation, the nights taken and freed.
//!
//! A queue tells what is new and no more, so a reservation that a later state does not name is
//! unchanged. An older state that comes after a newer one changes nothing, and neither does a
//! repeat.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_model::reservation::{ReportedRoom, ReservationReport, RevisionKind};
use keyrack_model::stay::{Stay, StayDate, ranges};
use serde::Serialize;

/// What a state of a queue changed of one reservation.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ChangeView {
    reference: String,
    change: ChangeKind,
    taken: Vec<NightsView>,
    freed: Vec<NightsView>,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ChangeKind {
    Added,
    Changed,
    Cancelled,
}

/// Nights of a room type, the end excluded.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct NightsView {
    room_code: String,
    from: StayDate,
    to: StayDate,
    rooms: i32,
}

/// What is known so far.
pub struct Known {
    is_snapshot: bool,
    reservations: BTreeMap<String, State>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    report: Option<ReservationReport>,
    rooms: Vec<ReportedRoom>,
    is_cancelled: bool,
}

impl Known {
    /// Nothing yet; of a snapshot dialect, a room left out is cancelled.
    pub fn of(is_snapshot: bool) -> Self {
        Self {
            is_snapshot,
            reservations: BTreeMap::new(),
        }
    }

    /// Takes a state in and tells what it changed, in order of first mention.
    pub fn take(&mut self, reports: &[ReservationReport]) -> Vec<ChangeView> {
        let before = self.reservations.clone();
        let mut named: Vec<&str> = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for report in reports.iter().filter(|report| !report.is_quote) {
            if known.insert(&report.reference) {
                named.push(&report.reference);
            }
            self.one(report);
        }
        let changes = named.into_iter().filter_map(|reference| {
            let after = self.reservations.get(reference)?;
            change(reference, before.get(reference), after)
        });
        changes.collect()
    }

    fn one(&mut self, report: &ReservationReport) {
        let is_snapshot = self.is_snapshot;
        let state = self
            .reservations
            .entry(report.reference.clone())
            .or_default();
        let known = state.report.as_ref().and_then(|known| known.order);
        let is_older = known
            .zip(report.order)
            .is_some_and(|(known, told)| told < known);
        // Once cancelled, only a later state can say otherwise; without an order there is none.
        let is_late = state.is_cancelled && report.order.zip(known).is_none();
        if is_older || is_late {
            return;
        }
        state.is_cancelled = report.kind == RevisionKind::Cancelled;
        state.report = Some(ReservationReport {
            kind: RevisionKind::New,
            acknowledge_as: None,
            ..report.clone()
        });
        if state.is_cancelled {
            state.rooms.clear();
        } else if is_snapshot {
            state.rooms.clone_from(&report.rooms);
        } else {
            let held = state.rooms.iter().enumerate().rev();
            let mut places: BTreeMap<Option<String>, usize> = held
                .map(|(place, room)| (room.room_key.clone(), place))
                .collect();
            places.remove(&None);
            for room in &report.rooms {
                let next = state.rooms.len();
                let place = match &room.room_key {
                    Some(_) => *places.entry(room.room_key.clone()).or_insert(next),
                    None => next,
                };
                match state.rooms.get_mut(place) {
                    Some(held) => held.clone_from(room),
                    None => state.rooms.push(room.clone()),
                }
            }
        }
    }
}

fn change(reference: &str, before: Option<&State>, after: &State) -> Option<ChangeView> {
    let nothing = State::default();
    let kind = match before {
        Some(before) if before == after => return None,
        _ if after.is_cancelled => ChangeKind::Cancelled,
        None => ChangeKind::Added,
        Some(_) => ChangeKind::Changed,
    };
    let (held, holds) = (counts(before.unwrap_or(&nothing)), counts(after));
    Some(ChangeView {
        reference: reference.to_owned(),
        change: kind,
        taken: beyond(&holds, &held),
        freed: beyond(&held, &holds),
    })
}

/// Rooms per room type and night.
fn counts(state: &State) -> BTreeMap<(&str, StayDate), i32> {
    let mut counts = BTreeMap::new();
    for room in &state.rooms {
        let dates = room.arrival.zip(room.departure);
        // A stay without a night takes nothing.
        let Some(stay) = dates.and_then(|(arrival, departure)| Stay::new(arrival, departure))
        else {
            continue;
        };
        for night in stay.nights() {
            let taken: &mut i32 = counts.entry((&*room.room_code, night)).or_default();
            *taken = taken.saturating_add(room.quantity);
        }
    }
    counts
}

/// What `more` has beyond `less`, neighbours with the same number joined.
fn beyond(
    more: &BTreeMap<(&str, StayDate), i32>,
    less: &BTreeMap<(&str, StayDate), i32>,
) -> Vec<NightsView> {
    let mut nights: BTreeMap<(&str, i32), Vec<StayDate>> = BTreeMap::new();
    for ((room, night), count) in more {
        let rooms = count - less.get(&(*room, *night)).copied().unwrap_or(0);
        if rooms > 0 {
            nights.entry((room, rooms)).or_default().push(*night);
        }
    }
    let mut views = Vec::new();
    for ((room, rooms), nights) in nights {
        views.extend(ranges(nights).into_iter().map(|range| NightsView {
            room_code: room.to_owned(),
            from: range.arrival(),
            to: range.departure(),
            rooms,
        }));
    }
    views.sort_by(|a, b| (&a.room_code, a.from).cmp(&(&b.room_code, b.from)));
    views
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyrack_model::reservation::Guest;

    fn report(
        reference: &str,
        kind: RevisionKind,
        order: i64,
        rooms: &[(&str, &str)],
    ) -> ReservationReport {
        let rooms = rooms
            .iter()
            .enumerate()
            .map(|(at, (arrival, departure))| ReportedRoom {
                room_key: Some(at.to_string()),
                room_code: "DBL".into(),
                arrival: arrival.parse().ok(),
                departure: departure.parse().ok(),
                quantity: 1,
                ..ReportedRoom::default()
            });
        ReservationReport {
            hotel_code: None,
            reference: reference.into(),
            kind,
            order: Some(order),
            booked_at: None,
            rooms: rooms.collect(),
            guest: Guest::default(),
            total: None,
            commission: None,
            payment_model: None,
            remarks: Vec::new(),
            is_quote: false,
            acknowledge_as: None,
        }
    }

    fn told(changes: &[ChangeView]) -> Vec<String> {
        let nights = |views: &[NightsView]| {
            let each = views
                .iter()
                .map(|view| format!("{}..{}x{}", view.from, view.to, view.rooms));
            each.collect::<Vec<_>>().join(",")
        };
        let each = changes.iter().map(|change| {
            let (taken, freed) = (nights(&change.taken), nights(&change.freed));
            format!("{} {:?} +{taken} -{freed}", change.reference, change.change)
        });
        each.collect()
    }

    #[test]
    fn a_longer_stay_takes_the_new_night_only() {
        let mut known = Known::of(true);
        let first = known.take(&[report(
            "A",
            RevisionKind::New,
            1,
            &[("2030-06-01", "2030-06-03")],
        )]);
        assert_eq!(told(&first), ["A Added +2030-06-01..2030-06-03x1 -"]);
        let longer = report(
            "A",
            RevisionKind::Modified,
            2,
            &[("2030-06-02", "2030-06-04")],
        );
        let second = known.take(std::slice::from_ref(&longer));
        assert_eq!(
            told(&second),
            ["A Changed +2030-06-03..2030-06-04x1 -2030-06-01..2030-06-02x1"]
        );
        assert!(known.take(&[longer]).is_empty(), "a repeat changes nothing");
    }

    #[test]
    fn a_cancellation_frees_once_and_an_older_state_does_not_bring_it_back() {
        let mut known = Known::of(true);
        let new = report(
            "A",
            RevisionKind::New,
            1,
            &[("2030-06-01", "2030-06-02"); 2],
        );
        known.take(std::slice::from_ref(&new));
        let cancel = report("A", RevisionKind::Cancelled, 2, &[]);
        let freed = known.take(&[cancel.clone(), cancel.clone()]);
        assert_eq!(told(&freed), ["A Cancelled + -2030-06-01..2030-06-02x2"]);
        assert!(known.take(&[cancel]).is_empty());
        assert!(known.take(&[new]).is_empty());
    }

    #[test]
    fn a_patch_leaves_the_rooms_alone_that_it_does_not_name() {
        let mut known = Known::of(false);
        known.take(&[report(
            "A",
            RevisionKind::New,
            1,
            &[("2030-06-01", "2030-06-02"); 2],
        )]);
        let patch = report(
            "A",
            RevisionKind::Modified,
            2,
            &[("2030-06-05", "2030-06-06")],
        );
        let moved = known.take(&[patch]);
        assert_eq!(
            told(&moved),
            ["A Changed +2030-06-05..2030-06-06x1 -2030-06-01..2030-06-02x1"]
        );
    }

    #[test]
    fn a_quote_takes_nothing() {
        let mut quote = report("Q", RevisionKind::New, 1, &[("2030-06-01", "2030-06-02")]);
        quote.is_quote = true;
        assert!(Known::of(true).take(&[quote]).is_empty());
    }
}
