//! A batch is decided on one moment, however many statements read it.

use std::sync::Arc;

use keyrack_ledger::command::{Asked, By, Command, HoldEnd, Idempotency, Wish};
use keyrack_ledger::reservations;

use crate::allotments::agreed;
use crate::hotel::Hotel;

/// A room of the allotment on the second night, under a key.
fn keyed(hotel: &Hotel, key: &str, wish: Wish) -> Asked {
    let asked = Command::Request(Box::new(wish));
    Asked {
        idempotency: Some(Idempotency {
            scope: "test".to_owned(),
            key: key.to_owned(),
            fingerprint: "the same".to_owned(),
        }),
        ..Asked::new(hotel.property, Arc::new(By::default()), asked)
    }
}

/// The repeat has read that its key is not used, and is held up before it reads the allotment;
/// meanwhile the first takes the last room of it. The repeat is answered as the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_is_not_refused_for_the_room_that_it_took_itself() {
    let hotel = Hotel::of(5).await;
    let allotment = agreed(&hotel, 2, 1).await;
    let wish = |from| {
        let Command::Request(mut wish) = hotel.wish(from, 1, Some(HoldEnd::Default)) else {
            panic!("a wish");
        };
        wish.rooms[0].allotment = Some(allotment);
        *wish
    };
    let before = reservations::ask(&hotel.ledger, keyed(&hotel, "before", wish(0))).await;
    let before = before.expect("no failure").expect("free");
    let repeat = keyed(&hotel, "first", wish(1));
    let daemon = hotel.second_daemon().await;
    let mut first = hotel.pool.begin().await.expect("a transaction");
    let locks = "lock table allotment_night in access exclusive mode";
    sqlx::raw_sql(locks)
        .execute(&mut *first)
        .await
        .expect("locked");
    let asking = tokio::spawn(async move { reservations::ask(&daemon, repeat).await });
    let waits = "select count(*) from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock'";
    while hotel.count(waits).await == 0 {
        tokio::task::yield_now().await;
    }
    sqlx::raw_sql(
        "insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
         select scope, 'first', fingerprint, receipt, created_at from idempotency_key;
         update allotment_night set taken = agreed where taken = 0",
    )
    .execute(&mut *first)
    .await
    .expect("carried out");
    first.commit().await.expect("committed");
    let repeated = asking.await.expect("no panic").expect("no failure");
    let repeated = repeated.expect("the first was carried out");
    let number = |of: &keyrack_ledger::command::Receipt| of.reservation.as_ref().map(|r| r.number);
    assert_eq!(number(&repeated), number(&before));
}
