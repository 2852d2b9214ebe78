//! Rates and restrictions, what they tell, and what can be sold.

use keyrack_ledger::catalog::{self, Derivation, PropertySetup, RatePlanSetup};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::inventory;
use keyrack_ledger::rates::{self, Offer, RateChange};
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::Weekdays;

use crate::hotel::{Hotel, day, rate_plan, room_type, setup, stay};
use crate::rooms::sell;
use crate::told::Told;

pub async fn set(hotel: &Hotel, changes: &[RateChange]) -> Result<u32, Refusal> {
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    rates::set(ledger, hotel.property, by, changes, false)
        .await
        .expect("no failure")
}

fn at(refusal: Refusal) -> Vec<String> {
    match refusal {
        Refusal::Invalid(faults) => faults.into_iter().map(|(at, _)| at).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn r28_each_field_alone_changes_its_cell_and_is_told_to_the_feed() {
    let told = Told::open().await;
    let hotel = &told.hotel;
    let of_plan = RateChange {
        room_type: Some(told.dbl),
        rate_plan: Some(told.flex),
        nights: Some(stay(2, 4)),
        ..Default::default()
    };
    let before = hotel.rate_changes().await.len();
    let base = RateChange {
        rate_minor: Some(Some(12_000)),
        ..of_plan.clone()
    };
    assert_eq!(set(hotel, std::slice::from_ref(&base)).await, Ok(2));
    assert_eq!(
        set(hotel, &[base]).await,
        Ok(0),
        "an equal rate changes nothing"
    );
    let each = [
        (
            "occupancy_rates",
            RateChange {
                occupancy_rates: Some(vec![(1, 9_000)]),
                ..of_plan.clone()
            },
        ),
        (
            "min_stay_arrival",
            RateChange {
                min_stay_arrival: Some(Some(2)),
                ..of_plan.clone()
            },
        ),
        (
            "min_stay_through",
            RateChange {
                min_stay_through: Some(Some(2)),
                ..of_plan.clone()
            },
        ),
        (
            "max_stay",
            RateChange {
                max_stay: Some(Some(9)),
                ..of_plan.clone()
            },
        ),
        (
            "closed_to_arrival",
            RateChange {
                closed_to_arrival: Some(true),
                ..of_plan.clone()
            },
        ),
        (
            "closed_to_departure",
            RateChange {
                closed_to_departure: Some(true),
                ..of_plan.clone()
            },
        ),
        (
            "min_advance_days",
            RateChange {
                min_advance_days: Some(Some(1)),
                ..of_plan.clone()
            },
        ),
        (
            "max_advance_days",
            RateChange {
                max_advance_days: Some(Some(99)),
                ..of_plan.clone()
            },
        ),
        (
            "stop_sell",
            RateChange {
                stop_sell: Some(true),
                ..of_plan.clone()
            },
        ),
    ];
    let mut expected = vec!["rate"];
    let mut cell = told.cells(&[told.plan(2)]).await.remove(0).values;
    assert_eq!(cell.rate.map(|money| money.minor), Some(12_000));
    for (field, change) in each {
        let rules = hotel.rules_version().await;
        assert_eq!(set(hotel, &[change]).await, Ok(2), "{field}");
        assert_eq!(hotel.rules_version().await, rules + 1);
        expected.push(field);
        let now = told.cells(&[told.plan(2)]).await.remove(0).values;
        let can_tell = [
            "occupancy_rates",
            "min_stay_arrival",
            "min_stay_through",
            "closed_to_arrival",
        ];
        if can_tell.contains(&field) {
            assert_ne!(now, cell, "{field} is told, or closes the night");
        }
        cell = now;
    }
    let changes = hotel.rate_changes().await;
    let (dbl, flex) = (told.dbl, told.flex);
    let lines: Vec<String> = expected
        .into_iter()
        .map(|field| format!("{dbl} {flex} 0 2030-06-03 2030-06-05 {field}"))
        .collect();
    assert_eq!(changes[before..], lines);
}

#[tokio::test]
async fn all_of_a_call_is_set_or_none() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    let bounded = PropertySetup {
        rate_min_minor: Some(5_000),
        rate_max_minor: Some(50_000),
        ..setup()
    };
    let put = catalog::put_property(&hotel.ledger, &hotel.by, "seehof", bounded, None).await;
    put.expect("no failure").expect("no refusal");
    let good = RateChange {
        room_type: Some(dbl),
        nights: Some(stay(0, 10)),
        rate_minor: Some(Some(10_000)),
        ..Default::default()
    };
    let wrong = [
        good.clone(),
        RateChange {
            rate_minor: Some(Some(4_999)),
            ..good.clone()
        },
        RateChange {
            rate_minor: Some(Some(50_001)),
            ..good.clone()
        },
        RateChange {
            room_type: Some(RoomTypeId(999)),
            ..good.clone()
        },
        RateChange {
            room_type: None,
            ..good.clone()
        },
        RateChange {
            nights: None,
            ..good.clone()
        },
        RateChange {
            max_stay: Some(Some(0)),
            ..good.clone()
        },
        RateChange {
            occupancy_rates: Some(vec![(2, 9_000), (2, 9_500)]),
            ..good.clone()
        },
    ];
    let rules = hotel.rules_version().await;
    assert_eq!(
        at(set(&hotel, &wrong).await.expect_err("seven are wrong")),
        [
            "/values/1/rate",
            "/values/2/rate",
            "/values/3/room_type",
            "/values/4/room_type",
            "/values/5/from",
            "/values/6/max_stay",
            "/values/7/occupancy_rates",
        ]
    );
    assert_eq!(hotel.rules_version().await, rules);
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    let tried = rates::set(
        ledger,
        hotel.property,
        by,
        std::slice::from_ref(&good),
        true,
    )
    .await;
    assert_eq!(tried.expect("no failure"), Ok(10));
    let weekend = RateChange {
        weekdays: Some(Weekdays::from_bits(0b110_0000)),
        rate_minor: Some(Some(15_000)),
        ..good.clone()
    };
    assert_eq!(
        set(&hotel, &[good.clone(), weekend]).await,
        Ok(10),
        "a dry run set nothing"
    );
    let cleared = RateChange {
        rate_minor: Some(None),
        nights: Some(stay(0, 1)),
        ..good
    };
    assert_eq!(set(&hotel, &[cleared]).await, Ok(1));
    let stored: Vec<Option<i64>> =
        sqlx::query_scalar("select amount_minor from rate_night order by stay_date limit 3")
            .fetch_all(&hotel.pool)
            .await
            .expect("rows");
    // 2030-06-01 is a Saturday.
    assert_eq!(stored, [None, Some(15_000), Some(10_000)]);
}

fn find<'a>(offers: &'a [Offer], room_type: &str, plan: Option<&str>) -> &'a Offer {
    let is_it = |o: &&Offer| o.room_type == room_type && o.rate_plan.as_deref() == plan;
    offers.iter().find(is_it).expect("an offer")
}

#[tokio::test]
async fn an_offer_has_its_price_or_says_what_stands_in_the_way() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    hotel.room_type("sgl", room_type("Single", 1)).await;
    let flex = hotel.rate_plan("flex", rate_plan("Flexible")).await;
    let saver = RatePlanSetup {
        derived_from: Some((
            "flex".into(),
            Derivation {
                percent_hundredths: -1000,
                add_minor: 0,
                step_minor: 100,
            },
        )),
        ..rate_plan("Saver")
    };
    let saver = hotel.rate_plan("saver", saver).await;
    let rates_of_week = RateChange {
        room_type: Some(dbl),
        rate_plan: Some(flex),
        nights: Some(stay(1, 8)),
        rate_minor: Some(Some(12_340)),
        occupancy_rates: Some(vec![(1, 9_990)]),
        ..Default::default()
    };
    let min_stay = RateChange {
        rate_plan: Some(saver),
        rate_minor: None,
        occupancy_rates: None,
        min_stay_arrival: Some(Some(3)),
        nights: Some(stay(2, 3)),
        ..rates_of_week.clone()
    };
    set(&hotel, &[rates_of_week, min_stay]).await.expect("set");
    sell(&hotel, dbl, stay(3, 4), 3).await;
    let offers = |from, to, adults, plan| {
        rates::offers(
            &hotel.ledger,
            hotel.property,
            stay(from, to),
            adults,
            0,
            plan,
        )
    };
    let both = offers(2, 4, 2, None).await.expect("no failure");
    assert_eq!(both.len(), 3);
    let flexible = find(&both, "dbl", Some("flex"));
    assert_eq!((flexible.free, flexible.hindrances.len()), (1, 0));
    assert_eq!(flexible.total.map(|money| money.minor), Some(24_680));
    assert_eq!(flexible.nightly[1].0, day(3));
    let saver_offer = find(&both, "dbl", Some("saver"));
    assert_eq!(
        saver_offer.total.map(|money| money.minor),
        Some(22_200),
        "111.06 to 111"
    );
    let words = "arrivals on this night stay 3 nights or more, not 2: 2030-06-03";
    assert_eq!(saver_offer.hindrances, [words]);
    let single = find(&both, "sgl", None);
    assert_eq!(
        (single.free, single.total, single.hindrances.len()),
        (1, None, 0)
    );

    let alone = offers(2, 4, 1, Some(flex)).await.expect("no failure");
    assert_eq!(
        find(&alone, "dbl", Some("flex")).total.map(|m| m.minor),
        Some(19_980)
    );
    assert_eq!(
        find(&alone, "sgl", Some("flex")).hindrances,
        ["no price: 2030-06-03, 2030-06-04"]
    );
    let crowd = offers(2, 4, 3, Some(flex)).await.expect("no failure");
    assert_eq!(
        find(&crowd, "dbl", Some("flex")).hindrances,
        ["too small: 2 adults at most, not 3"]
    );
    sell(&hotel, dbl, stay(3, 4), 1).await;
    let full = offers(2, 5, 2, Some(flex)).await.expect("no failure");
    assert_eq!(
        find(&full, "dbl", Some("flex")).hindrances,
        ["sold out: 2030-06-04"]
    );
    let far = offers(29, 31, 2, None).await.expect("no failure");
    assert!(find(&far, "sgl", None).hindrances[0].starts_with("not yet open"));
}

#[tokio::test]
async fn alternatives_are_really_free_and_the_nearest_come_first() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 1)).await;
    let sgl = hotel.room_type("sgl", room_type("Single", 1)).await;
    hotel.room_type("twin", room_type("Twin", 2)).await;
    sell(&hotel, dbl, stay(5, 8), 1).await;
    sell(&hotel, sgl, stay(6, 7), 1).await;
    let closed = RateChange {
        room_type: Some(dbl),
        nights: Some(stay(9, 10)),
        stop_sell: Some(true),
        ..Default::default()
    };
    set(&hotel, &[closed]).await.expect("set");
    let found = inventory::alternatives(&hotel.ledger, hotel.property, dbl, stay(5, 7), 1).await;
    let found = found.expect("no failure");
    let named: Vec<_> = found
        .iter()
        .map(|other| (other.room_type.as_str(), other.stay, other.free))
        .collect();
    assert_eq!(
        named,
        [
            ("twin", stay(5, 7), 2),
            ("dbl", stay(3, 5), 1),
            ("dbl", stay(2, 4), 1),
            ("dbl", stay(1, 3), 1),
            ("dbl", stay(0, 2), 1),
        ]
    );
}

#[tokio::test]
async fn a_stop_sell_of_the_whole_property_closes_every_cell_and_lifting_it_opens_no_other() {
    let told = Told::open().await;
    let stop = |room_type, nights, stop_sell| RateChange {
        room_type,
        nights: Some(nights),
        stop_sell: Some(stop_sell),
        ..Default::default()
    };
    let changes = [
        stop(None, stay(1, 4), true),
        stop(Some(told.dbl), stay(2, 3), true),
    ];
    assert_eq!(set(&told.hotel, &changes).await, Ok(4));
    let open = (4, false);
    assert_eq!(
        told.rooms(0..5).await,
        [open, (0, true), (0, true), (0, true), open]
    );
    assert_eq!(
        set(&told.hotel, &[stop(None, stay(1, 4), false)]).await,
        Ok(3)
    );
    assert_eq!(told.rooms(0..5).await, [open, open, (0, true), open, open]);
}
