//! Overbooking that was meant: its case opens when it comes near.

use std::sync::Arc;

use keyrack_ledger::command::{Asked, By, Command, Idempotency, NightChange};
use keyrack_ledger::reservations;

use crate::hotel::{Hotel, cancel, stay};

/// One room, and two guests where one may be too many, a week ahead.
async fn one_may_be_too_many(hotel: &Hotel) {
    let limit = Command::SetNights {
        changes: vec![NightChange {
            room_type: hotel.double,
            nights: stay(0, 1),
            out_of_order: None,
            overbooking_limit: Some(1),
            reason: Some("two in ten do not come".to_owned()),
        }],
        dry_run: false,
    };
    hotel.ask(limit).await.unwrap();
}

const OPEN: &str = "select count(*) from overbooking_case where status = 'open'";

#[tokio::test]
async fn what_was_meant_opens_a_case_when_the_night_comes_near_and_not_before() {
    let hotel = Hotel::of(1).await;
    one_may_be_too_many(&hotel).await;
    hotel.confirmed(0, 1).await;
    hotel.confirmed(0, 1).await;
    let review = Command::Review {
        room_type: hotel.double,
        nights: stay(-1, 4),
    };
    hotel.ask(review.clone()).await.unwrap();
    assert_eq!(
        (hotel.count(OPEN).await, hotel.night(0).await.oversold),
        (0, 0)
    );
    hotel.pass("7 days").await;
    for _ in 0..2 {
        hotel.ask(review.clone()).await.unwrap();
        assert_eq!(hotel.count(OPEN).await, 1);
    }
    hotel.assert_proven().await;
}

/// The review has read the night and is held up before it writes; meanwhile a guest cancels.
#[tokio::test(flavor = "multi_thread")]
async fn a_review_opens_no_case_for_a_night_that_was_cured_after_it_looked() {
    let hotel = Hotel::of(1).await;
    one_may_be_too_many(&hotel).await;
    hotel.confirmed(0, 1).await;
    let guest = hotel.confirmed(0, 1).await;
    hotel.pass("7 days").await;
    let mut before_it = hotel.pool.begin().await.unwrap();
    sqlx::query(
        "insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
         values ('test', 'review', '', '{}', now())",
    )
    .execute(&mut *before_it)
    .await
    .unwrap();
    let review = Command::Review {
        room_type: hotel.double,
        nights: stay(-1, 4),
    };
    let review = Asked {
        idempotency: Some(Idempotency {
            scope: "test".to_owned(),
            key: "review".to_owned(),
            fingerprint: "review".to_owned(),
        }),
        ..Asked::new(hotel.property, Arc::new(By::default()), review)
    };
    let daemon = hotel.second_daemon().await;
    let asking = tokio::spawn(async move { reservations::ask(&daemon, review).await });
    let waits = "select count(*) from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock'";
    while hotel.count(waits).await == 0 {
        tokio::task::yield_now().await;
    }
    hotel.ask(cancel(guest.id)).await.unwrap();
    before_it.rollback().await.unwrap();
    asking.await.unwrap().unwrap().unwrap();
    assert_eq!(hotel.count(OPEN).await, 0);
    assert_eq!(hotel.night(0).await.sold, 1);
    hotel.assert_proven().await;
}
