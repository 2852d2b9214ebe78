//! The ways out of an overbooking, each with its cost, the cheapest first (ledger, section 6).

use keyrack_model::id::{ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::stay::{Stay, StayDate, StayRange};

use super::policy::{OverbookingPolicy, lead_days, nights_ahead};
use super::rooms::{Rooms, TypeFacts};

/// A guest who may be moved, by the room that he has on an oversold night.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleeper {
    /// Which reservation.
    pub reservation: ReservationId,
    /// Its short number.
    pub number: i64,
    /// Its version.
    pub version: i64,
    /// Which of its rooms.
    pub room_stay: RoomStayId,
    /// The plain type that it takes.
    pub room_type: RoomTypeId,
    /// Its nights that are still to come.
    pub nights: StayRange,
    /// Rooms.
    pub quantity: i32,
    /// Adults and children, where they are known.
    pub heads: Option<(i32, i32)>,
    /// Code of the account that it came through.
    pub account: Option<String>,
    /// The guest is in the house.
    pub in_house: bool,
}

/// What is known around a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation<'a> {
    /// The property's policy.
    pub policy: &'a OverbookingPolicy,
    /// The business day.
    pub today: StayDate,
    /// Nights of the case, with rooms beyond.
    pub beyond: Vec<(StayDate, i32)>,
    /// Own rooms.
    pub rooms: Rooms,
    /// Who sleeps in other types around the nights.
    pub others: Vec<Sleeper>,
    /// Hotels of the same owner, by code.
    pub sisters: Vec<(String, Rooms)>,
    /// Percent of cases like this that cancellations cure before the deadline; else why it is not
    /// known.
    pub cure_percent: Result<i32, String>,
}

/// A way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayOut {
    /// How the case would end.
    pub ending: Ending,
    /// Who is moved: the guest, and the type that he gets.
    pub moves: Vec<(Sleeper, Option<String>)>,
    /// Hotel of the same owner that takes the guest, and its type.
    pub sister: Option<(String, String)>,
    /// What it costs, in minor units; of waiting: what it costs on average. `None` is not known.
    pub cost_minor: Option<i64>,
    /// Takes a manager.
    pub needs_approval: bool,
    /// What to do, in words.
    pub words: String,
}

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

fn upgrades(situation: &Situation<'_>, guest: &Sleeper, found: &mut Vec<WayOut>) {
    for kind in others(&situation.rooms, guest) {
        let free = situation.rooms.free(&kind.parts, guest.nights);
        if free < guest.quantity {
            continue;
        }
        let cost = per_night(situation, guest, situation.policy.upgrade_per_night_minor);
        let words = format!(
            "Put reservation {} into a room of type {}: {free} free on every night of {}.",
            guest.number, kind.code, guest.nights
        );
        found.push(WayOut {
            moves: vec![(guest.clone(), Some(kind.code.clone()))],
            ..way(situation, Ending::Upgrade, Some(cost), words)
        });
    }
}

/// The types that a guest fits into and does not have, that take nothing of what is short.
fn others<'a>(rooms: &'a Rooms, guest: &'a Sleeper) -> impl Iterator<Item = &'a TypeFacts> {
    let takes_it = |kind: &TypeFacts| kind.parts.iter().any(|part| part.0 == guest.room_type);
    let kinds = rooms.types.iter();
    kinds.filter(move |kind| !takes_it(kind) && kind.fits(guest.heads))
}

/// A guest of another type whose nights are free in the oversold type once the first has left it
/// makes room for him where he is.
fn swaps(situation: &Situation<'_>, guest: &Sleeper, found: &mut Vec<WayOut>) {
    let rooms = &situation.rooms;
    let mut left = rooms.clone();
    left.shift(guest.room_type, guest.nights, -guest.quantity);
    let own = vec![(guest.room_type, 1)];
    let home = rooms.types.iter().find(|kind| kind.parts == own);
    let candidates = situation.others.iter().filter(|other| {
        !other.in_house
            && other.quantity == guest.quantity
            && other.reservation != guest.reservation
            && home.is_some_and(|home| home.fits(other.heads))
    });
    for other in candidates.take(SWAPS_LOOKED_AT) {
        let plain = vec![(other.room_type, 1)];
        let kind = others(rooms, guest).find(|kind| kind.parts == plain);
        let (Some(kind), Some(home)) = (kind, home) else {
            continue;
        };
        if rooms.free(&plain, guest.nights) >= guest.quantity {
            continue;
        }
        let mut after = left.clone();
        after.shift(other.room_type, other.nights, -other.quantity);
        let gets = after.free(&plain, guest.nights) >= guest.quantity
            && after.free(&own, other.nights) >= other.quantity;
        if !gets {
            continue;
        }
        let cost = per_night(situation, guest, situation.policy.upgrade_per_night_minor);
        let words = format!(
            "Let reservations {} and {} change their types: {} gets {} and {} gets {}, each for \
             the whole stay.",
            guest.number, other.number, guest.number, kind.code, other.number, home.code
        );
        found.push(WayOut {
            moves: vec![
                (guest.clone(), Some(kind.code.clone())),
                (other.clone(), Some(home.code.clone())),
            ],
            ..way(situation, Ending::Swap, Some(cost), words)
        });
        return;
    }
}

fn sisters(situation: &Situation<'_>, guest: &Sleeper, found: &mut Vec<WayOut>) {
    for (code, rooms) in &situation.sisters {
        let kind = rooms.types.iter().find(|kind| {
            kind.fits(guest.heads) && rooms.free(&kind.parts, guest.nights) >= guest.quantity
        });
        let Some(kind) = kind else { continue };
        let cost = per_night(situation, guest, situation.policy.sister_per_night_minor);
        let words = format!(
            "Let the guest of reservation {} sleep at {code}: {} is free there for {}.",
            guest.number, kind.code, guest.nights
        );
        found.push(WayOut {
            moves: vec![(guest.clone(), None)],
            sister: Some((code.clone(), kind.code.clone())),
            ..way(situation, Ending::SisterProperty, Some(cost), words)
        });
    }
}

fn relocation(situation: &Situation<'_>, guest: &Sleeper) -> WayOut {
    let cost = walk_minor(situation, guest);
    let words = format!(
        "Find the guest of reservation {} a room in another hotel for {}, at our cost{}.",
        guest.number,
        guest.nights,
        match cost {
            Some(_) => "",
            None => "; the table of compensations says nothing of such a stay",
        }
    );
    WayOut {
        moves: vec![(guest.clone(), None)],
        ..way(situation, Ending::Walk, cost, words)
    }
}

fn asked_of_channel(situation: &Situation<'_>, guest: &Sleeper) -> Option<WayOut> {
    let account = guest.account.as_ref()?;
    let words = format!(
        "Ask {account} to find another hotel for the guest of reservation {}: it stays here until \
         {account} has cancelled it, and what {account} will bill is not known before.",
        guest.number
    );
    Some(WayOut {
        moves: vec![(guest.clone(), None)],
        // A channel bills the difference of the prices: about what a walk costs.
        ..way(
            situation,
            Ending::RelocatedByChannel,
            walk_minor(situation, guest),
            words,
        )
    })
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

fn way(
    situation: &Situation<'_>,
    ending: Ending,
    cost_minor: Option<i64>,
    words: String,
) -> WayOut {
    WayOut {
        ending,
        moves: Vec::new(),
        sister: None,
        cost_minor,
        needs_approval: cost_minor.is_some_and(|cost| situation.policy.needs_approval(cost)),
        words,
    }
}

fn per_night(situation: &Situation<'_>, guest: &Sleeper, minor: i64) -> i64 {
    let nights = nights_ahead(
        situation.today,
        guest.nights.arrival(),
        guest.nights.departure(),
    );
    minor.saturating_mul(i64::from(nights) * i64::from(guest.quantity))
}

fn walk_minor(situation: &Situation<'_>, guest: &Sleeper) -> Option<i64> {
    let arrival = guest.nights.arrival();
    let nights = nights_ahead(situation.today, arrival, guest.nights.departure());
    let lead = lead_days(situation.today, arrival);
    situation.policy.walk_minor(nights, lead, guest.quantity)
}

/// The nights of a stay that are still to come. `None` where none are.
pub fn to_come(today: StayDate, taken: StayRange) -> Option<StayRange> {
    Stay::new(taken.arrival().max(today), taken.departure())
}

/// Guests of other types that are tried for a swap.
const SWAPS_LOOKED_AT: usize = 200;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::civil::date;
    use keyrack_model::inventory::NightBalance;
    use uuid::Uuid;

    use super::*;
    use crate::decide::overbooking::policy::Compensation;

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
