//! Overbooking that was meant: its case opens when it comes near.

use std::sync::Arc;

use futures_util::future::{join, join3};
use keyrack_ledger::command::{Asked, By, Command, Idempotency, NightChange};
use keyrack_ledger::reservations;
use keyrack_model::reservation::RevisionKind;
use uuid::Uuid;

use crate::hotel::{Hotel, cancel, report, stay};

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

/// Open cases in order: first night, how many, and whose booking is to blame.
async fn blamed(hotel: &Hotel) -> Vec<(String, i64, Uuid)> {
    sqlx::query_as(
        "select min(n.stay_date)::text, count(*), (c.evidence ->> 'reservation_id')::uuid
         from overbooking_case c join overbooking_case_night n using (property_id, case_id)
         where c.status = 'open' group by c.case_id, c.evidence order by 1",
    )
    .fetch_all(&hotel.pool)
    .await
    .unwrap()
}

/// One answer of a channel tells of both, and one batch writes them.
#[tokio::test]
async fn two_bookings_that_arrive_together_have_a_case_each() {
    let hotel = Hotel::of(1).await;
    hotel.confirmed(0, 10).await;
    let new = |reference, from, nights| report(reference, RevisionKind::New, from, nights);
    let (later, first) = join(hotel.record(new("R1", 4, 2)), hotel.record(new("R2", 0, 1))).await;
    let id = |receipt: &keyrack_ledger::command::Receipt| receipt.reservation.as_ref().unwrap().id;
    let cases = blamed(&hotel).await;
    let meant = [
        (stay(0, 1).arrival().to_string(), 1, id(&first).0),
        (stay(4, 2).arrival().to_string(), 2, id(&later).0),
    ];
    assert_eq!(cases, meant);
    hotel.assert_proven().await;
}

/// Whoever gives a room back in the same breath is not why the night is over.
#[tokio::test]
async fn of_a_night_that_some_book_and_one_leaves_a_booking_is_to_blame() {
    let hotel = Hotel::of(1).await;
    let leaves = hotel.record(report("R1", RevisionKind::New, 0, 1)).await;
    let new = |reference| hotel.record(report(reference, RevisionKind::New, 0, 1));
    let gone = hotel.record(report("R1", RevisionKind::Cancelled, 0, 1));
    let (_, last, _) = join3(new("R2"), new("R3"), gone).await;
    let cases = blamed(&hotel).await;
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0].2, last.reservation.unwrap().id.0);
    assert_ne!(cases[0].2, leaves.reservation.unwrap().id.0);
    hotel.assert_proven().await;
}
