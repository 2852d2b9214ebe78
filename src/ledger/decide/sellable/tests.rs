//! Tables of stays and restrictions.

use RestrictionKind as Kind;
use jiff::civil::date;
use keyrack_model::stay::plus_days;

use super::*;

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

#[test]
fn lifting_one_closure_never_opens_another() {
    let stop = Restrictions {
        stop_sell: true,
        ..Default::default()
    };
    let property = RateNight {
        room_type: None,
        ..row(0, stop)
    };
    let plan = RateNight {
        rate_plan: Some(RatePlanId(7)),
        ..row(0, stop)
    };
    let account = RateNight {
        account: Some(AccountId(3)),
        ..row(0, stop)
    };
    let table = RateTable::from_iter([account, property, plan, row(0, Restrictions::default())]);
    let closed_by = |plan, account| {
        table
            .rules(RoomTypeId(1), plan, account, night(0))
            .closed_by
    };
    let (seven, three) = (Some(RatePlanId(7)), Some(AccountId(3)));
    assert_eq!(closed_by(None, None), [Layer::Property]);
    assert_eq!(closed_by(seven, None), [Layer::Property, Layer::RatePlan]);
    assert_eq!(
        closed_by(seven, three),
        [Layer::Property, Layer::RatePlan, Layer::Account]
    );
    assert_eq!(
        closed_by(Some(RatePlanId(8)), three),
        [Layer::Property, Layer::Account]
    );
}

#[test]
fn a_price_is_the_products_own_and_the_accounts_wins() {
    let priced = |plan, account, amount| RateNight {
        rate_plan: plan,
        account,
        amount_minor: Some(amount),
        ..row(0, Restrictions::default())
    };
    let (plan, account) = (Some(RatePlanId(7)), Some(AccountId(3)));
    let table = RateTable::from_iter([
        priced(plan, account, 90),
        priced(plan, None, 100),
        priced(None, None, 50),
    ]);
    let rate = |plan, account| {
        table
            .rules(RoomTypeId(1), plan, account, night(0))
            .rate_minor
    };
    assert_eq!(rate(plan, account), Some(90));
    assert_eq!(rate(plan, None), Some(100));
    assert_eq!(rate(None, None), Some(50));
    assert_eq!(rate(Some(RatePlanId(8)), None), None);
}
