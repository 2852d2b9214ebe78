//! The moves of guests by which a case ends: what is wrong with them, and the reservations after.

use std::collections::BTreeMap;

use keyrack_model::id::{PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::{Source, Status};
use keyrack_model::stay::StayDate;

use super::end::{CaseEnd, CaseMove};
use super::sheet::SeenCase;
use crate::decide::draft::Draft;
use crate::decide::hold::present;
use crate::decide::refusal::Refusal;
use crate::decide::request::total;
use crate::decide::rules::Rules;
use crate::decide::state::{Reservation, RoomStay};

/// What each ending needs, and what it does not take.
pub(super) fn check_shape(end: &CaseEnd) -> Result<(), Refusal> {
    let into_rooms = matches!(end.ending, Ending::Upgrade | Ending::Swap);
    let leaves = end.ending.lets_guests_go();
    let wrong = |pointer: &str, words: &str| Err(Refusal::invalid(pointer, words));
    if (into_rooms || leaves) && end.moves.is_empty() {
        return wrong("/moves", "say which reservation is moved");
    }
    if !into_rooms && !leaves && !end.moves.is_empty() {
        return wrong("/moves", "nobody is moved by this ending: leave it out");
    }
    if end.ending == Ending::Swap && end.moves.len() < 2 {
        return wrong(
            "/moves",
            "a swap moves two reservations or more: else it is an upgrade",
        );
    }
    if let Some(at) = end.moves.iter().position(|m| m.to.is_some() != into_rooms) {
        let words = if into_rooms {
            "say to which room type"
        } else {
            "the guest leaves the house: leave the room type out"
        };
        return wrong(&format!("/moves/{at}/room_type"), words);
    }
    if let Some(at) = (0..end.moves.len()).find(|at| is_named_before(&end.moves, *at)) {
        let words = "is named twice: name each guest, or each of his rooms, once";
        return wrong(&format!("/moves/{at}/reservation"), words);
    }
    let reason = end.note.as_deref().unwrap_or_default().trim();
    if end.ending == Ending::AcceptedAsIs && reason.is_empty() {
        return wrong("/note", "to accept it as it is takes a reason");
    }
    if end.cost_minor.is_some_and(|cost| cost < 0) {
        return wrong("/cost", "a cost is not negative");
    }
    Ok(())
}

/// Whether an earlier move names the same room, or one of the two names no room: that is all of
/// them.
fn is_named_before(moves: &[CaseMove], at: usize) -> bool {
    let (earlier, rest) = moves.split_at(at);
    let is_same = |one: &CaseMove, other: &CaseMove| {
        let apart = one.room_stay.is_some() && other.room_stay.is_some();
        one.reservation == other.reservation && (!apart || one.room_stay == other.room_stay)
    };
    rest.first()
        .is_some_and(|one| earlier.iter().any(|other| is_same(one, other)))
}

/// Reservations before and after their moves.
pub(super) type Moved = BTreeMap<ReservationId, (Reservation, Reservation)>;

/// The reservations before and after their moves; nothing is written down yet.
pub(super) fn moved(
    draft: &Draft,
    (property, case): (PropertyId, &SeenCase),
    rules: &Rules,
    end: &CaseEnd,
) -> Result<Moved, Refusal> {
    let mut moved = Moved::new();
    for (at, one) in end.moves.iter().enumerate() {
        let pointer = format!("/moves/{at}");
        let before = present(draft, (property, one.reservation), one.version)?;
        let (_, after) = moved
            .entry(one.reservation)
            .or_insert_with(|| (before.clone(), before));
        match one.to {
            Some(room_type) => put_into(rules, after, one, room_type, &pointer)?,
            None => {
                is_concerned(after, one.room_stay, (case.room_type, &case.nights), at)?;
                is_of_channel(after, end.ending, at)?;
                let_go(after, one.room_stay, end.told_channel, &pointer)?;
            }
        }
    }
    Ok(moved)
}

fn put_into(
    rules: &Rules,
    after: &mut Reservation,
    one: &CaseMove,
    room_type: RoomTypeId,
    pointer: &str,
) -> Result<(), Refusal> {
    if !matches!(
        after.status,
        Status::Held | Status::Confirmed | Status::CheckedIn
    ) {
        return Err(Refusal::IllegalTransition(format!(
            "reservation {} is {} and takes no room: choose another guest",
            after.number,
            after.status.in_words()
        )));
    }
    let known = rules.types.get(&room_type);
    let parts = known.ok_or_else(|| Refusal::invalid(format!("{pointer}/room_type"), NO_TYPE))?;
    let mut rooms = after.rooms.iter_mut().filter(|room| !room.is_given_back);
    let room = match one.room_stay {
        Some(id) => rooms.find(|room| room.id == id),
        None => rooms.next().filter(|_| rooms.next().is_none()),
    };
    let room = room.ok_or_else(|| {
        let words = format!("say which room of reservation {} is moved", after.number);
        Refusal::invalid(format!("{pointer}/room_stay_id"), words)
    })?;
    room.room_type = Some(room_type);
    room.components = Some(parts.components.clone()).filter(|parts| !parts.is_empty());
    Ok(())
}

/// A guest leaves, or one of his rooms is given back and he keeps the others.
fn let_go(
    after: &mut Reservation,
    room: Option<RoomStayId>,
    told_channel: bool,
    pointer: &str,
) -> Result<(), Refusal> {
    match after.status {
        Status::Held | Status::Confirmed | Status::Cancelled => {}
        Status::CheckedIn => {
            return Err(Refusal::IllegalTransition(format!(
                "the guest of reservation {} is in the house: check him out, or choose another",
                after.number
            )));
        }
        status => {
            return Err(Refusal::IllegalTransition(format!(
                "reservation {} is {} and cannot be cancelled: choose another guest",
                after.number,
                status.in_words()
            )));
        }
    }
    if after.source == Source::Channel && !told_channel {
        return Err(Refusal::NeedsToldChannel);
    }
    let keeps_others = after.present_rooms().any(|one| Some(one.id) != room);
    match room.filter(|_| keeps_others && after.status != Status::Cancelled) {
        None => after.status = Status::Cancelled,
        Some(id) => {
            let mut rooms = after.rooms.iter_mut().filter(|one| !one.is_given_back);
            let found = rooms.find(|one| one.id == id).ok_or_else(|| {
                let words = format!("room {id} was given back before: leave it out");
                Refusal::invalid(format!("{pointer}/room_stay_id"), words)
            })?;
            found.is_given_back = true;
            after.detail.total = total(&after.rooms).or(after.detail.total);
            if !after.has_unmapped_room() {
                after.unflag("unmapped");
            }
        }
    }
    Ok(())
}

/// A channel finds another hotel for its own guests only.
pub fn is_of_channel(guest: &Reservation, ending: Ending, at: usize) -> Result<(), Refusal> {
    if ending != Ending::RelocatedByChannel || guest.source == Source::Channel {
        return Ok(());
    }
    let words = format!(
        "reservation {} was not sold by a channel, so none finds its guest another hotel: choose \
         walk or sister_property",
        guest.number
    );
    Err(Refusal::invalid(format!("/moves/{at}/reservation"), words))
}

/// Who leaves the house for a case has, or had, a room of its type on one of its nights: nobody
/// else is sent away in passing. Where one room is named, it is that one. `at` is the place of the
/// move.
pub fn is_concerned(
    guest: &Reservation,
    room: Option<RoomStayId>,
    (room_type, nights): (RoomTypeId, &[StayDate]),
    at: usize,
) -> Result<(), Refusal> {
    let takes = |room: &RoomStay| match &room.components {
        Some(parts) => parts.iter().any(|(part, _)| *part == room_type),
        None => room.room_type == Some(room_type),
    };
    let sleeps = |room: &RoomStay| {
        let mut nights = nights.iter();
        nights.any(|night| (room.arrival..room.departure).contains(night))
    };
    let is_meant = |one: &&RoomStay| room.is_none_or(|id| one.id == id);
    let mut meant = guest.rooms.iter().filter(is_meant);
    if meant.any(|room| takes(room) && sleeps(room)) {
        return Ok(());
    }
    let number = guest.number;
    let (field, words) = match room {
        Some(id) => (
            "room_stay_id",
            format!(
                "room {id} of reservation {number} is none of this type on the nights of the case: \
                 leave it out"
            ),
        ),
        None => (
            "reservation",
            format!(
                "reservation {number} has no room of this type on the nights of the case: leave it \
                 out"
            ),
        ),
    };
    Err(Refusal::invalid(format!("/moves/{at}/{field}"), words))
}

/// A reservation that leaves, as it stands: cancelling it writes the rest down.
pub(super) fn after_as_before(draft: &Draft, after: Reservation) -> Reservation {
    let present = draft.reservation((after.property, after.id)).cloned();
    present.unwrap_or(after)
}

const NO_TYPE: &str = "there is no such room type: give the code of one of the hotel's types";
