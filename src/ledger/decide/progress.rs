//! What happens to a stay at the desk: arrival, departure, no-show, and taking it back.

use std::collections::BTreeMap;

use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, plus_days};

use super::draft::{Draft, ReservationKey};
use super::drawn::draw_as_fact;
use super::hold::present;
use super::refusal::Refusal;
use super::request::receipt;
use super::rules::Rules;
use super::state::{Reservation, Undo};
use crate::command::{Answer, Progress};

/// Decides a step of a stay.
pub fn progress(
    draft: &mut Draft,
    key: ReservationKey,
    step: Progress,
    version: Option<i64>,
) -> Answer {
    let stay = present(draft, key, version)?;
    let rules = draft.rules(stay.property);
    let today = rules.business_day(draft.now());
    match step {
        Progress::CheckIn => check_in(draft, stay, today),
        Progress::CheckOut => check_out(draft, stay, today),
        Progress::NoShow { keep } => no_show(draft, stay, today, keep, &rules),
        Progress::Undo => undo(draft, stay, today),
        Progress::Complete => complete(draft, stay, today),
        Progress::ReleaseNoShow => release_no_show(draft, stay, today),
        Progress::Overdue => overdue(draft, stay, today),
    }
}

fn illegal(stay: &Reservation, wanted: &str) -> Refusal {
    Refusal::IllegalTransition(format!(
        "{wanted}, and this reservation is {}: look at it again",
        stay.status.in_words()
    ))
}

fn arrival(stay: &Reservation) -> Option<StayDate> {
    stay.present_rooms().map(|room| room.arrival).min()
}

fn departure(stay: &Reservation) -> Option<StayDate> {
    stay.present_rooms().map(|room| room.departure).max()
}

/// What an undo goes back to, as it is now.
fn undo_point(stay: &Reservation, today: StayDate) -> Undo {
    let taken = stay.present_rooms().map(|room| {
        (
            room.id.0,
            (room.taken_from, room.taken_until, room.departure),
        )
    });
    Undo {
        status: stay.status,
        taken: taken.collect::<BTreeMap<_, _>>(),
        on: today,
    }
}

fn check_in(draft: &mut Draft, mut stay: Reservation, today: StayDate) -> Answer {
    match stay.status {
        Status::CheckedIn => return Ok(receipt(stay, "checked_in", Vec::new())),
        Status::Confirmed => {}
        _ => return Err(illegal(&stay, "only a confirmed guest checks in")),
    }
    if let Some(first) = arrival(&stay).filter(|first| *first > today) {
        let words =
            format!("the guest arrives on {first}, and today is {today}: change the stay first");
        return Err(Refusal::IllegalTransition(words));
    }
    stay.detail.undo = Some(undo_point(&stay, today));
    stay.status = Status::CheckedIn;
    let (stay, nights) = draft.put(stay, "checked_in", None);
    Ok(receipt(stay, "checked_in", nights))
}

/// The guest leaves; nights from the present business day on come back.
fn check_out(draft: &mut Draft, mut stay: Reservation, today: StayDate) -> Answer {
    match stay.status {
        Status::Completed => return Ok(receipt(stay, "completed", Vec::new())),
        Status::CheckedIn => {}
        _ => return Err(illegal(&stay, "only a guest in the house checks out")),
    }
    stay.detail.undo = Some(undo_point(&stay, today));
    for room in stay.rooms.iter_mut().filter(|room| !room.is_given_back) {
        room.taken_until = room.taken_until.min(today).max(room.taken_from);
        room.departure = room.departure.min(today).max(room.arrival);
    }
    stay.status = Status::Completed;
    stay.unflag("overdue");
    let (stay, nights) = draft.put(stay, "completed", None);
    Ok(receipt(stay, "completed", nights))
}

/// The guest did not come. Nothing comes back before the next roll-over.
fn no_show(
    draft: &mut Draft,
    mut stay: Reservation,
    today: StayDate,
    keep: Option<bool>,
    rules: &Rules,
) -> Answer {
    match stay.status {
        Status::NoShow => return Ok(receipt(stay, "no_show", Vec::new())),
        Status::Confirmed => {}
        _ => return Err(illegal(&stay, "only a confirmed guest can fail to come")),
    }
    if let Some(first) = arrival(&stay).filter(|first| *first > today) {
        let words =
            format!("the guest is expected on {first}, and today is {today}: wait until then");
        return Err(Refusal::IllegalTransition(words));
    }
    let by_rule = match rules.policies.no_show_keeps.as_str() {
        "all" => true,
        "none" => false,
        _ => stay.detail.guaranteed,
    };
    stay.detail.undo = Some(undo_point(&stay, today));
    stay.status = Status::NoShow;
    if keep.unwrap_or(by_rule) {
        stay.flag(KEEPS_NIGHTS);
    }
    let (stay, nights) = draft.put(stay, "no_show", None);
    Ok(receipt(stay, "no_show", nights))
}

/// The roll-over after a no-show: all nights but the first come back, unless they are kept.
fn release_no_show(draft: &mut Draft, mut stay: Reservation, today: StayDate) -> Answer {
    let first = arrival(&stay);
    let is_due = stay.status == Status::NoShow
        && !stay.flags.iter().any(|flag| flag == KEEPS_NIGHTS)
        && first.is_some_and(|first| first < today);
    if !is_due {
        return Err(illegal(
            &stay,
            "only a no-show that keeps no nights lets them go",
        ));
    }
    let mut changes = false;
    for room in stay.rooms.iter_mut().filter(|room| !room.is_given_back) {
        let end = plus_days(room.taken_from, 1).min(room.taken_until);
        changes |= end != room.taken_until;
        room.taken_until = end;
    }
    if !changes {
        return Ok(receipt(stay, "repeated", Vec::new()));
    }
    let (stay, nights) = draft.put(stay, "no_show_released", None);
    Ok(receipt(stay, "no_show_released", nights))
}

/// Back to what it was; nights that were given back are taken anew as a fact.
fn undo(draft: &mut Draft, mut stay: Reservation, today: StayDate) -> Answer {
    let Some(point) = stay.detail.undo.clone() else {
        return Err(illegal(&stay, "there is nothing to undo"));
    };
    if stay.status == Status::Completed && point.on != today {
        let words = "a check-out is undone within its business day only: book the guest anew";
        return Err(Refusal::IllegalTransition(words.to_owned()));
    }
    let before = stay.clone();
    for room in &mut stay.rooms {
        if let Some((from, until, departure)) = point.taken.get(&room.id.0) {
            room.taken_from = *from;
            room.taken_until = *until;
            room.departure = *departure;
        }
    }
    stay.status = point.status;
    stay.detail.undo = None;
    stay.unflag(KEEPS_NIGHTS);
    draw_as_fact(draft, Some(&before), &mut stay);
    let (stay, nights) = draft.put(stay, "undone", None);
    Ok(receipt(stay, "undone", nights))
}

/// A confirmed stay whose departure is past and whose check-in nobody told us.
fn complete(draft: &mut Draft, mut stay: Reservation, today: StayDate) -> Answer {
    let is_past = departure(&stay).is_none_or(|departure| departure <= today);
    if stay.status != Status::Confirmed || !is_past {
        return Err(illegal(
            &stay,
            "only a confirmed stay that is past completes by itself",
        ));
    }
    stay.status = Status::Completed;
    let (stay, nights) = draft.put(stay, "completed", Some("by the roll-over".to_owned()));
    Ok(receipt(stay, "completed", nights))
}

/// A guest who is in the house after the departure takes the room tonight as well, as a fact.
fn overdue(draft: &mut Draft, mut stay: Reservation, today: StayDate) -> Answer {
    let is_past = departure(&stay).is_some_and(|departure| departure <= today);
    if stay.status != Status::CheckedIn || !is_past {
        return Err(illegal(
            &stay,
            "only a guest who should have left is overdue",
        ));
    }
    let tomorrow = plus_days(today, 1);
    let before = stay.clone();
    let last = stay.present_rooms().map(|room| room.taken_until).max();
    for room in stay.rooms.iter_mut().filter(|room| !room.is_given_back) {
        if Some(room.taken_until) == last {
            room.taken_until = tomorrow.max(room.taken_until);
        }
    }
    draw_as_fact(draft, Some(&before), &mut stay);
    stay.flag("overdue");
    let (stay, nights) = draft.put(stay, "overdue", None);
    Ok(receipt(stay, "overdue", nights))
}

/// A no-show whose other nights stay taken.
const KEEPS_NIGHTS: &str = "no_show_keeps_nights";
