//! What `safety` rules keep back: measured, stored, told again where it changed.

use keyrack_ledger::catalog;
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_ledger::decide::estimate::Ear;
use keyrack_ledger::decide::lags::Lags;
use keyrack_ledger::tail;
use keyrack_ledger::{inventory, safety};
use keyrack_model::stay::{Weekdays, days_between};

use crate::hotel::{Hotel, day, stay};
use crate::rooms::sell;
use crate::told::Told;

async fn rule(hotel: &Hotel, kind: BufferKind) {
    let rule = BufferRule {
        account: None,
        room_type: None,
        nights: None,
        weekdays: Weekdays::ALL,
        lead_days_min: None,
        lead_days_max: None,
        kind,
    };
    let put = catalog::put_buffer_rules(&hotel.ledger, hotel.property, &hotel.by, vec![rule]).await;
    put.expect("no failure").expect("no refusal");
}

fn ear(told: &Told, deaf_ms: i64) -> Ear {
    Ear {
        account: told.account.id,
        told: Lags::of([1_000; 100]),
        declared_ms: 20_000,
        deaf_ms,
        mute_ms: 0,
    }
}

async fn measure(told: &Told, deaf_ms: i64) -> Option<usize> {
    let hotel = &told.hotel;
    let ears = vec![ear(told, deaf_ms)];
    let measured = safety::measure(&hotel.ledger, hotel.property, ears, 0).await;
    measured.expect("no failure")
}

async fn explained(told: &Told, offset: i32) -> String {
    let lines = tail::explain(&told.hotel.ledger, &told.listing(), told.room(offset)).await;
    let lines = lines.expect("no failure").into_iter();
    let rules: Vec<String> = lines
        .filter(|line| line.step == "buffer_rule")
        .map(|line| line.why)
        .collect();
    rules.join("; ")
}

/// The nights that were noted to be told again for a reason, as days from today. From the table
/// itself: a reader of the tail would wait for whoever writes elsewhere on the cluster.
async fn noted(told: &Told, field: &str) -> Vec<(i32, i32)> {
    let noted: Vec<(jiff_sqlx::Date, jiff_sqlx::Date)> = sqlx::query_as(
        "select night_from, night_until from rate_change where fields = array[$1]
         order by night_from, night_until",
    )
    .bind(field)
    .fetch_all(&told.hotel.pool)
    .await
    .expect("what was noted");
    let days = |date: jiff_sqlx::Date| days_between(day(0), date.to_jiff());
    let noted = noted.into_iter();
    noted
        .map(|(from, until)| (days(from), days(until)))
        .collect()
}

#[tokio::test]
async fn one_room_is_kept_back_until_something_is_measured_and_then_what_was() {
    let told = Told::open().await;
    rule(&told.hotel, BufferKind::Safety(0)).await;
    assert_eq!(told.rooms(0..3).await, [(3, false); 3]);
    assert!(
        explained(&told, 1)
            .await
            .contains("nothing has been measured yet")
    );

    // Nobody has sold anything, so one room is kept back as before: nothing is told again.
    sell(&told.hotel, told.dbl, stay(1, 2), 1).await;
    assert_eq!(measure(&told, 0).await, Some(0));
    assert_eq!(told.rooms(0..3).await, [(3, false), (2, false), (3, false)]);
    let why = explained(&told, 1).await;
    assert!(
        why.contains("1 of 3 are kept back for safety: 1 sale of nights"),
        "{why}"
    );
    assert!(why.contains("allowed is once in 1000"), "{why}");
    assert_eq!(noted(&told, "safety").await, []);

    // The channel takes nothing any more: more is kept back, and every night is told again.
    assert!(measure(&told, 3_600_000).await > Some(0));
    let kept = told.rooms(0..1).await[0].0;
    assert!(kept < 3, "{kept}");
    let why = explained(&told, 1).await;
    assert!(why.contains("does not take what it is told"), "{why}");
    let noted = noted(&told, "safety").await;
    // Saturday, 1 June: kinds of nights change between weekdays and weekends, and after 3 and 14
    // days.
    let kinds = [
        (0, 1),
        (1, 3),
        (3, 6),
        (6, 8),
        (8, 13),
        (13, 14),
        (14, 15),
        (15, 20),
        (20, 22),
    ];
    assert_eq!(noted[..9], kinds);
}

#[tokio::test]
async fn the_propertys_own_target_counts_where_the_rule_names_none() {
    let told = Told::open().await;
    let hotel = &told.hotel;
    let mut setup = hotel.property().await.setup;
    setup.policies = serde_json::json!({"safety_one_in": 50_000});
    let put = catalog::put_property(&hotel.ledger, &hotel.by, "seehof", setup.clone(), None).await;
    put.expect("no failure").expect("no refusal");
    rule(hotel, BufferKind::Safety(0)).await;
    measure(&told, 0).await;
    assert!(explained(&told, 1).await.contains("once in 50000"));
    rule(hotel, BufferKind::Safety(200)).await;
    measure(&told, 0).await;
    assert!(explained(&told, 1).await.contains("once in 200"));
    setup.policies = serde_json::json!({"safety_one_in": 3});
    let put = catalog::put_property(&hotel.ledger, &hotel.by, "seehof", setup, None).await;
    put.expect("no failure").expect_err("no such target");
}

#[tokio::test]
async fn of_two_daemons_one_measures() {
    let told = Told::open().await;
    let hotel = &told.hotel;
    rule(hotel, BufferKind::Safety(0)).await;
    let second = hotel.second_daemon().await;
    assert_eq!(
        safety::due(&second, 60).await.expect("no failure"),
        [hotel.property]
    );
    let ears = || vec![ear(&told, 3_600_000)];
    let (one, two) = tokio::join!(
        safety::measure(&hotel.ledger, hotel.property, ears(), 60),
        safety::measure(&second, hotel.property, ears(), 60),
    );
    let measured = [one.expect("no failure"), two.expect("no failure")];
    assert_eq!(measured.iter().flatten().count(), 1, "{measured:?}");
    assert_eq!(safety::due(&second, 60).await.expect("no failure"), []);
    let runs = noted(&told, "safety").await;
    let mut once = runs.clone();
    once.dedup();
    assert_eq!(runs, once, "each run of nights is noted once");
    hotel.at("2030-06-01T10:02:00Z").await;
    assert_eq!(
        safety::due(&second, 60).await.expect("no failure"),
        [hotel.property]
    );
}

#[tokio::test]
async fn a_new_day_tells_the_nights_again_that_are_of_another_kind() {
    let told = Told::open().await;
    let hotel = &told.hotel;
    inventory::roll_over(&hotel.ledger, hotel.property)
        .await
        .expect("a day");
    rule(hotel, BufferKind::Safety(0)).await;
    hotel.at("2030-06-02T10:00:00Z").await;
    inventory::roll_over(&hotel.ledger, hotel.property)
        .await
        .expect("a new day");
    assert_eq!(noted(&told, "lead_time").await, [(3, 4), (14, 15)]);
}

#[tokio::test]
async fn a_house_without_such_a_rule_is_never_measured() {
    let told = Told::open().await;
    rule(&told.hotel, BufferKind::KeepBack(1)).await;
    assert_eq!(
        safety::due(&told.hotel.ledger, 60)
            .await
            .expect("no failure"),
        []
    );
}
