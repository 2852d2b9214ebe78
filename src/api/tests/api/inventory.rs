//! Changes of nights: all values of a request, or none.

use serde_json::{Value, json};

use crate::app::App;

const INVENTORY: &str = "/v1/properties/seehof/inventory";

/// Out of order and overbooking limit of the doubles, night by night from June 2 on.
async fn doubles(app: &App) -> Vec<(i64, i64)> {
    let path = "/v1/properties/seehof/availability?from=2030-06-02&to=2030-06-05&room_type=DBL";
    let answer = app.read(path).await.json();
    let nights = answer["room_types"][0]["nights"]
        .as_array()
        .expect("nights");
    let count = |night: &Value, name: &str| night[name].as_i64().expect("a count");
    nights
        .iter()
        .map(|night| {
            (
                count(night, "out_of_order"),
                count(night, "overbooking_limit"),
            )
        })
        .collect()
}

fn value(from: &str, to: &str, field: &str, rooms: i32) -> Value {
    let mut value = json!({"room_type": "DBL", "from": from, "to": to});
    value[field] = json!(rooms);
    value
}

#[tokio::test]
async fn a_wrong_value_leaves_the_right_ones_undone_and_is_named() {
    let app = App::with_hotel().await;
    let right = value("2030-06-02", "2030-06-04", "out_of_order", 1);
    let wrong = value("2030-06-03", "2030-06-05", "out_of_order", 3);
    let body = json!({"values": [right, wrong]});
    let answer = app.post(INVENTORY, body).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    let pointer = &answer.json()["errors"][0]["pointer"];
    assert_eq!(pointer, "/values/1/out_of_order");
    assert_eq!(doubles(&app).await, [(0, 0); 3]);
}

#[tokio::test]
async fn a_later_value_starts_from_what_the_earlier_ones_made() {
    let app = App::with_hotel().await;
    let body = json!({"values": [
        value("2030-06-02", "2030-06-05", "out_of_order", 2),
        value("2030-06-02", "2030-06-04", "overbooking_limit", 1),
        value("2030-06-03", "2030-06-04", "out_of_order", 1),
    ]});
    let shown = app
        .post(&format!("{INVENTORY}?dry_run=true"), body.clone())
        .await;
    assert_eq!(shown.json(), json!({"dry_run": true, "short": []}));
    assert_eq!(doubles(&app).await, [(0, 0); 3], "a dry run does nothing");
    for _ in 0..2 {
        assert_eq!(app.post(INVENTORY, body.clone()).await.status, 200);
        assert_eq!(doubles(&app).await, [(2, 1), (1, 1), (2, 0)]);
    }
}

#[tokio::test]
async fn a_request_for_more_nights_than_one_piece_is_sent_in_parts() {
    let app = App::with_hotel().await;
    let values = vec![value("2030-06-02", "2032-06-02", "overbooking_limit", 1); 28];
    let answer = app.post(INVENTORY, json!({"values": values})).await;
    assert_eq!(answer.json()["errors"][0]["pointer"], "/values");
}
