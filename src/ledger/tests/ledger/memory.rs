//! Batches that rest on rows that the process remembers: right also where these are out of date.

use keyrack_ledger::command::{
    Asked, By, Command, Forced, HoldEnd, Idempotency, Modification, NightChange, WishedRoom,
};
use keyrack_ledger::decide::refusal::{Force, Refusal};
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::reservations::{self, AutoRoom};
use keyrack_model::id::{ReservationId, RoomStayId};
use keyrack_model::reservation::Status;
use sqlx::Row as _;

use crate::hotel::{Hotel, ask, cancel, reservation, stay, wished};

/// A hotel whose first ten nights the ledger remembers, with all rooms free.
async fn remembered(rooms: i32) -> Hotel {
    let hotel = Hotel::of(rooms).await;
    // They are born, and asked for often enough.
    for _ in 0..4 {
        let held = hotel.held(0, 10).await;
        hotel.ask(cancel(held.id)).await.expect("cancelled");
    }
    // A machine that is busy elsewhere makes what is remembered old: then it is read once more.
    for _ in 0..10 {
        let before = hotel.ledger.remembered_batches();
        let held = hotel.held(0, 2).await;
        hotel.ask(cancel(held.id)).await.expect("cancelled");
        if hotel.ledger.remembered_batches() - before == 2 {
            return hotel;
        }
    }
    panic!("no hold and its cancel ever rested on what is remembered");
}

fn confirm(reservation: ReservationId) -> Command {
    Command::Confirm {
        reservation,
        payment_reference: None,
        version: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_that_another_daemon_sold_are_not_sold_again() {
    let hotel = remembered(1).await;
    let second = hotel.second_daemon().await;
    let wish = || hotel.wish(3, 2, Some(HoldEnd::Default));
    let theirs = ask(&second, hotel.property, wish()).await.unwrap();
    assert!(theirs.is_ok());
    let ours = hotel.ask(wish()).await;
    assert!(matches!(ours, Err(Refusal::SoldOut(_))), "{ours:?}");
    // What is free is still sold, and what the other gives back is free.
    hotel.held(5, 2).await;
    let gone = cancel(reservation(theirs).id);
    let given_back = ask(&second, hotel.property, gone).await.unwrap();
    assert!(given_back.is_ok());
    hotel.held(3, 2).await;
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_that_another_daemon_changed_is_as_it_made_it() {
    let hotel = remembered(2).await;
    let second = hotel.second_daemon().await;
    let held = hotel.held(0, 3).await;
    let theirs = ask(&second, hotel.property, cancel(held.id)).await.unwrap();
    assert!(theirs.is_ok());
    let ours = hotel.ask(confirm(held.id)).await;
    assert!(
        matches!(ours, Err(Refusal::IllegalTransition { .. })),
        "{ours:?}"
    );
    assert_eq!(hotel.night(0).await.held, 0);

    let held = hotel.held(0, 3).await;
    let theirs = ask(&second, hotel.property, confirm(held.id))
        .await
        .unwrap();
    let again = hotel.ask(confirm(held.id)).await;
    assert_eq!(reservation(again), reservation(theirs), "a repeat");
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_a_hold_is_the_databases_also_where_it_jumps() {
    let hotel = remembered(3).await;
    let first = hotel.held(0, 2).await;
    hotel.pass("1 hour").await;
    let second = hotel.held(0, 2).await;
    let between = second
        .hold_until
        .unwrap()
        .duration_since(first.hold_until.unwrap());
    assert_eq!(between.as_secs() / 60, 60, "{between}");
    // The first is dead by the clock that has jumped.
    let late = hotel.ask(confirm(first.id)).await;
    assert!(matches!(late, Err(Refusal::HoldExpired)), "{late:?}");
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_another_daemon_used_gives_its_answer() {
    let hotel = remembered(5).await;
    let second = hotel.second_daemon().await;
    let by_key = async |ledger: &Ledger, fingerprint: &str| {
        let wish = hotel.wish(0, 2, Some(HoldEnd::Default));
        let mut asked = Asked::new(hotel.property, std::sync::Arc::new(By::default()), wish);
        asked.idempotency = Some(Idempotency {
            scope: "test".to_owned(),
            key: "one".to_owned(),
            fingerprint: fingerprint.to_owned(),
        });
        ledger.ask(asked).await.expect("no failure")
    };
    let first = by_key(&second, "same").await.expect("held");
    let again = by_key(&hotel.ledger, "same").await.expect("the same");
    assert!(again.is_replay);
    assert_eq!(again.reservation, first.reservation);
    let other = by_key(&hotel.ledger, "other").await;
    assert!(
        matches!(other, Err(Refusal::IdempotencyKeyReused)),
        "{other:?}"
    );
    assert_eq!(hotel.night(0).await.held, 1);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_changed_hold_at_once() {
    let hotel = remembered(2).await;
    hotel.set("hold_seconds", "60").await;
    let before = hotel.held(0, 2).await;
    let seconds = |of: &keyrack_ledger::decide::state::Reservation| {
        let until = of.hold_until.expect("a hold");
        until.duration_since(of.created_at).as_secs()
    };
    assert_eq!(seconds(&before), 60);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_sweeper_let_go_is_free_and_expired() {
    let hotel = remembered(1).await;
    let held = hotel.held(0, 2).await;
    hotel.pass("1 hour").await;
    let shares = std::collections::BTreeMap::from([(hotel.property, 10)]);
    let swept = keyrack_ledger::holds::expire_due(&hotel.ledger, &shares).await;
    assert_eq!(swept.expect("swept").let_go, 1);
    let again = hotel.held(0, 2).await;
    assert_eq!(again.status, Status::Held);
    let late = hotel.ask(confirm(held.id)).await;
    assert!(late.is_err(), "{late:?}");
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_in_another_version_is_said_with_its_property_also_from_the_archive() {
    let hotel = Hotel::of(1).await;
    let held = hotel.held(0, 2).await;
    hotel.ask(cancel(held.id)).await.expect("cancelled");
    let short = async || {
        let call = "select ledger_apply(ledger_now(), '{}', '{}', '{}', '{}', '{}', array[
            row(property_id, reservation_id, 40, 41, status, null, null, 0, null, null, '{}',
                '{}')::apply_change], '{}', '{}', '{}', null, false)
            from (select property_id, reservation_id, status from reservation union all
                  select property_id, reservation_id, status from archived_reservation) r";
        let error = sqlx::query(call)
            .execute(&hotel.pool)
            .await
            .expect_err("another version");
        let error = error.into_database_error().expect("its word");
        let error = error.downcast_ref::<sqlx::postgres::PgDatabaseError>();
        (
            error.code().to_owned(),
            error.detail().unwrap_or_default().to_owned(),
        )
    };
    let expected = ("KR001".to_owned(), hotel.property.0.to_string());
    assert_eq!(short().await, expected);
    hotel.pass("200 days").await;
    assert_eq!(crate::archive::archive_after(&hotel, 90).await, 1);
    assert_eq!(short().await, expected);
}

fn modify(of: &Reservation, rooms: Option<Vec<WishedRoom>>, note: Option<&str>) -> Command {
    Command::Modify(Box::new(Modification {
        reservation: of.id,
        version: of.version,
        rooms,
        guest: None,
        note: note.map(str::to_owned),
        told_channel: false,
        force: None,
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_who_lost_his_room_stays_flagged_whatever_is_changed_next() {
    let hotel = remembered(2).await;
    sqlx::query("insert into room (property_id, room_type_id, code) values ($1, $2, '101')")
        .bind(hotel.property.0)
        .bind(hotel.double.0)
        .execute(&hotel.pool)
        .await
        .expect("a room");
    let (first, next) = (hotel.confirmed(0, 2).await, hotel.confirmed(2, 2).await);
    for guest in [&first, &next] {
        let room = AutoRoom::Room("101".to_owned());
        let (property, id) = (hotel.property, guest.id);
        let by = By::default();
        let put = reservations::assign(&hotel.ledger, property, by, id, RoomStayId(1), room, None);
        put.await.expect("no failure").expect("free");
    }
    let longer = WishedRoom {
        room_stay: Some(RoomStayId(1)),
        ..wished(hotel.double, stay(0, 3))
    };
    let first = Reservation {
        version: first.version + 1,
        ..first
    };
    let longer = reservation(hotel.ask(modify(&first, Some(vec![longer]), None)).await);
    let noted = reservation(hotel.ask(modify(&longer, None, Some("late"))).await);
    assert_eq!(noted.version, longer.version + 1);
    let flagged = "select count(*) from reservation where flags @> '{needs_room_change}'";
    assert_eq!(hotel.count(flagged).await, 1);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_commands_of_one_batch_undo_between_them_rests_on_the_truth() {
    let hotel = remembered(1).await;
    let second = hotel.second_daemon().await;
    let held = hotel.held(0, 2).await;
    // Behind its back a room is sold that is not there.
    let forced = Command::Request(Box::new({
        let Command::Request(wish) = hotel.wish(0, 2, None) else {
            panic!("a wish");
        };
        let mut wish = *wish;
        wish.force = Some(Forced {
            reason: "the owner's mother".to_owned(),
            allow: vec![Force::Oversell],
        });
        wish
    }));
    let theirs = ask(&second, hotel.property, forced).await.unwrap();
    assert!(theirs.is_ok(), "{theirs:?}");
    // One batch: they are pushed before a worker takes them.
    let wish = hotel.wish(0, 2, Some(HoldEnd::Default));
    let (gone, wished) = tokio::join!(hotel.ask(cancel(held.id)), hotel.ask(wish));
    assert!(gone.is_ok(), "{gone:?}");
    assert!(matches!(wished, Err(Refusal::SoldOut(_))), "{wished:?}");
    assert_eq!(hotel.night(0).await.oversold, 0);
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nights_that_are_cut_behind_its_back_are_not_sold() {
    let hotel = remembered(2).await;
    let second = hotel.second_daemon().await;
    let cut = Command::SetNights {
        changes: vec![NightChange {
            room_type: hotel.double,
            nights: stay(0, 10),
            out_of_order: Some(2),
            overbooking_limit: None,
            reason: None,
        }],
        dry_run: false,
    };
    let theirs = ask(&second, hotel.property, cut).await.unwrap();
    assert!(theirs.is_ok(), "{theirs:?}");
    let ours = hotel.hold(0, 2).await;
    assert!(matches!(ours, Err(Refusal::SoldOut(_))), "{ours:?}");
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stay_without_a_room_of_its_own_is_remembered_also_when_it_was_moved() {
    let hotel = remembered(2).await;
    let held = hotel.held(0, 2).await;
    let before = hotel.ledger.remembered_batches();
    let moved = WishedRoom {
        room_stay: Some(RoomStayId(1)),
        ..wished(hotel.double, stay(3, 3))
    };
    let moved = reservation(hotel.ask(modify(&held, Some(vec![moved]), None)).await);
    hotel.ask(confirm(moved.id)).await.expect("confirmed");
    hotel.ask(cancel(moved.id)).await.expect("cancelled");
    let rested = hotel.ledger.remembered_batches() - before;
    assert!(rested >= 2, "{rested} of three");
    let nights = [hotel.night(0).await, hotel.night(3).await];
    assert_eq!(nights.map(|night| night.held + night.sold), [0, 0]);
    hotel.assert_proven().await;
}

/// Plans are made once for a connection, and may be made over a table that has nothing yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_over_a_young_table_reads_a_reservation_by_its_key() {
    let hotel = Hotel::of(1).await;
    let mut conn = hotel.pool.acquire().await.expect("a connection");
    let settings = "set plan_cache_mode = force_generic_plan; set enable_seqscan = off;
                    set enable_bitmapscan = off";
    sqlx::raw_sql(settings)
        .execute(&mut *conn)
        .await
        .expect("settings");
    for table in [
        "reservation",
        "room_stay",
        "archived_reservation",
        "archived_room_stay",
    ] {
        let prepared = format!(
            "prepare of_{table}(bigint, uuid) as
             select from {table} where property_id = $1 and reservation_id = $2;
             explain (format json) execute of_{table}(1, '00000000-0000-0000-0000-000000000001')"
        );
        let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(prepared))
            .fetch_all(&mut *conn)
            .await
            .expect("a plan");
        let plan: serde_json::Value = rows.last().expect("a plan").get(0);
        assert_eq!(
            plan[0]["Plan"]["Index Name"],
            format!("{table}_pkey"),
            "{plan}"
        );
    }
}
