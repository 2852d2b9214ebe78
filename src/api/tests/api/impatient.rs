//! People who press a button more than once.

use http::Method;
use serde_json::{Value, json};

use crate::app::App;

const BOOK: &str = "/v1/properties/seehof/reservations";

/// With and without an idempotency key: whoever presses again is told what has become of it.
#[tokio::test(flavor = "multi_thread")]
async fn r34_an_impatient_user_who_cancels_ten_times_cancels_once() {
    for has_key in [false, true] {
        let app = App::with_hotel().await;
        let made = app.book("2030-06-10", "2030-06-12").await;
        assert_eq!(app.free("DBL", "2030-06-10").await, 1);
        let id = made["id"].as_str().expect("an id");
        let path = format!("{BOOK}/{id}/cancel");
        let press = || {
            let mut ask = app.ask(Method::POST, &path).json(&json!({"reason": "ill"}));
            if has_key {
                ask = ask.header("idempotency-key", "one press");
            }
            ask.send()
        };
        let answers = futures_util::future::join_all((0..10).map(|_| press())).await;
        let first = answers[0].json();
        assert_eq!(
            (answers[0].status.as_u16(), &first["status"]),
            (200, &json!("cancelled"))
        );
        for answer in &answers {
            assert_eq!(
                (answer.status.as_u16(), answer.json()),
                (200, first.clone())
            );
        }
        let lines = app.read(&format!("{BOOK}/{id}/ledger")).await.json();
        let lines = lines["items"].as_array().expect("entries").clone();
        let cancels = |line: &&Value| line["kind"] == "cancelled";
        assert_eq!(lines.iter().filter(cancels).count(), 1, "{lines:#?}");
        assert_eq!(app.free("DBL", "2030-06-10").await, 2);
        let all = app.read(BOOK).await.json();
        assert_eq!(all["items"].as_array().map(Vec::len), Some(1));
    }
}

/// The same with everything else that staff press: it is done once, and each is told so.
#[tokio::test(flavor = "multi_thread")]
async fn r34_whatever_is_pressed_ten_times_is_done_once() {
    let app = App::with_hotel().await;
    let made = app.book("2030-06-01", "2030-06-03").await;
    let id = made["id"].as_str().expect("an id");
    for (verb, body, status) in [
        ("check-in", json!({}), "checked_in"),
        ("undo", json!({}), "confirmed"),
    ] {
        let path = format!("{BOOK}/{id}/{verb}");
        let press = || app.ask(Method::POST, &path).json(&body).send();
        let answers = futures_util::future::join_all((0..10).map(|_| press())).await;
        let done = answers.iter().filter(|answer| answer.status == 200).count();
        let now = app.read(&format!("{BOOK}/{id}")).await.json();
        assert!(done >= 1, "{verb}: {}", answers[0].text());
        assert_eq!(now["status"], status, "{verb}");
        for answer in answers {
            assert!(
                answer.status == 200 || answer.status == 409,
                "{verb}: {}",
                answer.text()
            );
        }
    }
}
