//! Several commands on one reservation in one batch: what is stored is what the last one left.

use futures_util::future::join;
use keyrack_ledger::reservations;
use keyrack_model::reservation::{ReservationReport, RevisionKind, Status};

use crate::hotel::{Hotel, report, reservation};

/// The lanes take both at once: on this test's one thread both wait before a worker wakes.
#[tokio::test]
async fn two_facts_of_one_reference_in_one_batch_leave_the_version_that_they_end_at() {
    let hotel = Hotel::of(2).await;
    let first = report("R1", RevisionKind::New, 0, 3);
    let second = ReservationReport {
        order: Some(2),
        ..report("R1", RevisionKind::Modified, 1, 3)
    };
    let (made, changed) = join(hotel.record(first), hotel.record(second)).await;
    let (made, changed) = (made.reservation.unwrap(), changed.reservation.unwrap());
    assert_eq!((made.id, made.version), (changed.id, 1));
    assert_eq!(changed.version, 2);
    let folio = reservations::load(&hotel.ledger, hotel.property, made.id).await;
    let stored = folio.unwrap().unwrap().reservation;
    assert_eq!(stored.version, 2);
    assert_eq!(stored.rooms, changed.rooms);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_room_that_the_second_fact_of_a_batch_leaves_out_is_stored_as_given_back() {
    let hotel = Hotel::of(2).await;
    let rooms = |kind, from| report("R1", kind, from, 2).rooms;
    let mut two = report("R1", RevisionKind::New, 0, 2);
    let mut other = rooms(RevisionKind::New, 4);
    other[0].room_key = Some("b".to_owned());
    two.rooms[0].room_key = Some("a".to_owned());
    two.rooms.append(&mut other);
    let mut one = report("R1", RevisionKind::Modified, 0, 2);
    one.rooms[0].room_key = Some("a".to_owned());
    let (_, left) = join(hotel.record(two), hotel.record(one)).await;
    let left = left.reservation.unwrap();
    let folio = reservations::load(&hotel.ledger, hotel.property, left.id).await;
    let stored = folio.unwrap().unwrap().reservation;
    assert_eq!(stored.rooms, left.rooms);
    assert_eq!(stored.present_rooms().count(), 1);
    assert_eq!(hotel.night(4).await.sold, 0);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_hold_confirmed_and_cancelled_in_one_batch_is_known_by_its_last_version() {
    let hotel = Hotel::of(1).await;
    let held = hotel.held(0, 2).await;
    let (confirmed, cancelled) =
        join(hotel.confirm(held.id, Some("P1")), hotel.cancel(held.id)).await;
    assert_eq!(reservation(confirmed).version, 2);
    assert_eq!(reservation(cancelled).version, 3);
    let folio = reservations::load(&hotel.ledger, hotel.property, held.id).await;
    let stored = folio.unwrap().unwrap().reservation;
    assert_eq!((stored.version, stored.status), (3, Status::Cancelled));
    let entries = "select max(version) from ledger_entry where reservation_id is not null";
    assert_eq!(hotel.count(entries).await, 3);
    assert_eq!(hotel.night(0).await.sold, 0);
    hotel.assert_proven().await;
}
