//! Staff change a reservation: new nights first, old nights after, in one; if the new cannot be
//! had, the old stands untouched.

use std::collections::BTreeMap;

use keyrack_model::id::{AllotmentId, PropertyId, RoomStayId};
use keyrack_model::reservation::{GuestName, Source, Status};
use keyrack_model::stay::StayDate;

use super::draft::{Draft, GuestChange};
use super::drawn;
use super::guest_limit;
use super::hold::present;
use super::refusal::Refusal;
use super::request::{Entering, admit, check_room, has_rooms, receipt, room_stay, total};
use super::revise::{Claim, difference};
use super::state::{Reservation, RoomStay};
use crate::command::{Answer, Forced, Modification, WishedRoom};

/// Decides a change.
pub fn modify(draft: &mut Draft, property: PropertyId, change: &Modification) -> Answer {
    let key = (property, change.reservation);
    let before = present(draft, key, Some(change.version))?;
    let mut after = before.clone();
    let mut names = BTreeMap::new();
    if let Some(wished) = &change.rooms {
        may_change_rooms(draft, &before, change)?;
        let (entering, named) = replace_rooms(draft, &mut after, wished, &mut names)?;
        admit(draft, property, &entering, change.force.as_ref())?;
        draw_anew(draft, &before, &mut after, &named, change.force.as_ref())?;
        let delta = difference(&Claim::of(&before), &Claim::of(&after));
        let drawn = &after.detail.drawn;
        let delta = drawn::shared(draft, property, delta, Some(&before), drawn);
        has_rooms(draft, property, &delta, change.force.as_ref())?;
        after.keep_changes_since(&before.rooms);
        if !after.has_unmapped_room() {
            after.unflag("unmapped");
        }
        after.detail.total = total(&after.rooms).or(after.detail.total);
    }
    if change.rooms.is_some() || change.guest.is_some() {
        let guest = change
            .guest
            .clone()
            .or_else(|| guest_limit::guest_of(draft, key));
        guest_limit::admit(draft, &after, guest.as_ref(), change.force.as_ref())?;
    }
    let reason = change
        .force
        .as_ref()
        .map(|force| format!("forced: {}", force.reason));
    let (after, nights) = draft.put(after, "modified", reason);
    let guests = GuestChange {
        guest: change.guest.clone(),
        room_guests: (!names.is_empty()).then_some(names),
        note: change.note.clone(),
        remarks: None,
    };
    draft.put_guests(key, guests);
    Ok(receipt(after, "modified", nights))
}

/// The allotments that rooms name.
type Named = BTreeMap<RoomStayId, AllotmentId>;

/// What rooms newly take comes from the allotment that they name, else first from those that they
/// draw from already.
fn draw_anew(
    draft: &mut Draft,
    before: &Reservation,
    after: &mut Reservation,
    named: &Named,
    force: Option<&Forced>,
) -> Result<(), Refusal> {
    let source = |room: &RoomStay, _| match named.get(&room.id) {
        Some(allotment) => drawn::of_wish(Some(*allotment), None, drawn::may_pass(force)),
        None => drawn::goes_on(before, room),
    };
    let rooms = (after.rooms.as_slice(), &mut after.detail.drawn);
    let short = drawn::draw(draft, before.property, Some(before), rooms, &source);
    if short.is_empty() {
        Ok(())
    } else {
        Err(drawn::exhausted(draft, before.property, short))
    }
}

fn may_change_rooms(
    draft: &Draft,
    before: &Reservation,
    change: &Modification,
) -> Result<(), Refusal> {
    if before.source == Source::Channel && !change.told_channel {
        return Err(Refusal::NeedsToldChannel);
    }
    match before.status {
        Status::Held if before.hold_dead_at.is_some_and(|dead| draft.now() >= dead) => {
            Err(Refusal::HoldExpired)
        }
        Status::Held | Status::Confirmed | Status::CheckedIn => Ok(()),
        status => Err(Refusal::IllegalTransition(format!(
            "the rooms of a reservation that is {} are not changed: undo that first, or book anew",
            status.in_words()
        ))),
    }
}

/// Puts the new list of rooms in place of the old; says what newly enters.
fn replace_rooms(
    draft: &Draft,
    after: &mut Reservation,
    wished: &[WishedRoom],
    names: &mut BTreeMap<i32, GuestName>,
) -> Result<(Vec<Entering>, Named), Refusal> {
    let rules = draft.rules(after.property);
    let mut wrong = Vec::new();
    if wished.is_empty() {
        let words = "at least one room stays: cancel to give all of them back";
        wrong.push(("/rooms".to_owned(), words.to_owned()));
    }
    for (index, room) in wished.iter().enumerate() {
        check_room(&rules, index, room, &mut wrong);
        let known = |id| after.present_rooms().any(|present| present.id == id);
        let twice = wished[..index]
            .iter()
            .any(|other| other.room_stay.is_some() && other.room_stay == room.room_stay);
        if room.room_stay.is_some_and(|id| !known(id)) || twice {
            let words = "no room of this reservation, or named twice: leave it out for a new one";
            wrong.push((format!("/rooms/{index}/room_stay_id"), words.to_owned()));
        }
    }
    if !wrong.is_empty() {
        return Err(Refusal::Invalid(wrong));
    }
    let mut next = after.rooms.iter().map(|room| room.id.0).max().unwrap_or(0) + 1;
    let table = draft.rates(after.property);
    let mut entering = Vec::new();
    let mut kept = Vec::new();
    let mut named = Named::new();
    for room in wished {
        let id = room.room_stay.unwrap_or(RoomStayId(next));
        next += i32::from(room.room_stay.is_none());
        let old = after.rooms.iter().find(|old| old.id == id);
        let mut new = room_stay(id, &with_guests_of(old, room), &rules, table)?;
        entering.extend(enters(old, room));
        if let Some(old) = old {
            inherit(&mut new, old, room);
        }
        if let Some(name) = &room.guest_name {
            names.insert(id.0, name.clone());
        }
        if let Some(allotment) = room.allotment {
            named.insert(id, allotment);
        }
        kept.push(new);
    }
    for old in &mut after.rooms {
        match kept.iter().position(|new| new.id == old.id) {
            Some(index) => *old = kept.swap_remove(index),
            None => old.is_given_back = true,
        }
    }
    kept.sort_by_key(|room| room.id);
    after.rooms.extend(kept);
    Ok((entering, named))
}

/// Who comes stays as it was where the change does not speak of it: the price goes by it.
fn with_guests_of(old: Option<&RoomStay>, wished: &WishedRoom) -> WishedRoom {
    let mut wished = wished.clone();
    if let Some(old) = old {
        wished.adults = wished.adults.or(old.adults);
        if wished.children_ages.is_empty() {
            wished.children_ages.clone_from(&old.children_ages);
        }
    }
    wished
}

/// What a change of a room does not speak of stays as it was.
fn inherit(new: &mut RoomStay, old: &RoomStay, wished: &WishedRoom) {
    new.booked = old.booked.clone();
    if new.stay() == old.stay() {
        // Also the night that a guest takes who should have left.
        (new.taken_from, new.taken_until) = (old.taken_from, old.taken_until);
    }
    if new.room_type == old.room_type {
        new.components = old.components.clone();
    }
    if wished.price.is_none() && old.nightly.len() == new.nightly.len().max(1) {
        let same = new.stay() == old.stay() && new.rate_plan == old.rate_plan;
        if same {
            new.nightly = old.nightly.clone();
        }
    }
}

/// Nights that the room did not have; its stay rules are asked where it is new or arrives
/// elsewhere.
fn enters(old: Option<&RoomStay>, room: &WishedRoom) -> Option<Entering> {
    let Some(old) = old.filter(|old| old.room_type == Some(room.room_type)) else {
        return Some(Entering::whole(room));
    };
    let had = |night: &StayDate| {
        old.taken().is_some_and(|taken| taken.contains(*night)) && old.quantity >= room.quantity
    };
    let nights: Vec<StayDate> = room.stay.nights().filter(|night| !had(night)).collect();
    let moved = old.arrival != room.stay.arrival();
    let stay = moved.then_some(room.stay);
    let entering = Entering {
        room_type: room.room_type,
        rate_plan: room.rate_plan,
        nights,
        stay,
    };
    (!entering.nights.is_empty() || moved).then_some(entering)
}
