//! Raw messages: what is kept of them, who sees them, and which are read again.

use http::Method;
use keyrack_ledger::keys::Role;
use serde_json::json;

use crate::app::App;
use crate::channels::LOGIN;

#[tokio::test]
async fn of_a_delivery_that_is_too_long_the_beginning_is_kept_and_staff_are_told() {
    let app = App::with_inbox_of(100_000).await;
    let long = "R1 10 2030-06-10 2030-06-12\n".repeat(10_000);
    let told = app.deliver("bm9ib2R5Om5vdGhpbmc=", &long).await;
    assert_eq!(told.code(), "unauthenticated");
    // A body that says its length, and one that only goes on and on.
    for length in [Some(long.len()), None] {
        let ask = app.anonymous(Method::POST, "/v1/inbox/portal");
        let ask = ask.header("authorization", &format!("Basic {LOGIN}"));
        let ask = match length {
            Some(length) => ask.header("content-length", &length.to_string()),
            None => ask,
        };
        let answer = ask.text("text/x-portal", &long).send().await;
        assert_eq!(answer.status, 413, "{}", answer.text());
        assert_eq!(answer.header("content-type"), "text/x-portal");
        let words = answer.text();
        assert!(
            words.starts_with("nein ") && words.contains("100000"),
            "{words}"
        );
    }
    let kept: (String, bool, i64, i32) = sqlx::query_as(
        "select status, is_cut, body_bytes, copies from channel_message where direction = 'in'",
    )
    .fetch_one(&app.pool)
    .await
    .expect("one message");
    assert_eq!(kept, ("unreadable".into(), true, 65_536, 2));
    let notice: String = sqlx::query_scalar("select text from notice where kind = 'unreadable'")
        .fetch_one(&app.pool)
        .await
        .expect("a line for staff");
    assert!(notice.contains("longer than 100000 bytes"), "{notice}");
    let id: i64 = sqlx::query_scalar("select message_id from channel_message")
        .fetch_one(&app.pool)
        .await
        .expect("one message");
    let path = format!("/v1/messages/{id}/replay");
    let again = app.post(&path, json!({})).await;
    assert_eq!(again.code(), "invalid", "half a message is not read again");
    assert!(again.text().contains("kept whole"), "{}", again.text());
    assert_eq!(app.free("DBL", "2030-06-10").await, 2, "nothing was taken");
    assert_eq!(
        app.deliver(LOGIN, "R1 10 2030-06-10 2030-06-12\n")
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn an_operator_sees_the_messages_that_no_hotel_sees() {
    let app = App::connected().await;
    assert_eq!(app.deliver(LOGIN, "nonsense\n").await.status, 200);
    let known = "R1 10 2030-06-10 2030-06-12\n";
    assert_eq!(app.deliver(LOGIN, known).await.status, 200);
    let own = app.read("/v1/properties/seehof/messages").await.json();
    assert_eq!(own["items"].as_array().map(Vec::len), Some(1), "{own}");

    let all = app.read("/v1/messages?connection=portal").await.json();
    assert_eq!(all["items"].as_array().map(Vec::len), Some(2), "{all}");
    assert_eq!(all["items"][0]["accounts"], json!(["seehof/portal"]));
    assert_eq!(all["items"][0]["connection"], "portal");
    let path = "/v1/messages?connection=portal&of_no_account=true";
    let lost = app.read(path).await.json();
    assert_eq!(lost["items"].as_array().map(Vec::len), Some(1), "{lost}");
    let id = &lost["items"][0]["id"];
    let path = format!("/v1/messages/{id}");
    let shown = app.read(&path).await.json();
    assert_eq!(shown["body"], "nonsense\n", "{shown}");
    assert_eq!(shown["accounts"], json!([]));
    let again = app.post(&format!("{path}/replay"), json!({})).await;
    assert_eq!(again.status, 200, "{}", again.text());

    let nowhere = app.read("/v1/messages?connection=none").await;
    assert_eq!(nowhere.pointer(), "/connection");
    assert_eq!(app.read("/v1/messages/999").await.code(), "not_found");
    let seehof = app.property("seehof").await;
    for key in [
        app.key(Role::Admin, Some(seehof)).await,
        app.key(Role::Manager, None).await,
    ] {
        for path in ["/v1/messages", &path] {
            let answer = app.ask(Method::GET, path).key(&key).send().await;
            assert_eq!(answer.code(), "forbidden", "{path}");
        }
    }
}
