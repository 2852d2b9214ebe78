//! Webhooks: signed, at least once, in order, never into a private network.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use hmac::{Hmac, Mac};
use keyrack_distribution::connections::PutRefusal;
use keyrack_distribution::webhooks::{self, WebhookSetup};
use keyrack_distribution::{Distribution, feed, notice, waitlist};
use keyrack_model::channel::AccountSettings;
use secrecy::ExposeSecret;
use serde_json::Value;
use sha2::Sha256;

use crate::house::{House, settings};
use crate::portal::Answer;

/// Status codes to answer with, and what came: headers and body.
#[derive(Default)]
struct Heard {
    answers: Vec<u16>,
    calls: Vec<(HeaderMap, Vec<u8>)>,
}

pub struct Receiver {
    pub url: String,
    heard: Arc<Mutex<Heard>>,
}

impl Receiver {
    pub async fn open() -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let router = Router::new()
            .route("/hook", post(hook))
            .with_state(Arc::clone(&heard));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, heard }
    }

    fn calls(&self) -> Vec<(HeaderMap, Vec<u8>)> {
        std::mem::take(&mut self.heard.lock().unwrap().calls)
    }

    pub fn types(&self) -> Vec<String> {
        let calls = self.calls();
        let read = calls
            .iter()
            .map(|(_, body)| serde_json::from_slice::<Value>(body).unwrap());
        read.map(|body| body["type"].as_str().unwrap().to_owned())
            .collect()
    }
}

async fn hook(
    State(heard): State<Arc<Mutex<Heard>>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let mut heard = heard.lock().unwrap();
    heard.calls.push((headers, body.to_vec()));
    let status = heard.answers.pop().unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}

pub fn setup(url: &str, events: &[&str]) -> WebhookSetup {
    WebhookSetup {
        url: url.into(),
        events: events.iter().map(|name| (*name).to_owned()).collect(),
        property: None,
    }
}

async fn send(distribution: &Distribution) {
    feed::drain(distribution).await.unwrap();
    while webhooks::step(distribution).await.unwrap() > 0 {}
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_signed_over_its_time_and_body_and_names_no_guest() {
    let house = House::open("deltas", AccountSettings::default()).await;
    let receiver = Receiver::open().await;
    let put = webhooks::put(&house.distribution, "crm", setup(&receiver.url, &[]), None).await;
    let put = put.unwrap().unwrap();
    let secret = put.secret.unwrap();
    let stay = house.book(house.double, 3, 4, 1).await;
    send(&house.distribution).await;
    let calls = receiver.calls();
    assert_eq!(calls.len(), 1);
    let (headers, body) = &calls[0];
    let timestamp = headers["keyrack-timestamp"].to_str().unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).unwrap();
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    let meant = format!("v1={}", hex::encode(mac.finalize().into_bytes()));
    assert_eq!(headers["keyrack-signature"], meant);
    let read: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(read["type"], "reservation.confirmed");
    assert_eq!(read["property"], "seehof");
    assert_eq!(read["reservation"]["id"], stay.to_string());
    assert_eq!(read["reservation"]["status"], "confirmed");
    assert_eq!(read["reservation"]["version"], 1);
    let number = read["reservation"]["number"].as_str().unwrap();
    assert!(
        number.parse::<i64>().unwrap() >= 1001,
        "as the API spells it"
    );
    let again = webhooks::put(&house.distribution, "crm", setup(&receiver.url, &[]), None).await;
    assert!(again.unwrap().unwrap().secret.is_none(), "it is shown once");
    let stored: Vec<u8> = sqlx::query_scalar("select secret from webhook")
        .fetch_one(&house.pool)
        .await
        .unwrap();
    let plain = secret.expose_secret().as_bytes();
    assert!(!stored.windows(plain.len()).any(|window| window == plain));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_comes_again_and_what_follows_waits_its_turn() {
    let house = House::open("deltas", AccountSettings::default()).await;
    let receiver = Receiver::open().await;
    webhooks::put(&house.distribution, "crm", setup(&receiver.url, &[]), None)
        .await
        .unwrap()
        .unwrap();
    receiver.heard.lock().unwrap().answers = vec![500];
    let stay = house.book(house.double, 3, 4, 1).await;
    house.cancel(stay).await;
    send(&house.distribution).await;
    assert_eq!(
        receiver.types(),
        ["reservation.confirmed"],
        "the cancellation waits"
    );
    house.book(house.double, 5, 6, 1).await;
    send(&house.distribution).await;
    assert_eq!(
        receiver.types(),
        ["reservation.confirmed"],
        "another stay does not"
    );
    house.pass("5 seconds").await;
    send(&house.distribution).await;
    assert_eq!(
        receiver.types(),
        ["reservation.confirmed", "reservation.cancelled"]
    );
    let listed = webhooks::deliveries(&house.distribution, "crm", None, 10).await;
    let listed = listed.unwrap().unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|delivery| delivery.status == "delivered"));
    let first = listed
        .iter()
        .find(|delivery| delivery.attempts == 2)
        .unwrap();
    assert!(
        webhooks::replay(&house.distribution, "crm", first.id)
            .await
            .unwrap()
    );
    send(&house.distribution).await;
    let calls = receiver.calls();
    let read: Value = serde_json::from_slice(&calls[0].1).unwrap();
    assert_eq!(
        read["id"], first.event_id,
        "a repeat is known by its event's id"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_named_events_are_told() {
    let house = House::live().await;
    let receiver = Receiver::open().await;
    let named = setup(&receiver.url, &["reservation.cancelled", "account.failing"]);
    webhooks::put(&house.distribution, "crm", named, None)
        .await
        .unwrap()
        .unwrap();
    let stay = house.book(house.double, 3, 4, 1).await;
    house.cancel(stay).await;
    house.portal.always(Answer::refusing(403));
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    send(&house.distribution).await;
    let mut types = receiver.types();
    types.sort();
    assert_eq!(types, ["account.failing", "reservation.cancelled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_target_is_refused_unless_allowed() {
    let guarded = keyrack_distribution::settings::Settings {
        private_webhook_targets: false,
        ..settings()
    };
    let house = House::with("deltas", AccountSettings::default(), guarded).await;
    for url in [
        "http://127.0.0.1:9/hook",
        "http://[::1]/",
        "http://localhost/",
        "ftp://a.b/",
    ] {
        let refused = webhooks::put(&house.distribution, "crm", setup(url, &[]), None).await;
        assert!(
            matches!(refused.unwrap(), Err(PutRefusal::Invalid("/url", _))),
            "{url}"
        );
    }
    let receiver = Receiver::open().await;
    let allowing = house.twin().await;
    webhooks::put(&allowing, "crm", setup(&receiver.url, &[]), None)
        .await
        .unwrap()
        .unwrap();
    house.book(house.double, 3, 4, 1).await;
    house.book(house.double, 4, 5, 1).await;
    send(&house.distribution).await;
    assert!(receiver.calls().is_empty());
    // However many there are, it is one thing to do.
    let told = notice::list(&house.distribution, None, 10).await.unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].times >= 2 && told[0].text.contains("webhook crm"));
    let listed = webhooks::deliveries(&house.distribution, "crm", None, 10).await;
    let listed = listed.unwrap().unwrap();
    assert_eq!(listed[0].status, "failed");
    assert!(
        listed[0]
            .last_error
            .as_deref()
            .unwrap()
            .contains("private network")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_does_not_exist_is_refused() {
    let house = House::open("deltas", AccountSettings::default()).await;
    let wrong = setup("https://crm.example/hook", &["reservation.eaten"]);
    let refused = webhooks::put(&house.distribution, "crm", wrong, None)
        .await
        .unwrap();
    assert!(matches!(refused, Err(PutRefusal::Invalid("/events", _))));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_the_waitlist_is_an_event_of_its_hold_and_names_no_guest() {
    let house = House::open("deltas", AccountSettings::default()).await;
    let receiver = Receiver::open().await;
    let events = ["waitlist.offered"];
    webhooks::put(
        &house.distribution,
        "crm",
        setup(&receiver.url, &events),
        None,
    )
    .await
    .unwrap()
    .unwrap();
    let wish = house.waits(3).await;
    assert_eq!(waitlist::look(&house.distribution).await.unwrap(), 1);
    send(&house.distribution).await;
    let calls = receiver.calls();
    assert_eq!(calls.len(), 1);
    let read: Value = serde_json::from_slice(&calls[0].1).unwrap();
    assert_eq!(read["type"], "waitlist.offered");
    assert_eq!(read["waitlist"]["id"], wish.id.to_string());
    assert_eq!(read["reservation"]["status"], "held");
    assert!(!read.to_string().contains("Anna"), "{read}");
}
