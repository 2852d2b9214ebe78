//! Hostile input: whatever comes, the answer is clean and never a fault of ours.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http::{Method, Request};
use keyrack_api::settings::Settings;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, answered, wish};

const BOOK: &str = "/v1/properties/seehof/reservations";

/// A wish with one field changed.
fn with(pointer: &str, value: Value) -> Value {
    let mut body = wish("confirmed", "2030-06-10", "2030-06-11");
    match body.pointer_mut(pointer) {
        Some(field) => *field = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            body.pointer_mut(parent).expect("a parent")[name] = value;
        }
    }
    body
}

#[tokio::test]
async fn a_wrong_field_is_named_and_nothing_is_booked() {
    let app = App::with_hotel().await;
    let wrongs = [rooms_wrong(), names_wrong(), others_wrong()].concat();
    for (pointer, value, at) in wrongs {
        let answer = app.post(BOOK, with(pointer, value.clone())).await;
        let found = (answer.status.as_u16(), answer.code(), answer.pointer());
        assert_eq!(
            found,
            (422, "invalid".into(), at.into()),
            "{pointer} = {value}: {}",
            answer.text()
        );
    }
    assert_eq!(app.free("DBL", "2030-06-10").await, 2);
}

#[tokio::test]
async fn odd_dates_are_refused_and_never_a_fault() {
    let app = App::with_hotel().await;
    for (arrival, departure, code) in [
        ("9998-12-30", "9998-12-31", "not_yet_open"),
        ("1900-01-01", "1900-01-02", "needs_force"),
        ("2030-06-10", "2034-06-10", "not_yet_open"),
        ("2030-05-31", "2030-06-02", "needs_force"),
    ] {
        let answer = app.post(BOOK, wish("confirmed", arrival, departure)).await;
        assert_eq!(
            answer.code(),
            code,
            "{arrival}..{departure}: {}",
            answer.text()
        );
    }
    let mut forced = wish("confirmed", "9998-12-30", "9998-12-31");
    forced["force"] = json!({"reason": "why not", "allow":
        ["restriction", "closed", "past", "allotment", "oversell"]});
    let answer = app.post(BOOK, forced).await;
    assert!(!answer.status.is_server_error(), "{}", answer.text());
    for hold_until in [
        "1970-01-01T00:00:00Z",
        "-009999-01-02T01:59:59Z",
        "9999-12-30T22:00:00Z",
    ] {
        let mut body = wish("held", "2030-06-10", "2030-06-11");
        body["hold_until"] = json!(hold_until);
        let answer = app.post(BOOK, body).await;
        assert!(
            !answer.status.is_server_error(),
            "{hold_until}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn what_is_no_json_is_malformed() {
    let app = App::with_hotel().await;
    let good = wish("confirmed", "2030-06-10", "2030-06-11").to_string();
    let bodies: [Vec<u8>; 10] = [
        Vec::new(),
        b"{".to_vec(),
        b"<xml/>".to_vec(),
        good.replace("Ada", "\\ud800").into_bytes(),
        good.replace("Ada", "\u{0}").into_bytes(),
        good.replace("\"quantity\":1", "\"quantity\":1e400")
            .into_bytes(),
        good.replace("\"quantity\":1", "\"quantity\":0x1")
            .into_bytes(),
        [good.as_bytes(), b" {}"].concat(),
        format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000)).into_bytes(),
        [b"{\"status\":\"".as_slice(), &[0xff, 0xfe, 0xc0], b"\"}"].concat(),
    ];
    for body in bodies {
        let ask = app.ask(Method::POST, BOOK).header("idempotency-key", "x");
        let answer = ask.raw("application/json", &body).send().await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert_eq!(
            (answer.status.as_u16(), answer.code()),
            (400, "malformed".into()),
            "{shown}"
        );
    }
    for kind in [
        "",
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
    ] {
        let ask = app.ask(Method::POST, BOOK).header("idempotency-key", "x");
        let answer = ask.text(kind, &good).send().await;
        assert_eq!(answer.code(), "unsupported_media_type", "{kind}");
    }
    let twice = good.replacen("{", "{\"status\":\"held\",", 1);
    let ask = app.ask(Method::POST, BOOK).header("idempotency-key", "x");
    let answer = ask.text("application/json", &twice).send().await;
    assert_eq!(
        answer.code(),
        "invalid",
        "a field told twice is not guessed at"
    );
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read() {
    let app = App::with_hotel().await;
    let large = vec![b' '; 10 * 1024 * 1024];
    let ask = app.ask(Method::POST, BOOK).header("idempotency-key", "x");
    let answer = ask.raw("application/json", &large).send().await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (413, "too_large".into())
    );
    // Without a length the limit is met while reading.
    let pieces = (0..64).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 64 * 1024])));
    let body = Body::from_stream(futures_of(pieces));
    let answer = send(&app, body).await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (413, "too_large".into())
    );
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let settings = Settings {
        body_timeout_ms: 200,
        ..Settings::default()
    };
    let app = App::with(settings).await;
    app.hotel("seehof").await;
    let body = Body::from_stream(Dripping);
    let began = tokio::time::Instant::now();
    let answer = send(&app, body).await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (400, "malformed".into())
    );
    assert!(began.elapsed() < Duration::from_secs(5));
    let broken = [
        Ok(Bytes::from("{\"sta")),
        Err(std::io::Error::other("gone")),
    ];
    let answer = send(&app, Body::from_stream(futures_of(broken.into_iter()))).await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (400, "malformed".into())
    );
}

#[tokio::test]
async fn junk_in_headers_paths_and_queries_gets_a_clean_answer() {
    let app = App::with_hotel().await;
    let id = uuid::Uuid::new_v4();
    for path in [
        format!("{BOOK}/{id}"),
        format!("{BOOK}/{id}/ledger"),
        format!("{BOOK}/not-a-uuid"),
        format!("{BOOK}/%00"),
        format!("{BOOK}?q=%00"),
        format!("{BOOK}?q=%ff%fe"),
        format!("{BOOK}?q={}", "x".repeat(300)),
        format!("{BOOK}?q=%27%20or%201%3D1%20--"),
        format!("{BOOK}?q=%25_%5C"),
        format!("{BOOK}?q=99999999999999999999999999"),
        format!("{BOOK}?status=gone"),
        format!("{BOOK}?account=none"),
        format!("{BOOK}?arrival_from=2030-02-30"),
        format!("{BOOK}?cursor=zzz"),
        "/v1/properties/seehof/nights/DBL/2030-02-30/ledger".to_owned(),
        "/v1/properties/seehof/nights/%00/2030-02-03/ledger".to_owned(),
        "/v1/properties/seehof/nights/DBL/9998-12-31/ledger".to_owned(),
        "/v1/properties/seehof/availability".to_owned(),
        "/v1/properties/seehof/availability?from=2030-06-01&to=2030-06-01".to_owned(),
        "/v1/properties/seehof/availability?from=1900-01-01&to=9998-12-31".to_owned(),
        "/v1/properties/seehof/availability?from=9998-12-30&to=9998-12-31".to_owned(),
        "/v1/properties/seehof/offers?arrival=2030-06-01&departure=2030-06-02&adults=-1".to_owned(),
        "/v1/properties/seehof/offers?arrival=9998-06-01&departure=9998-06-02&adults=2".to_owned(),
        "/v1/properties/seehof/day-sheet?date=9998-12-31".to_owned(),
        "/v1/properties/seehof/day-sheet?date=1900-01-01".to_owned(),
        "/v1/properties/seehof/overbooking-cases/99999999999999999999".to_owned(),
        "/v1/properties/seehof/overbooking-cases/-1".to_owned(),
    ] {
        let answer = app.read(&path).await;
        assert!(
            !answer.status.is_server_error(),
            "{path}: {}",
            answer.text()
        );
        if !answer.status.is_success() {
            let code = answer.code();
            assert!(["not_found", "invalid"].contains(&&*code), "{path}: {code}");
        }
    }
    let body = wish("confirmed", "2030-06-10", "2030-06-11");
    for (name, value) in [
        ("keyrack-actor", "x".repeat(200)),
        ("keyrack-actor", " ".to_owned()),
        ("idempotency-key", "x".repeat(300)),
        ("idempotency-key", String::new()),
    ] {
        let answer = app
            .ask(Method::POST, BOOK)
            .header(name, &value)
            .json(&body)
            .send()
            .await;
        assert_eq!(answer.code(), "malformed", "{name}");
    }
}

async fn send(app: &App, body: Body) -> crate::app::Answer {
    let request = Request::post(BOOK)
        .header("authorization", format!("Bearer {}", app.admin))
        .header("content-type", "application/json")
        .header("idempotency-key", "x")
        .body(body)
        .expect("a request");
    answered(
        app.router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer"),
    )
    .await
}

/// Pieces as a stream.
fn futures_of<I: Iterator + Send + Unpin + 'static>(
    pieces: I,
) -> impl futures_util::Stream<Item = I::Item> + Send {
    futures_util::stream::iter(pieces)
}

/// A body of which nothing ever comes.
struct Dripping;

impl futures_util::Stream for Dripping {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Pending
    }
}

/// What can be wrong with nights and number of a room, and where it is said to be.
fn rooms_wrong() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/rooms/0/arrival", json!("2030-02-30"), "/rooms/0/arrival"),
        (
            "/rooms/0/arrival",
            json!("2030-06-11"),
            "/rooms/0/departure",
        ),
        (
            "/rooms/0/arrival",
            json!("2030-06-12"),
            "/rooms/0/departure",
        ),
        (
            "/rooms/0/departure",
            json!("9999-12-31"),
            "/rooms/0/departure",
        ),
        (
            "/rooms/0/departure",
            json!("9998-12-31"),
            "/rooms/0/departure",
        ),
        ("/rooms/0/arrival", json!(20_300_610), "/rooms/0/arrival"),
        ("/rooms/0/quantity", json!(0), "/rooms/0/quantity"),
        ("/rooms/0/quantity", json!(-1), "/rooms/0/quantity"),
        (
            "/rooms/0/quantity",
            json!(2_147_483_647),
            "/rooms/0/quantity",
        ),
        (
            "/rooms/0/quantity",
            json!(99_999_999_999_i64),
            "/rooms/0/quantity",
        ),
        ("/rooms/0/quantity", json!(1.5), "/rooms/0/quantity"),
        ("/rooms/0/quantity", json!("1"), "/rooms/0/quantity"),
    ]
}

/// What can be wrong with the names and prices of a room.
fn names_wrong() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/rooms/0/room_type", json!("NONE"), "/rooms/0/room_type"),
        (
            "/rooms/0/room_type",
            json!("' or 1=1 --"),
            "/rooms/0/room_type",
        ),
        ("/rooms/0/room_type", json!("a\u{0}b"), "/rooms/0/room_type"),
        ("/rooms/0/rate_plan", json!("none"), "/rooms/0/rate_plan"),
        (
            "/rooms/0/price",
            json!({"amount": 12.5, "currency": "EUR"}),
            "/rooms/0/price/amount",
        ),
        (
            "/rooms/0/price",
            json!({"amount": "1e9", "currency": "EUR"}),
            "/rooms/0/price",
        ),
        (
            "/rooms/0/price",
            json!({"amount": "-1", "currency": "EUR"}),
            "/rooms/0/price",
        ),
        (
            "/rooms/0/price",
            json!({"amount": "1", "currency": "XX"}),
            "/rooms/0/price/currency",
        ),
        (
            "/rooms/0/children_ages",
            json!([99]),
            "/rooms/0/children_ages",
        ),
        ("/rooms/0/adults", json!(0), "/rooms/0/adults"),
    ]
}

/// What can be wrong beside the rooms.
fn others_wrong() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/rooms", json!([]), "/rooms"),
        ("/guest/name", json!("  "), "/guest/name"),
        ("/guest/name", json!("a\u{0}b"), "/guest/name"),
        ("/guest/name", json!("x".repeat(5_000)), "/guest/name"),
        ("/guest/shoe_size", json!(44), "/guest/shoe_size"),
        ("/unknown", json!(1), "/unknown"),
        ("/status", json!("cancelled"), "/status"),
        ("/source", json!("channel"), "/source"),
        ("/account", json!("booking"), "/channel_reference"),
        ("/hold_seconds", json!(60), "/hold_seconds"),
        (
            "/force",
            json!({"reason": " ", "allow": []}),
            "/force/reason",
        ),
        (
            "/force",
            json!({"reason": "x", "allow": ["all"]}),
            "/force/allow/0",
        ),
    ]
}
