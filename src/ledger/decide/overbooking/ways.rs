//! The ways out of an overbooking, each with its cost, the cheapest first (ledger, section 6).

use keyrack_model::overbooking::Ending;

use super::leaving::{asked_of_channel, relocation, sisters};
use super::way::{Situation, Sleeper, WayOut, way};
use super::within::{swaps, upgrades};

/// The ways out for those who are moved first, the cheapest first; what is not known comes last.
pub fn ways(situation: &Situation<'_>, first: &[Sleeper]) -> Vec<WayOut> {
    let mut found = Vec::new();
    for guest in first.iter().filter(|guest| !guest.in_house) {
        upgrades(situation, guest, &mut found);
        swaps(situation, guest, &mut found);
        sisters(situation, guest, &mut found);
        found.push(relocation(situation, guest));
        found.extend(asked_of_channel(situation, guest));
    }
    found.extend(waiting(situation, &found));
    found.sort_by_key(|way| (way.cost_minor.is_none(), way.cost_minor));
    found
}

/// Waiting costs nothing where it helps, and else the cheapest of the others.
fn waiting(situation: &Situation<'_>, found: &[WayOut]) -> Option<WayOut> {
    let words = match &situation.cure_percent {
        Err(why) => format!("Wait for a cancellation: {why}."),
        Ok(percent) => format!(
            "Wait for a cancellation: of a hundred such cases {percent} cure themselves before \
             the deadline, by the cancellations of the past."
        ),
    };
    let chance = situation.cure_percent.as_ref().ok().copied();
    let cheapest = found.iter().filter_map(|way| way.cost_minor).min();
    let cost = chance.zip(cheapest).map(|(percent, cost)| {
        let missed = i64::from(100 - percent.clamp(0, 100));
        cost.saturating_mul(missed) / 100
    });
    // Where the others cost nothing, waiting saves nothing: it stands behind them.
    let cost = cost.filter(|_| cheapest != Some(0));
    Some(WayOut {
        needs_approval: false,
        ..way(situation, Ending::Cured, cost, words)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::civil::date;
    use keyrack_model::id::{ReservationId, RoomStayId, RoomTypeId};
    use keyrack_model::inventory::NightBalance;
    use keyrack_model::stay::{Stay, StayRange};
    use uuid::Uuid;

    use super::*;
    use crate::decide::overbooking::policy::{Compensation, OverbookingPolicy};
    use crate::decide::overbooking::rooms::{Rooms, TypeFacts};

    const DOUBLE: RoomTypeId = RoomTypeId(1);
    const SUITE: RoomTypeId = RoomTypeId(2);

    fn stay(from: i8, to: i8) -> StayRange {
        Stay::new(date(2030, 3, from), date(2030, 3, to)).expect("a stay")
    }

    fn guest(number: i64, room_type: RoomTypeId, nights: StayRange) -> Sleeper {
        Sleeper {
            reservation: ReservationId(Uuid::from_u128(number.unsigned_abs().into())),
            number,
            version: 1,
            room_stay: RoomStayId(1),
            room_type,
            nights,
            quantity: 1,
            heads: Some((2, 0)),
            account: None,
            in_house: false,
        }
    }

    fn kind(id: RoomTypeId, code: &str, total_max: i32) -> TypeFacts {
        TypeFacts {
            id,
            code: code.to_owned(),
            heads_max: (total_max, 2, total_max),
            parts: vec![(id, 1)],
        }
    }

    /// Doubles and suites with so many rooms, sold as said for the nights from 1 March.
    fn rooms(doubles: (i32, &[i32]), suites: (i32, &[i32])) -> Rooms {
        let mut nights = BTreeMap::new();
        for (id, (physical, sold)) in [(DOUBLE, doubles), (SUITE, suites)] {
            for (day, sold) in (1..).zip(sold) {
                let balance = NightBalance {
                    physical,
                    sold: *sold,
                    ..NightBalance::default()
                };
                nights.insert((id, date(2030, 3, day)), balance.settled());
            }
        }
        Rooms {
            types: vec![kind(DOUBLE, "double", 2), kind(SUITE, "suite", 4)],
            nights,
        }
    }

    fn policy() -> OverbookingPolicy {
        OverbookingPolicy {
            compensation: vec![Compensation {
                amount_minor: 10_000,
                per_night_minor: 5_000,
                ..Compensation::default()
            }],
            upgrade_per_night_minor: 1_000,
            sister_per_night_minor: 2_000,
            approval_above_minor: Some(15_000),
            ..OverbookingPolicy::default()
        }
    }

    fn situation<'a>(policy: &'a OverbookingPolicy, rooms: Rooms) -> Situation<'a> {
        Situation {
            policy,
            today: date(2030, 2, 20),
            beyond: vec![(date(2030, 3, 1), 1)],
            rooms,
            others: Vec::new(),
            sisters: Vec::new(),
            cure_percent: Err("too little is known".to_owned()),
        }
    }

    fn shown(ways: &[WayOut]) -> Vec<(&'static str, Option<i64>, bool)> {
        let each = |way: &WayOut| (way.ending.as_str(), way.cost_minor, way.needs_approval);
        ways.iter().map(each).collect()
    }

    #[test]
    fn the_cheapest_way_comes_first_and_what_costs_more_is_a_managers() {
        let policy = policy();
        let mut here = situation(&policy, rooms((1, &[2, 1]), (1, &[0, 0])));
        here.sisters = vec![("seeblick".to_owned(), rooms((1, &[0, 0]), (0, &[0, 0])))];
        let through = Sleeper {
            account: Some("portal".to_owned()),
            ..guest(7, DOUBLE, stay(1, 3))
        };
        assert_eq!(
            shown(&ways(&here, &[through])),
            [
                ("upgrade", Some(2_000), false),
                ("sister_property", Some(4_000), false),
                ("walk", Some(20_000), true),
                ("relocated_by_channel", Some(20_000), true),
                ("cured", None, false),
            ]
        );
    }

    /// Whoever stands at the desk reads what to do, for whom, and from when to when.
    #[test]
    fn every_way_out_is_a_sentence() {
        let policies = [policy(), OverbookingPolicy::default()];
        for (policy, cure_percent) in policies.iter().zip([Ok(40), Err("too little".to_owned())]) {
            let mut here = situation(policy, rooms((1, &[2, 1]), (1, &[0, 0])));
            here.cure_percent = cure_percent;
            here.sisters = vec![("seeblick".to_owned(), rooms((1, &[0, 0]), (0, &[0, 0])))];
            let through = Sleeper {
                account: Some("portal".to_owned()),
                ..guest(7, DOUBLE, stay(1, 3))
            };
            let found = ways(&here, &[through]);
            assert_eq!(found.len(), 5);
            for way in found {
                let words = way.words;
                assert!(words.starts_with(char::is_uppercase), "{words}");
                assert!(words.ends_with('.') && !words.contains(".."), "{words}");
                let names_the_guest = words.contains("reservation 7");
                assert!(names_the_guest || way.ending == Ending::Cured, "{words}");
                assert!(!words.contains('_'), "{words}");
            }
        }
    }

    #[test]
    fn another_type_must_be_free_for_the_whole_stay_and_hold_the_guests() {
        let policy = policy();
        let here = situation(&policy, rooms((1, &[2, 1]), (1, &[0, 1])));
        let two_nights = guest(7, DOUBLE, stay(1, 3));
        let one_night = guest(8, DOUBLE, stay(1, 2));
        let many = Sleeper {
            heads: Some((5, 0)),
            ..one_night.clone()
        };
        let is_upgrade = |guest| {
            let found = ways(&here, &[guest]);
            found.iter().any(|way| way.ending == Ending::Upgrade)
        };
        assert!(!is_upgrade(two_nights) && is_upgrade(one_night) && !is_upgrade(many));
    }

    #[test]
    fn a_guest_whose_nights_are_free_in_the_oversold_type_swaps() {
        let policy = policy();
        // The suite is free on the first night and taken by 9 on the second; a double is left then.
        let mut here = situation(&policy, rooms((1, &[2, 1]), (1, &[0, 1])));
        here.others = vec![guest(9, SUITE, stay(2, 3))];
        let found = ways(&here, &[guest(7, DOUBLE, stay(1, 3))]);
        let swap = found.iter().find(|way| way.ending == Ending::Swap);
        let swap = swap.expect("a swap");
        let moves = swap.moves.iter().map(|(g, to)| (g.number, to.as_deref()));
        let moves: Vec<_> = moves.collect();
        assert_eq!(moves, [(7, Some("suite")), (9, Some("double"))]);
        // Both nights of the other would need a double that is not there.
        here.others = vec![guest(9, SUITE, stay(1, 3))];
        here.rooms = rooms((1, &[2, 2]), (1, &[1, 1]));
        let found = ways(&here, &[guest(7, DOUBLE, stay(1, 3))]);
        assert!(found.iter().all(|way| way.ending != Ending::Swap));
    }

    #[test]
    fn waiting_costs_what_is_left_of_the_cheapest() {
        let policy = OverbookingPolicy {
            upgrade_per_night_minor: 0,
            ..policy()
        };
        let mut here = situation(&policy, rooms((1, &[2]), (1, &[1])));
        here.cure_percent = Ok(75);
        let found = ways(&here, &[guest(7, DOUBLE, stay(1, 2))]);
        assert_eq!(
            shown(&found),
            [("cured", Some(3_750), false), ("walk", Some(15_000), false)]
        );
        here.rooms = rooms((1, &[2]), (1, &[0]));
        let found = ways(&here, &[guest(7, DOUBLE, stay(1, 2))]);
        assert_eq!(found[0].ending, Ending::Upgrade, "free beats waiting");
    }

    #[test]
    fn who_is_in_the_house_is_not_offered() {
        let policy = policy();
        let here = situation(&policy, rooms((1, &[2]), (1, &[0])));
        let guest = Sleeper {
            in_house: true,
            ..guest(7, DOUBLE, stay(1, 2))
        };
        assert_eq!(shown(&ways(&here, &[guest])), [("cured", None, false)]);
    }
}
