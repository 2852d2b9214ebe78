//! Rooms kept by agreement: who takes them, where they go back to, and that every number of them is
//! proved.

use keyrack_ledger::allotments::{self, AllotmentChange, Put};
use keyrack_ledger::command::{
    Answer, By, Command, Forced, HoldEnd, Modification, Progress, Wish, WishedRoom,
};
use keyrack_ledger::decide::allotment::{AgreedRooms, Owner};
use keyrack_ledger::decide::refusal::{Force, Refusal};
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::verify::{Extent, verify};
use keyrack_ledger::{catalog, holds};
use keyrack_model::allotment::{AllotmentNight, Release};
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AllotmentId, ReservationId};
use keyrack_model::reservation::{RevisionKind, Source};
use keyrack_model::stay::{Weekdays, plus_days};
use uuid::Uuid;

use super::hotel::{FIRST, Hotel, report, reservation, stay, wished};

/// What is asked of the allotment `tour`: so many doubles on so many nights from the first.
pub fn agreement(hotel: &Hotel, nights: i32, rooms: i32) -> Put {
    Put {
        code: "tour".to_owned(),
        owner: Owner::Account(hotel.account),
        room_type: hotel.double,
        release: Release::default(),
        values: vec![AgreedRooms {
            nights: stay(0, nights),
            weekdays: Weekdays::ALL,
            rooms,
        }],
        version: None,
        force: None,
        dry_run: false,
    }
}

pub fn forced(allow: Force) -> Option<Forced> {
    Some(Forced {
        reason: "the boss said so".to_owned(),
        allow: vec![allow],
    })
}

pub async fn put(hotel: &Hotel, put: Put) -> Result<AllotmentChange, Refusal> {
    let by = By::default();
    allotments::put(&hotel.ledger, hotel.property, &by, put)
        .await
        .expect("no failure")
}

/// The allotment after agreeing.
pub async fn agreed(hotel: &Hotel, nights: i32, rooms: i32) -> AllotmentId {
    let change = put(hotel, agreement(hotel, nights, rooms)).await;
    change.expect("agreed").allotment.expect("there").id
}

/// Agreed, taken, left, released of a night.
pub async fn counts(hotel: &Hotel, allotment: AllotmentId, offset: i32) -> (i32, i32, i32, i32) {
    let (ledger, property) = (&hotel.ledger, hotel.property);
    let nights = allotments::pickup(ledger, property, allotment, stay(offset, 1)).await;
    let nights = nights.expect("no failure");
    let night = nights.first().map_or(AllotmentNight::default(), |n| n.1);
    (night.agreed, night.taken, night.left(), night.released)
}

/// Allotted, held and sold, free.
pub async fn rooms(hotel: &Hotel, offset: i32) -> (i32, i32, i32) {
    let night = hotel.night(offset).await;
    (night.allotted, night.held + night.sold, night.free())
}

pub async fn proven(hotel: &Hotel) {
    hotel.assert_proven().await;
    for extent in [Extent::FromCheckpoints, Extent::Whole] {
        let found = verify(&hotel.ledger, None, extent).await.expect("verified");
        assert_eq!(found.differences, [], "{extent:?}");
    }
}

async fn live_on(hotel: &Hotel, pool: PoolMode) {
    let mapping = catalog::MappingSetup {
        room_type: "double".to_owned(),
        rate_plan: None,
        channel_room_code: "DBL".to_owned(),
        channel_rate_code: None,
        pool,
        allotment: (pool != PoolMode::Shared).then(|| "tour".to_owned()),
    };
    let by = By::default();
    let put = catalog::put_mappings(&hotel.ledger, hotel.account, &by, vec![mapping]).await;
    put.expect("no failure").expect("mapped");
}

/// A wish of so many rooms: from an allotment that it names, or for an account.
pub fn wish(hotel: &Hotel, nights: i32, rooms: i32, change: impl FnOnce(&mut Wish)) -> Command {
    let room = WishedRoom {
        quantity: rooms,
        ..wished(hotel.double, stay(0, nights))
    };
    let mut wish = Wish {
        reservation: ReservationId(Uuid::now_v7()),
        hold: None,
        source: Source::Group,
        rooms: vec![room],
        guest: None,
        note: None,
        owner_id: None,
        payment_reference: None,
        channel: None,
        guaranteed: false,
        force: None,
    };
    change(&mut wish);
    Command::Request(Box::new(wish))
}

pub async fn from(hotel: &Hotel, allotment: AllotmentId, nights: i32, rooms: i32) -> Answer {
    let named = wish(hotel, nights, rooms, |w| {
        w.rooms[0].allotment = Some(allotment);
    });
    hotel.ask(named).await
}

#[tokio::test]
async fn agreed_rooms_leave_free_sale_and_come_back_by_agreeing_fewer() {
    let hotel = Hotel::of(5).await;
    let tour = agreed(&hotel, 3, 3).await;
    assert_eq!(rooms(&hotel, 0).await, (3, 0, 2));
    assert_eq!(rooms(&hotel, 3).await, (0, 0, 0), "that night is not born");
    assert_eq!(counts(&hotel, tour, 0).await, (3, 0, 3, 0));
    // The desk finds two rooms and no third.
    for _ in 0..2 {
        hotel.confirmed(0, 1).await;
    }
    let refused = hotel.ask(hotel.wish(0, 1, None)).await;
    assert!(matches!(refused, Err(Refusal::SoldOut(_))), "{refused:?}");
    let again = put(&hotel, agreement(&hotel, 3, 3)).await.expect("agreed");
    assert_eq!(again.allotment.expect("there").version, 1, "a repeat");
    agreed(&hotel, 2, 1).await;
    assert_eq!(rooms(&hotel, 0).await, (1, 2, 2));
    assert_eq!(rooms(&hotel, 2).await, (0, 0, 5));
    assert_eq!(counts(&hotel, tour, 2).await, (0, 0, 0, 0));
    let stale = Put {
        version: Some(1),
        ..agreement(&hotel, 2, 1)
    };
    let refused = put(&hotel, stale).await;
    assert_eq!(refused, Err(Refusal::VersionMismatch { current: 2 }));
    proven(&hotel).await;
}

#[tokio::test]
async fn weekdays_and_later_values_say_which_nights() {
    let hotel = Hotel::of(5).await;
    // 2030-03-01 is a Friday.
    let mut tour = agreement(&hotel, 7, 2);
    tour.values.push(AgreedRooms {
        nights: stay(0, 7),
        weekdays: Weekdays::from_bits(0b110_0000),
        rooms: 1,
    });
    put(&hotel, tour).await.expect("agreed");
    let mut kept = Vec::new();
    for offset in 0..7 {
        kept.push(hotel.night(offset).await.allotted);
    }
    assert_eq!(kept, [2, 1, 1, 2, 2, 2, 2]);
    proven(&hotel).await;
}

#[tokio::test]
async fn rooms_that_are_not_free_are_agreed_by_force_only_and_open_no_case() {
    let hotel = Hotel::of(2).await;
    hotel.confirmed(0, 1).await;
    let dry = Put {
        dry_run: true,
        ..agreement(&hotel, 2, 2)
    };
    let dry = put(&hotel, dry).await.expect("a dry run");
    assert_eq!(dry.short.len(), 1);
    assert_eq!((dry.short[0].night, dry.short[0].rooms), (FIRST, 1));
    assert_eq!((dry.allotment, hotel.night(0).await.allotted), (None, 0));
    let refused = put(&hotel, agreement(&hotel, 2, 2)).await;
    let Err(Refusal::NeedsForce { allow, nights, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (allow, nights),
        (Force::Oversell, vec![(hotel.double, FIRST)])
    );
    assert_eq!(
        allotments::list(&hotel.ledger, hotel.property)
            .await
            .expect("a list"),
        [],
        "a refused one is not there"
    );
    let by_force = Put {
        force: forced(Force::Oversell),
        ..agreement(&hotel, 2, 2)
    };
    put(&hotel, by_force).await.expect("forced");
    let night = hotel.night(0).await;
    assert_eq!((night.allotted, night.sold, night.oversold), (2, 1, 1));
    assert_eq!(
        hotel.count("select count(*) from overbooking_case").await,
        0
    );
    proven(&hotel).await;
}

#[tokio::test]
async fn a_cut_below_what_is_taken_takes_a_force_and_what_comes_back_then_is_free() {
    let hotel = Hotel::of(5).await;
    let tour = agreed(&hotel, 1, 3).await;
    let mut drawn = Vec::new();
    for _ in 0..3 {
        drawn.push(reservation(from(&hotel, tour, 1, 1).await));
    }
    assert_eq!(counts(&hotel, tour, 0).await, (3, 3, 0, 0));
    let refused = put(&hotel, agreement(&hotel, 1, 1)).await;
    let is_refused = matches!(
        &refused,
        Err(Refusal::NeedsForce { allow: Force::Allotment, nights, .. }) if nights.len() == 1
    );
    assert!(is_refused, "{refused:?}");
    let cut = Put {
        force: forced(Force::Allotment),
        ..agreement(&hotel, 1, 1)
    };
    put(&hotel, cut).await.expect("forced");
    assert_eq!(counts(&hotel, tour, 0).await, (1, 3, 0, 0));
    proven(&hotel).await;
    for (gone, counted, free) in [
        (&drawn[0], (1, 2, 0, 0), 3),
        (&drawn[1], (1, 1, 0, 0), 4),
        (&drawn[2], (1, 0, 1, 0), 4),
    ] {
        hotel.cancel(gone.id).await.expect("cancelled");
        assert_eq!(counts(&hotel, tour, 0).await, counted);
        assert_eq!(hotel.night(0).await.free(), free);
    }
    proven(&hotel).await;
}

#[tokio::test]
async fn r24_a_fact_takes_from_its_allotment_then_from_the_shared_pool_then_from_the_overdraft() {
    let hotel = Hotel::of(2).await;
    let tour = agreed(&hotel, 1, 1).await;
    let mut told = Vec::new();
    for reference in ["A", "B", "C"] {
        let receipt = hotel
            .record(report(reference, RevisionKind::New, 0, 2))
            .await;
        told.push(receipt.reservation.expect("recorded"));
    }
    let drew = |r: &Reservation| r.detail.drawn.iter().map(|d| d.rooms).sum::<i32>();
    assert_eq!(
        told.iter().map(|one| drew(one)).collect::<Vec<_>>(),
        [1, 0, 0]
    );
    assert_eq!(counts(&hotel, tour, 0).await, (1, 1, 0, 0));
    let night = hotel.night(0).await;
    assert_eq!((night.sold, night.allotted, night.oversold), (3, 0, 1));
    proven(&hotel).await;
    // Each goes back to where it came from; the overdraft is repaid first.
    hotel
        .record(report("C", RevisionKind::Cancelled, 0, 2))
        .await;
    assert_eq!(rooms(&hotel, 0).await, (0, 2, 0));
    hotel
        .record(report("A", RevisionKind::Cancelled, 0, 2))
        .await;
    assert_eq!(rooms(&hotel, 0).await, (1, 1, 0));
    assert_eq!(counts(&hotel, tour, 0).await, (1, 0, 1, 0));
    hotel
        .record(report("B", RevisionKind::Cancelled, 0, 2))
        .await;
    assert_eq!(rooms(&hotel, 0).await, (1, 0, 1));
    // A repeat gives nothing back again.
    hotel
        .record(report("A", RevisionKind::Cancelled, 0, 2))
        .await;
    assert_eq!(rooms(&hotel, 0).await, (1, 0, 1));
    proven(&hotel).await;
}

#[tokio::test]
async fn a_revision_keeps_the_pool_of_each_night_that_it_keeps() {
    let hotel = Hotel::of(3).await;
    let tour = agreed(&hotel, 2, 1).await;
    hotel.record(report("A", RevisionKind::New, 0, 1)).await;
    hotel
        .record(report("A", RevisionKind::Modified, 0, 4))
        .await;
    assert_eq!(counts(&hotel, tour, 0).await, (1, 1, 0, 0));
    assert_eq!(counts(&hotel, tour, 1).await, (1, 1, 0, 0));
    assert_eq!(rooms(&hotel, 2).await, (0, 1, 2));
    hotel
        .record(report("A", RevisionKind::Modified, 1, 1))
        .await;
    assert_eq!(counts(&hotel, tour, 0).await, (1, 0, 1, 0));
    assert_eq!(counts(&hotel, tour, 1).await, (1, 1, 0, 0));
    assert_eq!(rooms(&hotel, 2).await, (0, 0, 3));
    proven(&hotel).await;
}

#[tokio::test]
async fn the_desk_sells_what_is_shared_and_draws_from_an_allotment_that_it_names() {
    let hotel = Hotel::of(4).await;
    let tour = agreed(&hotel, 2, 2).await;
    hotel.confirmed(0, 2).await;
    assert_eq!(counts(&hotel, tour, 0).await, (2, 0, 2, 0));
    let exhausted = from(&hotel, tour, 2, 3).await;
    let nights = (0..2).map(|day| (hotel.double, plus_days(FIRST, day)));
    let refused = Refusal::AllotmentExhausted(nights.collect());
    assert_eq!(exhausted, Err(refused), "of three rooms it has two");
    assert_eq!(rooms(&hotel, 0).await, (2, 1, 1), "nothing was taken");
    let forced = wish(&hotel, 2, 3, |w| {
        w.rooms[0].allotment = Some(tour);
        w.force = forced(Force::Allotment);
    });
    let three = reservation(hotel.ask(forced).await);
    assert_eq!(rooms(&hotel, 0).await, (0, 4, 0));
    proven(&hotel).await;
    hotel.cancel(three.id).await.expect("cancelled");
    assert_eq!(rooms(&hotel, 0).await, (2, 1, 1));
    proven(&hotel).await;
    let elsewhere = Hotel::room_type(&hotel.pool, hotel.property.0, "single", 3).await;
    hotel.set("hold_seconds", "600").await;
    let wrong = wish(&hotel, 1, 1, |w| {
        w.rooms[0].room_type = elsewhere;
        w.rooms[0].allotment = Some(tour);
    });
    assert!(matches!(hotel.ask(wrong).await, Err(Refusal::Invalid(_))));
}

#[tokio::test]
async fn a_wish_of_an_account_takes_from_the_pools_that_it_sells_from() {
    let hotel = Hotel::of(3).await;
    let tour = agreed(&hotel, 1, 1).await;
    let typed = |reference: &str, force| {
        wish(&hotel, 1, 1, |w| {
            w.channel = Some((hotel.account, reference.to_owned()));
            w.force = force;
        })
    };
    live_on(&hotel, PoolMode::Shared).await;
    reservation(hotel.ask(typed("A", None)).await);
    assert_eq!(rooms(&hotel, 0).await, (1, 1, 1));
    live_on(&hotel, PoolMode::Allotment).await;
    reservation(hotel.ask(typed("B", None)).await);
    assert_eq!(counts(&hotel, tour, 0).await, (1, 1, 0, 0));
    let refused = hotel.ask(typed("C", None)).await;
    let exhausted = Refusal::AllotmentExhausted(vec![(hotel.double, FIRST)]);
    assert_eq!(refused, Err(exhausted));
    live_on(&hotel, PoolMode::AllotmentThenShared).await;
    reservation(hotel.ask(typed("C", None)).await);
    assert_eq!(rooms(&hotel, 0).await, (0, 3, 0));
    live_on(&hotel, PoolMode::Allotment).await;
    let refused = hotel.ask(typed("D", forced(Force::Allotment))).await;
    assert!(matches!(refused, Err(Refusal::SoldOut(_))), "{refused:?}");
    proven(&hotel).await;
}

#[tokio::test]
async fn staff_lengthen_shorten_and_move_a_stay_of_an_allotment() {
    let hotel = Hotel::of(2).await;
    let tour = agreed(&hotel, 3, 1).await;
    let before = reservation(from(&hotel, tour, 1, 1).await);
    let change = |reservation: &Reservation, from, nights, allotment| {
        let room = WishedRoom {
            room_stay: Some(reservation.rooms[0].id),
            allotment,
            ..wished(hotel.double, stay(from, nights))
        };
        Command::Modify(Box::new(Modification {
            reservation: reservation.id,
            version: reservation.version,
            rooms: Some(vec![room]),
            guest: None,
            note: None,
            told_channel: false,
            force: None,
        }))
    };
    // Longer: from its allotment as far as that goes, then from what is shared.
    let longer = reservation(hotel.ask(change(&before, 0, 5, None)).await);
    assert_eq!(counts(&hotel, tour, 2).await, (1, 1, 0, 0));
    assert_eq!(rooms(&hotel, 3).await, (0, 1, 1));
    proven(&hotel).await;
    let exhausted = hotel.ask(change(&longer, 3, 3, Some(tour))).await;
    assert!(
        matches!(&exhausted, Err(Refusal::AllotmentExhausted(n)) if n.len() == 1),
        "the new night alone: {exhausted:?}"
    );
    let moved = reservation(hotel.ask(change(&longer, 2, 2, None)).await);
    assert_eq!(counts(&hotel, tour, 0).await, (1, 0, 1, 0));
    assert_eq!(counts(&hotel, tour, 2).await, (1, 1, 0, 0));
    assert_eq!(rooms(&hotel, 4).await, (0, 0, 2));
    hotel.cancel(moved.id).await.expect("cancelled");
    assert_eq!(counts(&hotel, tour, 2).await, (1, 0, 1, 0));
    proven(&hotel).await;
}

#[tokio::test]
async fn a_dead_hold_gives_its_room_back_to_its_allotment_by_whoever_comes_first() {
    let hotel = Hotel::of(2).await;
    let tour = agreed(&hotel, 1, 1).await;
    let hold = |allotment| {
        wish(&hotel, 1, 1, move |w| {
            w.hold = Some(HoldEnd::Seconds(60));
            w.rooms[0].allotment = allotment;
        })
    };
    reservation(hotel.ask(hold(Some(tour))).await);
    reservation(hotel.ask(hold(None)).await);
    assert_eq!(rooms(&hotel, 0).await, (0, 2, 0));
    hotel.pass("10 minutes").await;
    // Dead holds count no more: what is free is the shared one alone.
    let (_, lines) =
        keyrack_ledger::inventory::availability(&hotel.ledger, hotel.property, stay(0, 1), None)
            .await
            .expect("read");
    assert_eq!(lines[0].nights[0].free, 1);
    let shares = [(hotel.property, 10)].into();
    let swept = holds::expire_due(&hotel.ledger, &shares)
        .await
        .expect("swept");
    assert_eq!((swept.let_go, swept.failed.len()), (2, 0));
    assert_eq!(counts(&hotel, tour, 0).await, (1, 0, 1, 0));
    assert_eq!(rooms(&hotel, 0).await, (1, 0, 1));
    // Another, that dies and is confirmed late: taken anew from whence it came.
    hotel.set("late_confirm", "'retake'").await;
    let late = reservation(hotel.ask(hold(Some(tour))).await);
    hotel.pass("10 minutes").await;
    hotel.confirm(late.id, None).await.expect("retaken");
    assert_eq!(counts(&hotel, tour, 0).await, (1, 1, 0, 0));
    proven(&hotel).await;
}

#[tokio::test]
async fn early_departure_gives_back_and_its_undo_takes_again() {
    let hotel = Hotel::of(2).await;
    let tour = agreed(&hotel, 3, 1).await;
    let guest = reservation(from(&hotel, tour, 3, 1).await);
    hotel.pass("9 days 3 hours").await;
    let step = |step| Command::Progress {
        reservation: guest.id,
        step,
        version: None,
    };
    hotel.ask(step(Progress::CheckIn)).await.expect("in");
    hotel.pass("1 day").await;
    hotel.ask(step(Progress::CheckOut)).await.expect("out");
    assert_eq!(counts(&hotel, tour, 0).await, (1, 1, 0, 0));
    assert_eq!(counts(&hotel, tour, 2).await, (1, 0, 1, 0));
    proven(&hotel).await;
    hotel.ask(step(Progress::Undo)).await.expect("undone");
    assert_eq!(counts(&hotel, tour, 2).await, (1, 1, 0, 0));
    proven(&hotel).await;
}
