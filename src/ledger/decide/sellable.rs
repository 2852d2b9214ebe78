//! May this stay be sold? What in the rules of its nights stands in the way.

use keyrack_model::restriction::{RestrictionKind, Restrictions};
use keyrack_model::stay::{Stay, StayDate, days_between};

use super::layer::{Layer, NightRules};

/// Something that stands in the way of a stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// What kind.
    pub kind: HindranceKind,
    /// In words, with the numbers.
    pub why: String,
    /// The nights that say so; of a closed departure, the departure date.
    pub nights: Vec<StayDate>,
}

/// What kind of hindrance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HindranceKind {
    /// Stop sell.
    Closed,
    /// A stay rule.
    Restriction(RestrictionKind),
}

/// Everything in the rules that stands in the way of a stay booked on `business_day`; nothing where
/// it may be sold. `rules` answers for each night of the stay and for its departure date.
pub fn hindrance(
    rules: &dyn Fn(StayDate) -> NightRules,
    stay: Stay,
    business_day: StayDate,
) -> Vec<Hindrance> {
    let nights: Vec<(StayDate, NightRules)> =
        stay.nights().map(|night| (night, rules(night))).collect();
    let mut found = Vec::new();
    found.extend(closed(&nights));
    let arrival = nights[0].1.restrictions;
    found.extend(on_arrival(stay, arrival));
    found.extend(through(stay, &nights));
    if rules(stay.departure()).restrictions.closed_to_departure {
        found.push(restriction(
            RestrictionKind::ClosedToDeparture,
            "nobody departs on this date".to_owned(),
            stay.departure(),
        ));
    }
    found.extend(in_advance(stay, arrival, business_day));
    found
}

/// Stop sell on any night that is slept.
fn closed(nights: &[(StayDate, NightRules)]) -> Option<Hindrance> {
    let stopped: Vec<_> = nights
        .iter()
        .filter(|(_, rules)| rules.restrictions.stop_sell)
        .collect();
    let mut layers: Vec<Layer> = stopped
        .iter()
        .flat_map(|(_, rules)| rules.closed_by.iter().copied())
        .collect();
    layers.sort_unstable();
    layers.dedup();
    let layers: Vec<&str> = layers.into_iter().map(Layer::as_str).collect();
    (!stopped.is_empty()).then(|| Hindrance {
        kind: HindranceKind::Closed,
        why: format!("closed for sale by {}", layers.join(", ")),
        nights: stopped.iter().map(|(night, _)| *night).collect(),
    })
}

/// What the arrival's night asks of a stay that begins on it.
fn on_arrival(stay: Stay, rules: Restrictions) -> impl Iterator<Item = Hindrance> {
    let length = stay.length();
    let least = rules.min_stay_arrival.filter(|least| length < *least);
    let most = rules.max_stay.filter(|most| length > *most);
    [
        least.map(|least| {
            let why = format!("arrivals on this night stay {least} nights or more, not {length}");
            (RestrictionKind::MinStayArrival, why)
        }),
        most.map(|most| {
            let why = format!("arrivals on this night stay {most} nights at most, not {length}");
            (RestrictionKind::MaxStay, why)
        }),
        rules.closed_to_arrival.then(|| {
            let why = "nobody arrives on this night".to_owned();
            (RestrictionKind::ClosedToArrival, why)
        }),
    ]
    .into_iter()
    .flatten()
    .map(move |(kind, why)| restriction(kind, why, stay.arrival()))
}

/// What each night asks of whoever sleeps on it.
fn through(stay: Stay, nights: &[(StayDate, NightRules)]) -> Option<Hindrance> {
    let length = stay.length();
    let binding: Vec<(StayDate, i32)> = nights
        .iter()
        .filter_map(|(night, rules)| Some((*night, rules.restrictions.min_stay_through?)))
        .filter(|(_, least)| length < *least)
        .collect();
    let least = binding.iter().map(|(_, least)| *least).max()?;
    Some(Hindrance {
        kind: HindranceKind::Restriction(RestrictionKind::MinStayThrough),
        why: format!("who sleeps on these nights stays {least} nights or more, not {length}"),
        nights: binding.into_iter().map(|(night, _)| night).collect(),
    })
}

/// How early and how late the arrival may be booked.
fn in_advance(
    stay: Stay,
    rules: Restrictions,
    business_day: StayDate,
) -> impl Iterator<Item = Hindrance> {
    let lead = days_between(business_day, stay.arrival());
    let late = rules.min_advance_days.filter(|days| lead < *days);
    let early = rules.max_advance_days.filter(|days| lead > *days);
    [
        late.map(|days| {
            let why = format!("must be booked {days} days before arrival or more, not {lead}");
            (RestrictionKind::MinAdvanceDays, why)
        }),
        early.map(|days| {
            let why = format!("can be booked {days} days before arrival at most, not {lead}");
            (RestrictionKind::MaxAdvanceDays, why)
        }),
    ]
    .into_iter()
    .flatten()
    .map(move |(kind, why)| restriction(kind, why, stay.arrival()))
}

fn restriction(kind: RestrictionKind, why: String, night: StayDate) -> Hindrance {
    Hindrance {
        kind: HindranceKind::Restriction(kind),
        why,
        nights: vec![night],
    }
}

#[cfg(test)]
mod tests {
    use RestrictionKind as Kind;
    use jiff::civil::date;
    use keyrack_model::id::RoomTypeId;
    use keyrack_model::stay::plus_days;

    use super::*;
    use crate::decide::layer::{RateNight, RateTable};

    fn night(offset: i32) -> StayDate {
        plus_days(date(2030, 7, 1), offset)
    }

    fn stay(from: i32, to: i32) -> Stay {
        Stay::new(night(from), night(to)).expect("a stay")
    }

    fn row(offset: i32, restrictions: Restrictions) -> RateNight {
        RateNight {
            room_type: Some(RoomTypeId(1)),
            rate_plan: None,
            account: None,
            night: night(offset),
            amount_minor: None,
            occupancy_rates: None,
            restrictions,
        }
    }

    /// Kinds that hinder a stay booked on night -10, where one night has restrictions.
    fn hinders(at: i32, restrictions: Restrictions, stay: Stay) -> Vec<HindranceKind> {
        let table = RateTable::from_iter([row(at, restrictions)]);
        let rules = |night| table.rules(RoomTypeId(1), None, None, night);
        hindrance(&rules, stay, night(-10))
            .into_iter()
            .map(|h| h.kind)
            .collect()
    }

    #[test]
    fn r29_a_minimum_on_arrival_binds_arrivals_and_one_through_the_stay_binds_sleepers() {
        let arrival = Restrictions {
            min_stay_arrival: Some(3),
            ..Default::default()
        };
        let through = Restrictions {
            min_stay_through: Some(3),
            ..Default::default()
        };
        // Seven weeks' days, so that none falls through a gap.
        for day in 0..7 {
            for (from, to, by_arrival, by_through) in [
                (-1, 1, false, true),  // arrives before, sleeps on it
                (0, 2, true, true),    // arrives on it
                (1, 3, false, false),  // arrives after
                (-2, 0, false, false), // departs on it
                (-1, 2, false, false), // long enough
                (0, 3, false, false),
            ] {
                let stay = stay(day + from, day + to);
                let case = format!("{stay} with the rule on {}", night(day));
                let hindered = hinders(day, arrival, stay);
                let kind = HindranceKind::Restriction(Kind::MinStayArrival);
                assert_eq!(hindered.contains(&kind), by_arrival, "{case}");
                assert_eq!(hindered.is_empty(), !by_arrival, "{case}");
                let hindered = hinders(day, through, stay);
                let kind = HindranceKind::Restriction(Kind::MinStayThrough);
                assert_eq!(hindered.contains(&kind), by_through, "{case}");
                assert_eq!(hindered.is_empty(), !by_through, "{case}");
            }
        }
    }

    #[test]
    fn r28_each_kind_of_restriction_hinders_by_itself() {
        let none = Restrictions::default();
        let table = [
            (
                0,
                Restrictions {
                    max_stay: Some(1),
                    ..none
                },
                Kind::MaxStay,
            ),
            (
                0,
                Restrictions {
                    closed_to_arrival: true,
                    ..none
                },
                Kind::ClosedToArrival,
            ),
            (
                2,
                Restrictions {
                    closed_to_departure: true,
                    ..none
                },
                Kind::ClosedToDeparture,
            ),
            (
                0,
                Restrictions {
                    min_advance_days: Some(11),
                    ..none
                },
                Kind::MinAdvanceDays,
            ),
            (
                0,
                Restrictions {
                    max_advance_days: Some(9),
                    ..none
                },
                Kind::MaxAdvanceDays,
            ),
        ];
        for (at, rules, kind) in table {
            let hindered = hinders(at, rules, stay(0, 2));
            assert_eq!(hindered, [HindranceKind::Restriction(kind)], "{kind:?}");
            // On the other side of the stay, and on a stay that fits, nothing stands in the way.
            assert_eq!(hinders(if at == 0 { 2 } else { 0 }, rules, stay(0, 2)), []);
        }
        let fits = Restrictions {
            min_advance_days: Some(10),
            max_advance_days: Some(10),
            ..none
        };
        assert_eq!(hinders(0, fits, stay(0, 2)), []);
        let stop = Restrictions {
            stop_sell: true,
            ..none
        };
        for (from, to, closed) in [(-2, 0, false), (-1, 1, true), (0, 1, true), (1, 2, false)] {
            let hindered = hinders(0, stop, stay(from, to));
            assert_eq!(
                hindered.contains(&HindranceKind::Closed),
                closed,
                "{from}..{to}"
            );
        }
    }
}
