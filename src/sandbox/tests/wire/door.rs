//! The door for other processes, and the journal's file.

use keyrack_sandbox::{Journal, Settings, Shown, Sold};
use serde_json::{Value, json};

use crate::client::{Booking, HOTEL, sandbox, settings};

#[tokio::test]
async fn another_process_can_sell_break_and_audit() {
    let sandbox = sandbox(settings()).await;
    let client = Booking::connect(&sandbox).await;
    client.open(3).await;
    let url = |path: &str| format!("{}/_sandbox/{path}", sandbox.url());
    let post = |path: &str, body: Value| client.http.post(url(path)).json(&body).send();
    let wish = json!({"hotel": HOTEL, "rooms": [
        {"room": "4711", "arrival": "2030-03-01", "departure": "2030-03-04", "quantity": 2}]});
    let sold: Sold = post("booking_com/sell", wish.clone())
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!((sold.rooms.len(), sold.total_minor), (2, 90_000));
    assert_eq!(post("booking_com/sell", wish).await.unwrap().status(), 409);
    let query = "booking_com/shown?hotel=7200&from=2030-03-01&to=2030-03-03";
    let shown: Vec<Shown> = client
        .http
        .get(url(query))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(shown.len(), 4, "two types on two nights");
    assert_eq!(shown[0].rooms, 1);
    let change = json!({"reference": sold.reference,
        "change": {"drop_room": {"instance": sold.rooms[0].instance}}});
    assert_eq!(
        post("booking_com/modify", change).await.unwrap().status(),
        200
    );
    let cancel = json!({"reference": sold.reference});
    assert_eq!(
        post("booking_com/cancel", cancel.clone())
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(
        post("booking_com/cancel", cancel).await.unwrap().status(),
        409
    );
    let journal: Journal = client
        .http
        .get(url("booking_com/journal"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(journal.reservations[0].versions.len(), 3);
    let unknown = client
        .http
        .get(url("somewhere/journal"))
        .send()
        .await
        .unwrap();
    assert_eq!(unknown.status(), 404);
}

#[tokio::test]
async fn another_process_can_switch_faults_demand_and_turn_the_clock() {
    let sandbox = sandbox(settings()).await;
    let client = Booking::connect(&sandbox).await;
    let url = |path: &str| format!("{}/_sandbox/{path}", sandbox.url());
    let faults = json!({"server_error": {"next": 1}, "latency": {"min_ms": 0, "max_ms": 1}});
    let put = client
        .http
        .put(url("booking_com/faults"))
        .json(&faults)
        .send()
        .await
        .unwrap();
    assert_eq!(put.status(), 204);
    assert_eq!(client.new_ones().await.status, 500);
    let last = sandbox.booking_com().journal().messages.pop().unwrap();
    assert_eq!(last.fault.as_deref(), Some("server_error"));
    let demand = json!({"demand": "free_rooms"});
    let post = client
        .http
        .post(url("alpinebits/demand"))
        .json(&demand)
        .send()
        .await
        .unwrap();
    assert_eq!(post.status(), 204);
    assert_eq!(sandbox.alpinebits().demands().len(), 1);
    let ahead = json!({"ms": 86_400_000});
    let clock = client
        .http
        .post(url("clock/advance"))
        .json(&ahead)
        .send()
        .await
        .unwrap();
    assert_eq!(clock.json::<Value>().await.unwrap()["today"], "2030-01-06");
}

#[tokio::test]
async fn guests_come_by_themselves_until_they_are_sent_home() {
    let sandbox = sandbox(settings()).await;
    let client = Booking::connect(&sandbox).await;
    client.open(3).await;
    let url = format!("{}/_sandbox/booking_com/guests", sandbox.url());
    let asked = json!({"seed": 1, "every_ms": 1});
    client.http.post(&url).json(&asked).send().await.unwrap();
    while sandbox.booking_com().journal().reservations.is_empty() {
        tokio::task::yield_now().await;
    }
    let home = client
        .http
        .post(&url)
        .json(&json!({"every_ms": 0}))
        .send()
        .await
        .unwrap();
    assert_eq!(home.status(), 204);
    sandbox.stop().await;
}

#[tokio::test]
async fn the_journal_survives_in_its_file() {
    let name = format!("keyrack-sandbox-journal-{}.jsonl", std::process::id());
    let file = std::env::temp_dir().join(name);
    let sandbox = sandbox(Settings {
        journal_file: Some(file.clone()),
        ..settings()
    })
    .await;
    let client = Booking::connect(&sandbox).await;
    client.open(3).await;
    let wish =
        keyrack_sandbox::Wish::one(HOTEL, "4711", crate::client::FRIDAY, crate::client::SUNDAY);
    let sold = sandbox.booking_com().sell(&wish).unwrap();
    client.new_ones().await;
    client.ack_new(&[&sold.reference]).await;
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let has = |kind: &str| lines.iter().any(|line| line.get(kind).is_some());
    assert!(
        ["message", "night", "reservation", "acknowledged"]
            .into_iter()
            .all(has),
        "{text}"
    );
    assert!(lines.iter().all(|line| line["channel"] == "booking_com"));
}

#[tokio::test]
async fn settings_bring_hotels_and_never_print_a_secret() {
    let settings: Settings = serde_json::from_value(json!({
        "seed": 3,
        "hotels": [{"channel": "alpinebits", "hotel": "HTL9", "rooms": [
            {"code": "DBL", "rates": ["BAR"], "physical": 4, "list_price_minor": 9_000}]}],
        "booking_com": {"client_secret": "do-not-print"}
    }))
    .unwrap();
    assert!(!format!("{settings:?}").contains("do-not-print"));
    let sandbox = keyrack_sandbox::Sandbox::start(settings).await.unwrap();
    assert_eq!(sandbox.alpinebits().hotels(), ["HTL9"]);
    assert_eq!(sandbox.alpinebits().rooms("HTL9")[0].physical, 4);
    let unknown = json!({"hotels": [{"channel": "fax", "hotel": "1", "rooms": []}]});
    let unknown: Settings = serde_json::from_value(unknown).unwrap();
    assert!(keyrack_sandbox::Sandbox::start(unknown).await.is_err());
}
