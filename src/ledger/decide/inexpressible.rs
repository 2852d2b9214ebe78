//! Restrictions that a channel cannot express: the night is closed there, something stricter is
//! told, or the hotel keeps the rule at the channel by hand.

use keyrack_model::channel::Inexpressible;
use keyrack_model::restriction::{RestrictionKind, Restrictions};
use keyrack_model::stay::days_between;

use super::cell::{Cell, Draft, Listening};

/// The restrictions that the channel can express; what it cannot closes the night, is told
/// stricter, or is left to the hotel at the channel, as the account says.
pub(super) fn restrict(
    draft: &mut Draft<'_>,
    cell: &Cell<'_>,
    listening: &Listening,
) -> Restrictions {
    if !cell.restricts {
        return Restrictions::default();
    }
    let mut told = Restrictions {
        stop_sell: false,
        ..cell.rules.restrictions
    };
    let expresses = |kind| listening.channel.restrictions.contains(&kind);
    for kind in told.kinds() {
        if expresses(kind) {
            continue;
        }
        let stricter = (listening.inexpressible == Inexpressible::Approximate)
            && kind == RestrictionKind::MinStayArrival
            && expresses(RestrictionKind::MinStayThrough);
        if stricter {
            // Whoever sleeps here must stay as long as who arrives here.
            told.min_stay_through = told.min_stay_through.max(told.min_stay_arrival);
            draft.say("inexpressible", || {
                "the minimum stay on arrival is told as one through the stay".to_owned()
            });
        } else if listening.inexpressible == Inexpressible::KeptAtChannel {
            draft.say("inexpressible", || {
                format!("{} is kept at the channel", words(kind))
            });
        } else if binds(kind, cell) {
            draft.closed = true;
            draft.say("inexpressible", || {
                format!("closed: the channel cannot express {}", words(kind))
            });
        }
        forget(&mut told, kind);
    }
    let departs = RestrictionKind::ClosedToDeparture;
    let closes = listening.inexpressible != Inexpressible::KeptAtChannel;
    let leaves = cell.next.restrictions.closed_to_departure;
    if leaves && closes && !expresses(departs) {
        draft.closed = true;
        draft.say("inexpressible", || {
            "closed: nobody departs the morning after, which the channel cannot express".to_owned()
        });
    }
    told
}

/// Whether closing the night is what the rule asks for now: rules of booking ahead bind only on
/// some days, and who may not depart on a date must not sleep on the night before it.
fn binds(kind: RestrictionKind, cell: &Cell<'_>) -> bool {
    let lead = days_between(cell.business_day, cell.night);
    let rules = cell.rules.restrictions;
    match kind {
        RestrictionKind::MinAdvanceDays => rules.min_advance_days.is_some_and(|days| lead < days),
        RestrictionKind::MaxAdvanceDays => rules.max_advance_days.is_some_and(|days| lead > days),
        RestrictionKind::ClosedToDeparture => false,
        _ => true,
    }
}

fn forget(told: &mut Restrictions, kind: RestrictionKind) {
    match kind {
        RestrictionKind::MinStayArrival => told.min_stay_arrival = None,
        RestrictionKind::MinStayThrough => told.min_stay_through = None,
        RestrictionKind::MaxStay => told.max_stay = None,
        RestrictionKind::ClosedToArrival => told.closed_to_arrival = false,
        RestrictionKind::ClosedToDeparture => told.closed_to_departure = false,
        RestrictionKind::MinAdvanceDays => told.min_advance_days = None,
        RestrictionKind::MaxAdvanceDays => told.max_advance_days = None,
        RestrictionKind::StopSell => told.stop_sell = false,
    }
}

fn words(kind: RestrictionKind) -> &'static str {
    match kind {
        RestrictionKind::MinStayArrival => "a minimum stay on arrival",
        RestrictionKind::MinStayThrough => "a minimum stay through the stay",
        RestrictionKind::MaxStay => "a maximum stay",
        RestrictionKind::ClosedToArrival => "closed to arrival",
        RestrictionKind::ClosedToDeparture => "closed to departure",
        RestrictionKind::MinAdvanceDays => "a minimum of days in advance",
        RestrictionKind::MaxAdvanceDays => "a maximum of days in advance",
        RestrictionKind::StopSell => "a stop sell",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::buffer::tell;
    use crate::decide::cell_samples::{ABLE, DUMB, NONE, OPEN, POOR, listening, room};
    use crate::decide::layer::NightRules;

    fn rules(restrictions: Restrictions) -> NightRules {
        NightRules {
            restrictions,
            ..OPEN
        }
    }

    /// Each kind once, with whether it closes a night ten days ahead where it cannot be told.
    fn table() -> Vec<(Restrictions, bool)> {
        let of = |set: fn(&mut Restrictions), closes| {
            let mut restrictions = NONE;
            set(&mut restrictions);
            (restrictions, closes)
        };
        vec![
            of(|r| r.min_stay_arrival = Some(3), true),
            of(|r| r.min_stay_through = Some(3), true),
            of(|r| r.max_stay = Some(3), true),
            of(|r| r.closed_to_arrival = true, true),
            // Who departs on this date slept on the night before.
            of(|r| r.closed_to_departure = true, false),
            of(|r| r.min_advance_days = Some(11), true),
            of(|r| r.min_advance_days = Some(10), false),
            of(|r| r.max_advance_days = Some(9), true),
            of(|r| r.max_advance_days = Some(10), false),
        ]
    }

    #[test]
    fn r28_a_rule_that_the_channel_cannot_express_closes_its_nights_and_says_why() {
        for (restrictions, closes) in table() {
            let rules = rules(restrictions);
            let cell = Cell {
                rules: &rules,
                restricts: true,
                ..room(3, 3)
            };
            let mut lines = Vec::new();
            let told = tell(&cell, &[], &listening(&DUMB), Some(&mut lines));
            assert_eq!(told.closed, closes, "{restrictions:?}");
            assert_eq!(
                lines.iter().any(|line| line.step == "inexpressible"),
                closes
            );
            assert_eq!(told.restrictions, NONE);
            let mut kept = listening(&DUMB);
            kept.inexpressible = Inexpressible::KeptAtChannel;
            assert!(!tell(&cell, &[], &kept, None).closed);
            let expressed = tell(&cell, &[], &listening(&ABLE), None);
            assert_eq!(
                (expressed.closed, expressed.restrictions),
                (false, restrictions)
            );
        }
    }

    #[test]
    fn nobody_sleeps_where_nobody_may_depart_the_morning_after() {
        let departs = rules(Restrictions {
            closed_to_departure: true,
            ..NONE
        });
        let before = Cell {
            next: &departs,
            restricts: true,
            ..room(3, 3)
        };
        assert!(tell(&before, &[], &listening(&DUMB), None).closed);
        assert!(!tell(&before, &[], &listening(&ABLE), None).closed);
    }

    #[test]
    fn an_approximation_is_stricter_and_closes_where_there_is_none() {
        let mut approximate = listening(&POOR);
        approximate.inexpressible = Inexpressible::Approximate;
        let arrival = rules(Restrictions {
            min_stay_arrival: Some(3),
            ..NONE
        });
        let cell = Cell {
            rules: &arrival,
            restricts: true,
            ..room(3, 3)
        };
        let told = tell(&cell, &[], &approximate, None);
        let through = Restrictions {
            min_stay_through: Some(3),
            ..NONE
        };
        assert_eq!((told.closed, told.restrictions), (false, through));
        let longest = rules(Restrictions {
            max_stay: Some(3),
            ..NONE
        });
        let cell = Cell {
            rules: &longest,
            ..cell
        };
        assert!(tell(&cell, &[], &approximate, None).closed);
    }
}
