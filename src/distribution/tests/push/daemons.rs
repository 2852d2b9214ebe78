//! Several daemons on one database: one reads, one sends to an account at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::civil::date;
use keyrack_distribution::settings::Settings;
use keyrack_distribution::{Distribution, feed, push, resync};

use crate::house::{House, march};
use crate::portal::Answer;

#[tokio::test(flavor = "multi_thread")]
async fn of_two_daemons_never_both_send_to_one_account() {
    let house = House::live().await;
    house.portal.always(Answer {
        delay_ms: 20,
        ..Answer::ok()
    });
    let (one, two) = (house.twin().await, house.twin().await);
    let busy = |daemon: Distribution| async move {
        for _ in 0..12 {
            push::drain(&daemon).await.unwrap();
        }
    };
    let booking = async {
        for day in 1..20 {
            house.book(house.double, day, day + 1, 1).await;
            house.book(house.suite, day, day + 1, 1).await;
        }
    };
    tokio::join!(busy(one), busy(two), booking);
    house.tell().await;
    assert_eq!(house.portal.in_flight_max(), 1);
    for day in 1..20 {
        assert_eq!(house.portal.shows("DBL", march(day)), 4, "{day}");
        assert_eq!(house.portal.shows("SUI", march(day)), 1, "{day}");
    }
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_lost_in_mid_air_is_told_anew() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 1).await;
    house.portal.answers([Answer {
        delay_ms: 500,
        ..Answer::ok()
    }]);
    let losing = async {
        house.portal.hears(1).await;
        sqlx::query("update push_state set claimed_by = null, claimed_until = null")
            .execute(&house.pool)
            .await
            .unwrap();
    };
    tokio::join!(house.tell(), losing);
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_feeds_read_every_entry_once() {
    let house = House::live().await;
    let twin = house.twin().await;
    let read = |daemon: Distribution| async move {
        for _ in 0..20 {
            feed::drain(&daemon).await.unwrap();
        }
    };
    let booking = async {
        for day in 1..20 {
            house.book(house.double, day, day + 1, 1).await;
        }
    };
    tokio::join!(read(house.distribution.clone()), read(twin), booking);
    feed::drain(&house.distribution).await.unwrap();
    let marked = "select count(*) from mark where rate_plan_id = 0";
    assert_eq!(house.count(marked).await, 19);
    house.tell().await;
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_ended_while_the_database_was_away_is_taken_again() {
    let house = at_rest().await;
    house.portal.answers([Answer {
        delay_ms: 300,
        ..Answer::ok()
    }]);
    let running = started(&house, 1).await;
    house.book(house.double, 3, 4, 1).await;
    house.portal.hears(1).await;
    // Neither the answer nor the end of the turn can be written.
    rename(&house, "push_state", "push_state_away").await;
    tokio::time::sleep(Duration::from_millis(800)).await;
    rename(&house, "push_state_away", "push_state").await;
    tokio::time::timeout(Duration::from_secs(10), house.portal.hears(2))
        .await
        .expect("it is told again within ten seconds");
    running.stop().await;
    let told = house.portal.told();
    assert!(
        told.iter().all(|told| told.contains("DBL 03-03..03-04 4")),
        "{told:?}"
    );
}

/// A house that has told everything: else a daemon that starts may tell all before it hears of a
/// booking.
async fn at_rest() -> House {
    let house = House::live().await;
    resync::step(&house.distribution).await.unwrap();
    house.tell().await;
    house.polled().await;
    house.tell().await;
    house.portal.told();
    house
}

async fn rename(house: &House, from: &str, to: &str) {
    let sql = format!("alter table {from} rename to {to}");
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .execute(&house.pool)
        .await
        .unwrap();
}

/// The loops of a daemon whose turns last `lease_seconds` when nobody gives them back.
async fn started(house: &House, lease_seconds: u32) -> Distribution {
    let settings = Settings {
        push_lease_seconds: lease_seconds,
        ..crate::house::settings()
    };
    started_with(house, settings).await
}

async fn started_with(house: &House, settings: Settings) -> Distribution {
    Distribution::start(
        house.ledger.clone(),
        house.pool.clone(),
        house.distribution.channels().clone(),
        keyrack_distribution::seal::Seal::new(&"07".repeat(32).into()).unwrap(),
        settings,
    )
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loops_tell_a_booking_quickly_and_end_in_time() {
    let house = House::live().await;
    let running = started(&house, 15).await;
    house.book(house.double, 3, 4, 1).await;
    let mut waited = 0;
    while house.portal.shows("DBL", march(3)) != 4 {
        waited += 1;
        assert!(waited < 500, "it was not told within ten seconds");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let begun = std::time::Instant::now();
    running.stop().await;
    assert!(begun.elapsed().as_secs() < 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_offered_a_room_soon_after_it_came_free_whichever_daemon_hears_of_it() {
    let house = House::live().await;
    let taken = house.book(house.double, 3, 4, 5).await;
    let (one, two) = (started(&house, 15).await, started(&house, 15).await);
    let wish = house.waits(3).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(house.waiting(wish.id).await.status, "waiting");
    house.cancel(taken).await;
    tokio::time::timeout(Duration::from_secs(15), async {
        while house.waiting(wish.id).await.status != "offered" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("it is offered before the timer alone would");
    one.stop().await;
    two.stop().await;
    let holds = "select count(*) from reservation where owner_id like 'waitlist:%'";
    assert_eq!(house.count(holds).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_to_an_account_keep_their_distance_and_what_changes_between_goes_together() {
    let house = at_rest().await;
    let before = house.count("select count(*) from push_attempt").await;
    let settings = Settings {
        push_spacing_ms: 4_000,
        ..crate::house::settings()
    };
    let running = started_with(&house, settings).await;
    house.book(house.double, 3, 4, 1).await;
    house.portal.hears(1).await;
    for day in 4..9 {
        house.book(house.double, day, day + 1, 1).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::timeout(Duration::from_secs(15), async {
        while house.portal.shows("DBL", march(8)) != 4 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("it is told within fifteen seconds");
    running.stop().await;
    let messages = house.count("select count(*) from push_attempt").await - before;
    assert_eq!(messages, 2, "{:?}", house.portal.told());
    let apart = "select floor(extract(epoch from max(at) - min(at)))::bigint
         from (select at from push_attempt order by attempt_id desc limit 2) last";
    assert!(house.count(apart).await >= 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_lost_while_the_feed_writes_marks() {
    let house = House::live().await;
    house.polled().await;
    let (reading, telling) = (house.twin().await, house.twin().await);
    let messages = "select count(*) from push_attempt";
    let is_over = AtomicBool::new(false);
    let read = async {
        while !is_over.load(Ordering::Relaxed) {
            feed::drain(&reading).await.unwrap();
        }
    };
    let tell = async {
        while !is_over.load(Ordering::Relaxed) {
            push::drain(&telling).await.unwrap();
        }
    };
    let change = async {
        for amount in 0.. {
            let set = format!("amount_minor = {}", 10_000 + amount);
            house.rate_nights(&set, march(1), date(2030, 9, 1)).await;
            if house.count(messages).await >= 25 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(read, tell, change);
    let unanswered = "select count(*) from push_attempt where outcome <> 'accepted'";
    assert_eq!(house.count(unanswered).await, 0);
}
