//! Races on one handle and on two.

use std::sync::Arc;

use futures_util::future::join_all;
use keyrack_ledger::command::{Command, HoldEnd, Receipt};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::handle::Ledger;
use keyrack_model::reservation::{RevisionKind, Status};

use crate::hotel::{Hotel, ask, cancel, report, reservation};

async fn scramble(hotel: &Hotel, daemons: &[Ledger], from: i32, nights: i32) -> (usize, usize) {
    let asks = (0..50).map(|n| {
        let ledger = daemons[n % daemons.len()].clone();
        let (property, wish) = (
            hotel.property,
            hotel.wish(from, nights, Some(HoldEnd::Default)),
        );
        tokio::spawn(async move { ask(&ledger, property, wish).await })
    });
    let answers = join_all(asks).await;
    let mut won = 0;
    let mut refused = 0;
    for answer in answers {
        match answer.unwrap().expect("no failure") {
            Ok(_) => won += 1,
            Err(Refusal::SoldOut(_)) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    (won, refused)
}

#[tokio::test(flavor = "multi_thread")]
async fn r13_fifty_guests_and_one_room_make_one_stay_on_one_and_two_daemons() {
    let hotel = Hotel::of(1).await;
    let second = hotel.second_daemon().await;
    for round in 0..36 {
        // Each length with a dead hold and without, on one daemon and on two.
        let nights = [1, 3, 30][round / 3 % 3];
        let from = i32::try_from(round).unwrap() * 30;
        let from = from % 600;
        let daemons = if round % 2 == 0 {
            vec![hotel.ledger.clone()]
        } else {
            vec![hotel.ledger.clone(), second.clone()]
        };
        if round % 3 == 0 {
            hotel.held(from, nights).await;
            hotel.pass("1 hour").await;
            let unswept = "select count(*) from reservation where status = 'held' \
                           and hold_dead_at < ledger_now()";
            assert!(hotel.count(unswept).await > 0, "round {round}");
        }
        assert_eq!(
            scramble(&hotel, &daemons, from, nights).await,
            (1, 49),
            "round {round}"
        );
        sqlx::query("update clock_shift set shift = shift + interval '1 hour'")
            .execute(&hotel.pool)
            .await
            .unwrap();
    }
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r15_a_hundred_cancels_from_desk_and_channel_free_the_rooms_once() {
    let hotel = Hotel::of(2).await;
    let second = hotel.second_daemon().await;
    let fact = hotel
        .record(report("R1", RevisionKind::New, 0, 3))
        .await
        .reservation
        .unwrap();
    hotel.confirmed(0, 3).await;
    let hotel = Arc::new(hotel);
    let tasks = (0..100).map(|n| {
        let (hotel, second) = (Arc::clone(&hotel), second.clone());
        let held = fact.id;
        tokio::spawn(async move {
            match n % 3 {
                0 => {
                    hotel
                        .record(report("R1", RevisionKind::Cancelled, 0, 0))
                        .await
                }
                1 => hotel.ask(cancel(held)).await.unwrap(),
                _ => {
                    let asked = ask(&second, hotel.property, cancel(held)).await;
                    asked.unwrap().unwrap()
                }
            }
        })
    });
    let receipts = join_all(tasks).await;
    let receipts: Vec<Receipt> = receipts.into_iter().map(|done| done.unwrap()).collect();
    let one = receipts[0].reservation.clone().unwrap();
    assert_eq!(one.status, Status::Cancelled);
    for (n, receipt) in receipts.iter().enumerate() {
        assert_eq!(receipt.reservation.as_ref(), Some(&one), "answer {n}");
        // A channel that says it again is told the same by the same reservation.
        let is_channel = n % 3 == 0;
        let did = receipt.did.as_str();
        assert!(
            did == "cancelled" || is_channel && did == "repeated",
            "{did}"
        );
    }
    let moved = receipts.iter().filter(|receipt| !receipt.nights.is_empty());
    assert_eq!(moved.count(), 1, "one of them gave the rooms back");
    assert_eq!(hotel.night(0).await.sold, 1);
    let entries = "select count(*) from ledger_entry where kind = 'cancelled'";
    assert_eq!(hotel.count(entries).await, 1);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn confirm_against_expire_is_one_of_them_never_both() {
    let hotel = Hotel::of(500).await;
    hotel.set("confirm_grace_seconds", "0").await;
    let second = hotel.second_daemon().await;
    let (mut confirms, mut expiries) = (0, 0);
    for round in 0..500 {
        let wish = hotel.wish(0, 2, Some(HoldEnd::Seconds(1)));
        let held = reservation(hotel.ask(wish).await);
        // At the very end, and before it by as much as a busy machine takes for a command.
        let left = ["1 second", "999 ms", "980 ms", "900 ms"][round % 4];
        hotel.pass(left).await;
        let expire = Command::Expire {
            reservation: held.id,
        };
        let (confirmed, expired) = tokio::join!(
            hotel.confirm(held.id, None),
            ask(&second, hotel.property, expire),
        );
        let (is_confirmed, is_expired) = (confirmed.is_ok(), expired.expect("no failure").is_ok());
        assert!(!(is_confirmed && is_expired), "round {round}");
        confirms += i32::from(is_confirmed);
        expiries += i32::from(is_expired);
    }
    assert!(
        confirms > 0 && expiries > 0,
        "no race: {confirms} confirmed, {expiries} expired"
    );
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_valid_holds_of_a_full_house_confirm_at_once() {
    let hotel = Hotel::of(40).await;
    let second = hotel.second_daemon().await;
    let held = join_all((0..40).map(|_| hotel.held(0, 2))).await;
    assert!(matches!(hotel.hold(0, 1).await, Err(Refusal::SoldOut(_))));
    let confirms = held.iter().enumerate().map(|(n, held)| {
        let ledger = if n % 2 == 0 { &hotel.ledger } else { &second };
        let command = Command::Confirm {
            reservation: held.id,
            payment_reference: Some(format!("p{n}")),
            version: None,
        };
        ask(ledger, hotel.property, command)
    });
    for answer in join_all(confirms).await {
        assert_eq!(reservation(answer.unwrap()).status, Status::Confirmed);
    }
    assert_eq!(
        (hotel.night(0).await.sold, hotel.night(0).await.held),
        (40, 0)
    );
    hotel.assert_proven().await;
}
