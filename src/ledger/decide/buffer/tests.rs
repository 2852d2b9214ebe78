//! Tables of nights and what is told of them.

use jiff::civil::date;
use keyrack_model::money::Currency;
use keyrack_model::stay::{Stay, plus_days};

use super::*;
use crate::decide::sellable::Layer;

const ALL: &[RestrictionKind] = &[
    RestrictionKind::MinStayArrival,
    RestrictionKind::MinStayThrough,
    RestrictionKind::MaxStay,
    RestrictionKind::ClosedToArrival,
    RestrictionKind::ClosedToDeparture,
    RestrictionKind::MinAdvanceDays,
    RestrictionKind::MaxAdvanceDays,
];

static ABLE: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: true,
    poll_seconds: 20,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: None,
    fallback_seconds: 1800,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: false,
    takes_rates: true,
    knows_rate_plans: true,
    restrictions: ALL,
    reopens_by_itself: false,
    rooms_max: 254,
    spans_per_message_max: 100,
    horizon_nights_max: 700,
    requests_per_minute: 60,
    settle_seconds: None,
    signs_in: false,
    sign_in_seconds: 0,
};

static POOR: Capabilities = Capabilities {
    restrictions: &[RestrictionKind::MinStayThrough],
    ..ABLE
};

static DUMB: Capabilities = Capabilities {
    restrictions: &[],
    takes_rates: false,
    ..ABLE
};

static EAGER: Capabilities = Capabilities {
    reopens_by_itself: true,
    rooms_max: 3,
    ..ABLE
};

fn night(offset: i32) -> StayDate {
    plus_days(date(2030, 7, 1), offset)
}

fn listening(channel: &'static Capabilities) -> Listening {
    Listening {
        channel,
        inexpressible: Inexpressible::Close,
        markup_percent_hundredths: 0,
        is_closed: false,
        horizon_end: night(100),
        bookable_from: None,
        rate_min_minor: None,
        rate_max_minor: None,
    }
}

static OPEN: NightRules = NightRules {
    restrictions: Restrictions {
        min_stay_arrival: None,
        min_stay_through: None,
        max_stay: None,
        closed_to_arrival: false,
        closed_to_departure: false,
        min_advance_days: None,
        max_advance_days: None,
        stop_sell: false,
    },
    closed_by: Vec::new(),
    rate_minor: None,
    occupancy_rates: Vec::new(),
};

fn room(free: i32, usable: i32) -> Cell<'static> {
    Cell {
        account: AccountId(1),
        room_type: RoomTypeId(1),
        night: night(10),
        business_day: night(0),
        stock: Some(Stock { free, usable }),
        rules: &OPEN,
        next: &OPEN,
        price: None,
        restricts: false,
    }
}

fn keep(keep: Keep) -> KeepRule {
    KeepRule {
        account: None,
        room_type: None,
        nights: None,
        weekdays: Weekdays::ALL,
        lead_days_min: None,
        lead_days_max: None,
        keep,
    }
}

fn rooms(cell: &Cell<'_>, rules: &[KeepRule]) -> Option<i32> {
    tell(cell, rules, &listening(&ABLE), None).rooms
}

#[test]
fn the_strictest_buffer_rule_wins() {
    use Keep::{Back, CloseAt};
    for (free, rules, told) in [
        (5, vec![], 5),
        (5, vec![Back(2)], 3),
        (5, vec![Back(1), Back(2)], 3),
        (5, vec![Back(2), CloseAt(3)], 3),
        (3, vec![Back(2), CloseAt(3)], 0),
        (2, vec![CloseAt(1)], 2),
        (1, vec![CloseAt(1)], 0),
        (1, vec![Back(4)], 0),
    ] {
        let rules: Vec<KeepRule> = rules.into_iter().map(keep).collect();
        assert_eq!(
            rooms(&room(free, 9), &rules),
            Some(told),
            "{free} {rules:?}"
        );
    }
}

#[test]
fn a_buffer_rule_binds_only_what_it_names() {
    // 2030-07-11 is a Thursday, ten days ahead.
    let rule = keep(Keep::Back(1));
    let weekend = Weekdays::from_bits(0b110_0000);
    for (rule, binds) in [
        (
            KeepRule {
                account: Some(AccountId(2)),
                ..rule.clone()
            },
            false,
        ),
        (
            KeepRule {
                account: Some(AccountId(1)),
                ..rule.clone()
            },
            true,
        ),
        (
            KeepRule {
                room_type: Some(RoomTypeId(2)),
                ..rule.clone()
            },
            false,
        ),
        (
            KeepRule {
                nights: Stay::new(night(10), night(11)),
                ..rule.clone()
            },
            true,
        ),
        (
            KeepRule {
                nights: Stay::new(night(9), night(10)),
                ..rule.clone()
            },
            false,
        ),
        (
            KeepRule {
                weekdays: weekend,
                ..rule.clone()
            },
            false,
        ),
        (
            KeepRule {
                lead_days_min: Some(10),
                ..rule.clone()
            },
            true,
        ),
        (
            KeepRule {
                lead_days_min: Some(11),
                ..rule.clone()
            },
            false,
        ),
        (
            KeepRule {
                lead_days_max: Some(9),
                ..rule.clone()
            },
            false,
        ),
        (
            KeepRule {
                lead_days_max: Some(10),
                ..rule
            },
            true,
        ),
    ] {
        let told = rooms(&room(5, 9), std::slice::from_ref(&rule));
        assert_eq!(told, Some(if binds { 4 } else { 5 }), "{rule:?}");
    }
}

#[test]
fn meant_overbooking_is_sold_but_never_told_beyond_what_can_be_slept_in() {
    assert_eq!(rooms(&room(7, 5), &[]), Some(5));
    assert_eq!(rooms(&room(7, 5), &[keep(Keep::Back(1))]), Some(5));
    assert_eq!(rooms(&room(7, 5), &[keep(Keep::Back(3))]), Some(4));
    assert_eq!(rooms(&room(0, -1), &[]), Some(0));
}

#[test]
fn r12_each_number_of_rooms_sold_leaves_the_others_told() {
    for sold in 0..=15 {
        assert_eq!(rooms(&room(15 - sold, 15), &[]), Some(15 - sold));
    }
}

#[test]
fn each_layer_closes_by_itself() {
    let stopped = NightRules {
        closed_by: vec![Layer::RatePlan],
        ..OPEN.clone()
    };
    let open = listening(&ABLE);
    let cases: Vec<(&str, Cell<'_>, Listening)> = vec![
        (
            "stop sell of the rate plan",
            Cell {
                rules: &stopped,
                ..room(3, 3)
            },
            open,
        ),
        (
            "the account is closed",
            room(3, 3),
            Listening {
                is_closed: true,
                ..open
            },
        ),
        (
            "the night is past",
            Cell {
                night: night(-1),
                ..room(3, 3)
            },
            open,
        ),
        (
            "beyond the horizon",
            Cell {
                night: night(100),
                ..room(3, 3)
            },
            open,
        ),
        (
            "can be booked from",
            room(3, 3),
            Listening {
                bookable_from: Some(night(11)),
                ..open
            },
        ),
        ("sold out", room(0, 3), listening(&EAGER)),
    ];
    for (why, cell, listening) in cases {
        let mut lines = Vec::new();
        let told = tell(&cell, &[], &listening, Some(&mut lines));
        assert_eq!((told.rooms, told.closed), (Some(0), true), "{why}");
        assert!(
            lines.iter().any(|line| line.why.contains(why)),
            "{why}: {lines:?}"
        );
        assert_eq!(
            lines.last().map(|line| (line.step, line.closed)),
            Some(("told", true))
        );
    }
    let open = tell(&room(3, 3), &[], &open, None);
    assert_eq!((open.rooms, open.closed), (Some(3), false));
}

#[test]
fn nothing_to_sell_is_closed_only_where_the_channel_reopens_by_itself() {
    let told = |channel| {
        let told = tell(&room(0, 3), &[], &listening(channel), None);
        (told.rooms, told.closed)
    };
    assert_eq!(told(&ABLE), (Some(0), false));
    assert_eq!(told(&EAGER), (Some(0), true));
    let clipped = tell(&room(9, 9), &[], &listening(&EAGER), None);
    assert_eq!(
        (clipped.rooms, clipped.closed),
        (Some(3), false),
        "it takes 3 at most"
    );
}

fn euro(minor: i64) -> Money {
    Money::new(minor, Currency::from_code("EUR").expect("known"))
}

#[test]
fn a_night_without_a_positive_price_is_closed_where_prices_are_taken() {
    let none = Price::default();
    let zero = Price {
        rate: Some(euro(0)),
        ..Price::default()
    };
    let good = Price {
        rate: Some(euro(10_000)),
        by_guests: vec![(1, euro(8_000))],
    };
    let bounds = Listening {
        rate_min_minor: Some(9_000),
        rate_max_minor: Some(9_500),
        ..listening(&ABLE)
    };
    let low = Listening {
        rate_max_minor: None,
        ..bounds
    };
    let high = Listening {
        rate_min_minor: None,
        ..bounds
    };
    for (price, listening, closed) in [
        (&none, listening(&ABLE), true),
        (&zero, listening(&ABLE), true),
        (&good, listening(&ABLE), false),
        (&none, listening(&DUMB), false),
        (&good, low, true),
        (&good, high, true),
    ] {
        let cell = Cell {
            price: Some(price),
            restricts: true,
            ..room(3, 3)
        };
        let told = tell(&cell, &[], &listening, None);
        assert_eq!((told.closed, told.rooms), (closed, None), "{price:?}");
        assert_eq!(
            told.rate.is_some(),
            !closed && listening.channel.takes_rates
        );
    }
    let marked = Listening {
        markup_percent_hundredths: 1_250,
        ..listening(&ABLE)
    };
    let cell = Cell {
        price: Some(&good),
        restricts: true,
        ..room(3, 3)
    };
    let told = tell(&cell, &[], &marked, None);
    assert_eq!(told.rate, Some(euro(11_250)));
    assert_eq!(
        told.occupancy_rates,
        [OccupancyRate {
            guests: 1,
            rate: euro(9_000)
        }]
    );
}

#[test]
fn r28_a_rule_that_the_channel_cannot_express_closes_its_nights_and_says_why() {
    let none = Restrictions::default();
    let table = [
        (
            Restrictions {
                min_stay_arrival: Some(3),
                ..none
            },
            true,
        ),
        (
            Restrictions {
                min_stay_through: Some(3),
                ..none
            },
            true,
        ),
        (
            Restrictions {
                max_stay: Some(3),
                ..none
            },
            true,
        ),
        (
            Restrictions {
                closed_to_arrival: true,
                ..none
            },
            true,
        ),
        // Who departs on this date slept on the night before.
        (
            Restrictions {
                closed_to_departure: true,
                ..none
            },
            false,
        ),
        (
            Restrictions {
                min_advance_days: Some(11),
                ..none
            },
            true,
        ),
        (
            Restrictions {
                min_advance_days: Some(10),
                ..none
            },
            false,
        ),
        (
            Restrictions {
                max_advance_days: Some(9),
                ..none
            },
            true,
        ),
        (
            Restrictions {
                max_advance_days: Some(10),
                ..none
            },
            false,
        ),
    ];
    for (restrictions, closes) in table {
        let rules = NightRules {
            restrictions,
            ..OPEN.clone()
        };
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
        assert_eq!(told.restrictions, none);
        let kept = Listening {
            inexpressible: Inexpressible::KeptAtChannel,
            ..listening(&DUMB)
        };
        assert!(!tell(&cell, &[], &kept, None).closed);
        let expressed = tell(&cell, &[], &listening(&ABLE), None);
        assert_eq!(
            (expressed.closed, expressed.restrictions),
            (false, restrictions)
        );
    }
    let departs = NightRules {
        restrictions: Restrictions {
            closed_to_departure: true,
            ..none
        },
        ..OPEN.clone()
    };
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
    let approximate = Listening {
        inexpressible: Inexpressible::Approximate,
        ..listening(&POOR)
    };
    let arrival = Restrictions {
        min_stay_arrival: Some(3),
        ..Restrictions::default()
    };
    let rules = NightRules {
        restrictions: arrival,
        ..OPEN.clone()
    };
    let cell = Cell {
        rules: &rules,
        restricts: true,
        ..room(3, 3)
    };
    let told = tell(&cell, &[], &approximate, None);
    let through = Restrictions {
        min_stay_through: Some(3),
        ..Restrictions::default()
    };
    assert_eq!((told.closed, told.restrictions), (false, through));
    let max = Restrictions {
        max_stay: Some(3),
        ..Restrictions::default()
    };
    let rules = NightRules {
        restrictions: max,
        ..OPEN.clone()
    };
    let cell = Cell {
        rules: &rules,
        restricts: true,
        ..room(3, 3)
    };
    assert!(tell(&cell, &[], &approximate, None).closed);
}
