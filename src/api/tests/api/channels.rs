//! Channels over HTTP: connected, mapped, taken live, told; deliveries in, webhooks out.

use http::Method;
use keyrack_api::settings::Settings;
use keyrack_ledger::keys::Role;
use serde_json::{Value, json};

use crate::app::{Answer, App};

const ACCOUNT: &str = "/v1/properties/seehof/accounts/portal";
fn connection() -> Value {
    json!({"channel": "portal", "credentials": {"user": "portal", "secret": "geheim-7"}})
}

impl App {
    /// The hotel with an account at the portal, mapped.
    pub async fn connected() -> Self {
        Self::connect(Self::with_hotel().await).await
    }

    /// The same, with deliveries of so many bytes at most.
    pub async fn with_inbox_of(bytes: usize) -> Self {
        let app = Self::with(Settings {
            inbox_bytes_max: bytes,
            ..Settings::default()
        });
        let app = app.await;
        app.hotel("seehof").await;
        Self::connect(app).await
    }

    async fn connect(app: Self) -> Self {
        let put = app.put("/v1/connections/portal", connection()).await;
        assert_eq!(put.status, 201, "{}", put.text());
        assert!(!put.text().contains("geheim"), "{}", put.text());
        let body = json!({"connection": "portal", "hotel_code": "H1"});
        let put = app.put(ACCOUNT, body).await;
        assert_eq!(put.status, 201, "{}", put.text());
        assert_eq!(put.json()["state"], "setup");
        let mappings = json!([{"room_type": "DBL", "channel_room_code": "10", "pool": "shared"}]);
        let put = app.put(&format!("{ACCOUNT}/mappings"), mappings).await;
        assert_eq!(put.status, 200, "{}", put.text());
        app
    }

    pub async fn deliver(&self, login: &str, lines: &str) -> Answer {
        let ask = self.anonymous(Method::POST, "/v1/inbox/portal");
        let ask = ask.header("authorization", &format!("Basic {login}"));
        ask.text("text/x-portal", lines).send().await
    }
}

/// `portal:geheim-7`
pub const LOGIN: &str = "cG9ydGFsOmdlaGVpbS03";

#[tokio::test]
async fn what_a_channel_delivers_is_recorded_and_answered_in_its_own_words() {
    let app = App::connected().await;
    let lines = "R1 10 2030-06-10 2030-06-12\nnonsense\nR2 10 2030-06-11 2030-06-12\n";
    let answer = app.deliver(LOGIN, lines).await;
    assert_eq!(
        (answer.status.as_u16(), answer.text().as_str()),
        (200, "danke R1\ndanke R2\n")
    );
    assert_eq!(answer.header("content-type"), "text/x-portal");
    assert_eq!(app.free("DBL", "2030-06-11").await, 0);
    let list = app
        .read("/v1/properties/seehof/reservations?account=portal&q=R1")
        .await
        .json();
    let found = &list["items"][0];
    assert_eq!(found["channel_reference"], "R1", "{list}");
    assert_eq!(
        (&found["account"], &found["source"]),
        (&json!("portal"), &json!("channel"))
    );
    assert_eq!(found["rooms"][0]["booked"]["room_code"], "10");
    let cancel = format!(
        "/v1/properties/seehof/reservations/{}/cancel",
        found["id"].as_str().expect("an id")
    );
    let refused = app.post(&cancel, json!({})).await;
    assert_eq!(
        (refused.code(), refused.pointer()),
        ("invalid".into(), "/told_channel".into())
    );
    assert_eq!(
        app.post(&cancel, json!({"told_channel": true}))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_message_is_kept_masked_and_read_again_without_harm() {
    let app = App::connected().await;
    let lines = "R1 10 2030-06-10 2030-06-12\nnonsense\nR2 10 2030-06-11 2030-06-12\n";
    assert_eq!(app.deliver(LOGIN, lines).await.status, 200);
    let messages = app
        .read("/v1/properties/seehof/messages?account=portal")
        .await
        .json();
    let message = &messages["items"][0];
    assert_eq!(
        message["faults"].as_array().map(Vec::len),
        Some(1),
        "{messages}"
    );
    assert!(message.get("body").is_none());
    let path = format!("/v1/properties/seehof/messages/{}", message["id"]);
    let whole = app.read(&path).await.json();
    assert!(
        whole["body"]
            .as_str()
            .is_some_and(|body| body.contains("nonsense")),
        "{whole}"
    );
    let looker = app.key(Role::ReadOnly, None).await;
    let hidden = app.ask(Method::GET, &path).key(&looker).send().await;
    assert_eq!(hidden.code(), "forbidden");
    let again = app.post(&format!("{path}/replay"), json!({})).await;
    assert_eq!(
        again.json()["recorded"].as_array().map(Vec::len),
        Some(2),
        "{}",
        again.text()
    );
    assert_eq!(
        app.free("DBL", "2030-06-11").await,
        0,
        "a replay changes nothing"
    );
}

#[tokio::test]
async fn nobody_delivers_for_a_channel_without_its_login() {
    let app = App::connected().await;
    let line = "R1 10 2030-06-10 2030-06-12";
    for login in ["", "cG9ydGFsOmZhbHNjaA==", "!!!"] {
        assert_eq!(
            app.deliver(login, line).await.code(),
            "unauthenticated",
            "{login}"
        );
    }
    let bearer = app.ask(Method::POST, "/v1/inbox/portal");
    let answer = bearer.text("text/x-portal", line).send().await;
    assert_eq!(answer.code(), "unauthenticated");
    let nowhere = app.anonymous(Method::POST, "/v1/inbox/nowhere");
    assert_eq!(
        nowhere.text("text/plain", line).send().await.code(),
        "not_found"
    );
    assert_eq!(app.free("DBL", "2030-06-10").await, 2);
}

#[tokio::test]
async fn an_account_shows_what_it_would_be_told_before_it_goes_live() {
    let app = App::connected().await;
    app.book("2030-06-10", "2030-06-11").await;
    let tried = app
        .post(&format!("{ACCOUNT}/go-live?dry_run=true"), json!({}))
        .await;
    assert_eq!(tried.status, 200, "{}", tried.text());
    assert_eq!(tried.json()["is_live"], false);
    assert!(
        tried.json()["counts"]["no_mapping"].as_i64() > Some(0),
        "{}",
        tried.text()
    );
    let refused = app.post(&format!("{ACCOUNT}/go-live"), json!({})).await;
    assert_eq!(refused.code(), "needs_force", "{}", refused.text());
    let live = app
        .post(&format!("{ACCOUNT}/go-live"), json!({"waive_import": true}))
        .await;
    assert_eq!(live.json()["is_live"], true, "{}", live.text());

    let nights = "from=2030-06-10&to=2030-06-12";
    let served = app.read(&format!("{ACCOUNT}/ari?{nights}")).await.json();
    let rooms = served["items"].as_array().expect("nights").iter();
    let rooms: Vec<_> = rooms
        .map(|night| night["values"]["rooms"].clone())
        .collect();
    assert_eq!(rooms, [json!(1), json!(2)], "{served}");
    let told = app.read(&format!("{ACCOUNT}/told?{nights}")).await.json();
    assert_eq!(told["items"][0]["values"]["rooms"], 1, "{told}");
    let why = app
        .read("/v1/properties/seehof/explain?account=portal&room_type=DBL&stay_date=2030-06-10")
        .await
        .json();
    let last = why["lines"].as_array().and_then(|lines| lines.last());
    assert_eq!(
        last.map(|line| line["rooms"].clone()),
        Some(json!(1)),
        "{why}"
    );
}

#[tokio::test]
async fn an_account_is_paused_resumed_closed_and_ended() {
    let app = App::connected().await;
    let body = json!({"waive_import": true});
    let live = app.post(&format!("{ACCOUNT}/go-live"), body).await;
    assert_eq!(live.status, 200, "{}", live.text());
    let nights = "from=2030-06-10&to=2030-06-12";
    assert_eq!(
        app.read(&format!("{ACCOUNT}/ari?{nights}")).await.status,
        200
    );
    let paused = app
        .post(&format!("{ACCOUNT}/pause"), json!({"reason": "audit"}))
        .await;
    assert_eq!(paused.code(), "needs_force", "{}", paused.text());
    let body = json!({"reason": "audit", "force": true});
    let paused = app.post(&format!("{ACCOUNT}/pause"), body).await;
    assert_eq!(paused.json()["state"], "paused", "{}", paused.text());
    assert_eq!(
        app.read(&format!("{ACCOUNT}/ari?{nights}")).await.code(),
        "illegal_transition"
    );
    let body = json!({"connection": "portal", "hotel_code": "H2"});
    let moved = app.put(ACCOUNT, body).await;
    assert_eq!(moved.code(), "illegal_transition", "{}", moved.text());
    let detail = moved.json()["detail"].to_string();
    assert!(detail.contains("close the account"), "{detail}");
    for (verb, state) in [("resume", "ok"), ("resync", "ok"), ("close", "closed")] {
        let answer = app
            .ask(Method::POST, &format!("{ACCOUNT}/{verb}"))
            .send()
            .await;
        assert_eq!(answer.json()["state"], state, "{verb}: {}", answer.text());
    }
    let tested = app
        .ask(Method::POST, &format!("{ACCOUNT}/test"))
        .send()
        .await;
    assert_eq!(tested.json()["outcome"], "accepted", "{}", tested.text());
    let list = app.read("/v1/properties/seehof/accounts").await.json();
    assert_eq!(list["items"][0]["code"], "portal");
    let ended = app.ask(Method::DELETE, ACCOUNT).send().await;
    assert_eq!(ended.status, 202, "{}", ended.text());
    assert_eq!(
        app.read("/v1/properties/seehof/accounts/none").await.code(),
        "not_found"
    );
}

#[tokio::test]
async fn a_key_of_one_hotel_reaches_no_login_of_many() {
    let app = App::connected().await;
    app.hotel("bergblick").await;
    let other = app.property("bergblick").await;
    let key = app.key(Role::Admin, Some(other)).await;
    for (method, path) in [
        (Method::PUT, "/v1/connections/portal"),
        (Method::GET, "/v1/connections/portal"),
        (Method::GET, "/v1/connections"),
    ] {
        let answer = app
            .ask(method, path)
            .key(&key)
            .json(&connection())
            .send()
            .await;
        assert_eq!(answer.code(), "forbidden", "{path}");
    }
    let theft = json!({"connection": "portal", "hotel_code": "H2"});
    let path = "/v1/properties/bergblick/accounts/portal";
    let answer = app
        .ask(Method::PUT, path)
        .key(&key)
        .json(&theft)
        .send()
        .await;
    assert_eq!(
        (answer.code(), answer.pointer()),
        ("invalid".into(), "/connection".into())
    );
    let channels = app
        .ask(Method::GET, "/v1/channels")
        .key(&key)
        .send()
        .await
        .json();
    assert_eq!(channels["items"][0]["code"], "portal");
}

#[tokio::test]
async fn a_connection_is_refused_where_it_is_wrong() {
    let app = App::with_hotel().await;
    let with = |name: &str, value: Value| {
        let mut body = connection();
        body[name] = value;
        body
    };
    for (body, at) in [
        (with("channel", json!("nobody")), "/channel"),
        (with("endpoint", json!("ftp://x")), "/endpoint"),
        (
            with("settings", json!({"poll_seconds": "often"})),
            "/settings/poll_seconds",
        ),
        (
            with("credentials", json!({"user": "x"})),
            "/credentials/secret",
        ),
        (json!({"channel": "portal"}), "/credentials"),
    ] {
        let answer = app.put("/v1/connections/portal", body).await;
        assert_eq!(
            (answer.code(), answer.pointer()),
            ("invalid".into(), at.into())
        );
    }
    let put = app.put("/v1/connections/portal", connection()).await;
    assert_eq!(put.status, 201);
    let body = with("endpoint", json!("https://portal.example"));
    let stale = app
        .ask(Method::PUT, "/v1/connections/portal")
        .header("if-match", "\"9\"");
    assert_eq!(stale.json(&body).send().await.code(), "version_mismatch");
    let put = app.put("/v1/connections/portal", body).await;
    assert_eq!((put.status.as_u16(), put.header("etag")), (200, "\"2\""));
}

#[tokio::test]
async fn a_webhooks_secret_is_shown_once() {
    let app = App::with_hotel().await;
    let body = json!({"url": "https://hooks.example.org/k", "events": ["reservation.confirmed"],
        "property": "seehof"});
    let made = app.put("/v1/webhooks/desk", body.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert!(
        made.json()["secret"]
            .as_str()
            .is_some_and(|secret| secret.len() >= 32)
    );
    let again = app.put("/v1/webhooks/desk", body).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.json().get("secret"), None);
    let read = app.read("/v1/webhooks/desk").await.json();
    assert_eq!(
        (&read["property"], read.get("secret")),
        (&json!("seehof"), None)
    );
    let none = app.read("/v1/webhooks/desk/deliveries").await.json();
    assert_eq!(none["items"], json!([]));
    let replay = app
        .post("/v1/webhooks/desk/deliveries/7/replay", json!({}))
        .await;
    assert_eq!(replay.code(), "not_found");

    for (field, value) in [
        ("url", json!("http://127.0.0.1/x")),
        ("url", json!("file:///etc/passwd")),
        ("events", json!(["nothing.happened"])),
        ("property", json!("nowhere")),
    ] {
        let mut wrong = json!({"url": "https://hooks.example.org/k"});
        wrong[field] = value.clone();
        let answer = app.put("/v1/webhooks/wrong", wrong).await;
        let found = (answer.code(), answer.pointer());
        assert_eq!(found, ("invalid".into(), format!("/{field}")), "{value}");
    }
    app.hotel("bergblick").await;
    let other = app.property("bergblick").await;
    let key = app.key(Role::Admin, Some(other)).await;
    for (method, path) in [
        (Method::GET, "/v1/webhooks/desk"),
        (Method::DELETE, "/v1/webhooks/desk"),
        (Method::GET, "/v1/webhooks/desk/deliveries"),
    ] {
        assert_eq!(
            app.ask(method, path).key(&key).send().await.code(),
            "not_found"
        );
    }
    let gone = app.ask(Method::DELETE, "/v1/webhooks/desk").send().await;
    assert_eq!(gone.status, 204);
    assert_eq!(app.read("/v1/webhooks/desk").await.code(), "not_found");
}

#[tokio::test]
async fn buffer_rules_are_put_as_a_whole() {
    let app = App::connected().await;
    let path = "/v1/properties/seehof/buffer-rules";
    let rules = json!({"rules": [
        {"account": "portal", "room_type": "DBL", "keep_back": 1},
        {"from": "2030-06-10", "to": "2030-06-12", "weekdays": ["fri", "sat"], "close_at": 2},
        {"room_type": "DBL", "lead_days_max": 3, "cap": 4},
        {"account": "portal", "share_percent": 50},
        {"room_type": "DBL", "safety": {}},
        {"safety": {"one_in": 500}}
    ]});
    let put = app.put(path, rules.clone()).await;
    assert_eq!(put.json(), rules, "{}", put.text());
    assert_eq!(app.read(path).await.json(), rules);
    for (rule, at) in [
        (json!({"room_type": "DBL"}), "/rules/0"),
        (json!({"keep_back": 1, "close_at": 1}), "/rules/0"),
        (json!({"keep_back": -1}), "/rules/0"),
        (json!({"cap": 10_001}), "/rules/0"),
        (json!({"share_percent": 101}), "/rules/0"),
        (json!({"cap": 1, "share_percent": 1}), "/rules/0"),
        (json!({"cap": 1, "safety": {}}), "/rules/0"),
        (json!({"safety": {"one_in": 9}}), "/rules/0"),
        (json!({"safety": {"one_in": 0}}), "/rules/0"),
        (json!({"keep_back": 1, "from": "2030-06-10"}), "/rules/0/to"),
        (
            json!({"keep_back": 1, "room_type": "NO"}),
            "/rules/0/room_type",
        ),
        (json!({"keep_back": 1, "account": "no"}), "/rules/0/account"),
        (
            json!({"keep_back": 1, "weekdays": ["someday"]}),
            "/rules/0/weekdays",
        ),
    ] {
        let answer = app.put(path, json!({"rules": [rule]})).await;
        assert_eq!(
            (answer.code(), answer.pointer()),
            ("invalid".into(), at.into())
        );
    }
    assert_eq!(app.read(path).await.json(), rules);
}

#[tokio::test]
async fn what_had_been_told_by_a_moment_is_explained_and_what_is_not_known_is_said() {
    let app = App::connected().await;
    let body = json!({"waive_import": true});
    let live = app.post(&format!("{ACCOUNT}/go-live"), body).await;
    assert_eq!(live.status, 200, "{}", live.text());
    let at = |instant: &str| {
        format!(
            "/v1/properties/seehof/explain?account=portal&room_type=DBL&stay_date=2030-06-02\
             &at={instant}"
        )
    };
    let before = app.read(&at("2030-06-01T09:00:00Z")).await.json();
    assert_eq!(before["lines"], json!([]));
    let known = before["then"]["known"].as_str().expect("a sentence");
    assert!(known.contains("nothing had been told"), "{known}");

    let served = app
        .read(&format!("{ACCOUNT}/ari?from=2030-06-02&to=2030-06-03"))
        .await;
    assert_eq!(served.status, 200, "{}", served.text());
    app.book("2030-06-02", "2030-06-03").await;
    let then = app.read(&at("2030-06-01T23:00:00Z")).await.json();
    assert_eq!(then["then"]["sent"]["values"]["rooms"], 2, "{then}");
    let first = &then["lines"][0]["why"];
    assert_eq!(first, "2 rooms are free in the shared pool");
    let now = "/v1/properties/seehof/explain?account=portal&room_type=DBL&stay_date=2030-06-02";
    let now = app.read(now).await.json();
    assert_eq!(now["lines"][0]["why"], "1 room is free in the shared pool");
    assert!(now.get("then").is_none());
    assert_eq!(app.read(&at("yesterday")).await.status, 422);
}

#[tokio::test]
async fn an_account_that_is_being_set_up_says_that_nothing_is_told() {
    let app = App::connected().await;
    app.book("2030-06-02", "2030-06-03").await;
    let rules = json!({"rules": [{"keep_back": 1}]});
    app.put("/v1/properties/seehof/buffer-rules", rules).await;
    let path = "/v1/properties/seehof/explain?account=portal&room_type=DBL&stay_date=2030-06-02";
    let lines = app.read(path).await.json()["lines"].clone();
    let why = |at: usize| lines[at]["why"].as_str().unwrap_or_default();
    assert!(
        why(0).contains("nothing is told before it goes live"),
        "{lines}"
    );
    assert_eq!(why(1), "1 room is free in the shared pool");
    assert_eq!(why(2), "1 of 1 are kept back (rule keep_back 1)");
    assert!(
        why(3).contains("would be told open, 0 rooms to sell"),
        "{lines}"
    );
}
