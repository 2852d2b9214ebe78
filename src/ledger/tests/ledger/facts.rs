//! Facts: what a channel says, in every order and however often.

use keyrack_model::reservation::{ReservationReport, RevisionKind, Status};

use crate::hotel::{Hotel, cancel, report, reservation};

fn of(kind: RevisionKind) -> ReservationReport {
    match kind {
        RevisionKind::New => report("R1", kind, 0, 3),
        RevisionKind::Modified => report("R1", kind, 1, 3),
        RevisionKind::Cancelled => report("R1", kind, 0, 0),
    }
}

#[tokio::test]
async fn r20_every_order_of_new_modify_cancel_ends_cancelled_with_and_without_revision_numbers() {
    use RevisionKind::{Cancelled, Modified, New};
    let orders = [
        [New, Modified, Cancelled],
        [New, Cancelled, Modified],
        [Modified, New, Cancelled],
        [Modified, Cancelled, New],
        [Cancelled, New, Modified],
        [Cancelled, Modified, New],
    ];
    let hotel = Hotel::of(1).await;
    for (round, order) in orders.iter().enumerate() {
        for numbered in [false, true] {
            let reference = format!("R{round}-{numbered}");
            for kind in order.iter().flat_map(|kind| [kind, kind]) {
                let number = match kind {
                    New => 1,
                    Modified => 2,
                    Cancelled => 3,
                };
                let told = ReservationReport {
                    reference: reference.clone(),
                    order: numbered.then_some(number),
                    ..of(*kind)
                };
                hotel.record(told).await;
            }
            for night in 0..4 {
                assert_eq!(
                    hotel.night(night).await.sold,
                    0,
                    "{order:?} {numbered} {night}"
                );
            }
        }
    }
    let live = "select count(*) from reservation where status <> 'cancelled'";
    assert_eq!(hotel.count(live).await, 0);
    // Also a first state that came last: staff find the guest who asks for it.
    let kept = "select count(distinct channel_reference) from reservation";
    assert_eq!(hotel.count(kept).await, 12);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn r20_a_newer_cancel_of_a_cancelled_reference_outdates_what_came_between() {
    use RevisionKind::{Cancelled, Modified, New};
    let told = |kind, order, reference: &str| ReservationReport {
        reference: reference.to_owned(),
        // A cancel may say nothing but the reference.
        order: (order > 0).then_some(order),
        ..of(kind)
    };
    let hotel = Hotel::of(1).await;
    let orders = [
        [(Cancelled, 0), (Cancelled, 12), (Modified, 11)],
        [(Cancelled, 12), (Cancelled, 0), (Modified, 11)],
        [(Cancelled, 10), (Cancelled, 12), (Modified, 11)],
        [(Cancelled, 10), (Modified, 11), (Cancelled, 12)],
        [(Cancelled, 12), (Cancelled, 10), (Modified, 11)],
        [(Cancelled, 12), (Modified, 11), (Cancelled, 10)],
        [(Modified, 11), (Cancelled, 10), (Cancelled, 12)],
        [(Modified, 11), (Cancelled, 12), (Cancelled, 10)],
    ];
    for known_before in [false, true] {
        for (round, order) in orders.iter().enumerate() {
            let reference = format!("R{round}-{known_before}");
            if known_before {
                hotel.record(told(New, 1, &reference)).await;
            }
            for (kind, number) in order.iter().flat_map(|each| [each, each]) {
                hotel.record(told(*kind, *number, &reference)).await;
            }
            for night in 0..4 {
                let sold = hotel.night(night).await.sold;
                assert_eq!(sold, 0, "{order:?} {known_before} {night}");
            }
        }
    }
    let last = "select count(*) from channel_reference where is_cancelled and last_order = 12";
    assert_eq!(hotel.count(last).await, 16);
    for reference in ["R0-false", "R0-true", "R1-false", "R4-true"] {
        hotel.record(told(Modified, 13, reference)).await;
    }
    assert_eq!(hotel.night(3).await.sold, 4, "the guests come after all");
    hotel.assert_proven().await;
}

#[tokio::test]
async fn new_then_modified_moves_the_stay_and_keeps_the_number() {
    let hotel = Hotel::of(1).await;
    let first = hotel
        .record(of(RevisionKind::New))
        .await
        .reservation
        .unwrap();
    let second = hotel
        .record(of(RevisionKind::Modified))
        .await
        .reservation
        .unwrap();
    assert_eq!(
        (second.id, second.number, second.version),
        (first.id, first.number, 2)
    );
    assert_eq!(
        (hotel.night(0).await.sold, hotel.night(3).await.sold),
        (0, 1)
    );
    let late = hotel.record(of(RevisionKind::New)).await;
    assert_eq!(late.did, "older");
    assert_eq!(hotel.night(0).await.sold, 0);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn r24_a_fact_on_a_full_house_is_recorded_and_opens_a_case_that_a_cancel_cures() {
    let hotel = Hotel::of(1).await;
    let desk = hotel.confirmed(0, 2).await;
    let fact = hotel
        .record(of(RevisionKind::New))
        .await
        .reservation
        .unwrap();
    assert_eq!(
        (fact.status, hotel.night(0).await.oversold),
        (Status::Confirmed, 1)
    );
    let open = "select count(*) from overbooking_case where status = 'open'";
    assert_eq!(hotel.count(open).await, 1);
    let nights = "select count(*) from overbooking_case_night where cured_at is null";
    assert_eq!(hotel.count(nights).await, 2);
    hotel.assert_proven().await;
    reservation(hotel.ask(cancel(desk.id)).await);
    let cured =
        "select count(*) from overbooking_case where status = 'closed' and outcome = 'cured'";
    assert_eq!((hotel.count(open).await, hotel.count(cured).await), (0, 1));
    hotel.assert_proven().await;
}

#[tokio::test]
async fn r21_a_cancel_that_says_nothing_but_the_reference_frees_the_nights_we_know() {
    let hotel = Hotel::of(1).await;
    hotel.record(of(RevisionKind::New)).await;
    let gone = hotel.record(of(RevisionKind::Cancelled)).await;
    let nights: i32 = gone.nights.iter().map(|(_, nights)| nights.length()).sum();
    assert_eq!(
        (gone.did.as_str(), nights, hotel.night(0).await.sold),
        ("cancelled", 3, 0)
    );
}

#[tokio::test]
async fn an_unmapped_room_takes_nothing_until_its_code_is_mapped() {
    let hotel = Hotel::of(1).await;
    let mut told = of(RevisionKind::New);
    told.rooms[0].room_code = "SUITE".to_owned();
    let stored = hotel.record(told.clone()).await.reservation.unwrap();
    assert!(stored.flags.contains(&"unmapped".to_owned()));
    assert_eq!(hotel.night(0).await.sold, 0);
    let mut revision = hotel.revision(told);
    revision.rooms[0].room_type = Some(hotel.double);
    let by = keyrack_ledger::command::By::default();
    let mapped = keyrack_ledger::reservations::record(&hotel.ledger, by, revision)
        .await
        .unwrap();
    let mapped = mapped.reservation.unwrap();
    assert!(mapped.flags.is_empty(), "{:?}", mapped.flags);
    assert_eq!(hotel.night(0).await.sold, 1);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn odd_dates_are_recorded_with_the_nights_that_make_sense() {
    let hotel = Hotel::of(1).await;
    let none = ReservationReport {
        reference: "ODD".into(),
        ..report("", RevisionKind::New, 0, 0)
    };
    let stored = hotel.record(none).await.reservation.unwrap();
    assert!(stored.flags.contains(&"odd_dates".to_owned()));
    let past = ReservationReport {
        reference: "OLD".into(),
        ..report("", RevisionKind::New, -30, 2)
    };
    let stored = hotel.record(past).await.reservation.unwrap();
    assert!(stored.flags.contains(&"in_the_past".to_owned()));
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_staff_upgrade_survives_a_revision_and_both_changing_the_dates_is_flagged() {
    let hotel = Hotel::of(1).await;
    let first = hotel
        .record(of(RevisionKind::New))
        .await
        .reservation
        .unwrap();
    let mut room = crate::hotel::wished(hotel.double, crate::hotel::stay(0, 2));
    room.room_stay = Some(first.rooms[0].id);
    let change = keyrack_ledger::command::Modification {
        reservation: first.id,
        version: 1,
        rooms: Some(vec![room]),
        guest: None,
        note: Some("quiet".to_owned()),
        told_channel: true,
        force: None,
    };
    let command = keyrack_ledger::command::Command::Modify(Box::new(change));
    assert!(hotel.ask(command).await.is_ok());
    let revised = hotel
        .record(of(RevisionKind::Modified))
        .await
        .reservation
        .unwrap();
    assert!(revised.flags.contains(&"changed_by_both".to_owned()));
    assert_eq!(
        (hotel.night(0).await.sold, hotel.night(3).await.sold),
        (0, 1)
    );
    let notes = "select count(*) from reservation_guest where note = 'quiet'";
    assert_eq!(hotel.count(notes).await, 1);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn nights_that_a_channel_gives_back_are_told_again_although_the_desk_had_moved_the_guest() {
    let hotel = Hotel::of(2).await;
    let first = hotel
        .record(of(RevisionKind::New))
        .await
        .reservation
        .unwrap();
    let mut room = crate::hotel::wished(hotel.double, crate::hotel::stay(10, 2));
    room.room_stay = Some(first.rooms[0].id);
    let change = keyrack_ledger::command::Modification {
        reservation: first.id,
        version: 1,
        rooms: Some(vec![room]),
        guest: None,
        note: None,
        told_channel: true,
        force: None,
    };
    let command = keyrack_ledger::command::Command::Modify(Box::new(change));
    assert!(hotel.ask(command).await.is_ok());
    hotel.record(of(RevisionKind::Cancelled)).await;
    let told = "select count(*) from ledger_entry where kind = 'moved' and quantity = 0
                   and night_from = '2030-03-01' and night_until = '2030-03-04'";
    assert_eq!(hotel.count(told).await, 1);
    hotel.assert_proven().await;
}
