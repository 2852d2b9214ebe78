//! A guest who books and changes or cancels between two polls: nobody ever hears of the nights that
//! the channel took and gave back.

use keyrack_distribution::intake;
use keyrack_model::adapter::Inbound;
use keyrack_model::channel::AccountSettings;
use serde_json::{Value, json};

use crate::house::{House, march};

/// The channel sells one of five, the desk another: four are told over the channel's own four. Then
/// the guest is gone, and the channel makes five of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_while_an_unheard_state_stood_is_told_again() {
    for later in [
        report("cancelled", json!([])),
        report("modified", json!([room(20)])),
    ] {
        let house = House::open("reopens", AccountSettings::default()).await;
        house.go_live().await;
        house.polled().await;
        house.book(house.double, 3, 4, 1).await;
        house.tell().await;
        assert_eq!(house.portal.shows("DBL", march(3)), 4);
        house.portal.told();
        arrives(&house, &later).await;
        house.tell().await;
        let told = house.portal.told().join("; ");
        assert!(told.contains("DBL 03-03..03-04 4"), "{told}");
        assert!(!told.contains("03-04..03-05"), "of no other night: {told}");
        assert_eq!(house.queue().await, 0);
    }
}

/// What was told before the last complete poll was told over nothing unheard.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_before_the_last_poll_is_left_alone() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house.polled().await;
    house.portal.told();
    arrives(&house, &report("cancelled", json!([]))).await;
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0]);
}

/// A first state moves nothing back.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_reservation_repeats_nothing_else() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    house.polled().await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house.portal.told();
    arrives(&house, &report("new", json!([room(20)]))).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-20..03-21 4"]);
}

pub fn room(day: i8) -> Value {
    json!({
        "room_key": null, "room_code": "DBL", "rate_code": null, "arrival": march(day),
        "departure": march(day + 1), "quantity": 1, "nightly": [], "total": null, "adults": 2,
        "children_ages": [], "guest_name": null,
    })
}

pub fn report(kind: &str, rooms: Value) -> Value {
    json!([{
        "hotel_code": null, "reference": "B-1", "kind": kind, "order": null, "booked_at": null,
        "rooms": rooms, "guest": { "name": "Anna Berg" }, "total": null, "commission": null,
        "payment_model": null, "remarks": [], "is_quote": false, "acknowledge_as": null,
    }])
}

pub async fn arrives(house: &House, reports: &Value) {
    let inbound = Inbound {
        bytes: reports.to_string().into_bytes(),
        topic: "reservations".into(),
        ..Inbound::default()
    };
    let outcome = intake::take(&house.distribution, "portal", inbound).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.recorded.len(), outcome.failed), (1, 0));
}
