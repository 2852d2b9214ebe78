//! What a channel may be told of a night, and why, step by step:
//!
//! pool rooms → minus buffer rules → never above what can be slept in → closed by the layers →
//! clipped to what the channel can express.
//!
//! Every step stands alone: each closure is worked out from its own cause, so lifting one never
//! opens another.

use keyrack_model::ari::{AriValues, OccupancyRate};
use keyrack_model::channel::PoolMode;
use keyrack_model::money::Money;

use super::buffer_rule::BufferRule;
use super::cell::{Cell, Draft, Line, Listening, Stock};
use super::closures::closures;
use super::inexpressible::restrict;

/// What is to be told of a cell. `lines` gathers why, where somebody wants to know.
pub fn tell(
    cell: &Cell<'_>,
    rules: &[BufferRule],
    listening: &Listening,
    lines: Option<&mut Vec<Line>>,
) -> AriValues {
    let mut draft = Draft {
        rooms: 0,
        closed: false,
        lines,
    };
    pool(&mut draft, cell, rules);
    for (step, why) in closures(cell, listening) {
        draft.closed = true;
        draft.say(step, || why);
    }
    let restrictions = restrict(&mut draft, cell, listening);
    let (rate, occupancy_rates) = priced(&mut draft, cell, listening);
    settle(&mut draft, cell, listening);
    let is_room = cell.price.is_none();
    AriValues {
        rooms: is_room.then_some(draft.rooms),
        closed: draft.closed,
        rate,
        occupancy_rates,
        restrictions,
    }
}

/// Pool rooms, minus buffer rules (the strictest wins), never above what can be slept in.
fn pool(draft: &mut Draft<'_>, cell: &Cell<'_>, rules: &[BufferRule]) {
    let Some(stock) = cell.stock else {
        draft.say("pool", || "the night has no rooms yet".to_owned());
        return;
    };
    let rooms = pool_rooms(draft, stock);
    let mut least = rooms;
    for rule in rules.iter().filter(|rule| rule.applies(cell)) {
        let (left, why) = rule.leaves(cell, rooms);
        least = least.min(left);
        draft.rooms = least;
        draft.say("buffer_rule", why);
    }
    if draft.rooms > stock.usable {
        draft.rooms = stock.usable.max(0);
        draft.say("physical_cap", || {
            format!(
                "never more than the {} that can be slept in",
                of_rooms(stock.usable)
            )
        });
    }
}

/// A number of rooms, as people say it.
fn of_rooms(rooms: i32) -> String {
    let noun = if rooms == 1 { "room" } else { "rooms" };
    format!("{rooms} {noun}")
}

/// The rooms of the pools that the account sells from.
fn pool_rooms(draft: &mut Draft<'_>, stock: Stock) -> i32 {
    let free = stock.free;
    if let Some((mode, left)) = stock.own.filter(|(mode, _)| *mode != PoolMode::Shared) {
        draft.rooms = left;
        draft.say("allotment", || {
            let is = if left == 1 { "is" } else { "are" };
            format!("{} {is} left of its allotment", of_rooms(left))
        });
        if mode == PoolMode::Allotment {
            return left;
        }
        draft.rooms = left.saturating_add(free);
    } else {
        draft.rooms = free;
    }
    draft.say("pool", || {
        let is = if free == 1 { "is" } else { "are" };
        format!("{} {is} free in the shared pool", of_rooms(free))
    });
    draft.rooms
}

/// The price with the account's markup. A night without a positive price within the property's
/// bounds is closed, where the channel takes prices.
fn priced(
    draft: &mut Draft<'_>,
    cell: &Cell<'_>,
    listening: &Listening,
) -> (Option<Money>, Vec<OccupancyRate>) {
    let Some(price) = cell.price.filter(|_| listening.channel.takes_rates) else {
        return (None, Vec::new());
    };
    let all = || {
        price
            .rate
            .iter()
            .chain(price.by_guests.iter().map(|(_, money)| money))
    };
    let too_low = |money: &&Money| {
        listening
            .rate_min_minor
            .is_some_and(|min| money.minor < min)
    };
    let too_high = |money: &&Money| {
        listening
            .rate_max_minor
            .is_some_and(|max| money.minor > max)
    };
    let wrong = if !price.is_positive() {
        Some("the night has no price".to_owned())
    } else if let Some(money) = all().find(too_low) {
        Some(format!("{money} is below the lowest rate of the property"))
    } else {
        let high = all().find(too_high);
        high.map(|money| format!("{money} is above the highest rate of the property"))
    };
    if let Some(why) = wrong {
        draft.closed = true;
        draft.say("closure", || why);
        return (None, Vec::new());
    }
    let markup = listening.markup_percent_hundredths;
    let marked = |money: Money| {
        if markup == 0 {
            Some(money)
        } else {
            money.derive(markup, 0, 1)
        }
    };
    let rate = price.rate.and_then(marked);
    if markup != 0 {
        draft.say("markup", || {
            format!(
                "{}.{:02} % on top of each rate",
                markup / 100,
                (markup % 100).abs()
            )
        });
    }
    let by_guests = price.by_guests.iter();
    let by_guests = by_guests.filter_map(|(guests, money)| {
        Some(OccupancyRate {
            guests: *guests,
            rate: marked(*money)?,
        })
    });
    (rate, by_guests.collect())
}

/// A closed room is told 0, a number is clipped to what the channel takes, and "nothing to sell" is
/// told closed where the channel reopens a 0 by itself.
fn settle(draft: &mut Draft<'_>, cell: &Cell<'_>, listening: &Listening) {
    if draft.closed && draft.rooms != 0 {
        draft.rooms = 0;
        draft.say("closure", || {
            "what is closed has nothing to sell".to_owned()
        });
    }
    if draft.rooms > listening.channel.rooms_max {
        draft.rooms = listening.channel.rooms_max;
        draft.say("channel_limit", || {
            "the channel takes no larger number".to_owned()
        });
    }
    if draft.rooms <= 0 && !draft.closed && listening.channel.reopens_by_itself {
        draft.closed = true;
        draft.say("closure", || {
            "sold out, and the channel would reopen the night by itself".to_owned()
        });
    }
    let what = if cell.price.is_none() {
        "room"
    } else {
        "rate plan"
    };
    let state = if draft.closed { "closed" } else { "open" };
    let rooms = draft.rooms;
    draft.say("told", || {
        let is = if listening.is_in_setup {
            "would be"
        } else {
            "is"
        };
        format!("the {what} {is} told {state}, {} to sell", of_rooms(rooms))
    });
}

#[cfg(test)]
mod tests {
    use keyrack_model::id::{AccountId, RoomTypeId};
    use keyrack_model::money::Currency;
    use keyrack_model::stay::{Stay, Weekdays};

    use super::*;
    use crate::decide::buffer_rule::BufferKind;
    use crate::decide::cell_samples::{ABLE, DUMB, EAGER, OPEN, listening, night, room};
    use crate::decide::layer::{Layer, NightRules};
    use crate::decide::price::Price;

    fn keep(kind: BufferKind) -> BufferRule {
        BufferRule {
            account: None,
            room_type: None,
            nights: None,
            weekdays: Weekdays::ALL,
            lead_days_min: None,
            lead_days_max: None,
            kind,
        }
    }

    fn rooms(cell: &Cell<'_>, rules: &[BufferRule]) -> Option<i32> {
        tell(cell, rules, &listening(&ABLE), None).rooms
    }

    #[test]
    fn the_strictest_buffer_rule_wins() {
        use BufferKind::{Cap, CloseAt, KeepBack as Back, SharePercent};
        for (free, rules, told) in [
            (5, vec![], 5),
            (5, vec![Back(2)], 3),
            (5, vec![Back(1), Back(2)], 3),
            (5, vec![Back(2), CloseAt(3)], 3),
            (3, vec![Back(2), CloseAt(3)], 0),
            (2, vec![CloseAt(1)], 2),
            (1, vec![CloseAt(1)], 0),
            (1, vec![Back(4)], 0),
            (9, vec![Cap(4), SharePercent(50)], 4),
            (9, vec![Cap(4), SharePercent(40), Back(1)], 3),
        ] {
            let rules: Vec<BufferRule> = rules.into_iter().map(keep).collect();
            assert_eq!(
                rooms(&room(free, 9), &rules),
                Some(told),
                "{free} {rules:?}"
            );
        }
    }

    #[test]
    fn an_account_is_told_what_its_pools_have_and_buffer_rules_bind_that() {
        use BufferKind::{CloseAt, KeepBack};
        use PoolMode::{Allotment, AllotmentThenShared, Shared};
        for (mode, left, free, usable, rules, told) in [
            (Shared, 3, 5, 9, vec![], 5),
            (Allotment, 3, 5, 9, vec![], 3),
            (Allotment, 0, 5, 9, vec![], 0),
            (AllotmentThenShared, 3, 5, 9, vec![], 8),
            (AllotmentThenShared, 0, 5, 9, vec![], 5),
            (AllotmentThenShared, 3, 0, 9, vec![], 3),
            (AllotmentThenShared, 3, 5, 6, vec![], 6),
            (Allotment, 3, 5, 2, vec![], 2),
            (Allotment, 3, 0, 9, vec![KeepBack(1)], 2),
            (Allotment, 3, 9, 9, vec![CloseAt(3)], 0),
            (AllotmentThenShared, 1, 3, 9, vec![CloseAt(3)], 4),
        ] {
            let rules: Vec<BufferRule> = rules.into_iter().map(keep).collect();
            let mut cell = room(free, usable);
            let stock = cell.stock.expect("a stock");
            cell.stock = Some(Stock {
                own: Some((mode, left)),
                ..stock
            });
            let what = format!("{mode:?} {left} {free} {usable} {rules:?}");
            assert_eq!(rooms(&cell, &rules), Some(told), "{what}");
        }
    }

    #[test]
    fn a_buffer_rule_binds_only_what_it_names() {
        // 2030-07-11 is a Thursday, ten days ahead.
        type Names = fn(&mut BufferRule);
        let cases: [(Names, bool); 10] = [
            (|rule| rule.account = Some(AccountId(2)), false),
            (|rule| rule.account = Some(AccountId(1)), true),
            (|rule| rule.room_type = Some(RoomTypeId(2)), false),
            (|rule| rule.nights = Stay::new(night(10), night(11)), true),
            (|rule| rule.nights = Stay::new(night(9), night(10)), false),
            (
                |rule| rule.weekdays = Weekdays::from_bits(0b110_0000),
                false,
            ),
            (|rule| rule.lead_days_min = Some(10), true),
            (|rule| rule.lead_days_min = Some(11), false),
            (|rule| rule.lead_days_max = Some(9), false),
            (|rule| rule.lead_days_max = Some(10), true),
        ];
        for (name, binds) in cases {
            let mut rule = keep(BufferKind::KeepBack(1));
            name(&mut rule);
            let told = rooms(&room(5, 9), std::slice::from_ref(&rule));
            assert_eq!(told, Some(if binds { 4 } else { 5 }), "{rule:?}");
        }
    }

    #[test]
    fn meant_overbooking_is_sold_but_never_told_beyond_what_can_be_slept_in() {
        assert_eq!(rooms(&room(7, 5), &[]), Some(5));
        assert_eq!(
            rooms(&room(7, 5), &[keep(BufferKind::KeepBack(1))]),
            Some(5)
        );
        assert_eq!(
            rooms(&room(7, 5), &[keep(BufferKind::KeepBack(3))]),
            Some(4)
        );
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
            ..OPEN
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
}
