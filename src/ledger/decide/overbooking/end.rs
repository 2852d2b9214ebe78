//! A case is opened by hand, or ended: the moves of its guests and its end together, or neither.

use keyrack_model::id::{CaseId, PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, StayRange};

use super::beyond::{Shift, beyond, fits, shifts, still_over};
use super::cost::{approved, cost};
use super::moves::{Moved, after_as_before, check_shape, moved};
use super::sheet::{Ended, EndedMove, SeenCase, closed};
use crate::command::{Answer, Receipt};
use crate::decide::draft::Draft;
use crate::decide::hold::cancelled;
use crate::decide::refusal::Refusal;
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
    /// Which of its rooms; `None` is its only one, or of a guest who leaves all of them.
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
    let moved = moved(draft, (property, &case), &rules, end)?;
    let expected = cost(draft, &rules, end, &moved);
    let policy = &rules.policies.overbooking;
    approved(policy, case.approved_minor, (end, expected), rules.currency)?;
    let cost_minor = end.cost_minor.or(expected);
    let (delta, sold) = shifts(moved.values());
    fits(draft, property, &delta)?;
    if beyond(draft, property, &case, &Shift::new()).is_empty() {
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

/// What was written down of the moves.
struct Put {
    moves: Vec<EndedMove>,
    nights: Vec<(RoomTypeId, StayRange)>,
    last: Option<Reservation>,
}

/// Writes the moves down.
fn put_down(draft: &mut Draft, case: &SeenCase, end: &CaseEnd, moved: Moved) -> Put {
    let told = |one: &CaseMove| EndedMove {
        reservation: one.reservation,
        number: moved.get(&one.reservation).map_or(0, |(_, r)| r.number),
        room_stay: one.room_stay,
        room_type: one.to,
        elsewhere: one.elsewhere.clone(),
    };
    let moves = end.moves.iter().map(told).collect();
    let mut nights = Vec::new();
    let mut last = None;
    for (_, after) in moved.into_values() {
        let why = format!("overbooking case {}: {}", case.id, end.ending.as_str());
        let (after, touched) = match after.status {
            Status::Cancelled => cancelled(draft, after_as_before(draft, after), Some(&why)),
            _ => draft.put(after, "modified", Some(why)),
        };
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
        return Err(closed(found.id));
    }
    Ok(found)
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
