//! Allotments and pool rules as channels see them: told exactly where something changed.

use keyrack_distribution::timetable;
use keyrack_ledger::allotments::{self, Put};
use keyrack_ledger::catalog::{self, MappingSetup};
use keyrack_ledger::decide::allotment::{AgreedRooms, Owner};
use keyrack_ledger::decide::pool_rule::{PoolRule, Scarcity};
use keyrack_model::allotment::Release;
use keyrack_model::channel::PoolMode;
use keyrack_model::stay::{Stay, Weekdays};

use crate::house::{House, by, map, march};

async fn agree(house: &House, rooms: i32, release: Release) {
    let put = Put {
        code: "tour".to_owned(),
        owner: Owner::Account(house.account().await.account.id),
        room_type: house.double,
        release,
        values: vec![AgreedRooms {
            nights: Stay::new(march(3), march(6)).unwrap(),
            weekdays: Weekdays::ALL,
            rooms,
        }],
        version: None,
        force: None,
        dry_run: false,
    };
    let put = allotments::put(&house.ledger, house.property, &by(), put).await;
    put.unwrap().unwrap();
}

async fn live_on(house: &House, pool: PoolMode) {
    let own = MappingSetup {
        pool,
        allotment: Some("tour".to_owned()),
        ..map("double", Some("bar"), "DBL", Some("BAR"))
    };
    house.map(vec![own, map("suite", None, "SUI", None)]).await;
}

/// Everything that is due is told, also what waits for a poll.
async fn told(house: &House) -> String {
    house.tell().await;
    house.polled().await;
    house.tell().await;
    house.portal.told().join("; ")
}

#[tokio::test(flavor = "multi_thread")]
async fn agreeing_and_releasing_tell_the_nights_that_they_change() {
    let house = House::live().await;
    let release = Release {
        period_days: 7,
        cut_off: None,
    };
    agree(&house, 2, release).await;
    assert_eq!(told(&house).await, "DBL 03-03..03-06 3");
    agree(&house, 2, release).await;
    assert_eq!(told(&house).await, "", "a repeat says nothing new");
    // 3 March falls back at the midnight of 24 February, in Rome.
    house.pass("3 days 10 hours 59 minutes").await;
    assert_eq!(
        timetable::release_due(&house.distribution).await.unwrap(),
        0
    );
    house.pass("1 minute").await;
    let twin = house.twin().await;
    let first = timetable::release_due(&house.distribution).await.unwrap();
    let second = timetable::release_due(&twin).await.unwrap();
    assert_eq!((first, second), (1, 0));
    let said = told(&house).await;
    assert!(said.contains("DBL 03-03..03-04 5"), "{said}");
    assert!(!said.contains("DBL 03-04"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_lives_on_its_allotment_is_told_it_and_no_cancellation_of_others() {
    let house = House::live().await;
    agree(&house, 2, Release::default()).await;
    live_on(&house, PoolMode::Allotment).await;
    told(&house).await;
    assert_eq!(house.portal.shows("DBL", march(3)), 2);
    assert_eq!(house.portal.shows("DBL", march(2)), 0, "nothing agreed");
    let guest = house.book(house.double, 3, 4, 3).await;
    house.cancel(guest).await;
    told(&house).await;
    assert_eq!(house.portal.shows("DBL", march(3)), 2);
    live_on(&house, PoolMode::AllotmentThenShared).await;
    told(&house).await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert_eq!(house.portal.shows("DBL", march(2)), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_of_scarcity_switches_what_is_told_and_one_cancellation_does_not_flap() {
    let house = House::live().await;
    agree(&house, 1, Release::default()).await;
    let rule = PoolRule {
        account: house.account().await.account.id,
        room_type: Some(house.double),
        nights: None,
        weekdays: Weekdays::ALL,
        mode: PoolMode::Allotment,
        scarcity: Some(Scarcity {
            at_most: 2,
            again_at: 4,
        }),
    };
    let (ledger, property) = (&house.ledger, house.property);
    let put = catalog::put_pool_rules(ledger, property, &by(), &[rule]).await;
    put.unwrap().unwrap();
    told(&house).await;
    assert_eq!(house.portal.shows("DBL", march(3)), 4);
    let two = house.book(house.double, 3, 4, 2).await;
    let one = house.book(house.double, 3, 4, 1).await;
    told(&house).await;
    assert_eq!(house.portal.shows("DBL", march(3)), 1, "its own");
    house.cancel(one).await;
    told(&house).await;
    assert_eq!(house.portal.shows("DBL", march(3)), 1, "two are free");
    house.cancel(two).await;
    told(&house).await;
    assert_eq!(house.portal.shows("DBL", march(3)), 4, "what is shared");
}
