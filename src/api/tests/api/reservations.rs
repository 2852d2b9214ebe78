//! Reservations over HTTP: made once, refused with alternatives, changed, given back.

use http::Method;
use serde_json::{Value, json};

use crate::app::{App, set_clock, wish};

const BOOK: &str = "/v1/properties/seehof/reservations";

fn verb(reservation: &Value, verb: &str) -> String {
    format!(
        "{BOOK}/{}/{verb}",
        reservation["id"].as_str().expect("an id")
    )
}

fn path(reservation: &Value) -> String {
    format!("{BOOK}/{}", reservation["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn a_hold_is_made_read_and_confirmed() {
    let app = App::with_hotel().await;
    let mut body = wish("held", "2030-06-10", "2030-06-12");
    body["rooms"][0]["guest_name"] = json!("Bo Example");
    body["rooms"][0]["price"] = json!({"amount": "99.90", "currency": "EUR"});
    let made = app.post(BOOK, body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.header("etag"), "\"1\"");
    let held = made.json();
    assert_eq!(made.header("location"), path(&held));
    assert_eq!(held["status"], "held");
    assert_eq!(held["hold_remaining_seconds"], 600);
    assert_eq!(held["rooms"][0]["guest_name"], "Bo Example");
    assert_eq!(held["rooms"][0]["nightly"][1]["price"]["amount"], "99.90");
    assert_eq!(held["guest"]["name"], "Ada Example");

    let mut read = app.read(&path(&held)).await.json();
    let remaining = read["hold_remaining_seconds"].as_i64().expect("seconds");
    assert!((590..=600).contains(&remaining));
    read["hold_remaining_seconds"] = held["hold_remaining_seconds"].clone();
    assert_eq!(read, held, "what was answered is what is there");

    let body = json!({"payment_reference": "pay-1"});
    let confirmed = app.post(&verb(&held, "confirm"), body.clone()).await;
    assert_eq!(
        confirmed.json()["status"],
        "confirmed",
        "{}",
        confirmed.text()
    );
    assert_eq!(
        app.post(&verb(&held, "confirm"), body).await.json(),
        confirmed.json()
    );
    let other = app
        .post(
            &verb(&held, "confirm"),
            json!({"payment_reference": "pay-2"}),
        )
        .await;
    assert_eq!(other.code(), "already_confirmed");
    assert_eq!(app.free("DBL", "2030-06-10").await, 1);
}

#[tokio::test]
async fn the_same_request_under_one_key_books_once() {
    let app = App::with_hotel().await;
    let body = wish("confirmed", "2030-06-10", "2030-06-11");
    let ask = |body: &Value| {
        let ask = app.ask(Method::POST, BOOK).json(body);
        ask.header("idempotency-key", "call-7").send()
    };
    let first = ask(&body).await;
    assert_eq!(
        (first.status.as_u16(), first.header("idempotent-replay")),
        (201, "")
    );
    // The order of fields and blanks do not make another request of it.
    let spaced = body.to_string().replace(':', " :  ");
    let again = app
        .ask(Method::POST, BOOK)
        .text("application/json", &spaced)
        .header("idempotency-key", "call-7")
        .send()
        .await;
    assert_eq!(
        (again.status.as_u16(), again.header("idempotent-replay")),
        (201, "true")
    );
    assert_eq!(again.json(), first.json());
    let other = ask(&wish("confirmed", "2030-06-10", "2030-06-12")).await;
    assert_eq!(
        (other.status.as_u16(), other.code()),
        (422, "idempotency_key_reused".into())
    );
    assert_eq!(app.free("DBL", "2030-06-10").await, 1);
    let none = app.ask(Method::POST, BOOK).json(&body).send().await;
    assert_eq!((none.status.as_u16(), none.code()), (422, "invalid".into()));
}

#[tokio::test]
async fn a_refusal_is_decided_anew_under_its_key() {
    let app = App::with_hotel().await;
    let first = app.book("2030-06-10", "2030-06-11").await;
    app.book("2030-06-10", "2030-06-11").await;
    let body = wish("confirmed", "2030-06-10", "2030-06-11");
    let ask = || {
        let ask = app.ask(Method::POST, BOOK).json(&body);
        ask.header("idempotency-key", "call-8").send()
    };
    assert_eq!(ask().await.code(), "sold_out");
    assert_eq!(
        app.post(&verb(&first, "cancel"), json!({})).await.status,
        200
    );
    assert_eq!(ask().await.status, 201);
}

#[tokio::test]
async fn sold_out_names_its_nights_and_offers_what_is_really_free() {
    let app = App::with_hotel().await;
    for _ in 0..2 {
        app.book("2030-06-11", "2030-06-12").await;
    }
    let refused = app
        .post(BOOK, wish("held", "2030-06-10", "2030-06-13"))
        .await;
    assert_eq!(
        (refused.status.as_u16(), refused.code()),
        (409, "sold_out".into())
    );
    let body = refused.json();
    assert_eq!(
        body["nights"],
        json!([{"room_type": "DBL", "stay_date": "2030-06-11"}])
    );
    let offered = body["alternatives"]
        .as_array()
        .expect("alternatives")
        .clone();
    assert!(
        offered.iter().any(|one| one["room_type"] == "SGL"),
        "{body}"
    );
    for one in offered {
        let mut instead = wish("held", "2030-06-10", "2030-06-13");
        for field in ["room_type", "arrival", "departure"] {
            instead["rooms"][0][field] = one[field].clone();
        }
        let made = app.post(BOOK, instead).await;
        assert_eq!(made.status, 201, "{one}: {}", made.text());
        app.post(&verb(&made.json(), "cancel"), json!({})).await;
    }
}

#[tokio::test]
async fn a_change_needs_the_version_and_keeps_what_both_have() {
    let app = App::with_hotel().await;
    let made = app.book("2030-06-10", "2030-06-12").await;
    let body = json!({"rooms": [{"room_stay_id": 1, "room_type": "DBL",
        "arrival": "2030-06-11", "departure": "2030-06-14"}], "note": "late arrival"});
    let patch = || app.ask(Method::PATCH, &path(&made)).json(&body);
    let answer = patch().send().await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (428, "precondition_required".into())
    );
    let answer = patch().header("if-match", "\"9\"").send().await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (412, "version_mismatch".into())
    );
    let changed = patch().header("if-match", "\"1\"").send().await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(changed.header("etag"), "\"2\"");
    assert_eq!(changed.json()["note"], "late arrival");
    assert_eq!(changed.json()["rooms"][0]["departure"], "2030-06-14");
    assert_eq!(app.free("DBL", "2030-06-10").await, 2);
    assert_eq!(app.free("DBL", "2030-06-13").await, 1);
    let lines = app.read(&format!("{}/ledger", path(&made))).await.json();
    assert!(
        lines["items"]
            .as_array()
            .is_some_and(|lines| lines.len() >= 2),
        "{lines}"
    );
    let night = app
        .read("/v1/properties/seehof/nights/DBL/2030-06-13/ledger")
        .await
        .json();
    assert!(night.to_string().contains("sold"), "{night}");
}

#[tokio::test]
async fn rooms_come_back_once_however_often_it_is_cancelled() {
    let app = App::with_hotel().await;
    let made = app.book("2030-06-10", "2030-06-12").await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        let answer = app
            .post(&verb(&made, "cancel"), json!({"reason": "ill"}))
            .await;
        assert_eq!(answer.status, 200);
        answers.push(answer.json());
    }
    assert_eq!(answers[0]["status"], "cancelled");
    assert!(answers.iter().all(|one| *one == answers[0]));
    assert_eq!(app.free("DBL", "2030-06-10").await, 2);
    let bare = app.ask(Method::POST, &verb(&made, "cancel")).send().await;
    assert_eq!(bare.status, 200, "a verb needs no body: {}", bare.text());
}

#[tokio::test]
async fn the_desk_sees_its_day_and_takes_the_guest_through_it() {
    let app = App::with_hotel().await;
    for room in ["101", "102"] {
        let path = format!("/v1/properties/seehof/rooms/{room}");
        let put = app.put(&path, json!({"room_type": "DBL"})).await;
        assert_eq!(put.status, 201, "{}", put.text());
    }
    let made = app.book("2030-06-01", "2030-06-03").await;
    let assigned = app
        .post(&verb(&made, "assign"), json!({"room": "101"}))
        .await;
    assert_eq!(
        assigned.json()["rooms"][0]["room"],
        "101",
        "{}",
        assigned.text()
    );
    let moved = app.post(&verb(&made, "move"), json!({"room": "102"})).await;
    assert_eq!(moved.json()["rooms"][0]["room"], "102", "{}", moved.text());
    let sheet = app
        .read("/v1/properties/seehof/day-sheet?date=2030-06-01")
        .await
        .json();
    assert_eq!(sheet["arrivals"][0]["id"], made["id"], "{sheet}");
    let printed = app
        .ask(
            Method::GET,
            "/v1/properties/seehof/day-sheet?date=2030-06-01",
        )
        .header("accept", "text/plain")
        .send()
        .await;
    assert!(printed.header("content-type").starts_with("text/plain"));
    assert!(printed.text().contains("ARRIVALS (1)") && printed.text().contains("Ada Example"));
    let inside = app.post(&verb(&made, "check-in"), json!({})).await;
    assert_eq!(inside.json()["status"], "checked_in", "{}", inside.text());
    set_clock(&app.pool, "2030-06-02T09:00:00Z").await;
    let left = app.post(&verb(&made, "check-out"), json!({})).await;
    assert_eq!(left.json()["status"], "completed", "{}", left.text());
    assert_eq!(
        app.free("DBL", "2030-06-02").await,
        2,
        "an early departure gives nights back"
    );
    let back = app.post(&verb(&made, "undo"), json!({})).await;
    assert_eq!(back.json()["status"], "checked_in", "{}", back.text());
}

#[tokio::test]
async fn lists_are_filtered_by_what_the_desk_asks_for() {
    let app = App::with_hotel().await;
    let first = app.book("2030-06-10", "2030-06-12").await;
    let second = app.book("2030-06-11", "2030-06-15").await;
    app.post(&verb(&second, "cancel"), json!({})).await;
    let number = first["number"].as_str().expect("a number");
    for (query, wanted) in [
        ("", 2),
        ("?status=confirmed", 1),
        ("?status=confirmed,cancelled", 2),
        ("?arrival_from=2030-06-11", 1),
        ("?arrival_to=2030-06-11", 1),
        ("?staying_on=2030-06-11&status=confirmed", 1),
        ("?source=phone", 2),
        ("?source=walk_in", 0),
        ("?q=Ada", 2),
        ("?q=nobody", 0),
        (&format!("?q={number}"), 1),
    ] {
        let list = app.read(&format!("{BOOK}{query}")).await;
        let list = list.json();
        assert_eq!(
            list["items"].as_array().map(Vec::len),
            Some(wanted),
            "{query}: {list}"
        );
    }
    let page = app.read(&format!("{BOOK}?limit=1")).await.json();
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let next = app
        .read(&format!("{BOOK}?limit=1&cursor={cursor}"))
        .await
        .json();
    assert_eq!(next["items"][0]["id"], second["id"]);
}

#[tokio::test]
async fn the_front_desk_forces_little_and_a_manager_more() {
    use keyrack_ledger::keys::Role;
    let app = App::with_hotel().await;
    for _ in 0..2 {
        app.book("2030-06-10", "2030-06-11").await;
    }
    let mut body = wish("confirmed", "2030-06-10", "2030-06-11");
    body["force"] = json!({"reason": "the owner's sister", "allow": ["oversell"]});
    let desk = app.key(Role::FrontDesk, None).await;
    let ask = app.ask(Method::POST, BOOK).key(&desk).json(&body);
    let answer = ask.header("idempotency-key", "f-1").send().await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (403, "forbidden".into())
    );
    let manager = app.key(Role::Manager, None).await;
    let ask = app.ask(Method::POST, BOOK).key(&manager).json(&body);
    let ask = ask
        .header("keyrack-actor", "Anna")
        .header("idempotency-key", "f-1");
    let answer = ask.send().await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let lines = app
        .read(&format!("{}/ledger", path(&answer.json())))
        .await
        .text();
    assert!(
        lines.contains("(Anna)") && lines.contains("the owner's sister"),
        "{lines}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_callers_for_the_last_room_make_one_reservation() {
    let app = App::with_hotel().await;
    let mut path_put = crate::app::room_type(1);
    path_put["name"] = json!("Double");
    let put = app
        .put("/v1/properties/seehof/room-types/DBL", path_put)
        .await;
    assert_eq!(put.status, 200, "{}", put.text());
    for (arrival, departure) in [
        ("2030-06-05", "2030-06-06"),
        ("2030-06-10", "2030-06-13"),
        ("2030-06-20", "2030-07-20"),
    ] {
        let mut callers = tokio::task::JoinSet::new();
        for at in 0..50 {
            let body = wish("confirmed", arrival, departure).to_string();
            let request = http::Request::post(BOOK)
                .header("authorization", format!("Bearer {}", app.admin))
                .header("content-type", "application/json")
                .header("idempotency-key", format!("{arrival}-{at}"))
                .body(axum::body::Body::from(body))
                .expect("a request");
            let router = app.router.clone();
            callers.spawn(async move {
                let response = tower::ServiceExt::oneshot(router, request).await;
                crate::app::answered(response.expect("an answer")).await
            });
        }
        let answers = callers.join_all().await;
        let made = answers.iter().filter(|one| one.status == 201).count();
        let refused = answers.iter().filter(|one| one.status == 409);
        assert_eq!((made, refused.clone().count()), (1, 49), "{answers:?}");
        assert!(refused.clone().all(|one| one.code() == "sold_out"));
    }
}
