//! Rules of safety on the way out: what is measured of an account, and one that fails.

use keyrack_distribution::safety;
use keyrack_ledger::catalog;
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_model::stay::Weekdays;

use crate::house::{House, by, march};
use crate::portal::Answer;

impl House {
    async fn safe(&self) {
        let rule = BufferRule {
            account: None,
            room_type: None,
            nights: None,
            weekdays: Weekdays::ALL,
            lead_days_min: None,
            lead_days_max: None,
            kind: BufferKind::Safety(0),
        };
        let put = catalog::put_buffer_rules(&self.ledger, self.property, &by(), vec![rule]).await;
        put.unwrap().unwrap();
    }

    /// A minute passes, and the houses are measured.
    async fn measured(&self) -> usize {
        self.pass("61 seconds").await;
        safety::measure_due(&self.distribution, 60).await.unwrap()
    }

    async fn throttled(&self) -> i64 {
        let sql = "select count(*) from push_state where throttled_since is not null";
        self.count(sql).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_account_is_kept_at_what_it_was_told_and_let_go_when_it_recovers() {
    let house = House::live().await;
    house.safe().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 4, "one is kept back");
    assert_eq!(house.measured().await, 1);
    assert_eq!(house.throttled().await, 0);
    let booked = house.book(house.double, 3, 4, 2).await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 2);

    // It takes nothing any more: more is kept back, and what comes free is not told.
    house.portal.always(Answer::refusing(503));
    house.book(house.double, 5, 6, 1).await;
    house.tell().await;
    house.pass("10 minutes").await;
    house.tell().await;
    assert_eq!(house.measured().await, 1);
    assert_eq!(house.throttled().await, 1);
    assert!(house.status().await.throttled_since.is_some());
    let most = house
        .count("select max(rooms)::bigint from safety_number")
        .await;
    assert!(most >= 2, "{most} are kept back");

    // It answers again, but nobody has looked: a cancellation raises nothing.
    house.portal.always(Answer::ok());
    house.cancel(booked).await;
    house.pass("10 minutes").await;
    house.polled().await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    assert!(house.portal.shows("DBL", march(3)) <= 2);

    // It has recovered.
    assert_eq!(house.measured().await, 1);
    assert_eq!(house.throttled().await, 0);
    house.polled().await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 4);
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_let_go_when_the_rule_goes() {
    let house = House::live().await;
    house.safe().await;
    house.tell().await;
    house.portal.always(Answer::refusing(503));
    house.book(house.double, 5, 6, 1).await;
    house.tell().await;
    house.pass("10 minutes").await;
    house.tell().await;
    house.measured().await;
    assert_eq!(house.throttled().await, 1);
    catalog::put_buffer_rules(&house.ledger, house.property, &by(), Vec::new())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(house.measured().await, 0);
    assert_eq!(house.throttled().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_cell_that_is_refused_makes_no_account_lag() {
    let house = House::live().await;
    house.safe().await;
    house.tell().await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    sqlx::query(
        "insert into mark (account_id, room_type_id, rate_plan_id, stay_date, first_marked_at,
                           marked_at, changed_at, due_at, attempt, last_error)
         select account_id, $1, 0, '2030-03-09', ledger_now(), ledger_now(), ledger_now(),
                ledger_now(), 3, 'no such night' from account",
    )
    .bind(house.double.0)
    .execute(&house.pool)
    .await
    .unwrap();
    house.pass("10 minutes").await;
    house.measured().await;
    assert_eq!(house.throttled().await, 0);
}
