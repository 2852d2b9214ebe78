//! Pushes made by chance, and their cells: as meant, as a channel can take them, as told.

use std::collections::BTreeMap;

use keyrack_model::adapter::{ChannelAdapter, Outbound};
use keyrack_model::ari::{AriPush, AriSpan, AriValues, OccupancyRate};
use keyrack_model::money::{Currency, Money};
use keyrack_model::restriction::{RestrictionKind, Restrictions};
use keyrack_model::stay::{Stay, StayDate, plus_days};
use proptest::prelude::{Strategy, any};

use crate::fixture::{inbound, xml_of};

/// A cell as both sides understand it.
pub type Cells = BTreeMap<(StayDate, String, Option<String>), AriValues>;

/// What the channel can be told of a push.
pub fn tellable(adapter: &dyn ChannelAdapter, push: &AriPush) -> Cells {
    let able = adapter.capabilities();
    let mut cells = Cells::new();
    for span in &push.spans {
        let is_rate = span.channel_rate_code.is_some();
        if is_rate && !able.knows_rate_plans {
            continue;
        }
        let told = &span.values;
        let closed = told.closed || told.restrictions.stop_sell;
        let rooms = told.rooms.filter(|_| !is_rate);
        let rooms = rooms.map(|n| {
            if closed {
                0
            } else {
                n.clamp(0, able.rooms_max)
            }
        });
        let values = AriValues {
            rooms,
            closed: closed || rooms == Some(0),
            rate: told.rate.filter(|_| is_rate && able.takes_rates),
            occupancy_rates: match is_rate && able.takes_rates {
                true => told.occupancy_rates.clone(),
                false => Vec::new(),
            },
            restrictions: match is_rate {
                true => expressible(&told.restrictions, able.restrictions),
                false => Restrictions::default(),
            },
        };
        for night in span.nights.nights() {
            let (room, rate) = (&span.channel_room_code, &span.channel_rate_code);
            cells.insert((night, room.clone(), rate.clone()), values.clone());
        }
    }
    cells
}

fn expressible(told: &Restrictions, able: &[RestrictionKind]) -> Restrictions {
    let able = |kind| able.contains(&kind);
    let more_than_one = |nights: Option<i32>| nights.filter(|n| *n > 1);
    Restrictions {
        min_stay_arrival: more_than_one(told.min_stay_arrival)
            .filter(|_| able(RestrictionKind::MinStayArrival)),
        min_stay_through: more_than_one(told.min_stay_through)
            .filter(|_| able(RestrictionKind::MinStayThrough)),
        max_stay: told.max_stay.filter(|_| able(RestrictionKind::MaxStay)),
        closed_to_arrival: told.closed_to_arrival && able(RestrictionKind::ClosedToArrival),
        closed_to_departure: told.closed_to_departure && able(RestrictionKind::ClosedToDeparture),
        ..Restrictions::default()
    }
}

/// What the messages say when they are read in the order in which they are sent.
pub fn told(adapter: &dyn ChannelAdapter, messages: &[Outbound], hotel: &str) -> Cells {
    let mut cells = Cells::new();
    for message in messages {
        let parsed = adapter.parse(&inbound(xml_of(&message.body), ""));
        assert!(
            !parsed.is_unreadable,
            "our own message: {:?}",
            parsed.faults
        );
        let push = parsed.ari.expect("a push");
        assert_eq!(push.hotel_code, hotel);
        assert!(push.spans.len() <= adapter.capabilities().spans_per_message_max);
        assert!(
            !push.complete || cells.is_empty(),
            "a complete set comes first"
        );
        for span in push.spans {
            for night in span.nights.nights() {
                let key = (
                    night,
                    span.channel_room_code.clone(),
                    span.channel_rate_code.clone(),
                );
                let cell = cells.entry(key).or_default();
                // Availability and prices of a rate come in different messages.
                cell.rooms = span.values.rooms.or(cell.rooms);
                cell.closed |= span.values.closed || span.values.rooms == Some(0);
                cell.rate = span.values.rate.or(cell.rate);
                cell.occupancy_rates
                    .extend(span.values.occupancy_rates.clone());
                cell.restrictions = cell.restrictions.stricter(span.values.restrictions);
            }
        }
    }
    cells
}

fn values(is_rate: bool) -> impl Strategy<Value = AriValues> {
    let limit = || proptest::option::of(2..30_i32);
    let rules = (limit(), limit(), limit(), any::<(bool, bool, bool)>());
    (-3..400_i32, any::<bool>(), 1..100_000_i64, rules).prop_map(
        move |(rooms, closed, minor, (arrival, through, max, (cta, ctd, stop)))| {
            let money = |minor| Money::new(minor, Currency::from_code("EUR").expect("EUR"));
            let single = OccupancyRate {
                guests: 1,
                rate: money(minor),
            };
            AriValues {
                rooms: (!is_rate).then_some(rooms),
                closed,
                rate: is_rate.then(|| money(minor + 500)),
                occupancy_rates: is_rate.then_some(single).into_iter().collect(),
                restrictions: Restrictions {
                    min_stay_arrival: arrival.filter(|_| is_rate),
                    min_stay_through: through.filter(|_| is_rate),
                    max_stay: max.filter(|_| is_rate),
                    closed_to_arrival: is_rate && cta,
                    closed_to_departure: is_rate && ctd,
                    stop_sell: is_rate && stop,
                    ..Restrictions::default()
                },
            }
        },
    )
}

/// Spans of three rooms and a rate, one after the other, from one night to weeks long.
pub fn pushes() -> impl Strategy<Value = AriPush> {
    let lengths = || proptest::collection::vec(1..20_i32, 0..70);
    let room = |code: &'static str, rate: Option<&'static str>| {
        lengths().prop_flat_map(move |lengths| {
            let values = proptest::collection::vec(values(rate.is_some()), lengths.len());
            values.prop_map(move |values| {
                let mut from: StayDate = "2031-01-01".parse().expect("a date");
                let spans = lengths.iter().zip(values).map(|(length, values)| {
                    let nights = Stay::new(from, plus_days(from, *length)).expect("nights");
                    from = nights.departure();
                    AriSpan {
                        nights,
                        channel_room_code: code.to_owned(),
                        channel_rate_code: rate.map(str::to_owned),
                        values,
                    }
                });
                spans.collect::<Vec<AriSpan>>()
            })
        })
    };
    let rooms = (
        room("DBL", None),
        room("SGL", None),
        room("DBL", Some("BAR")),
    );
    (rooms, any::<bool>()).prop_map(|((dbl, sgl, bar), complete)| AriPush {
        hotel_code: "HTL1".to_owned(),
        complete,
        spans: [dbl, sgl, bar].concat(),
    })
}
