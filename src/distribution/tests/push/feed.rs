//! What the feed makes of the ledger's tail, and of a restored database.

use keyrack_distribution::{feed, push, resync};

use crate::house::{House, march};

#[tokio::test(flavor = "multi_thread")]
async fn a_database_restored_onto_another_cluster_is_told_anew() {
    let house = House::live().await;
    house.portal.told();
    sqlx::query("update feed_cursor set system_identifier = 'another', entry_tx = 9000000000")
        .execute(&house.pool)
        .await
        .unwrap();
    house.book(house.double, 3, 4, 1).await;
    let other = house.twin().await;
    feed::drain(&other).await.unwrap();
    resync::step(&other).await.unwrap();
    push::drain(&other).await.unwrap();
    house.polled().await;
    push::drain(&other).await.unwrap();
    assert_eq!(house.portal.shows("DBL", march(3)), 4);
    let told = house.portal.told().join("; ");
    assert!(told.contains("SUI 02-20..03-22 2"), "everything: {told}");
    house.book(house.double, 3, 4, 1).await;
    push::drain(&other).await.unwrap();
    assert_eq!(
        house.portal.shows("DBL", march(3)),
        3,
        "and the feed goes on"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daily_resync_repeats_every_number_and_changes_nothing() {
    let house = House::live().await;
    house.pass("1 day").await;
    resync::step(&house.distribution).await.unwrap();
    house.polled().await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    let told = house.portal.told().join("; ");
    assert!(told.contains("DBL 02-21..03-22 5"), "{told}");
    assert!(
        told.contains("DBL 03-22..03-23 5"),
        "the night that the horizon brought: {told}"
    );
    assert!(told.contains("DBL/BAR 03-01..03-22 open"), "{told}");
    assert!(told.contains("SUI 02-21..03-23 2"), "{told}");
    assert_eq!(house.queue().await, 0);
    resync::step(&house.distribution).await.unwrap();
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0], "once a day");
}
