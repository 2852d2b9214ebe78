//! Blocks of rooms and the counts of their nights: one change, whatever happens beside it.

use keyrack_ledger::catalog::{self, Room};
use keyrack_ledger::command::{Asked, Command, NightChange};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::handle::Ledger;
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::StayRange;

use crate::desk::load;
use crate::hotel::{Hotel, day, room_type, stay};
use crate::rooms::{block, list, nights, room, sell};

/// A hotel with so many rooms, `101` and on.
async fn house(rooms: i32) -> (Hotel, RoomTypeId) {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 0)).await;
    for code in 101..101 + rooms {
        let made = list(&hotel, &code.to_string(), room("dbl", true)).await;
        made.expect("made");
    }
    (hotel, dbl)
}

/// Blocks a room on another task.
fn blocking(
    hotel: &Hotel,
    ledger: &Ledger,
    code: &str,
    nights: StayRange,
) -> tokio::task::JoinHandle<Result<Result<Room, Refusal>, LedgerError>> {
    let (ledger, property) = (ledger.clone(), hotel.property);
    let (by, code) = (hotel.by.clone(), code.to_owned());
    tokio::spawn(async move {
        let blocks = vec![(nights, "out_of_order".to_owned(), None)];
        catalog::put_blocks(&ledger, property, &by, &code, blocks).await
    })
}

fn state(hotel: &Hotel, room_type: RoomTypeId, nights: StayRange, out_of_order: i32) -> Asked {
    let change = NightChange {
        room_type,
        nights,
        out_of_order: Some(out_of_order),
        overbooking_limit: None,
        reason: None,
    };
    let command = Command::SetNights {
        changes: vec![change],
        dry_run: false,
    };
    Asked::new(hotel.property, hotel.by.clone().into(), command)
}

async fn run(hotel: &Hotel, sql: &'static str) {
    sqlx::raw_sql(sql)
        .execute(&hotel.pool)
        .await
        .expect("carried out");
}

/// A daemon that dies before the last row is written for good.
const DEATH: &str = "
    create function die() returns trigger language plpgsql as $$
    begin raise exception 'the daemon dies'; end $$;
    create constraint trigger dies after insert or update on room deferrable initially deferred
        for each row execute function die()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_total_that_staff_state_at_the_same_moment_is_kept_beside_the_block() {
    let (hotel, dbl) = house(4).await;
    let second = hotel.second_daemon().await;
    let mut tx = hotel.pool.begin().await.expect("a transaction");
    sqlx::query("select from night where stay_date = $1 for update")
        .bind(jiff_sqlx::Date::from(day(2)))
        .execute(&mut *tx)
        .await
        .expect("the night is locked");
    let asked = state(&hotel, dbl, stay(2, 3), 2);
    let stating = tokio::spawn(async move { second.ask(asked).await });
    hotel.waiting(1).await;
    let blocking = blocking(&hotel, &hotel.ledger, "101", stay(2, 4));
    hotel.waiting(2).await;
    tx.rollback().await.expect("the night is free");
    stating
        .await
        .expect("no panic")
        .expect("no failure")
        .expect("stated");
    blocking
        .await
        .expect("no panic")
        .expect("no failure")
        .expect("blocked");
    assert_eq!(nights(&hotel, dbl, 2, 4).await, [(4, 3), (4, 1)]);
    block(&hotel, "101", &[]).await.expect("free");
    assert_eq!(nights(&hotel, dbl, 2, 4).await, [(4, 2), (4, 0)]);
    hotel.proven().await;
}

#[tokio::test]
async fn a_block_whose_daemon_died_half_way_counts_once_when_it_is_put_again() {
    let (hotel, dbl) = house(3).await;
    run(&hotel, DEATH).await;
    let blocks = vec![(stay(2, 4), "owner".to_owned(), None)];
    let put = || {
        let blocks = blocks.clone();
        catalog::put_blocks(&hotel.ledger, hotel.property, &hotel.by, "101", blocks)
    };
    put().await.expect_err("it died");
    assert_eq!(
        nights(&hotel, dbl, 1, 4).await,
        [(3, 0); 3],
        "no count without its block"
    );
    run(&hotel, "drop trigger dies on room").await;
    for _ in 0..2 {
        let put = put().await.expect("no failure").expect("blocked");
        assert_eq!((put.version, put.blocks.len()), (2, 1), "a repeat");
        assert_eq!(nights(&hotel, dbl, 1, 4).await, [(3, 0), (3, 1), (3, 1)]);
    }
    hotel.proven().await;
}

#[tokio::test]
async fn a_room_whose_daemon_died_half_way_is_counted_when_it_is_put_again() {
    let (hotel, dbl) = house(2).await;
    let sgl = hotel.room_type("sgl", room_type("Single", 0)).await;
    run(&hotel, DEATH).await;
    let changes = [
        ("103", "dbl", true),
        ("102", "dbl", false),
        ("102", "sgl", true),
    ];
    for (code, of, is_active) in changes {
        let put = |setup: Room| {
            let (ledger, by) = (&hotel.ledger, &hotel.by);
            catalog::put_room(ledger, hotel.property, by, code, setup, None, None)
        };
        put(room(of, is_active)).await.expect_err("it died");
    }
    assert_eq!(nights(&hotel, sgl, 0, 2).await, [(1, 0); 2], "half done");
    run(&hotel, "drop trigger dies on room").await;
    list(&hotel, "102", room("dbl", true))
        .await
        .expect("as it was");
    assert_eq!(nights(&hotel, dbl, 0, 2).await, [(2, 0); 2]);
    assert_eq!(nights(&hotel, sgl, 0, 2).await, [(0, 0); 2]);
    let (_, is_new) = list(&hotel, "103", room("dbl", true)).await.expect("made");
    assert!(is_new);
    assert_eq!(nights(&hotel, dbl, 0, 2).await, [(3, 0); 2]);
    list(&hotel, "102", room("dbl", false))
        .await
        .expect("closed");
    assert_eq!(nights(&hotel, dbl, 0, 2).await, [(2, 0); 2]);
    hotel.proven().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_who_gets_the_room_first_is_named_to_whoever_blocks_it() {
    let (hotel, dbl) = house(1).await;
    let guest = sell(&hotel, dbl, stay(2, 4), 1).await;
    let mut tx = hotel.pool.begin().await.expect("a transaction");
    sqlx::query(
        "insert into room_assignment (property_id, room_id, stay, reservation_id, room_stay_id)
         select property_id, room_id, daterange($1, $2), $3, 1 from room",
    )
    .bind(jiff_sqlx::Date::from(day(2)))
    .bind(jiff_sqlx::Date::from(day(4)))
    .bind(guest.0)
    .execute(&mut *tx)
    .await
    .expect("the room");
    let blocking = blocking(&hotel, &hotel.ledger, "101", stay(3, 5));
    hotel.waiting(1).await;
    tx.commit().await.expect("the guest was first");
    let refusal = blocking
        .await
        .expect("no panic")
        .expect("no failure")
        .expect_err("it is taken");
    let number = load(&hotel, guest).await.reservation.number;
    let sentence = format!("the room is taken by reservation {number}");
    assert_eq!(refusal, Refusal::invalid("/blocks", sentence));
    assert_eq!(nights(&hotel, dbl, 2, 5).await, [(1, 0); 3]);
    hotel.proven().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_night_that_is_born_while_its_room_is_blocked_counts_the_block_once() {
    let (hotel, dbl) = house(2).await;
    let mut tx = hotel.pool.begin().await.expect("a transaction");
    sqlx::query("select from room_type for share")
        .execute(&mut *tx)
        .await
        .expect("births begin");
    let blocking = blocking(&hotel, &hotel.ledger, "101", stay(29, 32));
    hotel.waiting(1).await;
    sqlx::query("select ledger_give_birth(array[$1], array[$2], array[$3])")
        .bind(hotel.property.0)
        .bind(dbl.0)
        .bind(jiff_sqlx::Date::from(day(30)))
        .execute(&mut *tx)
        .await
        .expect("born");
    tx.commit().await.expect("born for good");
    blocking
        .await
        .expect("no panic")
        .expect("no failure")
        .expect("blocked");
    assert_eq!(nights(&hotel, dbl, 28, 31).await, [(2, 0), (2, 1), (2, 1)]);
    let later = state(&hotel, dbl, stay(33, 34), 1);
    let answer = hotel.ledger.ask(later).await.expect("no failure");
    answer.expect("born by being asked for");
    assert_eq!(nights(&hotel, dbl, 33, 34).await, [(2, 1)]);
    block(&hotel, "101", &[]).await.expect("free");
    assert_eq!(nights(&hotel, dbl, 28, 31).await, [(2, 0); 3]);
    hotel.proven().await;
}

#[tokio::test]
async fn a_night_that_is_born_by_a_command_counts_the_blocks_of_its_rooms() {
    let (hotel, dbl) = house(3).await;
    block(&hotel, "101", &[(stay(40, 42), "owner")])
        .await
        .expect("blocked");
    let change = NightChange {
        room_type: dbl,
        nights: stay(40, 43),
        out_of_order: None,
        overbooking_limit: Some(1),
        reason: None,
    };
    let command = Command::SetNights {
        changes: vec![change],
        dry_run: false,
    };
    let asked = Asked::new(hotel.property, hotel.by.clone().into(), command);
    let answer = hotel.ledger.ask(asked).await.expect("no failure");
    answer.expect("no refusal");
    assert_eq!(nights(&hotel, dbl, 40, 43).await, [(3, 1), (3, 1), (3, 0)]);
    hotel.proven().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_that_two_daemons_block_at_once_are_all_counted() {
    let (hotel, dbl) = house(6).await;
    let second = hotel.second_daemon().await;
    let mut tasks = Vec::new();
    for (n, code) in ["101", "102", "103", "104", "105", "106"]
        .iter()
        .enumerate()
    {
        let ledger = if n % 2 == 0 { &hotel.ledger } else { &second };
        tasks.push(blocking(&hotel, ledger, code, stay(2, 12)));
    }
    for task in tasks {
        let done = task.await.expect("no panic").expect("no failure");
        done.expect("blocked");
    }
    assert_eq!(nights(&hotel, dbl, 2, 12).await, [(6, 6); 10]);
    hotel.proven().await;
}
