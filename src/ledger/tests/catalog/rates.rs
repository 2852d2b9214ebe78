//! Rates and restrictions, what they tell, and what can be sold.

use keyrack_ledger::catalog::{self, Derivation, PropertySetup};
use keyrack_ledger::command::Command;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::inventory;
use keyrack_ledger::rates::{self, Offer, RateChange};
use keyrack_model::id::{RatePlanId, RoomTypeId};
use keyrack_model::stay::{StayRange, Weekdays};

use crate::desk::load;
use crate::hotel::{Hotel, day, rate_plan, room_type, setup, stay};
use crate::rooms::{sell, wish};
use crate::told::Told;

fn of(room_type: RoomTypeId, nights: StayRange) -> RateChange {
    RateChange {
        room_type: Some(room_type),
        nights: Some(nights),
        ..Default::default()
    }
}

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

type Alter = fn(&mut RateChange);

/// Each field of rates with a change of it alone.
const FIELDS: [(&str, Alter); 9] = [
    ("occupancy_rates", |c| {
        c.occupancy_rates = Some(vec![(1, 9_000)])
    }),
    ("min_stay_arrival", |c| c.min_stay_arrival = Some(Some(2))),
    ("min_stay_through", |c| c.min_stay_through = Some(Some(2))),
    ("max_stay", |c| c.max_stay = Some(Some(9))),
    ("closed_to_arrival", |c| c.closed_to_arrival = Some(true)),
    ("closed_to_departure", |c| {
        c.closed_to_departure = Some(true)
    }),
    ("min_advance_days", |c| c.min_advance_days = Some(Some(1))),
    ("max_advance_days", |c| c.max_advance_days = Some(Some(99))),
    ("stop_sell", |c| c.stop_sell = Some(true)),
];

#[tokio::test]
async fn r28_each_field_alone_changes_its_cell_and_is_told_to_the_feed() {
    let told = Told::open().await;
    let hotel = &told.hotel;
    let mut of_plan = of(told.dbl, stay(2, 4));
    of_plan.rate_plan = Some(told.flex);
    let before = hotel.rate_changes().await.len();
    let mut base = of_plan.clone();
    base.rate_minor = Some(Some(12_000));
    assert_eq!(set(hotel, std::slice::from_ref(&base)).await, Ok(2));
    assert_eq!(
        set(hotel, &[base]).await,
        Ok(0),
        "an equal rate changes nothing"
    );
    let mut expected = vec!["rate"];
    let mut cell = told.cells(&[told.plan(2)]).await.remove(0).values;
    assert_eq!(cell.rate.map(|money| money.minor), Some(12_000));
    for (field, alter) in FIELDS {
        let rules = hotel.rules_version().await;
        let mut change = of_plan.clone();
        alter(&mut change);
        assert_eq!(set(hotel, &[change]).await, Ok(2), "{field}");
        assert_eq!(hotel.rules_version().await, rules + 1);
        expected.push(field);
        let now = told.cells(&[told.plan(2)]).await.remove(0).values;
        let tells = [
            "occupancy_rates",
            "min_stay_arrival",
            "min_stay_through",
            "closed_to_arrival",
        ];
        if tells.contains(&field) {
            assert_ne!(now, cell, "{field} is told, or closes the night");
        }
        cell = now;
    }
    let (dbl, flex) = (told.dbl, told.flex);
    let each = expected.into_iter();
    let lines: Vec<String> = each
        .map(|field| format!("{dbl} {flex} 0 2030-06-03 2030-06-05 {field}"))
        .collect();
    assert_eq!(hotel.rate_changes().await[before..], lines);
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
    let mut good = of(dbl, stay(0, 10));
    good.rate_minor = Some(Some(10_000));
    let wrong: [(&str, Alter); 7] = [
        ("rate", |c| c.rate_minor = Some(Some(4_999))),
        ("rate", |c| c.rate_minor = Some(Some(50_001))),
        ("room_type", |c| c.room_type = Some(RoomTypeId(999))),
        ("room_type", |c| c.room_type = None),
        ("from", |c| c.nights = None),
        ("max_stay", |c| c.max_stay = Some(Some(0))),
        ("occupancy_rates", |c| {
            c.occupancy_rates = Some(vec![(2, 9_000), (2, 9_500)])
        }),
    ];
    let rules = hotel.rules_version().await;
    let (mut changes, mut pointers) = (vec![good.clone()], Vec::new());
    for (field, spoil) in wrong {
        pointers.push(format!("/values/{}/{field}", changes.len()));
        let mut change = good.clone();
        spoil(&mut change);
        changes.push(change);
    }
    assert_eq!(
        at(set(&hotel, &changes).await.expect_err("seven are wrong")),
        pointers
    );
    assert_eq!(hotel.rules_version().await, rules);
    assert_eq!(set(&hotel, &[good]).await, Ok(10), "none was set before");
}

#[tokio::test]
async fn a_dry_run_sets_nothing_weekdays_choose_nights_and_a_rate_can_be_cleared() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    let mut all = of(dbl, stay(0, 10));
    all.rate_minor = Some(Some(10_000));
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    let tried = rates::set(ledger, hotel.property, by, std::slice::from_ref(&all), true).await;
    assert_eq!(tried.expect("no failure"), Ok(10));
    let mut weekend = all.clone();
    weekend.weekdays = Some(Weekdays::from_bits(0b110_0000));
    weekend.rate_minor = Some(Some(15_000));
    assert_eq!(
        set(&hotel, &[all, weekend]).await,
        Ok(10),
        "a dry run set nothing"
    );
    let mut cleared = of(dbl, stay(0, 1));
    cleared.rate_minor = Some(None);
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

/// Doubles with a flexible plan and a saver that follows it, for a week from the second day on.
async fn priced() -> (Hotel, RoomTypeId, RatePlanId) {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    hotel.room_type("sgl", room_type("Single", 1)).await;
    let flex = hotel.rate_plan("flex", rate_plan("Flexible")).await;
    let less = Derivation {
        percent_hundredths: -1000,
        add_minor: 0,
        step_minor: 100,
    };
    let mut saver = rate_plan("Saver");
    saver.derived_from = Some(("flex".into(), less));
    let saver = hotel.rate_plan("saver", saver).await;
    let mut week = of(dbl, stay(1, 8));
    week.rate_plan = Some(flex);
    week.rate_minor = Some(Some(12_340));
    week.occupancy_rates = Some(vec![(1, 9_990)]);
    let mut min_stay = of(dbl, stay(2, 3));
    min_stay.rate_plan = Some(saver);
    min_stay.min_stay_arrival = Some(Some(3));
    set(&hotel, &[week, min_stay]).await.expect("set");
    (hotel, dbl, flex)
}

#[tokio::test]
async fn an_offer_has_its_price_by_guests_and_by_the_plan_that_it_follows() {
    let (hotel, dbl, flex) = priced().await;
    sell(&hotel, dbl, stay(3, 4), 3).await;
    let offers =
        |adults, plan| rates::offers(&hotel.ledger, hotel.property, stay(2, 4), adults, 0, plan);
    let both = offers(2, None).await.expect("no failure");
    assert_eq!(both.len(), 3);
    let flexible = find(&both, "dbl", Some("flex"));
    assert_eq!((flexible.free, flexible.hindrances.len()), (1, 0));
    assert_eq!(flexible.total.map(|money| money.minor), Some(24_680));
    assert_eq!(flexible.nightly[1].0, day(3));
    let saver = find(&both, "dbl", Some("saver"));
    assert_eq!(
        saver.total.map(|money| money.minor),
        Some(22_200),
        "111.06 to 111"
    );
    let words = "arrivals on this night stay 3 nights or more, not 2: 2030-06-03";
    assert_eq!(saver.hindrances, [words]);
    let single = find(&both, "sgl", None);
    assert_eq!(
        (single.free, single.total, single.hindrances.len()),
        (1, None, 0)
    );
    let alone = offers(1, Some(flex)).await.expect("no failure");
    assert_eq!(
        find(&alone, "dbl", Some("flex")).total.map(|m| m.minor),
        Some(19_980)
    );
}

#[tokio::test]
async fn an_offer_says_what_stands_in_the_way() {
    let (hotel, dbl, flex) = priced().await;
    sell(&hotel, dbl, stay(3, 4), 4).await;
    for (room_type, (from, to), adults, words) in [
        ("sgl", (2, 4), 2, "no price: 2030-06-03, 2030-06-04"),
        ("dbl", (5, 6), 3, "too small: 2 adults at most, not 3"),
        ("dbl", (2, 5), 2, "sold out: 2030-06-04"),
        (
            "dbl",
            (29, 31),
            2,
            "not yet open: nights from 2030-07-01 on",
        ),
        (
            "dbl",
            (-1, 2),
            2,
            "the arrival is past: the business day is 2030-06-01",
        ),
    ] {
        let stay = stay(from, to);
        let read = rates::offers(&hotel.ledger, hotel.property, stay, adults, 0, Some(flex)).await;
        let offers = read.expect("no failure");
        let hindrances = &find(&offers, room_type, Some("flex")).hindrances;
        assert_eq!(
            hindrances.first().map(String::as_str),
            Some(words),
            "{stay}"
        );
    }
}

#[tokio::test]
async fn a_booking_costs_what_its_offer_said_through_a_chain_of_plans() {
    let (hotel, dbl, _) = priced().await;
    let less = Derivation {
        percent_hundredths: -1_500,
        add_minor: -250,
        step_minor: 50,
    };
    let mut last = rate_plan("Last minute");
    last.derived_from = Some(("saver".into(), less));
    let last = hotel.rate_plan("last", last).await;
    for (adults, night) in [
        // 90 % of 123.40 to whole euros is 111.00; 85 % of it less 2.50 is 91.85.
        (2, 9_200),
        // A single guest: 99.90, 90.00, 74.00.
        (1, 7_400),
    ] {
        let nights = stay(4, 7);
        let read = rates::offers(&hotel.ledger, hotel.property, nights, adults, 0, Some(last));
        let offers = read.await.expect("no failure");
        let offer = find(&offers, "dbl", Some("last"));
        let priced: Vec<i64> = offer.nightly.iter().map(|(_, money)| money.minor).collect();
        assert_eq!(priced, [night; 3]);
        let (id, mut asked) = wish(&hotel, dbl, nights, 1);
        if let Command::Request(wish) = &mut asked.command {
            wish.rooms[0].rate_plan = Some(last);
            wish.rooms[0].adults = Some(adults);
        }
        let answer = hotel.ledger.ask(asked).await.expect("no failure");
        answer.expect("no refusal");
        let booked = load(&hotel, id).await.reservation;
        assert_eq!(booked.rooms[0].nightly, offer.nightly);
        assert_eq!(booked.detail.total, offer.total);
    }
}

#[tokio::test]
async fn a_type_without_plans_is_offered_at_its_own_price_or_at_none() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 1)).await;
    let offers = || rates::offers(&hotel.ledger, hotel.property, stay(1, 3), 2, 0, None);
    let bare = offers().await.expect("no failure");
    assert_eq!(
        (bare[0].total, bare[0].hindrances.len()),
        (None, 0),
        "staff may book it"
    );
    let mut own = of(dbl, stay(1, 3));
    own.rate_minor = Some(Some(8_000));
    set(&hotel, &[own]).await.expect("set");
    let priced = offers().await.expect("no failure");
    assert_eq!(priced[0].total.map(|money| money.minor), Some(16_000));
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
