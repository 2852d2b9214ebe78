//! What goes first, what waits, and what is told again.

use keyrack_model::channel::AccountSettings;

use crate::house::{House, march};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_account_is_opened_only_after_a_complete_poll() {
    let house = House::open("deltas", AccountSettings::default()).await;
    house.book(house.double, 5, 6, 5).await;
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0], "in setup nothing is told");
    let row = house.account().await;
    keyrack_distribution::accounts::go_live::go_live(
        &house.distribution,
        &row,
        &crate::house::by(),
        false,
    )
    .await
    .unwrap()
    .unwrap();
    house.tell().await;
    let told = house.portal.told().join("; ");
    assert!(told.contains("DBL 03-05..03-06 0"), "{told}");
    assert!(
        !told.contains(" 5") && !told.contains(" 2"),
        "nothing opens: {told}"
    );
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(4)), 5);
    assert_eq!(house.portal.shows("DBL", march(5)), 0);
    assert_eq!(house.portal.shows("SUI", march(5)), 2);
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lowers_goes_at_once_and_what_raises_waits_for_a_poll() {
    let house = House::live().await;
    let stay = house.book(house.double, 3, 5, 1).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-05 4"]);
    house.cancel(stay).await;
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0], "a raise waits");
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-05 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_begun_before_the_mark_raises_nothing() {
    let house = House::live().await;
    let stay = house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house.polled().await;
    house.cancel(stay).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"]);
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lowering_goes_before_raising() {
    let house = House::live().await;
    let stay = house.book(house.double, 3, 4, 2).await;
    house.tell().await;
    house.portal.told();
    house.cancel(stay).await;
    house.tell().await;
    house.polled().await;
    house.book(house.double, 20, 21, 1).await;
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["DBL 03-20..03-21 4", "DBL 03-03..03-04 5"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_is_told_again_though_the_number_is_the_same() {
    let house = House::live().await;
    let stay = house.book(house.double, 3, 4, 1).await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house.portal.told();
    house.cancel(stay).await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scarce_number_is_repeated_only_after_a_poll() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 3).await;
    let stay = house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 1"]);
    house.cancel(stay).await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        [""; 0],
        "one room left: the channel may have sold it"
    );
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn gathering_delays_raises_and_never_a_close() {
    let gathering = AccountSettings {
        gather_seconds: 30,
        ..AccountSettings::default()
    };
    let house = House::open("deltas", gathering).await;
    house.go_live().await;
    house.pass("31 seconds").await;
    house.polled().await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    house.portal.told();
    let stay = house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
    house.cancel(stay).await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0, "still gathering");
    house.pass("31 seconds").await;
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_changes_of_one_night_cost_one_push() {
    let house = House::live().await;
    for _ in 0..49 {
        let stay = house.book(house.double, 3, 4, 1).await;
        house.cancel(stay).await;
    }
    house.book(house.double, 3, 4, 2).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 3"]);
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_cannot_be_asked_is_raised_once_it_was_quiet_for_its_lag() {
    let house = House::open("silent", AccountSettings::default()).await;
    let row = house.account().await;
    keyrack_distribution::accounts::go_live::go_live(
        &house.distribution,
        &row,
        &crate::house::by(),
        false,
    )
    .await
    .unwrap()
    .unwrap();
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
    house.pass("31 seconds").await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    let stay = house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 4);
    house.cancel(stay).await;
    house.tell().await;
    house.pass("29 seconds").await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 4);
    house.pass("2 seconds").await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert_eq!(house.queue().await, 0);
}
