//! Fifty guests and one room, over HTTP: one of them gets it, whoever's daemon is asked. A hundred
//! cancels, and it comes back once.

use std::sync::Arc;

use futures_util::future::join_all;
use jiff::civil::Date;
use keyrack_commands::demo::client::{Client, Said};
use keyrack_ledger::catalog;
use keyrack_ledger::command::By;
use keyrack_model::reservation::{Guest, ReservationReport, ReservationRevision, RevisionKind};
use keyrack_model::stay::plus_days;
use keyrack_sandbox::Wish;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::TestApp;
use crate::channel::{Stage, until};

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

/// A hundred cancels of one reservation of a channel at two daemons: every staff program gets the
/// same answer to the letter, every report of the channel the same outcome, and the room comes back
/// once.
#[tokio::test(flavor = "multi_thread")]
async fn r15_a_hundred_cancels_by_staff_and_channel_are_answered_alike() {
    let app = TestApp::start().await;
    let stage = Stage::live(&app, 2).await;
    let staff = [app.caller("linde"), app.second_daemon("linde").await];
    let (from, to) = (app.night(3), app.night(5));
    let booking = &stage.booking;
    let sold = booking
        .channel
        .sell(&Wish::one(booking.hotel, booking.room, from, to))
        .expect("it shows a room");
    let known = until(|| async {
        let known = staff[0].all("reservations?source=channel").await;
        known.expect("a list").first().cloned()
    });
    let known = known.await.expect("the ledger hears of it");
    let cancel = format!(
        "reservations/{}/cancel",
        known["id"].as_str().expect("an id")
    );
    let fact = cancelled_there(&app, &sold.reference).await;
    let by_staff = join_all((0..66).map(|n| {
        let body = json!({"reason": "ill", "told_channel": true});
        staff[n % 2].at(Method::POST, &cancel, Some(body))
    }));
    let by_channel = join_all((0..34).map(|_| {
        let by = By {
            actor: "account:booking".to_owned(),
            request_id: None,
        };
        keyrack_ledger::reservations::record(&app.ledger, by, fact.clone())
    }));
    let (by_staff, by_channel) = tokio::join!(by_staff, by_channel);
    let answers: Vec<(u16, Value)> = by_staff
        .into_iter()
        .map(|said| {
            said.map(|said| (said.status, said.body))
                .expect("an answer")
        })
        .collect();
    assert_eq!(answers[0].0, 200, "{:#}", answers[0].1);
    for answer in &answers {
        assert_eq!(
            *answer, answers[0],
            "every answer is the same to the letter"
        );
    }
    for receipt in by_channel {
        let kept = receipt.expect("it is recorded").reservation;
        let kept = kept.expect("of that reservation");
        assert_eq!(json!(kept.number.to_string()), answers[0].1["number"]);
        assert_eq!(json!(kept.version), answers[0].1["version"]);
    }
    assert_eq!(answers[0].1["status"], "cancelled");
    assert_eq!(app.free("linde", from, to).await, [2, 2], "and not more");
    app.end().await;
    stage.sandbox.stop().await;
}

/// The channel's report that the guest of a reference does not come.
async fn cancelled_there(app: &TestApp, reference: &str) -> ReservationRevision {
    let property = catalog::property(&app.ledger, "linde").await;
    let property = property.expect("an answer").expect("a property").id;
    let accounts = catalog::accounts(&app.ledger, property).await;
    let accounts = accounts.expect("accounts");
    let account = accounts.iter().find(|row| row.account.code == "booking");
    ReservationRevision {
        property,
        account: account.expect("an account").account.id,
        rooms: Vec::new(),
        report: ReservationReport {
            hotel_code: None,
            reference: reference.to_owned(),
            kind: RevisionKind::Cancelled,
            order: None,
            booked_at: None,
            rooms: Vec::new(),
            guest: Guest::default(),
            total: None,
            commission: None,
            payment_model: None,
            remarks: Vec::new(),
            is_quote: false,
            acknowledge_as: None,
        },
        is_snapshot: true,
        received_at: jiff::Timestamp::UNIX_EPOCH,
    }
}
