//! At most so many reservations of one guest for one arrival date.

use futures_util::future::join_all;
use keyrack_ledger::catalog;
use keyrack_ledger::command::{By, Command, Forced, HoldEnd, Modification};
use keyrack_ledger::decide::refusal::{Force, Refusal};
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::reservation::{Guest, ReservationReport, RevisionKind};

use crate::hotel::{Hotel, ask, cancel, report, reservation, stay, wished};

fn anna() -> Guest {
    Guest {
        name: "Anna".to_owned(),
        email: Some("Anna@example.com".to_owned()),
        phone: Some("+39 0471 123456".to_owned()),
        language: None,
    }
}

async fn limited(rooms: i32, most: i32) -> Hotel {
    let hotel = Hotel::of(rooms).await;
    let policies = format!("'{{\"guest_arrivals_max\": {most}}}'::jsonb");
    hotel.set("policies", &policies).await;
    hotel
}

fn by(guest: Guest, mut command: Command) -> Command {
    if let Command::Request(wish) = &mut command {
        wish.guest = Some(guest);
    }
    command
}

fn is_full<T: std::fmt::Debug>(answer: Result<T, Refusal>) -> bool {
    match answer {
        Err(Refusal::Restriction { why, nights }) => {
            assert!(why.contains("this guest has"), "{why}");
            !nights.is_empty()
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => false,
    }
}

#[tokio::test]
async fn a_guest_gets_as_many_as_the_limit_and_others_and_other_days_are_free() {
    let hotel = limited(9, 2).await;
    let wish = |from| by(anna(), hotel.wish(from, 2, None));
    let first = reservation(hotel.ask(wish(0)).await);
    // Spelled otherwise, or by the number alone: the same guest.
    let alike = Guest {
        email: Some(" ANNA@EXAMPLE.COM".to_owned()),
        phone: None,
        ..anna()
    };
    reservation(
        hotel
            .ask(by(alike, hotel.wish(0, 1, Some(HoldEnd::Default))))
            .await,
    );
    assert!(is_full(hotel.ask(wish(0)).await));
    let other = Guest {
        email: Some("ben@example.com".to_owned()),
        phone: None,
        ..anna()
    };
    reservation(hotel.ask(by(other, hotel.wish(0, 1, None))).await);
    reservation(hotel.ask(wish(1)).await);
    reservation(hotel.ask(hotel.wish(0, 1, None)).await);
    // A cancelled one gives its place back, and so does a hold that is dead.
    hotel.cancel(first.id).await.expect("cancelled");
    reservation(hotel.ask(wish(0)).await);
    assert!(is_full(hotel.ask(wish(0)).await));
    hotel.pass("1 hour").await;
    reservation(hotel.ask(wish(0)).await);
    let phone_only = Guest {
        email: None,
        ..anna()
    };
    assert!(is_full(
        hotel.ask(by(phone_only, hotel.wish(0, 1, None))).await
    ));
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_at_once_do_not_pass_the_limit() {
    let hotel = limited(50, 3).await;
    let second = hotel.second_daemon().await;
    for round in 0..6 {
        let asks = (0..24).map(|n| {
            let ledger = if n % 2 == 0 { &hotel.ledger } else { &second };
            ask(
                ledger,
                hotel.property,
                by(anna(), hotel.wish(round, 1, None)),
            )
        });
        let answers = join_all(asks).await.into_iter();
        let full = answers.filter(|answer| match answer {
            Ok(answer) => is_full(answer.clone()),
            Err(error) => panic!("{error}"),
        });
        assert_eq!(full.count(), 21, "round {round}");
    }
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_fact_is_counted_flagged_and_never_refused_and_a_force_goes_beyond() {
    let hotel = limited(9, 1).await;
    reservation(hotel.ask(by(anna(), hotel.wish(0, 1, None))).await);
    let told = |reference| ReservationReport {
        guest: anna(),
        ..report(reference, RevisionKind::New, 0, 1)
    };
    let fact = hotel.record(told("R1")).await.reservation.expect("made");
    assert_eq!(fact.flags, ["guest_limit"]);
    let elsewhere = ReservationReport {
        guest: anna(),
        ..report("R1", RevisionKind::Modified, 5, 1)
    };
    let moved = hotel.record(elsewhere).await.reservation.expect("changed");
    assert!(moved.flags.is_empty(), "{:?}", moved.flags);
    assert!(is_full(hotel.ask(by(anna(), hotel.wish(5, 1, None))).await));
    let mut forced = by(anna(), hotel.wish(0, 1, None));
    if let Command::Request(wish) = &mut forced {
        wish.force = Some(Forced {
            reason: "a family".to_owned(),
            allow: vec![Force::Restriction],
        });
    }
    reservation(hotel.ask(forced).await);
    assert!(is_full(hotel.ask(by(anna(), hotel.wish(0, 1, None))).await));
}

fn moved(of: &Reservation, hotel: &Hotel, from: i32) -> Command {
    let mut room = wished(hotel.double, stay(from, 1));
    room.room_stay = Some(of.rooms[0].id);
    Command::Modify(Box::new(Modification {
        reservation: of.id,
        version: of.version,
        rooms: Some(vec![room]),
        guest: None,
        note: None,
        told_channel: true,
        force: None,
    }))
}

#[tokio::test]
async fn a_change_of_the_arrival_is_counted_on_the_new_day_and_frees_the_old() {
    let hotel = limited(9, 1).await;
    let first = reservation(hotel.ask(by(anna(), hotel.wish(0, 1, None))).await);
    let second = reservation(hotel.ask(by(anna(), hotel.wish(1, 1, None))).await);
    assert!(is_full(hotel.ask(moved(&second, &hotel, 0)).await));
    reservation(hotel.ask(moved(&first, &hotel, 3)).await);
    reservation(hotel.ask(moved(&second, &hotel, 0)).await);
    assert!(is_full(hotel.ask(by(anna(), hotel.wish(3, 1, None))).await));
    reservation(hotel.ask(by(anna(), hotel.wish(1, 1, None))).await);
}

#[tokio::test]
async fn a_new_limit_counts_who_has_booked_before_and_no_limit_writes_nothing() {
    let hotel = Hotel::of(9).await;
    let early = reservation(hotel.ask(by(anna(), hotel.wish(0, 1, None))).await);
    let places = "select count(*) from guest_place";
    assert_eq!(hotel.count(places).await, 0);
    let known = catalog::property(&hotel.ledger, "seehof").await;
    let mut setup = known.expect("no failure").expect("a property").setup;
    setup.policies = serde_json::json!({"guest_arrivals_max": 1});
    let who = By {
        actor: "test".to_owned(),
        request_id: None,
    };
    let put = catalog::put_property(&hotel.ledger, &who, "seehof", setup, None).await;
    put.expect("no failure").expect("no refusal");
    assert_eq!(hotel.count(places).await, 2, "an address and a number");
    assert!(is_full(hotel.ask(by(anna(), hotel.wish(0, 1, None))).await));
    hotel.ask(cancel(early.id)).await.expect("cancelled");
    reservation(hotel.ask(by(anna(), hotel.wish(0, 1, None))).await);
    let named = "select count(*) from guest_place where guest::text like '%anna%'";
    assert_eq!(hotel.count(named).await, 0);
}
