//! Allotments and groups over HTTP: agreed, sold, reported, refused.

use http::Method;
use keyrack_ledger::keys::Role;
use serde_json::{Value, json};

use crate::app::{App, set_clock, wish};

const HOTEL: &str = "/v1/properties/seehof";

/// A hotel with the group `wedding`.
async fn with_group() -> App {
    let app = App::with_hotel().await;
    let group = json!({"name": "Wedding", "contact": "Ms Example", "cut_off": "2030-06-08"});
    let put = app.put(&format!("{HOTEL}/groups/wedding"), group).await;
    assert_eq!(put.status, 201, "{}", put.text());
    app
}

fn block(rooms: i32) -> Value {
    json!({
        "group": "wedding", "room_type": "SGL", "release_period_days": 0,
        "values": [{"from": "2030-06-10", "to": "2030-06-13", "rooms": rooms}]
    })
}

fn from_block(allotment: &str, quantity: i32) -> Value {
    let mut body = wish("confirmed", "2030-06-10", "2030-06-12");
    body["source"] = json!("group");
    body["rooms"][0]["room_type"] = json!("SGL");
    body["rooms"][0]["quantity"] = json!(quantity);
    body["rooms"][0]["allotment"] = json!(allotment);
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_is_agreed_sold_from_and_reported_on() {
    let app = with_group().await;
    let path = format!("{HOTEL}/allotments/block");
    let dry = app.put(&format!("{path}?dry_run=true"), block(3)).await;
    assert_eq!(
        (dry.status.as_u16(), &dry.json()["dry_run"]),
        (200, &json!(true))
    );
    assert_eq!(app.read(&path).await.code(), "not_found");
    let made = app.put(&path, block(3)).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.header("etag"), "\"1\"");
    assert_eq!(app.free("SGL", "2030-06-10").await, 2);
    let read = app.read(&path).await;
    let values = json!([{"from": "2030-06-10", "to": "2030-06-13", "rooms": 3}]);
    assert_eq!(read.json()["values"], values);
    assert_eq!(read.json()["group"], "wedding");

    let booked = app
        .post(&format!("{HOTEL}/reservations"), from_block("block", 2))
        .await;
    assert_eq!(booked.status, 201, "{}", booked.text());
    let drawn = &booked.json()["rooms"][0]["drawn"];
    let night = json!({"stay_date": "2030-06-10", "allotment": "block", "rooms": 2});
    assert_eq!(drawn[0], night);
    assert_eq!(app.free("SGL", "2030-06-10").await, 2, "shared rooms stay");

    let report = format!("{path}/pickup?from=2030-06-10&to=2030-06-14");
    let nights = app.read(&report).await.json()["nights"].clone();
    let night = |date: &str, taken: i32| {
        json!({"stay_date": date, "agreed": 3, "taken": taken, "left": 3 - taken,
               "released": 0, "is_released": false})
    };
    let expected = json!([
        night("2030-06-10", 2),
        night("2030-06-11", 2),
        night("2030-06-12", 0)
    ]);
    assert_eq!(nights, expected);

    let sheet = app.read(&format!("{HOTEL}/groups/wedding")).await;
    let sheet = sheet.json();
    assert_eq!(sheet["blocks"][0]["code"], "block");
    assert_eq!(sheet["blocks"][0]["nights"], expected);
    assert_eq!(sheet["reservations"][0]["id"], booked.json()["id"]);
    let listed = app.read(&format!("{HOTEL}/allotments")).await.json();
    assert_eq!(listed["items"][0]["code"], "block");
    let ledger = booked.json()["id"].as_str().expect("an id").to_owned();
    let ledger = app
        .read(&format!("{HOTEL}/reservations/{ledger}/ledger"))
        .await;
    assert!(ledger.text().contains("\"allotted\""), "{}", ledger.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_of_a_group_is_drawn_from_its_block() {
    let app = with_group().await;
    app.put(&format!("{HOTEL}/allotments/block"), block(3))
        .await;
    let reservations = format!("{HOTEL}/reservations");
    let mut body = from_block("block", 1);
    body["group"] = json!("wedding");
    body["rooms"][0]["allotment"] = Value::Null;
    let made = app.post(&reservations, body.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["rooms"][0]["drawn"][0]["allotment"], "block");
    body["rooms"][0]["room_type"] = json!("DBL");
    let refused = app.post(&reservations, body.clone()).await;
    assert_eq!(refused.pointer(), "/rooms/0/room_type");
    body["group"] = json!("nobody");
    assert_eq!(app.post(&reservations, body).await.pointer(), "/group");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_their_nights_and_what_would_be_forced() {
    let app = with_group().await;
    let path = format!("{HOTEL}/allotments/block");
    let refused = app.put(&path, block(6)).await;
    assert_eq!(refused.code(), "needs_force", "{}", refused.text());
    assert_eq!(refused.json()["nights"].as_array().map(Vec::len), Some(3));
    assert!(refused.text().contains("oversell"));
    app.put(&path, block(2)).await;
    let reservations = format!("{HOTEL}/reservations");
    let refused = app.post(&reservations, from_block("block", 3)).await;
    assert_eq!(refused.code(), "allotment_exhausted");
    assert_eq!(refused.status, 409);
    assert_eq!(refused.json()["nights"][0]["stay_date"], "2030-06-10");
    let mut forced = from_block("block", 3);
    forced["force"] = json!({"reason": "an aunt more", "allow": ["allotment"]});
    let made = app.post(&reservations, forced.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let cut = app.put(&path, block(1)).await;
    assert_eq!(cut.code(), "needs_force");
    assert!(cut.text().contains("allotment"));
    // The desk may not force it.
    let desk = app.key(Role::FrontDesk, None).await;
    let ask = app.ask(Method::POST, &reservations).key(&desk);
    let ask = ask.header("idempotency-key", "k").json(&forced);
    assert_eq!(ask.send().await.code(), "forbidden");
    let ask = app.ask(Method::PUT, &path).key(&desk).json(&block(1));
    assert_eq!(ask.send().await.code(), "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_allotment_is_said_field_by_field() {
    let app = with_group().await;
    let path = format!("{HOTEL}/allotments/block");
    for (field, value, pointer) in [
        ("group", json!("nobody"), "/group"),
        ("account", json!("nobody"), "/account"),
        ("room_type", json!("TENT"), "/room_type"),
        ("release_period_days", json!(-1), "/release_period_days"),
        (
            "values",
            json!([{"from": "2030-06-10", "to": "2030-06-10", "rooms": 1}]),
            "/values/0/to",
        ),
        (
            "values",
            json!([{"from": "2030-06-10", "to": "2030-06-11", "rooms": -1}]),
            "/values/0/rooms",
        ),
    ] {
        let mut body = block(1);
        body[field] = value;
        let answer = app.put(&path, body).await;
        assert_eq!(
            (answer.code(), answer.pointer()),
            ("invalid".into(), pointer.into())
        );
    }
    let made = app.put(&path, block(1)).await;
    assert_eq!(made.status, 201);
    let mut other = block(1);
    other["room_type"] = json!("DBL");
    assert_eq!(app.put(&path, other).await.pointer(), "/room_type");
    let ask = app.ask(Method::PUT, &path).header("if-match", "\"7\"");
    let answer = ask.json(&block(2)).send().await;
    assert_eq!(answer.code(), "version_mismatch");
    let composed = json!({
        "name": "Flat", "occupancy": {"adults_max": 4, "children_max": 2, "total_max": 6},
        "components": [{"room_type": "SGL", "quantity": 2}]
    });
    let put = app.put(&format!("{HOTEL}/room-types/FLAT"), composed).await;
    assert_eq!(put.status, 201, "{}", put.text());
    let mut flat = block(1);
    flat["room_type"] = json!("FLAT");
    let refused = app.put(&format!("{HOTEL}/allotments/flats"), flat).await;
    assert_eq!(refused.pointer(), "/room_type");
    assert!(refused.text().contains("composed"), "{}", refused.text());
    let wrong = from_block("nothing", 1);
    let answer = app.post(&format!("{HOTEL}/reservations"), wrong).await;
    assert_eq!(answer.pointer(), "/rooms/0/allotment");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_rules_have_switched_is_asked_of_nights() {
    let app = App::with_hotel().await;
    let path = format!("{HOTEL}/pool-rules/switches");
    let none = app
        .read(&format!("{path}?from=2030-06-01&to=2030-07-01"))
        .await;
    assert_eq!(none.json(), json!({"switches": []}));
    let turned = app
        .read(&format!("{path}?from=2030-06-01&to=2030-06-01"))
        .await;
    assert_eq!(turned.pointer(), "/to");
    let bare = app.read(&path).await;
    assert_eq!(bare.code(), "invalid", "{}", bare.text());
}

/// Nothing is agreed that would fall back at once; what was agreed in time stays, and may grow
/// fewer.
#[tokio::test(flavor = "multi_thread")]
async fn after_the_cut_off_nothing_more_is_agreed() {
    let app = with_group().await;
    let path = format!("{HOTEL}/allotments/block");
    let mut late = block(2);
    late["cut_off"] = json!("2030-06-01");
    let refused = app.put(&path, late).await;
    assert_eq!(refused.pointer(), "/cut_off", "{}", refused.text());
    assert_eq!(app.put(&path, block(2)).await.status, 201);
    // The group's own cut-off has come.
    set_clock(&app.pool, "2030-06-08T12:00:00Z").await;
    assert_eq!(app.put(&path, block(2)).await.status, 200, "as it was");
    let more = app.put(&path, block(3)).await;
    assert_eq!(more.pointer(), "/group", "{}", more.text());
    assert_eq!(app.put(&path, block(1)).await.status, 200, "fewer");
    let other = app
        .put(&format!("{HOTEL}/allotments/other"), block(1))
        .await;
    assert_eq!(other.pointer(), "/group");
    assert_eq!(
        app.read(&format!("{HOTEL}/allotments/other")).await.code(),
        "not_found"
    );
}
