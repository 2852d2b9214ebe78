//! Complete sets: for channels that take nothing else, and daily for those that want them.

use keyrack_distribution::resync;
use keyrack_model::channel::AccountSettings;

use crate::house::{House, march};

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_without_single_nights_gets_complete_sets() {
    let house = House::open("sets", AccountSettings::default()).await;
    house.go_live().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert_eq!(house.portal.shows("SUI", march(3)), 2);
    let stay = house.book(house.double, 3, 4, 2).await;
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["all: DBL 02-20..03-03 5; DBL 03-03..03-04 3; DBL 03-04..03-22 5; SUI 02-20..03-22 2"]
    );
    house.cancel(stay).await;
    house.book(house.suite, 3, 4, 2).await;
    house.tell().await;
    assert_eq!(
        house.portal.shows("DBL", march(3)),
        3,
        "the raise is held back"
    );
    assert_eq!(house.portal.shows("SUI", march(3)), 0, "the close is not");
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_wants_a_set_daily_gets_deltas_in_between() {
    let house = House::open("both", AccountSettings::default()).await;
    house.go_live().await;
    resync::step(&house.distribution).await.unwrap();
    house.tell().await;
    house.polled().await;
    house.tell().await;
    house.portal.told();
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"]);
    house.pass("1 day").await;
    resync::step(&house.distribution).await.unwrap();
    house.tell().await;
    let told = house.portal.told();
    assert!(
        told[0].starts_with("all: DBL 02-21..03-03 5; DBL 03-03..03-04 4;"),
        "{told:?}"
    );
    house.polled().await;
    house.tell().await;
    assert_eq!(house.queue().await, 0);
}
