//! Idempotency keys on what is no command of the lanes: rates, inventory, the verbs of accounts.

use http::Method;
use keyrack_ledger::keys::Role;
use serde_json::{Value, json};

use crate::app::{Answer, App};

const SEEHOF: &str = "/v1/properties/seehof";
const ACCOUNT: &str = "/v1/properties/seehof/accounts/portal";

impl App {
    async fn post_under(&self, key: &str, path: &str, body: &Value) -> Answer {
        let ask = self.ask(Method::POST, path).json(body);
        ask.header("idempotency-key", key).send().await
    }
}

fn out_of_order(rooms: i32) -> Value {
    let nights = json!({"room_type": "DBL", "from": "2030-06-02", "to": "2030-06-03"});
    let mut value = nights;
    value["out_of_order"] = json!(rooms);
    json!({ "values": [value] })
}

fn is_replay(answer: &Answer) -> bool {
    answer.headers.contains_key("idempotent-replay")
}

#[tokio::test]
async fn a_repeat_gets_the_first_answer_and_does_nothing_again() {
    let app = App::with_hotel().await;
    let path = format!("{SEEHOF}/inventory");
    let first = app.post_under("k-1", &path, &out_of_order(1)).await;
    assert_eq!((first.status.as_u16(), is_replay(&first)), (200, false));
    let other = app.post_under("k-2", &path, &out_of_order(0)).await;
    assert_eq!((other.status.as_u16(), is_replay(&other)), (200, false));
    let again = app.post_under("k-1", &path, &out_of_order(1)).await;
    assert_eq!((again.status.as_u16(), is_replay(&again)), (200, true));
    assert_eq!(again.text(), first.text());
    assert_eq!(again.header("content-type"), first.header("content-type"));
    assert_eq!(
        app.free("DBL", "2030-06-02").await,
        2,
        "the later word stands"
    );
    let reused = app.post_under("k-1", &path, &out_of_order(2)).await;
    assert_eq!(
        (reused.status.as_u16(), reused.code()),
        (422, "idempotency_key_reused".to_owned())
    );
}

#[tokio::test]
async fn a_refusal_is_not_kept() {
    let app = App::with_hotel().await;
    let path = format!("{SEEHOF}/inventory");
    for _ in 0..2 {
        let refused = app.post_under("k", &path, &out_of_order(-1)).await;
        assert_eq!((refused.status.as_u16(), is_replay(&refused)), (422, false));
        assert_eq!(refused.code(), "invalid");
    }
    let done = app.post_under("k", &path, &out_of_order(1)).await;
    assert_eq!((done.status.as_u16(), is_replay(&done)), (200, false));
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_and_opens_no_other_hotel() {
    let app = App::with_hotel().await;
    let path = format!("{SEEHOF}/inventory");
    app.post_under("k", &path, &out_of_order(1)).await;
    app.hotel("bergblick").await;
    let own = app.property("seehof").await;
    let elsewhere = app.property("bergblick").await;
    for (property, status) in [(own, 200), (elsewhere, 404)] {
        let key = app.key(Role::Manager, Some(property)).await;
        let ask = app.anonymous(Method::POST, &path);
        let ask = ask.header("authorization", &format!("Bearer {key}"));
        let ask = ask.header("idempotency-key", "k").json(&out_of_order(1));
        let answer = ask.send().await;
        assert_eq!(
            (answer.status.as_u16(), is_replay(&answer)),
            (status, false)
        );
    }
    let desk = app.key(Role::FrontDesk, Some(own)).await;
    let ask = app.anonymous(Method::POST, &path);
    let ask = ask.header("authorization", &format!("Bearer {desk}"));
    let ask = ask.header("idempotency-key", "k").json(&out_of_order(1));
    assert_eq!(ask.send().await.code(), "forbidden");
}

#[tokio::test]
async fn of_many_at_once_under_one_key_one_is_at_work() {
    let app = App::with_hotel().await;
    let path = format!("{SEEHOF}/inventory");
    let body = out_of_order(1);
    let asks = (0..20).map(|_| app.post_under("k", &path, &body));
    let answers = futures_util::future::join_all(asks).await;
    let firsts = answers
        .iter()
        .filter(|answer| answer.status == 200 && !is_replay(answer));
    assert_eq!(firsts.count(), 1);
    for answer in &answers {
        let in_use = answer.status == 409
            && answer.code() == "idempotency_key_in_use"
            && !answer.header("retry-after").is_empty();
        assert!(answer.status == 200 || in_use, "{}", answer.text());
    }
    assert!(is_replay(&app.post_under("k", &path, &body).await));
}

#[tokio::test]
async fn a_first_that_died_with_its_daemon_is_done_anew_after_a_minute() {
    let app = App::with_hotel().await;
    let path = format!("{SEEHOF}/inventory");
    app.post_under("k", &path, &out_of_order(1)).await;
    let died = "update kept_answer set status = null, begun_at = begun_at - $1 * interval '1 s'";
    for (age, status) in [(30, 409), (60, 200)] {
        let died = sqlx::query(died).bind(age).execute(&app.pool).await;
        assert_eq!(died.expect("a claim").rows_affected(), 1);
        let again = app.post_under("k", &path, &out_of_order(1)).await;
        assert_eq!((again.status.as_u16(), is_replay(&again)), (status, false));
    }
}

#[tokio::test]
async fn the_verbs_of_an_account_and_the_rooms_of_a_stay_are_repeated_by_key() {
    let app = App::connected().await;
    let live = format!("{ACCOUNT}/go-live");
    let waived = json!({"waive_import": true});
    let went = app.post_under("g", &live, &waived).await;
    assert_eq!(went.status, 200, "{}", went.text());
    let reason = json!({"reason": "renovation", "force": true});
    let pause = format!("{ACCOUNT}/pause");
    let paused = app.post_under("p", &pause, &reason).await;
    assert_eq!(paused.status, 200, "{}", paused.text());
    let resumed = app
        .post_under("r", &format!("{ACCOUNT}/resume"), &json!({}))
        .await;
    assert_eq!(resumed.status, 200, "{}", resumed.text());
    let again = app.post_under("p", &pause, &reason).await;
    assert_eq!((again.text(), is_replay(&again)), (paused.text(), true));
    assert_eq!(again.header("etag"), paused.header("etag"));
    let shown = app.read(ACCOUNT).await;
    assert_ne!(
        shown.json()["state"],
        "paused",
        "a late repeat pauses nothing"
    );

    app.put(&format!("{SEEHOF}/rooms/11"), json!({"room_type": "DBL"}))
        .await;
    let booked = app.book("2030-06-10", "2030-06-12").await;
    let id = booked["id"].as_str().expect("an id");
    let path = format!("{SEEHOF}/reservations/{id}/assign");
    let given = app.post_under("a", &path, &json!({"room": "11"})).await;
    assert_eq!(given.status, 200, "{}", given.text());
    let again = app.post_under("a", &path, &json!({"room": "11"})).await;
    assert_eq!((again.text(), is_replay(&again)), (given.text(), true));
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_by_name() {
    let app = App::with_hotel().await;
    let long = "k".repeat(201);
    for key in ["", long.as_str()] {
        let path = format!("{SEEHOF}/inventory");
        let refused = app.post_under(key, &path, &out_of_order(1)).await;
        assert_eq!(refused.code(), "malformed");
        assert!(
            refused.text().contains("Idempotency-Key"),
            "{}",
            refused.text()
        );
    }
}

/// A dry run is asked before the deed, by programs that keep the key of what they want.
#[tokio::test]
async fn a_dry_run_does_not_use_up_the_key_of_the_deed() {
    let app = App::with_hotel().await;
    let path = format!("{SEEHOF}/inventory");
    let shown = app
        .post_under("k", &format!("{path}?dry_run=true"), &out_of_order(1))
        .await;
    assert_eq!(shown.json()["dry_run"], true);
    let done = app.post_under("k", &path, &out_of_order(1)).await;
    assert_eq!(
        (done.json()["dry_run"] == false, is_replay(&done)),
        (true, false)
    );
    let with_query = app
        .post_under("k", &format!("{path}?dry_run=false"), &out_of_order(1))
        .await;
    assert_eq!(with_query.code(), "idempotency_key_reused");
}

#[tokio::test]
async fn a_key_whose_first_was_cut_off_says_when_it_is_free_again() {
    let app = App::with_hotel().await;
    let path = format!("{SEEHOF}/inventory");
    let done = app.post_under("k", &path, &out_of_order(1)).await;
    assert_eq!(done.status, 200);
    // Its daemon died between the deed and the word of it.
    let cut_off = "update kept_answer set status = null, body = null,
                          begun_at = ledger_now() - interval '20 seconds'";
    sqlx::query(cut_off)
        .execute(&app.pool)
        .await
        .expect("a crash");
    let waits = app.post_under("k", &path, &out_of_order(1)).await;
    assert_eq!(
        (waits.status.as_u16(), waits.code().as_str()),
        (409, "idempotency_key_in_use")
    );
    let left = waits.json()["retry_after_seconds"]
        .as_i64()
        .expect("seconds");
    assert!((38..=41).contains(&left), "{left}");
    assert_eq!(waits.header("retry-after"), left.to_string());
    assert!(waits.text().contains("perhaps cut off"), "{}", waits.text());
    set_clock_on(&app, "45 seconds").await;
    let again = app.post_under("k", &path, &out_of_order(1)).await;
    assert_eq!(again.status, 200, "{}", again.text());
}

async fn set_clock_on(app: &App, interval: &str) {
    sqlx::query("update clock_shift set shift = shift + $1::text::interval")
        .bind(interval)
        .execute(&app.pool)
        .await
        .expect("time passes");
}
