//! Every field of ARI reaches the channel by itself.

use serde_json::Value;

use crate::house::{House, march};

#[tokio::test(flavor = "multi_thread")]
async fn r28_each_field_alone_is_pushed_once_and_nothing_else_is() {
    let house = House::live().await;
    for (set, path, meant) in [
        (
            "amount_minor = 15000",
            "/rate/amount",
            Value::from("150.00"),
        ),
        (
            "min_stay_arrival = 2",
            "/restrictions/min_stay_arrival",
            Value::from(2),
        ),
        (
            "min_stay_through = 3",
            "/restrictions/min_stay_through",
            Value::from(3),
        ),
        ("max_stay = 9", "/restrictions/max_stay", Value::from(9)),
        (
            "closed_to_arrival = true",
            "/restrictions/closed_to_arrival",
            Value::from(true),
        ),
        (
            "closed_to_departure = true",
            "/restrictions/closed_to_departure",
            Value::from(true),
        ),
        (
            "min_advance_days = 1",
            "/restrictions/min_advance_days",
            Value::from(1),
        ),
        (
            "max_advance_days = 90",
            "/restrictions/max_advance_days",
            Value::from(90),
        ),
        ("stop_sell = true", "/closed", Value::from(true)),
    ] {
        house.rate_nights(set, march(3), march(4)).await;
        house.tell().await;
        let messages = house.portal.messages();
        assert_eq!(messages.len(), 1, "{set}");
        let spans = messages[0]["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 1, "{set}: {spans:?}");
        assert_eq!(spans[0]["channel_rate_code"], "BAR", "{set}");
        assert_eq!(spans[0]["nights"]["arrival"], "2030-03-03", "{set}");
        assert_eq!(spans[0]["nights"]["departure"], "2030-03-04", "{set}");
        assert_eq!(spans[0]["values"].pointer(path), Some(&meant), "{set}");
        assert_eq!(
            house.portal.rate("DBL", "BAR", march(3)).pointer(path),
            Some(&meant)
        );
    }
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r28_two_fields_at_once_are_one_item() {
    let house = House::live().await;
    house
        .rate_nights("min_stay_arrival = 2", march(3), march(5))
        .await;
    house
        .rate_nights("closed_to_arrival = true", march(3), march(5))
        .await;
    house
        .rate_nights("amount_minor = 9900", march(3), march(5))
        .await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL/BAR 03-03..03-05 open"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_change_is_not_told() {
    let house = House::live().await;
    house.rates("amount_minor = 12000").await;
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0]);
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_night_without_a_price_is_closed_there() {
    let house = House::live().await;
    house
        .rate_nights("amount_minor = null", march(3), march(4))
        .await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL/BAR 03-03..03-04 closed"]);
}
