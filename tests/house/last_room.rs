//! Fifty guests and one room, over HTTP: one of them gets it, whoever's daemon is asked.

use std::sync::Arc;

use futures_util::future::join_all;
use jiff::civil::Date;
use keyrack_commands::demo::client::{Client, Said};
use keyrack_model::stay::plus_days;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::TestApp;

const ROUNDS: i32 = 200;
const GUESTS: usize = 50;

fn body(arrival: Date, nights: i32, status: &str) -> Value {
    json!({
        "status": status, "source": "web", "guest": {"name": "Guest"},
        "rooms": [{"room_type": "double", "arrival": arrival,
                   "departure": plus_days(arrival, nights), "quantity": 1}],
    })
}

async fn ask(client: &Client, body: Value) -> Said {
    client
        .at(Method::POST, "reservations", Some(body))
        .await
        .expect("an answer")
}

/// Rounds of 1, 3 and 30 nights; in every third round of each an expired hold nobody has swept lies
/// on them.
async fn scramble(clients: Vec<Client>, pool: &PgPool, today: Date) {
    let clients = Arc::new(clients);
    let mut unswept = 0;
    for round in 0..ROUNDS {
        let nights = [1, 3, 30][usize::try_from(round / 3 % 3).expect("0 to 2")];
        let arrival = plus_days(today, 1 + (round * 7) % 600);
        if round % 3 == 0 {
            let mut hold = body(arrival, nights, "held");
            hold["hold_seconds"] = json!(1);
            assert_eq!(ask(&clients[0], hold).await.status, 201, "round {round}");
            pass(pool, "1 hour").await;
            unswept += is_unswept(pool).await;
        }
        let asks = (0..GUESTS).map(|guest| {
            let clients = Arc::clone(&clients);
            let wish = body(arrival, nights, "confirmed");
            tokio::spawn(async move { ask(&clients[guest % clients.len()], wish).await })
        });
        let mut won = Vec::new();
        for said in join_all(asks).await {
            let said = said.expect("no panic");
            match (said.status, said.code()) {
                (201, _) => won.push(said.body["id"].as_str().expect("an id").to_owned()),
                (409, "sold_out") => {}
                other => panic!("round {round}: {other:?}: {}", said.body),
            }
        }
        assert_eq!(
            won.len(),
            1,
            "round {round}: exactly one guest gets the room"
        );
        let cancel = format!("reservations/{}/cancel", won[0]);
        clients[0]
            .post(&cancel, json!({}))
            .await
            .expect("the room comes back");
    }
    // The sweeper comes by every few seconds and takes some of them.
    assert!(unswept > ROUNDS / 6, "{unswept} rounds met a dead hold");
}

/// 1 where a dead hold still has its rooms.
async fn is_unswept(pool: &PgPool) -> i32 {
    sqlx::query_scalar(
        "select count(*)::integer from reservation
          where status = 'held' and hold_dead_at <= ledger_now()",
    )
    .fetch_one(pool)
    .await
    .expect("a count")
}

async fn pass(pool: &PgPool, interval: &str) {
    sqlx::query("update clock_shift set shift = shift + $1::text::interval")
        .bind(interval)
        .execute(pool)
        .await
        .expect("time passes");
}

/// Accepted answers and rows agree; the sums are proved at the end of the story.
async fn assert_counted(pool: &PgPool) {
    let accepted: i64 = sqlx::query_scalar(
        "select count(*) from reservation where status = 'cancelled' and source = 'web'",
    )
    .fetch_one(pool)
    .await
    .expect("a count");
    assert_eq!(
        accepted,
        i64::from(ROUNDS),
        "one accepted answer a round, one row each"
    );
}

async fn today(pool: &PgPool) -> Date {
    let today: jiff_sqlx::Date = sqlx::query_scalar("select ledger_now()::date")
        .fetch_one(pool)
        .await
        .expect("a date");
    today.to_jiff()
}

#[tokio::test(flavor = "multi_thread")]
async fn r13_fifty_guests_and_the_last_room_at_one_daemon() {
    let app = TestApp::start().await;
    app.hotel("linde", 1).await;
    let pool = app.pool().await;
    scramble(vec![app.caller("linde")], &pool, today(&pool).await).await;
    assert_counted(&pool).await;
    pool.close().await;
    app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r13_fifty_guests_and_the_last_room_at_two_daemons_on_one_database() {
    let app = TestApp::start().await;
    app.hotel("linde", 1).await;
    let pool = app.pool().await;
    let second = app.second_daemon("linde").await;
    scramble(vec![app.caller("linde"), second], &pool, today(&pool).await).await;
    assert_counted(&pool).await;
    pool.close().await;
    app.end().await;
}
