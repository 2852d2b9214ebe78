//! Staff book at the desk: hold, confirm, cancel, repeat.

use reqwest::Method;
use serde_json::json;

use crate::app::{Said, TestApp, said};

const RESERVATIONS: &str = "/v1/properties/linde/reservations";

async fn free(app: &TestApp) -> Vec<i64> {
    app.free("linde", app.night(0), app.night(3)).await
}

#[tokio::test]
async fn a_room_is_held_confirmed_and_given_back() {
    let app = TestApp::start().await;
    app.hotel("linde", 2).await;
    let held = app.post(RESERVATIONS, app.wish("held", 0, 2)).await;
    let held = held.expect(201);
    assert_eq!(held["status"], "held");
    assert!(
        held["hold_remaining_seconds"]
            .as_i64()
            .is_some_and(|seconds| seconds > 0)
    );
    assert_eq!(free(&app).await, [1, 1, 2]);

    let path = format!("{RESERVATIONS}/{}", held["id"].as_str().unwrap());
    let confirmed = app
        .post(&format!("{path}/confirm"), json!({}))
        .await
        .expect(200);
    assert_eq!(confirmed["status"], "confirmed");
    assert_eq!(free(&app).await, [1, 1, 2]);

    let cancelled = app
        .post(&format!("{path}/cancel"), json!({"reason": "ill"}))
        .await
        .expect(200);
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(free(&app).await, [2, 2, 2]);
    let again = app
        .post(&format!("{path}/cancel"), json!({"reason": "ill"}))
        .await
        .expect(200);
    assert_eq!(
        again["version"], cancelled["version"],
        "a repeat answers as the first did"
    );
    assert_eq!(free(&app).await, [2, 2, 2], "the rooms come back once");
    app.end().await;
}

#[tokio::test]
async fn the_same_key_with_the_same_request_books_once() {
    let app = TestApp::start().await;
    app.hotel("linde", 3).await;
    let send = |body| {
        let request = app.request(Method::POST, RESERVATIONS).json(&body);
        // The later of two headers would be another key.
        let (client, request) = request.build_split();
        let mut request = request.unwrap();
        request
            .headers_mut()
            .insert("Idempotency-Key", "one-and-the-same".parse().unwrap());
        said(reqwest::RequestBuilder::from_parts(client, request))
    };
    let first: Said = send(app.wish("confirmed", 0, 1)).await;
    let repeat = send(app.wish("confirmed", 0, 1)).await;
    assert_eq!((first.status, repeat.status), (201, 201));
    assert_eq!(repeat.header("idempotent-replay"), "true");
    assert_eq!(first.body["id"], repeat.body["id"]);
    let other = send(app.wish("confirmed", 0, 2)).await;
    assert_eq!(
        (other.status, other.code()),
        (422, "idempotency_key_reused")
    );
    assert_eq!(free(&app).await, [2, 3, 3]);
    app.end().await;
}

#[tokio::test]
async fn the_last_room_is_sold_once_and_the_refusal_names_the_nights_and_what_is_free() {
    let app = TestApp::start().await;
    app.hotel("linde", 1).await;
    let stay = app.wish("confirmed", 0, 2);
    app.post(RESERVATIONS, stay.clone()).await.expect(201);
    let refused = app.post(RESERVATIONS, app.wish("confirmed", 1, 3)).await;
    assert_eq!((refused.status, refused.code()), (409, "sold_out"));
    let nights = refused.body["nights"].to_string();
    let names = |night| nights.contains(&app.night(night).to_string());
    assert!(names(1) && !names(2), "{nights}");
    let alternatives = refused.body["alternatives"]
        .as_array()
        .expect("alternatives");
    for alternative in alternatives {
        let date = |field: &str| alternative[field].as_str().unwrap().parse().unwrap();
        let free = app.free("linde", date("arrival"), date("departure")).await;
        assert!(
            free.iter().all(|free| *free > 0),
            "{alternative} really is free"
        );
    }
    app.end().await;
}
