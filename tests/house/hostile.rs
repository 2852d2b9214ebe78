//! Callers that are strange, wrong or hostile get clean answers and change nothing.

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{TestApp, said};

const RESERVATIONS: &str = "/v1/properties/linde/reservations";

#[tokio::test]
async fn whoever_has_no_key_learns_nothing() {
    let app = TestApp::start().await;
    app.hotel("linde", 2).await;
    for path in [
        "/v1/properties/linde",
        RESERVATIONS,
        "/v1/properties/nowhere",
    ] {
        let nobody = said(app.stranger(Method::GET, path)).await;
        assert_eq!(
            (nobody.status, nobody.code()),
            (401, "unauthenticated"),
            "{path}"
        );
        let liar = said(app.stranger(Method::GET, path).bearer_auth("kr_guessed")).await;
        assert_eq!(
            (liar.status, liar.code()),
            (401, "unauthenticated"),
            "{path}"
        );
    }
    assert_eq!(app.get("/v1/properties/nowhere").await.code(), "not_found");
    let alive = said(app.stranger(Method::GET, "/healthz")).await;
    assert_eq!(alive.status, 200);
    app.end().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_in_words_and_never_a_failure_of_ours() {
    let app = TestApp::start().await;
    app.hotel("linde", 2).await;
    let post = |body: &str, kind: &str| {
        let request = app.request(Method::POST, RESERVATIONS);
        said(
            request
                .header("content-type", kind.to_owned())
                .body(body.to_owned()),
        )
    };
    let good = app.wish("confirmed", 0, 1).to_string();
    for (body, kind, status, code) in [
        ("{", "application/json", 400, "malformed"),
        ("", "application/json", 400, "malformed"),
        (&good[..], "text/plain", 415, "unsupported_media_type"),
        (&deep(), "application/json", 400, "malformed"),
        (&"x".repeat(2_000_000), "application/json", 413, "too_large"),
    ] {
        let answer = post(body, kind).await;
        assert_eq!(
            (answer.status, answer.code()),
            (status, code),
            "{:#}",
            answer.body
        );
        assert!(!answer.body["request_id"].is_null());
    }
    assert_eq!(app.free("linde", app.night(0), app.night(1)).await, [2]);
    app.end().await;
}

#[tokio::test]
async fn what_is_readable_and_wrong_is_named_by_its_place() {
    let app = TestApp::start().await;
    app.hotel("linde", 2).await;
    let change = |pointer: &str, value: Value| {
        let mut body = app.wish("confirmed", 0, 1);
        *body.pointer_mut(pointer).expect("a place") = value;
        body
    };
    let absurd = [
        change("/rooms/0/departure", json!(app.night(0))),
        change("/rooms/0/departure", json!("2030-02-30")),
        change("/rooms/0/departure", json!("9999-01-01")),
        change("/rooms/0/quantity", json!(0)),
        change("/rooms/0/quantity", json!(-1)),
        change("/rooms/0/quantity", json!(99_999_999_999_i64)),
        change("/rooms/0/room_type", json!("palace")),
        change("/rooms", json!([])),
        change("/status", json!("checked_in")),
        change("/source", json!("dream")),
    ];
    for body in absurd {
        let answer = app.post(RESERVATIONS, body.clone()).await;
        let is_refused = matches!(answer.status, 400 | 404 | 409 | 422);
        assert!(
            is_refused,
            "{} for {body}: {:#}",
            answer.status, answer.body
        );
    }
    let mut strange = app.wish("confirmed", 0, 1);
    strange["discount"] = json!("all of it");
    assert_eq!(app.post(RESERVATIONS, strange).await.code(), "invalid");
    assert_eq!(app.free("linde", app.night(0), app.night(1)).await, [2]);
    app.end().await;
}

/// Nested deeper than anybody means it.
fn deep() -> String {
    "[".repeat(100_000)
}
