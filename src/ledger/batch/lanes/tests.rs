//! Who is taken together, who waits for whom.

use std::time::Duration;

use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};

use super::*;
use crate::command::Command;

fn pending(property: i64, lane: Lane) -> Pending {
    let command = Command::Expire {
        reservation: ReservationId(uuid::Uuid::nil()),
    };
    let asked = Asked::new(PropertyId(property), std::sync::Arc::default(), command);
    Pending {
        asked,
        lane,
        reply: oneshot::channel().0,
    }
}

/// What holds all of its property.
fn push(lanes: &Lanes, property: i64) {
    let lane = Lane::Whole(PropertyId(property));
    assert!(lanes.push(pending(property, lane)).is_ok());
}

fn of_type(property: i64, room_type: i64) -> Lane {
    Lane::Types(PropertyId(property), vec![RoomTypeId(room_type)])
}

/// A wish for rooms of a type.
fn wish(lanes: &Lanes, property: i64, room_type: i64) {
    assert!(
        lanes
            .push(pending(property, of_type(property, room_type)))
            .is_ok()
    );
}

/// Takes a batch of these properties.
async fn take(lanes: &Lanes, expected: &[i64]) -> Hold {
    let (batch, hold) = lanes.take(128).await.expect("open");
    let of = |one: &Pending| one.asked.property.0;
    assert_eq!(batch.iter().map(of).collect::<Vec<_>>(), expected);
    hold
}

async fn nobody_is_free(lanes: &Lanes) {
    let taken = tokio::time::timeout(Duration::from_millis(20), lanes.take(128));
    assert!(taken.await.is_err(), "something was taken");
}

#[tokio::test]
async fn a_lane_has_one_batch_in_flight() {
    let lanes = Lanes::new(10, 1);
    push(&lanes, 1);
    let first = take(&lanes, &[1]).await;
    push(&lanes, 1);
    push(&lanes, 2);
    take(&lanes, &[2]).await;
    lanes.release(&first, Mood::Exclusive);
    take(&lanes, &[1]).await;
}

#[tokio::test]
async fn what_waits_is_carried_out_after_closing_and_nothing_is_let_in() {
    let lanes = Lanes::new(10, 1);
    push(&lanes, 1);
    lanes.close();
    let again = pending(1, Lane::Whole(PropertyId(1)));
    assert!(lanes.push(again).is_err());
    let last = take(&lanes, &[1]).await;
    lanes.release(&last, Mood::Exclusive);
    assert!(lanes.take(128).await.is_none());
}

#[tokio::test]
async fn the_queue_has_an_end() {
    let lanes = Lanes::new(1, 1);
    push(&lanes, 1);
    let again = pending(1, Lane::Whole(PropertyId(1)));
    let refused = lanes.push(again).expect_err("full");
    assert!(matches!(refused, LedgerError::Conflict));
}

#[tokio::test]
async fn idle_workers_get_a_share_each_and_no_lane_is_divided() {
    let lanes = Lanes::new(100, 2);
    for _ in 0..SHARE_MIN {
        push(&lanes, 1);
        push(&lanes, 2);
        push(&lanes, 3);
    }
    // Half of them is reached amid the third lane: what follows of begun lanes comes along.
    take(&lanes, &[1, 2, 3].repeat(SHARE_MIN)).await;
    for property in [1, 4, 4] {
        push(&lanes, property);
    }
    take(&lanes, &[4, 4]).await;

    let lanes = Lanes::new(100, 2);
    for property in [5, 6] {
        (0..SHARE_MIN).for_each(|_| push(&lanes, property));
    }
    let fifth = take(&lanes, &[5; SHARE_MIN]).await;
    let sixth = take(&lanes, &[6; SHARE_MIN]).await;
    lanes.release(&fifth, Mood::Exclusive);
    lanes.release(&sixth, Mood::Exclusive);
    push(&lanes, 5);
    push(&lanes, 6);
    take(&lanes, &[5, 6]).await;
}

#[tokio::test]
async fn types_of_one_property_go_side_by_side_and_in_one_lane_nobody_overtakes() {
    let lanes = Lanes::new(10, 2);
    wish(&lanes, 1, 7);
    let seventh = take(&lanes, &[1]).await;
    wish(&lanes, 1, 8);
    let eighth = take(&lanes, &[1]).await;
    push(&lanes, 1);
    wish(&lanes, 1, 9);
    push(&lanes, 2);
    // A wish does not overtake what waits for all of its property.
    take(&lanes, &[2]).await;
    lanes.release(&seventh, Mood::Exclusive);
    nobody_is_free(&lanes).await;
    lanes.release(&eighth, Mood::Exclusive);
    take(&lanes, &[1, 1]).await;
}

#[tokio::test]
async fn an_open_lane_is_shared_until_something_is_written_in_it() {
    let lanes = Lanes::new(100, 2);
    wish(&lanes, 1, 7);
    let first = take(&lanes, &[1]).await;
    lanes.release(&first, Mood::Open);
    (0..2 * SHARE_MIN).for_each(|_| wish(&lanes, 1, 7));
    let half = take(&lanes, &[1; SHARE_MIN]).await;
    let other = take(&lanes, &[1; SHARE_MIN]).await;
    lanes.release(&half, Mood::Exclusive);
    lanes.release(&other, Mood::Exclusive);
    (0..2 * SHARE_MIN).for_each(|_| wish(&lanes, 1, 7));
    take(&lanes, &[1; 2 * SHARE_MIN]).await;
    wish(&lanes, 1, 7);
    nobody_is_free(&lanes).await;
}
