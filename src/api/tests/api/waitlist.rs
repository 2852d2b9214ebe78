//! The waitlist over HTTP, and what was turned away.

use http::Method;
use keyrack_ledger::keys::Role;
use keyrack_ledger::{turn_aways, waitlist};
use serde_json::{Value, json};

use crate::app::{App, wish};

const WAITLIST: &str = "/v1/properties/seehof/waitlist";
const BOOK: &str = "/v1/properties/seehof/reservations";

fn wanted() -> Value {
    json!({
        "arrival": "2030-06-10", "departure": "2030-06-11", "room_types": ["DBL"],
        "source": "phone", "answer_seconds": 3600,
        "guest": {"name": "Ada Example", "email": "ada@example.com"}
    })
}

async fn look(app: &App) {
    let property = app.property("seehof").await;
    waitlist::look(&app.ledger, property)
        .await
        .expect("no failure");
}

#[tokio::test]
async fn sold_out_names_the_waitlist_and_who_waits_is_offered_what_comes_free() {
    let app = App::with_hotel().await;
    let first = app.book("2030-06-10", "2030-06-11").await;
    app.book("2030-06-10", "2030-06-11").await;
    let refused = app
        .post(BOOK, wish("held", "2030-06-10", "2030-06-11"))
        .await;
    assert_eq!(refused.code(), "sold_out");
    assert_eq!(refused.json()["waitlist"], WAITLIST);

    let made = app.post(WAITLIST, wanted()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    let one = format!("{WAITLIST}/{}", made["id"].as_str().expect("an id"));
    assert_eq!(
        (&made["status"], &made["offers"]),
        (&json!("waiting"), &json!(0))
    );
    look(&app).await;
    assert_eq!(app.read(&one).await.json(), made, "nothing is free");

    let path = format!("{BOOK}/{}/cancel", first["id"].as_str().expect("an id"));
    assert_eq!(app.post(&path, json!({})).await.status, 200);
    look(&app).await;
    let offered = app.read(&one).await.json();
    assert_eq!(offered["status"], "offered");
    let hold = offered["offer"]["reservation"].as_str().expect("a hold");
    assert_eq!(offered["offer"]["room_type"], "DBL");
    let held = app.read(&format!("{BOOK}/{hold}")).await.json();
    assert_eq!(
        (&held["status"], &held["guest"]["name"]),
        (&json!("held"), &json!("Ada Example"))
    );
    assert_eq!(held["hold_until"], offered["offer"]["answer_until"]);

    let confirmed = app.post(&format!("{BOOK}/{hold}/confirm"), json!({})).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());
    look(&app).await;
    assert_eq!(app.read(&one).await.json()["status"], "accepted");
    assert_eq!(
        app.read(&format!("{WAITLIST}?open=true")).await.json()["items"],
        json!([])
    );
}

#[tokio::test]
async fn a_wish_is_taken_back_and_whoever_reads_only_may_not() {
    let app = App::with_hotel().await;
    let made = app.post(WAITLIST, wanted()).await.json();
    let one = format!("{WAITLIST}/{}", made["id"].as_str().expect("an id"));
    look(&app).await;
    let property = app.property("seehof").await;
    let reader = app.key(Role::ReadOnly, Some(property)).await;
    let bearer = format!("Bearer {reader}");
    let ask = app
        .anonymous(Method::DELETE, &one)
        .header("authorization", &bearer);
    assert_eq!(ask.send().await.code(), "forbidden");
    let gone = app.ask(Method::DELETE, &one).send().await;
    assert_eq!(
        (gone.status.as_u16(), &gone.json()["status"]),
        (200, &json!("cancelled"))
    );
    assert_eq!(app.ask(Method::DELETE, &one).send().await.status, 200);
    let nobody = format!("{WAITLIST}/{}", uuid::Uuid::nil());
    assert_eq!(app.read(&nobody).await.code(), "not_found");
}

#[tokio::test]
async fn a_wrong_wish_is_told_what_is_wrong() {
    let app = App::with_hotel().await;
    let with = |field: &str, value: Value| {
        let mut body = wanted();
        body[field] = value;
        body
    };
    for (body, at) in [
        (with("departure", json!("2030-06-10")), "/departure"),
        (with("arrival", json!("2030-05-01")), "/arrival"),
        (with("room_types", json!([])), "/room_types"),
        (with("room_types", json!(["NO"])), "/room_types/0"),
        (with("quantity", json!(0)), "/quantity"),
        (with("answer_seconds", json!(5)), "/answer_seconds"),
        (with("guest", json!({"name": "Ada"})), "/guest"),
        (
            with("guest", json!({"name": " ", "email": "a@b.c"})),
            "/guest/name",
        ),
    ] {
        let answer = app.post(WAITLIST, body).await;
        assert_eq!(
            (answer.code(), answer.pointer()),
            ("invalid".into(), at.into())
        );
    }
}

#[tokio::test]
async fn turn_aways_are_summed_by_reason() {
    let app = App::with_hotel().await;
    app.book("2030-06-10", "2030-06-12").await;
    app.book("2030-06-10", "2030-06-12").await;
    for _ in 0..2 {
        let refused = app
            .post(BOOK, wish("held", "2030-06-10", "2030-06-12"))
            .await;
        assert_eq!(refused.code(), "sold_out");
    }
    turn_aways::add(&app.ledger).await.expect("no failure");
    let path = "/v1/properties/seehof/turn-aways?from=2030-06-01&to=2030-07-01";
    let found = app.read(path).await.json();
    assert_eq!(
        found,
        json!({
            "room_nights_by_reason": {"sold_out": 4},
            "turn_aways": [{
                "arrival": "2030-06-10", "room_type": "DBL", "asked_on": "2030-06-01",
                "source": "phone", "reason": "sold_out", "wishes": 2, "room_nights": 4
            }]
        })
    );
    let wrong = app
        .read("/v1/properties/seehof/turn-aways?from=2030-06-01&to=2030-06-01")
        .await;
    assert_eq!(wrong.pointer(), "/to");
}
