//! What the end of a case costs, and who may spend it.

use keyrack_model::money::{Currency, Money};
use keyrack_model::overbooking::Ending;
use keyrack_model::stay::StayDate;

use super::end::CaseEnd;
use super::moves::Moved;
use super::policy::{OverbookingPolicy, lead_days, nights_ahead};
use crate::decide::draft::Draft;
use crate::decide::refusal::Refusal;
use crate::decide::rules::Rules;
use crate::decide::state::RoomStay;

/// What the policy says of the moves; `None` where it says nothing.
pub(super) fn cost(draft: &Draft, rules: &Rules, end: &CaseEnd, moved: &Moved) -> Option<i64> {
    let rooms = moved.values().flat_map(|(before, after)| {
        let stays = |room: &RoomStay| {
            let mut others = after.present_rooms();
            after.status == before.status
                && others.any(|one| one.id == room.id && one.room_type == room.room_type)
        };
        before.present_rooms().filter(move |room| !stays(room))
    });
    let today = rules.business_day(draft.now());
    policy_minor(&rules.policies.overbooking, end.ending, today, rooms)
}

/// What the policy says of rooms that are moved by such an ending, in minor units. What a channel
/// bills for finding another hotel is about what a walk costs. `None` where it says nothing.
pub fn policy_minor<'a>(
    policy: &OverbookingPolicy,
    ending: Ending,
    today: StayDate,
    rooms: impl Iterator<Item = &'a RoomStay>,
) -> Option<i64> {
    let per_night = match ending {
        Ending::Upgrade => Some(policy.upgrade_per_night_minor),
        Ending::SisterProperty => Some(policy.sister_per_night_minor),
        Ending::Walk | Ending::RelocatedByChannel => None,
        _ => return None,
    };
    let mut sum: i64 = 0;
    for room in rooms {
        let nights = nights_ahead(today, room.arrival, room.departure);
        let lead = lead_days(today, room.arrival);
        let one = match per_night {
            Some(minor) => minor.checked_mul(i64::from(nights) * i64::from(room.quantity))?,
            None => policy.walk_minor(nights, lead, room.quantity)?,
        };
        sum = sum.checked_add(one)?;
    }
    Some(sum)
}

/// Whether the end of a case may cost what it does: within the policy, or within what a manager has
/// approved. The greater of what was said and what the policy expects counts: nobody goes round an
/// approval by saying less. Of a channel's bill only the channel knows, so what was said of it
/// counts.
pub fn approved(
    policy: &OverbookingPolicy,
    up_to_minor: Option<i64>,
    (end, expected_minor): (&CaseEnd, Option<i64>),
    currency: Currency,
) -> Result<(), Refusal> {
    if end.may_approve {
        return Ok(());
    }
    let cost_minor = match end.ending {
        Ending::RelocatedByChannel => end.cost_minor.or(expected_minor),
        _ => end.cost_minor.max(expected_minor),
    };
    let Some(cost_minor) = cost_minor else {
        return Ok(());
    };
    let is_approved = up_to_minor.is_some_and(|up_to| cost_minor <= up_to);
    if is_approved || !policy.needs_approval(cost_minor) {
        return Ok(());
    }
    Err(Refusal::NeedsApproval {
        cost: Money::new(cost_minor, currency),
        above: Money::new(policy.approval_above_minor.unwrap_or(0), currency),
    })
}
