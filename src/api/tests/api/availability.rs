//! Availability is kept while it stands, and never a moment longer.

use std::time::Duration;

use http::Method;
use keyrack_api::settings::Settings;
use keyrack_ledger::handle::Ledger;
use serde_json::{Value, json};
use sqlx::Connection as _;
use tokio::time::sleep;

use crate::app::{Answer, App, answered, room_type, router, set_clock, wish};

const PATH: &str = "/v1/properties/seehof/availability?from=2030-06-02&to=2030-06-05";

/// Free doubles, night by night.
fn doubles(answer: &Answer) -> Vec<i64> {
    let json = answer.json();
    let all = json["room_types"].as_array().expect("types");
    let dbl = all.iter().find(|one| one["room_type"] == "DBL");
    let nights = dbl.expect("doubles")["nights"].as_array().expect("nights");
    let free = |night: &Value| night["free"].as_i64().expect("a count");
    nights.iter().map(free).collect()
}

/// Changes a night behind the ledger's back: whoever does not see it has not read.
async fn tamper(app: &App, sold: i32) {
    let night = "update night set sold = $1 where stay_date = '2030-06-02' and physical = 2";
    let done = sqlx::query(night).bind(sold).execute(&app.pool).await;
    assert_eq!(done.expect("a change").rows_affected(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nothing_moves_the_same_is_said_without_reading() {
    let app = App::with_hotel().await;
    let first = app.read(PATH).await;
    assert_eq!(doubles(&first), [2, 2, 2]);
    tamper(&app, 1).await;
    sleep(Duration::from_millis(150)).await;
    for path in [PATH.to_owned(), format!("{PATH}&fresh=true")] {
        let again = app.read(&path).await;
        assert_eq!(again.header("content-type"), "application/json");
        assert_eq!(again.json()["room_types"], first.json()["room_types"]);
        let instant = |answer: &Answer| answer.json()["as_of"].as_str().map(str::to_owned);
        assert!(instant(&again) > instant(&first), "true of a later instant");
    }
    // Whatever moves lets all be read anew.
    app.book("2030-06-04", "2030-06-05").await;
    assert_eq!(doubles(&app.read(PATH).await), [1, 2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_here_is_seen_at_once() {
    let app = App::with_hotel().await;
    for left in [1, 0] {
        assert_eq!(doubles(&app.read(PATH).await)[0], left + 1);
        app.book("2030-06-02", "2030-06-03").await;
        assert_eq!(doubles(&app.read(PATH).await)[0], left);
    }
    // A refusal moves nothing.
    let no = wish("held", "2030-06-02", "2030-06-03");
    let no = app.post("/v1/properties/seehof/reservations", no).await;
    assert_eq!(no.status, 409, "{}", no.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_daemon_did_is_seen_when_fresh_and_soon_in_any_case() {
    let app = App::with_hotel().await;
    let settings = keyrack_ledger::settings::Settings::default();
    let ledger = Ledger::open(app.database.options(), settings).await;
    let ledger = ledger.expect("a second daemon");
    let other = router(&ledger, &app.pool, Settings::default());
    let elsewhere = async |path: String| {
        let request = app.ask(Method::GET, &path).request();
        let response = tower::ServiceExt::oneshot(other.clone(), request).await;
        answered(response.expect("an answer")).await
    };
    let fresh = || elsewhere(format!("{PATH}&fresh=true"));
    assert_eq!(doubles(&fresh().await), [2, 2, 2]);
    app.book("2030-06-03", "2030-06-05").await;
    assert_eq!(doubles(&fresh().await), [2, 1, 1]);
    app.book("2030-06-03", "2030-06-04").await;
    sleep(Duration::from_millis(110)).await;
    assert_eq!(doubles(&elsewhere(PATH.to_owned()).await), [2, 0, 1]);
    // New rules are no command: a room type, and what a type is made of.
    let path = "/v1/properties/seehof/room-types/TWN";
    assert_eq!(app.put(path, room_type(3)).await.status, 201);
    let types = fresh().await.json()["room_types"].clone();
    assert_eq!(types.as_array().expect("types").len(), 3, "{types}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_dies_gives_its_room_back_though_nothing_moves() {
    let app = App::with_hotel().await;
    let held = wish("held", "2030-06-02", "2030-06-03");
    let held = app.post("/v1/properties/seehof/reservations", held).await;
    assert_eq!(held.status, 201, "{}", held.text());
    let fresh = format!("{PATH}&fresh=true");
    assert_eq!(doubles(&app.read(&fresh).await), [1, 2, 2]);
    // It lives for ten minutes, with a minute of grace.
    set_clock(&app.pool, "2030-06-01T10:10:30Z").await;
    assert_eq!(doubles(&app.read(&fresh).await), [1, 2, 2]);
    // However long the hold took to be made, it is dead by now.
    set_clock(&app.pool, "2030-06-01T10:20:00Z").await;
    assert_eq!(doubles(&app.read(&fresh).await), [2, 2, 2]);
}

/// A transaction that was running at one look and has ended at the next is new, however low its
/// sequence; a younger one that ended before it hides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_commits_late_is_not_missed() {
    let app = App::with_hotel().await;
    let fresh = format!("{PATH}&fresh=true");
    let mut late = sqlx::PgConnection::connect_with(&app.database.options())
        .await
        .expect("a connection");
    let mut late = late.begin().await.expect("a transaction");
    let sold = "update night set sold = sold + 1
                 where stay_date = '2030-06-02' and physical = 2";
    sqlx::query(sold).execute(&mut *late).await.expect("a sale");
    let entry = "insert into ledger_entry (property_id, command_id, line, kind, room_type_id,
                    night_from, night_until, quantity, from_pool, to_pool, actor, at)
             select property_id, gen_random_uuid(), 0, 'confirmed', room_type_id, '2030-06-02',
                    '2030-06-03', 1, 'free', 'sold', 'test', ledger_now()
               from room_type where code = 'DBL'";
    sqlx::query(entry)
        .execute(&mut *late)
        .await
        .expect("an entry");
    app.book("2030-06-04", "2030-06-05").await;
    for _ in 0..3 {
        assert_eq!(doubles(&app.read(&fresh).await), [2, 2, 1]);
    }
    late.commit().await.expect("an end");
    assert_eq!(doubles(&app.read(&fresh).await), [1, 2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_question_has_its_own_answer() {
    let app = App::with_hotel().await;
    for _ in 0..2 {
        let all = app.read(PATH).await.json();
        assert_eq!(all["room_types"].as_array().map(Vec::len), Some(2));
        let one = app.read(&format!("{PATH}&room_type=SGL")).await.json();
        assert_eq!(one["room_types"].as_array().map(Vec::len), Some(1));
        assert_eq!(one["room_types"][0]["room_type"], json!("SGL"));
        let short = PATH.replace("06-05", "06-03");
        let short = app.read(&short).await.json();
        assert_eq!(
            short["room_types"][0]["nights"].as_array().map(Vec::len),
            Some(1)
        );
    }
}
