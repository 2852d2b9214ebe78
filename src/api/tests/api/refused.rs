//! What the door refuses, where it says it is wrong, and in whose words.

use http::Method;
use keyrack_ledger::keys::Role;
use serde_json::{Value, json};

use crate::app::{Answer, App, property, room_type, wish};

const SEEHOF: &str = "/v1/properties/seehof";
const BOOK: &str = "/v1/properties/seehof/reservations";

fn refused(answer: &Answer) -> (u16, String, String) {
    (answer.status.as_u16(), answer.code(), answer.pointer())
}

fn invalid(pointer: &str) -> (u16, String, String) {
    (422, "invalid".to_owned(), pointer.to_owned())
}

/// The wish with one field changed.
fn with(pointer: &str, value: Value) -> Value {
    let mut body = wish("held", "2030-06-10", "2030-06-11");
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    body.pointer_mut(parent).expect("a parent")[name] = value;
    body
}

/// No name of a library's type, and none of its sentences.
fn is_ours(text: &str) -> bool {
    let theirs = [
        "struct ", "i32", "u32", "expected", "invalid", "failed", "variant",
    ];
    !theirs.iter().any(|word| text.contains(word))
}

#[tokio::test]
async fn a_list_is_taken_for_no_object() {
    let app = App::with_hotel().await;
    let room = json!([null, "DBL", "2030-06-10", "2030-06-11", 1]);
    let whole = json!(["confirmed", "phone", [room], ["Ada", null, null, null]]);
    assert_eq!(refused(&app.post(BOOK, whole).await), invalid(""));
    for (pointer, value, at) in [
        ("/guest", json!(["Ada", null, null, null]), "/guest"),
        ("/rooms", json!([room]), "/rooms/0"),
        ("/rooms/0/price", json!(["5.00", "EUR"]), "/rooms/0/price"),
        ("/force", json!(["why", []]), "/force"),
    ] {
        let answer = app.post(BOOK, with(pointer, value)).await;
        assert_eq!(refused(&answer), invalid(at), "{}", answer.text());
    }
    let body = json!({"values": [["DBL", "2030-06-10", "2030-06-11", 1, null, null]]});
    let answer = app.post(&format!("{SEEHOF}/inventory"), body).await;
    assert_eq!(refused(&answer), invalid("/values/0"));
    assert_eq!(app.free("DBL", "2030-06-10").await, 2);
}

#[tokio::test]
async fn what_is_wrong_is_said_in_the_callers_words() {
    let app = App::with_hotel().await;
    let nines = json!({"amount": "9".repeat(40), "currency": "EUR"});
    for (body, at) in [
        (json!(null), ""),
        (with("/rooms/0/quantity", json!(true)), "/rooms/0/quantity"),
        (with("/rooms/0/quantity", json!(3e9)), "/rooms/0/quantity"),
        (with("/status", json!(5)), "/status"),
        (with("/status", json!("gone")), "/status"),
        (with("/shoe", json!(5)), "/shoe"),
        (
            with("/hold_until", json!("9999-12-31T23:59:59Z")),
            "/hold_until",
        ),
        (with("/rooms/0/price", nines), "/rooms/0/price"),
        (json!({"status": "held"}), "/source"),
    ] {
        let answer = app.post(BOOK, body).await;
        assert_eq!(refused(&answer), invalid(at), "{}", answer.text());
        let message = answer.json()["errors"][0]["message"].clone();
        let message = message.as_str().expect("a message");
        assert!(is_ours(message), "{message}");
    }
    for (query, at) in [
        ("limit=abc", "/limit"),
        ("limit=-1", "/limit"),
        ("limit=99999999999", "/limit"),
        ("shoe=1", "/shoe"),
    ] {
        let answer = app.read(&format!("{BOOK}?{query}")).await;
        assert_eq!(refused(&answer), invalid(at), "{}", answer.text());
        let message = answer.json()["errors"][0]["message"].clone();
        let message = message.as_str().expect("a message");
        assert!(is_ours(message), "{message}");
    }
}

#[tokio::test]
async fn a_property_that_is_not_yours_comes_before_role_and_body() {
    let app = App::with_hotel().await;
    app.hotel("bergblick").await;
    let own = app.property("seehof").await;
    for role in [Role::ReadOnly, Role::FrontDesk, Role::Manager, Role::Admin] {
        let key = app.key(role, Some(own)).await;
        for path in ["bergblick", "nowhere", "No%20Where", ".."] {
            for body in [json!({}), json!([]), property()] {
                let ask = app.ask(Method::PUT, &format!("/v1/properties/{path}"));
                let answer = ask.key(&key).json(&body).send().await;
                assert_eq!(answer.code(), "not_found", "{role:?} {path} {body}");
            }
        }
    }
    let key = app.key(Role::FrontDesk, Some(own)).await;
    let ask = app.ask(Method::PUT, SEEHOF).key(&key);
    assert_eq!(ask.json(&json!({})).send().await.code(), "forbidden");
    let key = app.key(Role::Admin, Some(own)).await;
    let ask = app.ask(Method::PUT, "/v1/connections/x").key(&key);
    assert_eq!(ask.json(&json!({})).send().await.code(), "forbidden");
    let hook = json!({"url": "https://hooks.example.org/k", "property": "bergblick"});
    assert_eq!(app.put("/v1/webhooks/desk", hook).await.status, 201);
    let ask = app.ask(Method::PUT, "/v1/webhooks/desk").key(&key);
    assert_eq!(ask.json(&json!({})).send().await.code(), "not_found");
}

#[tokio::test]
async fn a_code_in_a_path_has_the_plain_form_and_is_no_walk() {
    let app = App::with_hotel().await;
    let connection = json!({"channel": "portal", "credentials": {"user": "u", "secret": "s"}});
    let hook = json!({"url": "https://hooks.example.org/k"});
    let room = json!({"room_type": "DBL"});
    for (path, name, body) in [
        (format!("{SEEHOF}/room-types"), "room_type", room_type(1)),
        (format!("{SEEHOF}/rooms"), "room", room),
        (
            format!("{SEEHOF}/rate-plans"),
            "rate_plan",
            json!({"name": "x"}),
        ),
        ("/v1/connections".to_owned(), "connection", connection),
        ("/v1/webhooks".to_owned(), "webhook", hook),
    ] {
        let long = "x".repeat(41);
        for code in [
            "..", ".", "%2e%2e", "%2E", "...", "a%20b", "a%2fb", "%C3%A4", &long,
        ] {
            let put = app.put(&format!("{path}/{code}"), body.clone()).await;
            assert_eq!(refused(&put), invalid(&format!("/{name}")), "{path}/{code}");
            let read = app.read(&format!("{path}/{code}")).await;
            assert_eq!(read.code(), "not_found", "{path}/{code}");
        }
        let put = app.put(&format!("{path}/A.b_c-1"), body).await;
        assert_eq!(put.status, 201, "{path}: {}", put.text());
    }
    let put = app.put("/v1/properties/%2e%2e", property()).await;
    assert_eq!(refused(&put), invalid("/property"));
}

#[tokio::test]
async fn more_out_of_order_than_there_is_is_said_at_its_place() {
    let app = App::with_hotel().await;
    let value = json!({"room_type": "DBL", "from": "2030-06-10", "to": "2030-06-11",
        "out_of_order": 3});
    let path = format!("{SEEHOF}/inventory");
    let answer = app.post(&path, json!({"values": [value]})).await;
    assert_eq!(refused(&answer), invalid("/values/0/out_of_order"));
    let detail = answer.json()["detail"].as_str().unwrap_or("").to_owned();
    assert!(detail.starts_with("Values 1, out of order: "), "{detail}");
}

#[tokio::test]
async fn a_connection_that_could_never_work_is_refused() {
    let app = App::with_hotel().await;
    for (pointer, value) in [
        ("/credentials/user", json!("")),
        ("/credentials/user", json!("a\r\nx")),
        ("/credentials/secret", json!(" ")),
        ("/credentials/secret", json!("a\u{1b}b")),
        ("/endpoint", json!("http://u:p@host/")),
        ("/endpoint", json!("https://")),
        ("/endpoint", json!("https://a b/")),
        ("/settings/shoe", json!(1)),
        ("/settings/poll_seconds", json!(0)),
        ("/settings/requests_per_minute", json!(0)),
        ("/settings/poll_seconds", json!(-1)),
        ("/settings/client_id", json!("")),
    ] {
        let mut body = json!({"channel": "portal", "settings": {},
            "credentials": {"user": "u", "secret": "geheim"}});
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        body.pointer_mut(parent).expect("a parent")[name] = value;
        let answer = app.put("/v1/connections/portal", body).await;
        assert_eq!(refused(&answer), invalid(pointer), "{}", answer.text());
        assert!(!answer.text().contains("geheim"));
    }
}

#[tokio::test]
async fn what_would_be_ignored_or_make_no_sense_is_refused() {
    let app = App::with_hotel().await;
    let mut body = property();
    body["policies"] = json!({"no_show_keeps": "all", "shoe": 1});
    assert_eq!(
        refused(&app.put(SEEHOF, body).await),
        invalid("/policies/shoe")
    );
    let answer = app
        .post(BOOK, with("/rooms/0/room_stay_id", json!(7)))
        .await;
    assert_eq!(refused(&answer), invalid("/rooms/0/room_stay_id"));
    for (until, fee, at) in [
        ("-P7D", json!({"nights": 1}), "/cancellation_terms/0/until"),
        (
            "P7D",
            json!({"percent": "100.01"}),
            "/cancellation_terms/0/fee",
        ),
    ] {
        let terms = json!([{"until": until, "fee": fee}]);
        let body = json!({"name": "Flex", "cancellation_terms": terms});
        let answer = app.put(&format!("{SEEHOF}/rate-plans/flex"), body).await;
        assert_eq!(refused(&answer), invalid(at));
    }
    let terms = json!([{"until": "P0D", "fee": {"percent": "100"}}]);
    let body = json!({"name": "Flex", "cancellation_terms": terms});
    let put = app.put(&format!("{SEEHOF}/rate-plans/flex"), body).await;
    assert_eq!(put.status, 201, "{}", put.text());
}

#[tokio::test]
async fn a_name_forges_no_line_of_the_days_sheet() {
    let app = App::with_hotel().await;
    for odd in [
        "\n",
        "\r",
        "\u{1b}[2J",
        "\u{202e}",
        "\u{2066}",
        "\u{2028}",
        "\u{85}",
        "\t",
    ] {
        let name = json!(format!("Ada{odd}Example"));
        for (pointer, at) in [
            ("/guest/name", "/guest/name"),
            ("/guest/email", "/guest/email"),
            ("/rooms/0/guest_name", "/rooms/0/guest_name"),
        ] {
            let answer = app.post(BOOK, with(pointer, name.clone())).await;
            assert_eq!(refused(&answer), invalid(at), "{odd:?}");
        }
        let mut body = property();
        body["name"] = name.clone();
        assert_eq!(refused(&app.put(SEEHOF, body).await), invalid("/name"));
        let mut body = room_type(2);
        body["name"] = name;
        let put = app.put(&format!("{SEEHOF}/room-types/DBL"), body).await;
        assert_eq!(refused(&put), invalid("/name"));
    }
    let note = app.post(BOOK, with("/note", json!("two\nlines"))).await;
    assert_eq!(note.status, 201, "a note may have lines: {}", note.text());
}

#[tokio::test]
async fn what_is_put_as_it_stands_keeps_its_version() {
    let app = App::with_hotel().await;
    let login = json!({"channel": "portal", "settings": {"poll_seconds": 30},
        "credentials": {"user": "u", "secret": "s"}});
    let without = json!({"channel": "portal", "settings": {"poll_seconds": 30}});
    let other = json!({"channel": "portal", "settings": {"poll_seconds": 30},
        "credentials": {"user": "u", "secret": "t"}});
    let path = "/v1/connections/portal";
    for (body, status, version) in [
        (&login, 201, "\"1\""),
        (&login, 200, "\"1\""),
        (&without, 200, "\"1\""),
        (&other, 200, "\"2\""),
    ] {
        let put = app.put(path, body.clone()).await;
        assert_eq!((put.status.as_u16(), put.header("etag")), (status, version));
    }
    let hook = json!({"url": "https://hooks.example.org/k"});
    let other = json!({"url": "https://hooks.example.org/l"});
    for (body, status, version) in [
        (&hook, 201, "\"1\""),
        (&hook, 200, "\"1\""),
        (&other, 200, "\"2\""),
    ] {
        let put = app.put("/v1/webhooks/desk", body.clone()).await;
        assert_eq!((put.status.as_u16(), put.header("etag")), (status, version));
    }
}
