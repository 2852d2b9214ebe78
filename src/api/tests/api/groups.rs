//! Rooming lists: all or nothing, or the good ones; and pool rules over HTTP.

use http::Method;
use serde_json::{Value, json};

use crate::app::{Answer, App};

const HOTEL: &str = "/v1/properties/seehof";

/// A hotel whose group `wedding` has two singles from 10 to 13 June.
async fn with_block() -> App {
    let app = App::with_hotel().await;
    let put = app
        .put(
            &format!("{HOTEL}/groups/wedding"),
            json!({"name": "Wedding"}),
        )
        .await;
    assert_eq!(put.status, 201, "{}", put.text());
    let block = json!({
        "group": "wedding", "room_type": "SGL", "release_period_days": 3,
        "values": [{"from": "2030-06-10", "to": "2030-06-13", "rooms": 2}]
    });
    let put = app.put(&format!("{HOTEL}/allotments/block"), block).await;
    assert_eq!(put.status, 201, "{}", put.text());
    app
}

async fn take(app: &App, mode: &str, list: &str) -> Answer {
    take_under(app, mode, list, &uuid::Uuid::new_v4().to_string()).await
}

async fn take_under(app: &App, mode: &str, list: &str, key: &str) -> Answer {
    let path = format!("{HOTEL}/groups/wedding/rooming-list?mode={mode}");
    let ask = app.ask(Method::POST, &path).text("text/csv", list);
    ask.header("idempotency-key", key).send().await
}

async fn left(app: &App) -> Vec<i64> {
    let report = format!("{HOTEL}/allotments/block/pickup?from=2030-06-10&to=2030-06-13");
    let json = app.read(&report).await.json();
    let nights = json["nights"].as_array().expect("nights").clone();
    let left = |night: &Value| night["left"].as_i64().expect("a count");
    nights.iter().map(left).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rooming_list_is_taken_whole_or_not_at_all() {
    let app = with_block().await;
    let three = "guest_name,arrival,departure\n\
                 Ada,2030-06-10,2030-06-12\n\
                 Bob,2030-06-10,2030-06-13\n\
                 Cyd,2030-06-11,2030-06-13\n";
    let refused = take(&app, "all_or_nothing", three).await;
    assert_eq!(refused.code(), "allotment_exhausted", "{}", refused.text());
    let errors = refused.json()["errors"].clone();
    assert_eq!(errors.as_array().map(Vec::len), Some(1));
    assert_eq!(errors[0]["pointer"], "/line/4");
    let message = errors[0]["message"].as_str().expect("words");
    assert!(message.contains("2030-06-11"), "{message}");
    assert_eq!(left(&app).await, [2, 2, 2], "nothing was taken");
    let none = app.read(&format!("{HOTEL}/reservations")).await.json();
    assert_eq!(none["items"], json!([]));

    let wrong = format!("{three}Dan,2030-06-12,2030-06-12\n");
    let wrong = take(&app, "all_or_nothing", &wrong).await;
    assert_eq!(
        (wrong.code(), wrong.pointer()),
        ("invalid".into(), "/line/5".into())
    );

    let two = three.lines().take(3).collect::<Vec<_>>().join("\n");
    let taken = take(&app, "all_or_nothing", &two).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    let json = taken.json();
    assert_eq!((&json["made"], &json["refused"]), (&json!(2), &json!(0)));
    assert_eq!(left(&app).await, [0, 0, 1]);
    let id = json["lines"][0]["reservation"].as_str().expect("an id");
    let made = app.read(&format!("{HOTEL}/reservations/{id}")).await.json();
    assert_eq!(made["guest"]["name"], "Ada");
    assert_eq!(made["source"], "group");
    assert_eq!(made["number"], json["lines"][0]["number"]);
    let sheet = app.read(&format!("{HOTEL}/groups/wedding")).await.json();
    assert_eq!(sheet["reservations"].as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_rooming_list_the_good_lines_are_taken_and_each_other_says_why() {
    let app = with_block().await;
    let list = "guest_name;room_type;arrival;departure;adults\n\
                Ada;SGL;2030-06-10;2030-06-12;1\n\
                Bob;DBL;2030-06-10;2030-06-12;1\n\
                Cyd;SGL;2030-06-10;2030-06-11;no\n\
                Dan;SGL;2030-06-10;2030-06-11;1\n\
                Eve;SGL;2030-06-10;2030-06-11;1\n";
    let taken = take(&app, "good_ones", list).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    let json = taken.json();
    assert_eq!((&json["made"], &json["refused"]), (&json!(2), &json!(3)));
    let why = |at: usize| json["lines"][at]["why"].as_str().unwrap_or("made");
    assert_eq!((why(0), why(3)), ("made", "made"));
    assert!(why(1).contains("SGL"), "{}", why(1));
    assert!(why(2).contains("Adults"), "{}", why(2));
    assert!(why(4).contains("2030-06-10"), "{}", why(4));
    assert_eq!(json["lines"][4]["line"], 6);
    assert_eq!(left(&app).await, [0, 1, 2]);
    for (list, says) in [
        ("", "guest_name"),
        ("guest_name,arrival,departure\n\u{0}", "columns"),
        ("name\nAda\n", "no column"),
    ] {
        let answer = take(&app, "good_ones", list).await;
        assert!(
            answer.status == 422 || answer.status == 200,
            "{says}: {}",
            answer.text()
        );
    }
    assert_eq!(take(&app, "some", list).await.code(), "invalid");
    let path = format!("{HOTEL}/groups/nobody/rooming-list?mode=good_ones");
    let ask = app.ask(Method::POST, &path).text("text/csv", list);
    assert_eq!(ask.send().await.code(), "not_found");
}

/// A daemon died after some of a list was booked and before the answer was kept, or all of it was
/// and the answer was lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_broke_off_goes_on_and_nobody_is_booked_twice() {
    for mode in ["good_ones", "all_or_nothing"] {
        let app = with_block().await;
        let list = "guest_name,arrival,departure\n\
                    Ada,2030-06-10,2030-06-12\n\
                    Bob,2030-06-10,2030-06-13\n";
        let first = take_under(&app, mode, list, "a-list").await;
        assert_eq!(first.json()["made"], 2, "{}", first.text());
        let kept = take_under(&app, mode, list, "a-list").await;
        assert_eq!(kept.header("idempotent-replay"), "true");
        let another_mode = match mode {
            "good_ones" => "all_or_nothing",
            _ => "good_ones",
        };
        let reused = take_under(&app, another_mode, list, "a-list").await;
        assert_eq!(reused.code(), "idempotency_key_reused", "{mode}");
        sqlx::query("delete from kept_answer")
            .execute(&app.pool)
            .await
            .expect("the answer is lost");
        let again = take_under(&app, mode, list, "a-list").await;
        assert_eq!(again.json(), first.json(), "{mode}");
        assert_eq!(left(&app).await, [0, 0, 1], "{mode}");
        let all = app.read(&format!("{HOTEL}/reservations")).await.json();
        assert_eq!(all["items"].as_array().map(Vec::len), Some(2), "{mode}");
        // Under another key it is another list: the block has no rooms for it.
        let other = take_under(&app, mode, list, "another").await;
        assert_ne!(other.json()["made"], 2, "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rooming_list_without_a_key_is_refused_and_says_so() {
    let app = with_block().await;
    let path = format!("{HOTEL}/groups/wedding/rooming-list?mode=good_ones");
    let list = "guest_name,arrival,departure\nAda,2030-06-10,2030-06-12\n";
    let ask = app.ask(Method::POST, &path).text("text/csv", list);
    let refused = ask.send().await;
    assert_eq!(refused.code(), "invalid");
    assert!(
        refused.text().contains("Idempotency-Key"),
        "{}",
        refused.text()
    );
    assert_eq!(left(&app).await, [2, 2, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_sent_again_books_nobody_twice() {
    let app = with_block().await;
    let list = |to: &str| {
        format!("guest_name,arrival,departure\nAda,2030-06-10,{to}\nBob,2030-06-10,2030-06-13\n")
    };
    let first = take(&app, "good_ones", &list("2030-06-12")).await.json();
    let counts = |taken: &Value| ["made", "already", "refused"].map(|name| taken[name].clone());
    assert_eq!(counts(&first), [2, 0, 0], "{first}");
    let again = take(&app, "good_ones", &list("2030-06-12")).await.json();
    assert_eq!(counts(&again), [0, 2, 0], "{again}");
    assert_eq!(again["lines"][0]["number"], first["lines"][0]["number"]);
    assert_eq!(again["lines"][0]["already"], true);
    let all = take(&app, "all_or_nothing", &list("2030-06-12")).await;
    assert_eq!(counts(&all.json()), [0, 2, 0], "{}", all.text());
    // Another stay is a change of the reservation, and none beside it.
    let other = take(&app, "good_ones", &list("2030-06-13")).await.json();
    assert_eq!(counts(&other), [0, 1, 1], "{other}");
    let why = other["lines"][0]["why"].as_str().unwrap_or_default();
    assert!(
        why.contains("2030-06-10..2030-06-12: change that one"),
        "{why}"
    );
    let nothing = take(&app, "all_or_nothing", &list("2030-06-13")).await;
    assert_eq!(nothing.pointer(), "/line/2");
    assert_eq!(left(&app).await, [0, 0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn washing_gives_rooms_back_early_and_the_cut_off_the_rest() {
    let app = with_block().await;
    assert_eq!(app.free("SGL", "2030-06-10").await, 3);
    let fewer = json!({
        "group": "wedding", "room_type": "SGL", "release_period_days": 3,
        "values": [{"from": "2030-06-10", "to": "2030-06-13", "rooms": 1}]
    });
    let washed = app.put(&format!("{HOTEL}/allotments/block"), fewer).await;
    assert_eq!(washed.status, 200, "{}", washed.text());
    assert_eq!(app.free("SGL", "2030-06-10").await, 4);
    let cut = json!({"name": "Wedding", "cut_off": "2030-06-01"});
    let put = app.put(&format!("{HOTEL}/groups/wedding"), cut).await;
    assert_eq!(put.header("etag"), "\"2\"");
    let released = keyrack_ledger::allotments::release_due(&app.ledger).await;
    assert_eq!(released.expect("no failure"), 1);
    assert_eq!(app.free("SGL", "2030-06-10").await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn pool_rules_are_put_as_a_whole_and_said_field_by_field() {
    let app = with_block().await;
    let path = format!("{HOTEL}/pool-rules");
    let empty = app.read(&path).await;
    assert_eq!(empty.json(), json!({"rules": []}));
    let rule = json!({"account": "nobody", "pool": "allotment"});
    let refused = app.put(&path, json!({"rules": [rule]})).await;
    assert_eq!(refused.pointer(), "/rules/0/account");
    let half = json!({"account": "nobody", "pool": "allotment", "when_free": 3});
    let refused = app.put(&path, json!({"rules": [half]})).await;
    let pointers = refused.json()["errors"].to_string();
    assert!(pointers.contains("/rules/0/until_free"), "{pointers}");
    let put = app.put(&path, json!({"rules": []})).await;
    assert_eq!(put.status, 200, "{}", put.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_csv_is_not_read_as_a_list() {
    let app = with_block().await;
    let path = format!("{HOTEL}/groups/wedding/rooming-list?mode=good_ones");
    let list = "guest_name,arrival,departure\nAda,2030-06-10,2030-06-12\n";
    for (kind, status) in [
        ("application/vnd.ms-excel", 415),
        ("application/json", 415),
        ("Text/CSV; charset=utf-8", 200),
    ] {
        let ask = app.ask(Method::POST, &path).text(kind, list);
        let said = ask.header("idempotency-key", kind).send().await;
        assert_eq!(said.status, status, "{kind}: {}", said.text());
    }
    let shoes = format!("{},arrival,departure\n", "shoes".repeat(100));
    let refused = take(&app, "good_ones", &shoes).await;
    assert!(refused.text().len() < 600, "{}", refused.text());
}
