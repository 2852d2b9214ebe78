//! One order of locks, also for names that are not there yet.

use std::sync::Arc;

use futures_util::future::join_all;
use keyrack_ledger::allotments::{self, Put};
use keyrack_ledger::command::{Asked, By, Command, Fact, Idempotency};
use keyrack_ledger::handle::Ledger;
use keyrack_model::allotment::Release;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::RevisionKind;
use uuid::Uuid;

use crate::allotments::{agreed, agreement, proven};
use crate::hotel::{Hotel, report, stay, wished};

/// The same fact under a new reference, the same wish under a new key, and wishes for the same
/// nights, so that batches fall short and are decided anew under locks.
fn round(hotel: &Hotel, number: usize, guest: usize) -> Vec<Asked> {
    let asked = |command| Asked::new(hotel.property, Arc::new(By::default()), command);
    let reference = format!("R{number}");
    let revision = hotel.revision(report(&reference, RevisionKind::New, 0, 3));
    let fact = Command::Record(Box::new(Fact {
        revision,
        hash: reference,
        reservation: ReservationId(Uuid::now_v7()),
    }));
    let keyed = Asked {
        idempotency: Some(Idempotency {
            scope: "test".to_owned(),
            key: number.to_string(),
            fingerprint: number.to_string(),
        }),
        ..asked(hotel.wish(1, 3, None))
    };
    let other = asked(hotel.wish(0, 4, None));
    // Each daemon hears of them in another order.
    let mut all = vec![asked(fact), keyed, other];
    all.rotate_left(guest % 3);
    all
}

async fn three_daemons(hotel: &Hotel) -> [Ledger; 3] {
    [
        hotel.ledger.clone(),
        hotel.second_daemon().await,
        hotel.second_daemon().await,
    ]
}

/// Ends the daemons: what a backend has counted is told at its end at the latest.
async fn assert_no_ring(hotel: &Hotel, daemons: &[Ledger]) {
    for daemon in daemons {
        daemon.close().await;
    }
    let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
    assert_eq!(hotel.count(deadlocks).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_daemons_that_write_the_same_new_names_and_nights_never_wait_in_a_ring() {
    let hotel = Hotel::of(1_000).await;
    let daemons = three_daemons(&hotel).await;
    for number in 0..40 {
        let mut asking = Vec::new();
        for (guest, daemon) in daemons.iter().enumerate() {
            for asked in round(&hotel, number, guest) {
                let daemon = daemon.clone();
                asking.push(tokio::spawn(async move { daemon.ask(asked).await }));
            }
        }
        for answer in join_all(asking).await {
            answer
                .expect("no panic")
                .expect("no failure")
                .expect("rooms enough");
        }
    }
    assert_no_ring(&hotel, &daemons).await;
    // Of each round one fact, one wish of the key, and one other of each daemon.
    let made = hotel.count("select count(*) from reservation").await;
    assert_eq!(made, 40 * 5);
    hotel.assert_proven().await;
}

/// Terms of an allotment raise the version of the hotel's rules, whose row comes before all others;
/// and its nights come behind those of the house, whoever writes them.
#[tokio::test(flavor = "multi_thread")]
async fn three_daemons_that_agree_and_sell_the_same_nights_never_wait_in_a_ring() {
    let hotel = Hotel::of(1_000).await;
    let allotment = agreed(&hotel, 4, 200).await;
    let daemons = three_daemons(&hotel).await;
    for number in 0..40 {
        let mut asking = Vec::new();
        for (at, daemon) in daemons.iter().enumerate() {
            for asked in round(&hotel, number, at) {
                let daemon = daemon.clone();
                asking.push(tokio::spawn(async move {
                    daemon
                        .ask(asked)
                        .await
                        .expect("no failure")
                        .expect("rooms enough");
                }));
            }
            let put = Put {
                release: Release {
                    period_days: i32::try_from(number % 3).expect("few"),
                    cut_off: None,
                },
                ..agreement(&hotel, 4, i32::try_from(at).expect("few") + 200)
            };
            let mut drawn = wished(hotel.double, stay(0, 4));
            drawn.allotment = Some(allotment);
            let Command::Request(mut wish) = hotel.wish(0, 4, None) else {
                panic!("a wish");
            };
            wish.rooms = vec![drawn];
            let (seller, property) = (daemon.clone(), hotel.property);
            asking.push(tokio::spawn(async move {
                let by = Arc::new(By::default());
                let wish = Asked::new(property, by, Command::Request(wish));
                seller
                    .ask(wish)
                    .await
                    .expect("no failure")
                    .expect("rooms enough");
            }));
            let (daemon, property) = (daemon.clone(), hotel.property);
            asking.push(tokio::spawn(async move {
                let change = allotments::put(&daemon, property, &By::default(), put).await;
                change.expect("no failure").expect("agreed");
            }));
        }
        for ended in join_all(asking).await {
            ended.expect("no panic");
        }
    }
    proven(&hotel).await;
    assert_no_ring(&hotel, &daemons).await;
}
