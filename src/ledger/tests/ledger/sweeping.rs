//! The sweeper tidies up: all that is dead, once, and at a pace.

use std::future::{Future, pending};
use std::time::Duration;

use keyrack_ledger::handle::Ledger;
use keyrack_ledger::holds;
use keyrack_ledger::settings::Settings;
use keyrack_ledger::sweeper::Sweeper;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::Status;
use tokio::time::sleep;

use crate::hotel::Hotel;

const EXPIRED: &str = "select count(*) from reservation where status = 'expired'";
const ENTRIES: &str = "select count(*) from ledger_entry where kind = 'expired'";

/// A pass over whatever is due.
async fn pass(sweeper: &mut Sweeper, ledger: &Ledger, stopped: impl Future<Output = ()>) -> u32 {
    let due = holds::due(ledger).await.unwrap();
    sweeper.pass(ledger, &due, stopped).await.unwrap()
}

async fn hotel_with_dead_holds(holds: i32) -> Hotel {
    let hotel = Hotel::of(holds).await;
    for number in 0..holds {
        hotel.held(number % 20, 1).await;
    }
    hotel.pass("1 hour").await;
    hotel
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_lets_go_all_that_is_dead_in_batches_and_nothing_that_lives() {
    let hotel = hotel_with_dead_holds(45).await;
    let alive = hotel.held(3, 1).await;
    let mut small = Sweeper::new(&hotel.ledger);
    assert_eq!(small.pace().batch, Settings::default().sweep_holds_max);
    assert_eq!(pass(&mut small, &hotel.ledger, pending()).await, 45);
    assert_eq!(pass(&mut small, &hotel.ledger, pending()).await, 0);
    assert_eq!(hotel.count(EXPIRED).await, 45);
    assert_eq!(hotel.night(3).await.held, 1);
    assert_eq!(alive.status, Status::Held);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sweepers_at_once_let_each_hold_go_once() {
    let hotel = hotel_with_dead_holds(60).await;
    let other = hotel.second_daemon().await;
    let (mut here, mut there) = (Sweeper::new(&hotel.ledger), Sweeper::new(&other));
    let (a, b) = tokio::join!(
        pass(&mut here, &hotel.ledger, pending()),
        pass(&mut there, &other, pending())
    );
    assert_eq!(a + b, 60);
    assert_eq!(hotel.count(ENTRIES).await, 60);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_cannot_be_let_go_is_flagged_after_three_tries_and_hinders_no_other() {
    let hotel = hotel_with_dead_holds(12).await;
    let broken = "select number from reservation order by number limit 1";
    let broken = hotel.count(broken).await;
    let id = sqlx::query_scalar("select reservation_id from reservation where number = $1");
    let id: uuid::Uuid = id.bind(broken).fetch_one(&hotel.pool).await.unwrap();
    // One row that no update touches any more, as a damaged page would be.
    let trigger = format!(
        "create function damaged() returns trigger language plpgsql as $$
         begin raise exception 'damaged'; end $$;
         create trigger damaged before update on reservation for each row
         when (old.number = {broken} and new.status <> old.status) execute function damaged();"
    );
    let made = sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&hotel.pool);
    made.await.expect("a trigger");
    let mut sweeper = Sweeper::new(&hotel.ledger);
    let mut let_go = Vec::new();
    for _ in 0..4 {
        let_go.push(pass(&mut sweeper, &hotel.ledger, pending()).await);
    }
    assert_eq!(let_go, [11, 0, 0, 0]);
    let flagged = "select number from reservation where flags = '{expiry_failed}'";
    assert_eq!(hotel.count(flagged).await, broken);
    // Repaired, a person cancels it, and nothing is left of the flag.
    let repaired = sqlx::raw_sql("drop trigger damaged on reservation").execute(&hotel.pool);
    repaired.await.expect("no trigger");
    let gone = hotel.cancel(ReservationId(id)).await.expect("cancelled");
    let gone = gone.reservation.expect("it is told");
    assert!(gone.flags.is_empty(), "{:?}", gone.flags);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweeper_that_is_stopped_ends_between_two_batches() {
    let hotel = hotel_with_dead_holds(30).await;
    let slow = Settings {
        sweep_holds_max: 5,
        ..Settings::default()
    };
    let ledger = hotel.daemon(slow).await;
    let mut sweeper = Sweeper::new(&ledger);
    let let_go = pass(&mut sweeper, &ledger, sleep(Duration::ZERO)).await;
    assert_eq!(let_go, 5);
    assert_eq!(pass(&mut sweeper, &ledger, pending()).await, 25);
    hotel.assert_proven().await;
}
