//! What the end of a case costs, and who may spend it.

use keyrack_model::money::{Currency, Money};
use keyrack_model::overbooking::Ending;

use super::end::CaseEnd;
use super::moves::Moved;
use super::policy::{OverbookingPolicy, lead_days, nights_ahead};
use crate::decide::draft::Draft;
use crate::decide::refusal::Refusal;
use crate::decide::rules::Rules;

/// What was said, else what the policy says of the moves.
pub(super) fn cost(draft: &Draft, rules: &Rules, end: &CaseEnd, moved: &Moved) -> Option<i64> {
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

/// Whether a cost may be spent: within the policy, or within what a manager has approved.
pub fn approved(
    policy: &OverbookingPolicy,
    up_to_minor: Option<i64>,
    (cost_minor, currency): (i64, Currency),
) -> Result<(), Refusal> {
    let is_approved = up_to_minor.is_some_and(|up_to| cost_minor <= up_to);
    if is_approved || !policy.needs_approval(cost_minor) {
        return Ok(());
    }
    Err(Refusal::NeedsApproval {
        cost: Money::new(cost_minor, currency),
        above: Money::new(policy.approval_above_minor.unwrap_or(0), currency),
    })
}
