//! Wishes, holds and their ends.

use std::collections::BTreeMap;

use keyrack_ledger::command::{Command, HoldEnd, Modification};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::holds;
use keyrack_model::reservation::Status;

use crate::hotel::{FIRST, Hotel, reservation, stay, wish_for, wished};

#[tokio::test]
async fn a_hold_takes_its_nights_and_a_cancel_gives_them_back_once() {
    let hotel = Hotel::of(2).await;
    let held = hotel.held(0, 3).await;
    assert_eq!((held.status, held.version), (Status::Held, 1));
    assert_eq!(
        (hotel.night(0).await.held, hotel.night(2).await.free()),
        (1, 1)
    );
    assert_eq!(hotel.night(3).await.held, 0);
    for _ in 0..3 {
        let gone = reservation(hotel.cancel(held.id).await);
        assert_eq!((gone.status, gone.version), (Status::Cancelled, 2));
    }
    assert_eq!(hotel.night(0).await.held, 0);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn r11_inner_nights_of_a_full_range_are_not_sold_again() {
    let hotel = Hotel::of(1).await;
    hotel.confirmed(0, 5).await;
    for (from, nights) in [(0, 5), (2, 1), (4, 3), (-1, 2)] {
        let refusal = hotel.hold(from, nights).await.unwrap_err();
        assert!(
            matches!(refusal, Refusal::SoldOut(_)),
            "{from} {nights}: {refusal:?}"
        );
    }
    assert!(hotel.hold(5, 2).await.is_ok());
    hotel.assert_proven().await;
}

#[tokio::test]
async fn sold_out_names_exactly_the_nights_that_are_full() {
    let hotel = Hotel::of(1).await;
    hotel.confirmed(1, 1).await;
    let refusal = hotel.hold(0, 3).await.unwrap_err();
    let night = keyrack_model::stay::plus_days(FIRST, 1);
    assert_eq!(refusal, Refusal::SoldOut(vec![(hotel.double, night)]));
}

#[tokio::test]
async fn a_dead_hold_makes_way_for_a_wish_before_anybody_swept() {
    let hotel = Hotel::of(1).await;
    let first = hotel.held(0, 2).await;
    hotel.pass("11 minutes 30 seconds").await;
    let second = hotel.held(0, 1).await;
    assert_eq!(hotel.night(0).await.held, 1);
    let late = hotel.confirm(first.id, Some("pay-1")).await.unwrap_err();
    assert_eq!(late, Refusal::HoldExpired);
    assert!(hotel.confirm(second.id, None).await.is_ok());
    hotel.assert_proven().await;
}

/// A double is free, and three more are held by who is dead: whatever is asked for together finds
/// them.
async fn with_one_free_and_three_dead() -> Hotel {
    let hotel = Hotel::of(4).await;
    for _ in 0..3 {
        hotel.held(0, 1).await;
    }
    hotel.pass("11 minutes 30 seconds").await;
    hotel
}

#[tokio::test]
async fn dead_holds_make_way_for_several_rooms_of_one_wish() {
    let hotel = with_one_free_and_three_dead().await;
    let Command::Request(mut wish) = hotel.wish(0, 1, None) else {
        panic!("a wish");
    };
    wish.rooms.push(wish.rooms[0].clone());
    wish.rooms[1].quantity = 2;
    assert!(hotel.ask(Command::Request(wish)).await.is_ok());
    assert_eq!(hotel.night(0).await.sold, 3);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn dead_holds_make_way_for_the_parts_of_a_composed_type() {
    let hotel = with_one_free_and_three_dead().await;
    let flat = Hotel::room_type(&hotel.pool, hotel.property.0, "flat", 0).await;
    sqlx::query(
        "insert into room_type_component (property_id, room_type_id, component_id, quantity)
         values ($1, $2, $3, 3)",
    )
    .bind(hotel.property.0)
    .bind(flat.0)
    .bind(hotel.double.0)
    .execute(&hotel.pool)
    .await
    .unwrap();
    sqlx::query("update property set rules_version = rules_version + 1")
        .execute(&hotel.pool)
        .await
        .unwrap();
    assert!(hotel.ask(wish_for(flat, 0, 1, None)).await.is_ok());
    assert_eq!(hotel.night(0).await.sold, 3);
    hotel.assert_proven().await;
}

/// The lanes take both at once: on this test's one thread both wait before a worker wakes.
#[tokio::test]
async fn dead_holds_make_way_for_two_wishes_of_one_batch() {
    let hotel = with_one_free_and_three_dead().await;
    let ask = || hotel.ask(hotel.wish(0, 1, None));
    let (one, two) = futures_util::future::join(ask(), ask()).await;
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    hotel.assert_proven().await;
}

#[tokio::test]
async fn r16_in_the_grace_a_confirm_is_honoured_and_the_rooms_are_kept() {
    let hotel = Hotel::of(1).await;
    let held = hotel.held(0, 1).await;
    hotel.pass("10 minutes 30 seconds").await;
    assert!(matches!(hotel.hold(0, 1).await, Err(Refusal::SoldOut(_))));
    let stays = reservation(hotel.confirm(held.id, Some("pay")).await);
    assert_eq!(stays.status, Status::Confirmed);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn the_same_payment_twice_with_the_expiry_between_is_owed_back_once() {
    let hotel = Hotel::of(1).await;
    let held = hotel.held(0, 1).await;
    hotel.pass("1 hour").await;
    for _ in 0..2 {
        let late = hotel.confirm(held.id, Some("pay-7")).await.unwrap_err();
        assert_eq!(late, Refusal::HoldExpired);
        // Between the two the sweeper comes by.
        let only = BTreeMap::from([(hotel.property, 500)]);
        holds::expire_due(&hotel.ledger, &only).await.unwrap();
    }
    let refunds = "select count(*) from ledger_entry where kind = 'refund_due'";
    assert_eq!(hotel.count(refunds).await, 1);
    let expired = "select count(*) from ledger_entry where kind = 'expired'";
    assert!(hotel.count(expired).await > 0);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_payment_that_came_in_time_and_again_after_the_expiry_pays_once() {
    let hotel = Hotel::of(1).await;
    let held = hotel.held(0, 1).await;
    for _ in 0..2 {
        let paid = reservation(hotel.confirm(held.id, Some("pay-7")).await);
        assert_eq!((paid.status, paid.version), (Status::Confirmed, 2));
        hotel.pass("1 hour").await;
        let only = BTreeMap::from([(hotel.property, 500)]);
        let swept = holds::expire_due(&hotel.ledger, &only).await.unwrap();
        assert_eq!(swept.let_go, 0);
    }
    let refunds = "select count(*) from ledger_entry where kind = 'refund_due'";
    assert_eq!(hotel.count(refunds).await, 0);
    assert_eq!(hotel.night(0).await.sold, 1);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn another_payment_for_a_confirmed_stay_is_owed_back() {
    let hotel = Hotel::of(1).await;
    let held = hotel.held(0, 1).await;
    assert!(hotel.confirm(held.id, Some("pay-1")).await.is_ok());
    assert!(hotel.confirm(held.id, Some("pay-1")).await.is_ok());
    let other = hotel.confirm(held.id, Some("pay-2")).await.unwrap_err();
    assert_eq!(other, Refusal::AlreadyConfirmed);
    let refunds = "select count(*) from ledger_entry where kind = 'refund_due'";
    assert_eq!(hotel.count(refunds).await, 1);
}

#[tokio::test]
async fn a_late_confirm_takes_rooms_anew_where_the_property_says_so_and_they_are_free() {
    let hotel = Hotel::of(1).await;
    hotel.set("late_confirm", "'retake'").await;
    let held = hotel.held(0, 2).await;
    hotel.pass("1 hour").await;
    let back = reservation(hotel.confirm(held.id, Some("p")).await);
    assert_eq!(back.status, Status::Confirmed);
    let lost = hotel.held(3, 1).await;
    hotel.pass("1 hour").await;
    hotel.confirmed(3, 1).await;
    assert_eq!(
        hotel.confirm(lost.id, Some("q")).await.unwrap_err(),
        Refusal::HoldExpired
    );
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_stay_shifts_by_a_night_on_a_full_house() {
    let hotel = Hotel::of(1).await;
    let kept = hotel.confirmed(0, 2).await;
    hotel.confirmed(3, 2).await;
    let change = |from, nights, version| {
        let mut room = wished(hotel.double, stay(from, nights));
        room.room_stay = Some(kept.rooms[0].id);
        Command::Modify(Box::new(Modification {
            reservation: kept.id,
            version,
            rooms: Some(vec![room]),
            guest: None,
            note: None,
            told_channel: false,
            force: None,
        }))
    };
    let moved = reservation(hotel.ask(change(1, 2, 1)).await);
    assert_eq!(
        (
            moved.version,
            hotel.night(0).await.sold,
            hotel.night(2).await.sold
        ),
        (2, 0, 1)
    );
    let refusal = hotel.ask(change(2, 2, 2)).await.unwrap_err();
    assert!(matches!(refusal, Refusal::SoldOut(_)));
    assert_eq!(
        (hotel.night(1).await.sold, hotel.night(2).await.sold),
        (1, 1)
    );
    let stale = hotel.ask(change(0, 1, 1)).await.unwrap_err();
    assert_eq!(stale, Refusal::VersionMismatch { current: 2 });
    hotel.assert_proven().await;
}

#[tokio::test]
async fn the_past_and_what_is_beyond_the_horizon_are_refused_by_name() {
    let hotel = Hotel::of(1).await;
    let past = hotel.hold(-30, 2).await.unwrap_err();
    assert!(matches!(past, Refusal::NeedsForce { .. }), "{past:?}");
    let far = hotel.hold(2_000, 1).await.unwrap_err();
    assert!(matches!(far, Refusal::NotYetOpen(_)), "{far:?}");
}

#[tokio::test]
async fn a_hold_is_extended_a_bounded_number_of_times() {
    let hotel = Hotel::of(1).await;
    let held = hotel.held(0, 1).await;
    let extend = Command::Extend {
        reservation: held.id,
        until: HoldEnd::Seconds(3_600),
        version: None,
    };
    for _ in 0..2 {
        assert!(hotel.ask(extend.clone()).await.is_ok());
    }
    let third = hotel.ask(extend).await.unwrap_err();
    assert!(matches!(third, Refusal::IllegalTransition(_)));
}
