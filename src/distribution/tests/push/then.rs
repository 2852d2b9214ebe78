//! What had been told by a moment in the past, and how it was worked out then.

use jiff::Timestamp;
use keyrack_distribution::accounts::told::{self, Then};
use keyrack_model::ari::AriKey;

use crate::house::{House, march};
use crate::portal::Answer;

impl House {
    async fn then(&self, at: Timestamp) -> Then {
        let key = AriKey {
            room_type: self.double,
            rate_plan: None,
            night: march(3),
        };
        let row = self.account().await;
        told::by(&self.distribution, &row, key, at).await.unwrap()
    }

    /// The instant, and then a minute passes.
    async fn instant(&self) -> Timestamp {
        let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select ledger_now()")
            .fetch_one(&self.pool)
            .await
            .unwrap();
        self.pass("1 minute").await;
        now.to_jiff()
    }
}

fn rooms(then: &Then) -> (Option<i32>, Option<i32>) {
    let of = |told: &Option<told::ToldThen>| told.as_ref().and_then(|told| told.values.rooms);
    (of(&then.sent), of(&then.taken))
}

fn said(then: &Then) -> Vec<String> {
    let lines = then.sent.as_ref().and_then(|sent| sent.lines.clone());
    lines
        .unwrap_or_default()
        .into_iter()
        .map(|line| line.why)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_moment_is_explained_by_what_it_rested_on_then() {
    let house = House::live().await;
    let five = house.instant().await;
    house.book(house.double, 3, 4, 2).await;
    let untold = house.instant().await;
    house.tell().await;
    let three = house.instant().await;
    // Nothing is taken any more.
    house.portal.always(Answer::refusing(503));
    house.book(house.double, 3, 4, 3).await;
    house.tell().await;
    let failed = house.instant().await;

    let before = house.then(five).await;
    assert_eq!(rooms(&before), (Some(5), Some(5)));
    assert_eq!(said(&before)[0], "5 rooms are free in the shared pool");
    assert_eq!(house.then(untold).await, before, "booked, and not yet told");
    let then = house.then(three).await;
    assert_eq!(rooms(&then), (Some(3), Some(3)));
    assert_eq!(said(&then)[0], "3 rooms are free in the shared pool");
    assert!(said(&then).last().unwrap().contains("told open, 3 rooms"));
    let then = house.then(failed).await;
    assert_eq!(rooms(&then), (Some(0), Some(3)), "sent, and not taken");
    assert_eq!(said(&then)[0], "0 rooms are free in the shared pool");
    assert!(then.sent.unwrap().why.is_some());

    let long_ago = five
        .checked_sub(jiff::SignedDuration::from_hours(48))
        .unwrap();
    assert_eq!(
        house.then(long_ago).await,
        Then {
            sent: None,
            taken: None
        }
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_calculations_are_kept_once_and_what_was_not_kept_is_not_made_up() {
    let house = House::live().await;
    let cells = house.count("select count(*) from told_history").await;
    let kept = house.count("select count(*) from told_basis").await;
    assert!(
        kept > 0 && kept * 5 < cells,
        "{kept} calculations of {cells} tellings"
    );
    let unknown = "select count(*) from told_history where basis is null";
    assert_eq!(house.count(unknown).await, 0);
    let now = house.instant().await;
    sqlx::query("update told_history set basis = null")
        .execute(&house.pool)
        .await
        .unwrap();
    let then = house.then(now).await;
    assert_eq!(rooms(&then), (Some(5), Some(5)));
    assert_eq!(then.sent.unwrap().lines, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_night_that_is_held_back_says_so() {
    let house = House::live().await;
    let booked = house.book(house.double, 3, 4, 1).await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    // Lost on the way: it may show 3 or what comes.
    house.portal.answers([Answer::refusing(500)]);
    house.book(house.double, 3, 4, 2).await;
    house.tell().await;
    house.cancel(booked).await;
    house.pass("10 minutes").await;
    house.tell().await;
    let now = house.instant().await;
    let then = house.then(now).await;
    assert_eq!(rooms(&then).0, Some(1), "{then:?}");
    assert!(
        said(&then)
            .iter()
            .any(|why| why.contains("more is true than is told")),
        "{then:?}"
    );
}
