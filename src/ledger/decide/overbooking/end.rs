//! A case is opened by hand, or ended: the moves of its guests and its end together, or neither.

use std::collections::BTreeMap;

use keyrack_model::id::{CaseId, PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::{Source, Status};
use keyrack_model::stay::{StayDate, StayRange};

use super::policy::{OverbookingPolicy, lead_days, nights_ahead};
use super::sheet::{Ended, EndedMove, SeenCase};
use crate::command::{Answer, Receipt};
use crate::decide::draft::Draft;
use crate::decide::hold::{cancelled, present};
use crate::decide::refusal::Refusal;
use crate::decide::revise::{Claim, TypeNight, difference};
use crate::decide::rules::Rules;
use crate::decide::state::Reservation;

/// A case ends: how, and what is moved for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseEnd {
    /// Which.
    pub case: CaseId,
    /// The version that was read, where the caller says.
    pub version: Option<i64>,
    /// How.
    pub ending: Ending,
    /// Who is moved, and where to.
    pub moves: Vec<CaseMove>,
    /// What it costs, in minor units of the property's currency. `None` asks the policy.
    pub cost_minor: Option<i64>,
    /// Why, in words; needed where nothing is done.
    pub note: Option<String>,
    /// The channel knows: needed where a channel's guest leaves.
    pub told_channel: bool,
    /// The caller may approve what it costs.
    pub may_approve: bool,
    /// Only asks whether it would be refused.
    pub rehearses: bool,
}

/// A guest is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseMove {
    /// Which.
    pub reservation: ReservationId,
    /// The version that was read, where the caller says.
    pub version: Option<i64>,
    /// Which of its rooms; `None` is its only one.
    pub room_stay: Option<RoomStayId>,
    /// To rooms of this type; `None` is out of the house.
    pub to: Option<RoomTypeId>,
    /// Where a guest who leaves sleeps instead, for people.
    pub elsewhere: Option<String>,
}

/// Opens a case by hand, on nights with more sold than can be slept in.
pub fn open(
    draft: &mut Draft,
    property: PropertyId,
    (room_type, nights): (RoomTypeId, StayRange),
) -> Answer {
    let rules = draft.rules(property);
    let known = rules.types.get(&room_type);
    let known = known.ok_or_else(|| Refusal::NotFound("room type".to_owned()))?;
    if !known.components.is_empty() {
        let words = "a composed type has no stock of its own: open it for one of its components";
        return Err(Refusal::invalid("/room_type", words));
    }
    let beyond: Vec<(StayDate, i32)> = nights
        .nights()
        .map(|night| {
            let balance = draft.night(property, (room_type, night));
            (night, balance.sold - balance.usable())
        })
        .collect();
    if let Some((night, rooms)) = beyond.iter().find(|(_, rooms)| *rooms <= 0) {
        let words = format!(
            "nothing is oversold on {night}: {} of the rooms that can be slept in are not sold. \
             If rooms cannot be used, put them out of order first",
            -rooms
        );
        return Err(Refusal::IllegalTransition(words));
    }
    for (night, _) in &beyond {
        let key = (property, room_type, *night);
        draft.review(key);
        let by = draft.asking();
        draft.cases.open_by_hand(key, by);
    }
    Ok(told("case_opened", None, vec![(room_type, nights)]))
}

/// Ends a case. Nothing is ended silently: rooms that would stay beyond are a refusal, unless they
/// are accepted for a reason.
pub fn end(draft: &mut Draft, property: PropertyId, end: &CaseEnd) -> Answer {
    let case = seen(draft, property, end)?;
    let rules = draft.rules(property);
    check_shape(end)?;
    let moved = moved(draft, property, &rules, end)?;
    let cost_minor = cost(draft, &rules, end, &moved);
    if let Some(cost) = cost_minor {
        approved(&rules.policies.overbooking, &case, end, cost)?;
    }
    let (delta, sold) = shifts(moved.values());
    fits(draft, property, &delta)?;
    if beyond(draft, property, &case, &BTreeMap::new()).is_empty() {
        let words = "nothing is beyond any more: a cancellation or a change has cured it";
        return Err(Refusal::IllegalTransition(words.to_owned()));
    }
    let beyond = beyond(draft, property, &case, &sold);
    if end.ending != Ending::AcceptedAsIs && !beyond.is_empty() {
        return Err(Refusal::IllegalTransition(still_over(&beyond)));
    }
    if end.rehearses {
        return Ok(told("case_rehearsed", None, Vec::new()));
    }
    let Put {
        moves,
        nights,
        last,
    } = put_down(draft, &case, end, moved);
    for night in &case.nights {
        draft.review((property, case.room_type, *night));
    }
    let (currency, by) = (rules.currency, draft.asking());
    draft.cases.end(Ended {
        property,
        case: case.id,
        version: case.version,
        room_type: case.room_type,
        beyond: case
            .nights
            .iter()
            .map(|night| {
                let left = beyond.iter().find(|(known, _)| known == night);
                (*night, left.map_or(0, |(_, rooms)| *rooms))
            })
            .collect(),
        ending: end.ending,
        cost: cost_minor.map(|minor| (minor, currency)),
        moves,
        note: end.note.clone(),
        by,
    });
    Ok(told("case_ended", last, nights))
}

/// By how much the moves change what is taken of nights, and of that what is sold.
fn shifts<'a>(moved: impl Iterator<Item = &'a (Reservation, Reservation)>) -> (Shift, Shift) {
    let (mut delta, mut sold) = (Shift::new(), Shift::new());
    for (before, after) in moved {
        for (night, rooms) in difference(&Claim::of(before), &Claim::of(after)) {
            *delta.entry(night).or_insert(0) += rooms;
            if before.status != Status::Held {
                *sold.entry(night).or_insert(0) += rooms;
            }
        }
    }
    (delta, sold)
}

type Shift = BTreeMap<TypeNight, i32>;

/// What was written down of the moves.
struct Put {
    moves: Vec<EndedMove>,
    nights: Vec<(RoomTypeId, StayRange)>,
    last: Option<Reservation>,
}

/// Writes the moves down.
fn put_down(draft: &mut Draft, case: &SeenCase, end: &CaseEnd, moved: Moved) -> Put {
    let mut moves = Vec::new();
    let mut nights = Vec::new();
    let mut last = None;
    for (id, (_, after)) in moved {
        let wished = end.moves.iter().find(|wished| wished.reservation == id);
        let why = format!("overbooking case {}: {}", case.id, end.ending.as_str());
        let (after, touched) = match after.status {
            Status::Cancelled => cancelled(draft, after_as_before(draft, after), Some(&why)),
            _ => draft.put(after, "modified", Some(why)),
        };
        moves.push(EndedMove {
            reservation: id,
            number: after.number,
            room_type: wished.and_then(|wished| wished.to),
            elsewhere: wished.and_then(|wished| wished.elsewhere.clone()),
        });
        nights.extend(touched);
        last = Some(after);
    }
    Put {
        moves,
        nights,
        last,
    }
}

fn seen(draft: &Draft, property: PropertyId, end: &CaseEnd) -> Result<SeenCase, Refusal> {
    let found = draft.seen.cases.get(&(property, end.case)).cloned();
    let found = found.ok_or_else(|| Refusal::NotFound("overbooking case".to_owned()))?;
    if end.version.is_some_and(|read| read != found.version) {
        return Err(Refusal::VersionMismatch {
            current: found.version,
        });
    }
    if !found.is_open {
        let words = format!(
            "overbooking case {} is closed: open it again first",
            found.id
        );
        return Err(Refusal::IllegalTransition(words));
    }
    Ok(found)
}

/// What each ending needs, and what it does not take.
fn check_shape(end: &CaseEnd) -> Result<(), Refusal> {
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
    let reason = end.note.as_deref().unwrap_or_default().trim();
    if end.ending == Ending::AcceptedAsIs && reason.is_empty() {
        return wrong("/note", "to accept it as it is takes a reason");
    }
    if end.cost_minor.is_some_and(|cost| cost < 0) {
        return wrong("/cost", "a cost is not negative");
    }
    Ok(())
}

type Moved = BTreeMap<ReservationId, (Reservation, Reservation)>;

/// The reservations before and after their moves; nothing is written down yet.
fn moved(
    draft: &Draft,
    property: PropertyId,
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
            None => let_go(after, end.told_channel)?,
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
            "reservation {} is {}: it takes no room that could be another",
            after.number,
            after.status.as_str()
        )));
    }
    let known = rules.types.get(&room_type);
    let parts = known
        .ok_or_else(|| Refusal::invalid(format!("{pointer}/room_type"), "no such room type"))?;
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

fn let_go(after: &mut Reservation, told_channel: bool) -> Result<(), Refusal> {
    match after.status {
        Status::Held | Status::Confirmed | Status::Cancelled => {}
        Status::CheckedIn => {
            return Err(Refusal::IllegalTransition(format!(
                "the guest of reservation {} is in the house: check out instead",
                after.number
            )));
        }
        status => {
            return Err(Refusal::IllegalTransition(format!(
                "reservation {} is {}: it is not cancelled",
                after.number,
                status.as_str()
            )));
        }
    }
    if after.source == Source::Channel && !told_channel {
        return Err(Refusal::NeedsToldChannel);
    }
    after.status = Status::Cancelled;
    Ok(())
}

/// A reservation that leaves, as it stands: cancelling it writes the rest down.
fn after_as_before(draft: &Draft, after: Reservation) -> Reservation {
    let present = draft.reservation((after.property, after.id)).cloned();
    present.unwrap_or(after)
}

/// What was said, else what the policy says of the moves.
fn cost(draft: &Draft, rules: &Rules, end: &CaseEnd, moved: &Moved) -> Option<i64> {
    if end.cost_minor.is_some() {
        return end.cost_minor;
    }
    let policy = &rules.policies.overbooking;
    let today = rules.business_day(draft.now());
    let per_night = match end.ending {
        Ending::Upgrade => Some(policy.upgrade_per_night_minor),
        Ending::SisterProperty => Some(policy.sister_per_night_minor),
        Ending::Walk => None,
        _ => return None,
    };
    let mut sum: i64 = 0;
    for (before, _) in moved.values() {
        for room in before.present_rooms() {
            let nights = nights_ahead(today, room.arrival, room.departure);
            let lead = lead_days(today, room.arrival);
            let one = match per_night {
                Some(minor) => minor.checked_mul(i64::from(nights) * i64::from(room.quantity))?,
                None => policy.walk_minor(nights, lead, room.quantity)?,
            };
            sum = sum.checked_add(one)?;
        }
    }
    Some(sum)
}

fn approved(
    policy: &OverbookingPolicy,
    case: &SeenCase,
    end: &CaseEnd,
    cost: i64,
) -> Result<(), Refusal> {
    let is_approved = end.may_approve || case.approved_minor.is_some_and(|up_to| cost <= up_to);
    if is_approved || !policy.needs_approval(cost) {
        return Ok(());
    }
    Err(Refusal::NeedsApproval {
        cost_minor: cost,
        above_minor: policy.approval_above_minor.unwrap_or(0),
    })
}

/// Whether the rooms that guests are moved to can be slept in: an overbooking is not cured by
/// another, meant or not.
fn fits(
    draft: &mut Draft,
    property: PropertyId,
    delta: &BTreeMap<TypeNight, i32>,
) -> Result<(), Refusal> {
    let mut short = Vec::new();
    let mut starved = false;
    for (night, rooms) in delta.iter().filter(|(_, rooms)| **rooms > 0) {
        let balance = draft.night(property, *night);
        let taken = balance.sold + balance.held + balance.allotted;
        if taken + rooms > balance.usable() {
            short.push(*night);
            starved |= balance.held > 0;
        }
    }
    if starved {
        draft.starve(property);
    }
    if short.is_empty() {
        return Ok(());
    }
    Err(Refusal::SoldOut(short))
}

/// Nights of the case that would have more sold than can be slept in, and by how many rooms.
fn beyond(
    draft: &mut Draft,
    property: PropertyId,
    case: &SeenCase,
    sold: &BTreeMap<TypeNight, i32>,
) -> Vec<(StayDate, i32)> {
    let mut found = Vec::new();
    for night in &case.nights {
        let key = (case.room_type, *night);
        let balance = draft.night(property, key);
        let rooms = balance.sold + sold.get(&key).unwrap_or(&0) - balance.usable();
        if rooms > 0 {
            found.push((*night, rooms));
        }
    }
    found
}

fn still_over(beyond: &[(StayDate, i32)]) -> String {
    let each = |(night, rooms): &(StayDate, i32)| {
        let noun = if *rooms == 1 { "room" } else { "rooms" };
        format!("{rooms} {noun} on {night}")
    };
    let nights: Vec<String> = beyond.iter().map(each).collect();
    format!(
        "more would still be sold than there is: {}. Move more guests in the same request, or \
         accept it as it is with a reason",
        nights.join(", ")
    )
}

fn told(
    did: &str,
    reservation: Option<Reservation>,
    nights: Vec<(RoomTypeId, StayRange)>,
) -> Receipt {
    Receipt {
        reservation: reservation.map(Box::new),
        did: did.to_owned(),
        nights,
        short: Vec::new(),
        is_replay: false,
    }
}
