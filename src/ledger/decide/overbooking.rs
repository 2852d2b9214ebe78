//! When a night needs an open case in the overbooking-resolution queue.

pub mod beyond;
pub mod cost;
pub mod end;
pub mod forecast;
pub mod leaving;
pub mod limits;
pub mod moves;
pub mod policy;
pub mod rank;
pub mod rooms;
pub mod sheet;
pub mod way;
pub mod ways;
pub mod within;
pub mod words;

use keyrack_model::inventory::NightBalance;

/// A night with more sold than can be slept in needs a case; what was meant (within the overbooking
/// limit) only when it is nearer than `meant_days` (ledger, section 6).
pub fn needs_case(night: &NightBalance, lead_days: i32, meant_days: i32) -> bool {
    let beyond = night.beyond();
    beyond > 0 && (beyond > night.overbooking_limit || lead_days < meant_days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_opens_a_case_only_when_it_is_near() {
        let cases = [
            (3, 0, 3, 0, 10, false),
            (3, 0, 4, 0, 10, true),
            (3, 1, 3, 0, 10, true),
            (3, 0, 4, 1, 10, false),
            (3, 0, 4, 1, 2, true),
            (3, 0, 5, 1, 10, true),
            // Fewer rooms than are out of order: nobody sleeps there, and nobody is looked after.
            (2, 3, 0, 0, 2, false),
            (2, 3, 1, 0, 2, true),
            (2, 3, 1, 1, 10, false),
        ];
        for (physical, out_of_order, sold, overbooking_limit, lead, expected) in cases {
            let night = NightBalance {
                physical,
                out_of_order,
                sold,
                overbooking_limit,
                ..NightBalance::default()
            };
            assert_eq!(
                needs_case(&night.settled(), lead, 3),
                expected,
                "{night:?} {lead}"
            );
        }
    }

    #[test]
    fn an_overdraft_of_holds_alone_is_no_case() {
        let night = NightBalance {
            physical: 1,
            held: 2,
            ..NightBalance::default()
        }
        .settled();
        assert_eq!((night.oversold, needs_case(&night, 0, 3)), (1, false));
    }
}
