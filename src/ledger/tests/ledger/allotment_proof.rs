//! Allotments under races, and what a verification finds of them.

use futures_util::future::join_all;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::verify::{Extent, verify};

use super::allotments::{agreed, counts, from, proven, rooms, wish};
use super::hotel::{Hotel, ask, reservation};

#[tokio::test]
async fn r13_facts_and_wishes_of_two_daemons_never_draw_a_room_twice() {
    let hotel = Hotel::of(20).await;
    let tour = agreed(&hotel, 2, 5).await;
    let second = hotel.second_daemon().await;
    let mut all = Vec::new();
    for turn in 0..30 {
        let ledger = if turn % 2 == 0 {
            &hotel.ledger
        } else {
            &second
        };
        let command = wish(&hotel, 2, 1, |w| w.rooms[0].allotment = Some(tour));
        all.push(ask(ledger, hotel.property, command));
    }
    let answers = join_all(all).await;
    let made = answers.iter().filter(|answer| matches!(answer, Ok(Ok(_))));
    assert_eq!(made.count(), 5);
    let exhausted = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Err(Refusal::AllotmentExhausted(_)))));
    assert_eq!(exhausted.count(), 25);
    assert_eq!(counts(&hotel, tour, 0).await, (5, 5, 0, 0));
    assert_eq!(rooms(&hotel, 0).await, (0, 5, 15));
    proven(&hotel).await;
}

#[tokio::test]
async fn verify_finds_what_an_allotment_cannot_prove() {
    let hotel = Hotel::of(3).await;
    let tour = agreed(&hotel, 1, 2).await;
    reservation(from(&hotel, tour, 1, 1).await);
    proven(&hotel).await;
    for (spoil, mend, says) in [
        (
            "update allotment_night set taken = 0",
            "update allotment_night set taken = 1",
            "reservations drew 1, it says 0",
        ),
        (
            "update allotment_night set agreed = 3",
            "update allotment_night set agreed = 2",
            "its lines say 2 agreed",
        ),
        (
            "update night set allotted = 0",
            "update night set allotted = 1",
            "entries say 1, the night 0",
        ),
    ] {
        sqlx::query(spoil)
            .execute(&hotel.pool)
            .await
            .expect("spoilt");
        let found = verify(&hotel.ledger, None, Extent::Whole).await;
        let found = found.expect("verified").differences;
        assert!(
            found
                .iter()
                .any(|difference| difference.what.contains(says)),
            "{spoil}: {found:?}"
        );
        sqlx::query(mend)
            .execute(&hotel.pool)
            .await
            .expect("mended");
    }
    proven(&hotel).await;
}
