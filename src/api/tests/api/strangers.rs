//! Whatever anybody sends: every path answers in words, nothing breaks, and the ledger still proves
//! every number.

use http::Method;
use keyrack_ledger::verify::{self, Extent};
use keyrack_strangers::drawn;
use serde_json::{Value, json};

use crate::app::{Answer, App, property, room_type, wish};

const SEEHOF: &str = "/v1/properties/seehof";

/// Where a body is taken, and one that is right there.
fn doors(reservation: &str) -> Vec<(Method, String, Value)> {
    let own = |path: &str| format!("{SEEHOF}/{path}");
    let verb = |verb: &str| format!("{SEEHOF}/reservations/{reservation}/{verb}");
    let hold_until = json!({"hold_until": "2030-06-01T12:00:00Z"});
    vec![
        (Method::PUT, SEEHOF.to_owned(), property()),
        (Method::PUT, own("room-types/DBL"), room_type(3)),
        (Method::PUT, own("rooms/11"), json!({"room_type": "DBL"})),
        (Method::PUT, own("rooms/11/blocks"), blocks()),
        (Method::PUT, own("rate-plans/flex"), plan()),
        (Method::PUT, own("buffer-rules"), buffers()),
        (Method::PUT, own("accounts/portal"), account()),
        (Method::PUT, own("accounts/portal/mappings"), mappings()),
        (Method::PUT, "/v1/connections/portal".to_owned(), login()),
        (Method::PUT, "/v1/webhooks/hook".to_owned(), hook()),
        (Method::POST, own("rates"), rates()),
        (Method::POST, own("inventory"), inventory()),
        (Method::POST, own("reservations"), stay()),
        (Method::POST, own("waitlist"), waits()),
        (
            Method::PATCH,
            own(&format!("reservations/{reservation}")),
            change(),
        ),
        (
            Method::POST,
            verb("confirm"),
            json!({"payment_reference": "p"}),
        ),
        (Method::POST, verb("extend"), hold_until),
        (Method::POST, verb("assign"), json!({"room": "11"})),
        (Method::POST, verb("move"), json!({"room": null})),
        (Method::POST, verb("no-show"), json!({"keep": true})),
        (
            Method::POST,
            own("accounts/portal/go-live"),
            json!({"waive_import": true}),
        ),
        (
            Method::POST,
            own("accounts/portal/pause"),
            json!({"reason": "r", "force": true}),
        ),
    ]
}

fn blocks() -> Value {
    json!({"blocks": [{"from": "2030-06-02", "to": "2030-06-04", "kind": "out_of_order"}]})
}

fn plan() -> Value {
    json!({"name": "Flexible", "meal_plan": "breakfast",
           "derived_from": {"rate_plan": "bar", "percent": "-10.5"},
           "cancellation_terms": []})
}

fn waits() -> Value {
    json!({"arrival": "2030-06-10", "departure": "2030-06-11", "room_types": ["DBL"],
           "source": "phone", "guest": {"name": "Ada", "email": "ada@example.com"}})
}

fn buffers() -> Value {
    json!({"rules": [{"account": "portal", "room_type": "DBL", "keep_back": 1}, {
        "from": "2030-06-10", "to": "2030-06-12", "weekdays": ["fri", "sat"], "close_at": 2}]})
}

fn account() -> Value {
    json!({"connection": "portal", "hotel_code": "H1"})
}

fn mappings() -> Value {
    json!([{"room_type": "DBL", "channel_room_code": "10", "pool": "shared"}])
}

fn login() -> Value {
    json!({"channel": "portal", "credentials": {"user": "portal", "secret": "geheim-7"}})
}

fn hook() -> Value {
    json!({"url": "https://hooks.example.org/k?a=b", "events": ["reservation.confirmed"],
           "property": "seehof"})
}

fn rates() -> Value {
    json!({"values": [{"room_type": "DBL", "from": "2030-06-02", "to": "2030-06-03",
        "weekdays": ["mon"], "rate": {"amount": "120.50", "currency": "EUR"}, "stop_sell": true,
        "occupancy_rates": [{"guests": 1, "rate": {"amount": "99", "currency": "EUR"}}],
        "min_stay_arrival": 2, "max_advance_days": null}]})
}

fn inventory() -> Value {
    json!({"values": [{"room_type": "DBL", "from": "2030-06-02", "to": "2030-06-05",
                       "out_of_order": 1, "overbooking_limit": 1, "reason": "paint"}]})
}

fn stay() -> Value {
    let mut stay = wish("held", "2030-06-20", "2030-06-22");
    stay["hold_seconds"] = json!(600);
    stay["rooms"][0]["children_ages"] = json!([3, null]);
    stay["rooms"][0]["price"] = json!({"amount": "120.00", "currency": "EUR"});
    stay["force"] = json!({"reason": "a regular guest", "allow": ["restriction"]});
    stay
}

fn change() -> Value {
    json!({"note": "late arrival", "guest": {"name": "Ada Example"}, "told_channel": true,
           "rooms": [{"room_stay_id": 1, "room_type": "DBL", "arrival": "2030-06-10",
                      "departure": "2030-06-13", "quantity": 1}]})
}

/// What is a problem must look like one.
fn judged(answer: &Answer, what: &str) {
    let status = answer.status.as_u16();
    let is_known = (200..300).contains(&status) || (400..500).contains(&status) || status == 503;
    assert!(is_known, "{what}: {status} {}", answer.text());
    if status >= 400 {
        assert!(!answer.code().is_empty(), "{what}: {}", answer.text());
    }
}

async fn assert_proven(app: &App) {
    let proof = verify::verify(&app.ledger, None, Extent::Whole).await;
    let differences = proof.expect("no failure").differences;
    assert!(differences.is_empty(), "{differences:?}");
}

#[tokio::test]
async fn whatever_body_comes_is_done_wholly_or_refused_in_words() {
    let app = App::connected().await;
    let booked = app.book("2030-06-10", "2030-06-12").await;
    let doors = doors(booked["id"].as_str().expect("an id"));
    for (method, path, right) in &doors {
        let put = app.ask(method.clone(), path).json(right);
        let key = uuid::Uuid::new_v4().to_string();
        let answer = put
            .header("idempotency-key", &key)
            .header("if-match", "*")
            .send()
            .await;
        judged(&answer, path);
    }
    let samples = doors
        .iter()
        .map(|(_, _, right)| right.to_string().into_bytes());
    for (number, body) in drawn(samples.collect(), BODIES).iter().enumerate() {
        let (method, path, _) = &doors[number % doors.len()];
        let what = format!("{method} {path} {}", body.escape_ascii());
        let ask = app.ask(method.clone(), path).raw("application/json", body);
        let ask = ask.header("if-match", "*");
        // A key of a few values: some are used before, with another body.
        let ask = ask.header("idempotency-key", &format!("k{}", number % 7));
        judged(&ask.send().await, &what);
    }
    assert_proven(&app).await;
}

#[tokio::test]
async fn whatever_path_query_or_header_comes_is_answered_in_words() {
    let app = App::connected().await;
    let words = [
        "seehof",
        "DBL",
        "portal",
        "2030-06-01",
        "from=2030-06-01&to=2030-06-05",
        "limit=500",
        "cursor=MQ",
        "\"1\"",
        "*",
        "front desk",
        "k-1",
        "Bearer kr_1",
        "../..",
        "q=a%25b",
        "status=held&source=phone",
        "9223372036854775808",
        "arrival=2030-06-02&departure=2030-06-03",
    ];
    let samples = words.iter().map(|word| word.as_bytes().to_vec());
    for (number, drawn) in drawn(samples.collect(), PATHS).iter().enumerate() {
        let encoded: String = drawn
            .iter()
            .take(600)
            .map(|b| format!("%{b:02X}"))
            .collect();
        let plain: String = drawn
            .iter()
            .filter(|b| b.is_ascii_alphanumeric() || b"-._~=&%".contains(b))
            .map(|b| char::from(*b))
            .collect();
        let paths = [
            format!("/v1/properties/{encoded}"),
            format!("{SEEHOF}/availability?{plain}"),
            format!("{SEEHOF}/reservations?q={encoded}"),
            format!("{SEEHOF}/reservations?{plain}"),
            format!("{SEEHOF}/reservations/{encoded}"),
            format!("{SEEHOF}/nights/{encoded}/{encoded}/ledger"),
            format!("{SEEHOF}/offers?{plain}"),
            format!("{SEEHOF}/accounts/{encoded}/told?{plain}"),
            format!("{SEEHOF}/explain?account=portal&room_type={encoded}&stay_date={encoded}"),
            format!("/v1/messages?{plain}"),
            format!("/v1/inbox/{encoded}"),
            format!("/{plain}"),
        ];
        let path = &paths[number % paths.len()];
        let method =
            [Method::GET, Method::PUT, Method::POST, Method::DELETE][number / 7 % 4].clone();
        let what = format!("{method} {path}");
        if path.parse::<http::Uri>().is_err() {
            continue;
        }
        let visible: String = plain.chars().take(300).collect();
        let ask = app.ask(method, path);
        let ask = match number % 5 {
            0 => ask.header("if-match", &visible),
            1 => ask.header("idempotency-key", &visible),
            2 => ask.header("keyrack-actor", &visible),
            3 => ask.header("authorization", &visible),
            _ => ask,
        };
        judged(&ask.send().await, &what);
    }
    assert_proven(&app).await;
}

const BODIES: usize = 1_200;
const PATHS: usize = 1_200;
