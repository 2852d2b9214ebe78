//! What has ended leaves the hot tables, and everybody who asks still finds it.

use std::time::Duration;

use keyrack_ledger::archive::{self, Leaving};
use keyrack_ledger::command::{Answer, Command, Progress};
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::reservations::{self, Filter};
use keyrack_ledger::tail::Cursor;
use keyrack_ledger::verify::{self, Extent};
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::{RevisionKind, Status};

use crate::hotel::{Hotel, report, reservation};

const HOT: &str = "select count(*) from reservation";
const ARCHIVED: &str = "select count(*) from archived_reservation";
/// Room stays, guests and rooms of reservations that are elsewhere.
const HANGING: &str = "select (select count(*) from room_stay s left join reservation r
                                 using (property_id, reservation_id) where r.number is null)
     + (select count(*) from reservation_guest g left join reservation r
          using (property_id, reservation_id) where r.number is null)
     + (select count(*) from room_assignment a left join reservation r
          using (property_id, reservation_id)
         where r.number is null and a.reservation_id is not null)
     + (select count(*) from archived_reservation_guest g left join archived_reservation r
          using (property_id, reservation_id) where r.number is null)
     + (select count(*) from archived_reservation join reservation
          using (property_id, reservation_id))";

/// After 90 days, where the feed has passed everything.
const LEAVING: Leaving = Leaving {
    after_days: 90,
    passed: Cursor {
        tx: u64::MAX,
        seq: i64::MAX,
    },
};

/// Lets go what ended 90 days ago; how many.
async fn archive(hotel: &Hotel) -> u32 {
    archive_by(&hotel.ledger, hotel, &LEAVING).await
}

/// The same after so many days.
pub async fn archive_after(hotel: &Hotel, days: i32) -> u32 {
    let leaving = Leaving {
        after_days: days,
        ..LEAVING
    };
    archive_by(&hotel.ledger, hotel, &leaving).await
}

async fn archive_by(ledger: &Ledger, hotel: &Hotel, leaving: &Leaving) -> u32 {
    let property = hotel.property;
    let due = archive::due(ledger, property, leaving, None, 500).await;
    let due = due.expect("a look");
    let moved = archive::move_out(ledger, property, leaving, &due).await;
    moved.expect("a move")
}

async fn assert_proven(hotel: &Hotel) {
    hotel.assert_proven().await;
    for extent in [Extent::FromCheckpoints, Extent::Whole] {
        let proof = verify::verify(&hotel.ledger, None, extent).await;
        let differences = proof.expect("no failure").differences;
        assert!(differences.is_empty(), "{extent:?}: {differences:?}");
    }
    assert_eq!(hotel.count(HANGING).await, 0);
}

async fn complete(hotel: &Hotel, id: ReservationId) -> Answer {
    hotel.ask(progress(id, Progress::Complete)).await
}

fn progress(reservation: ReservationId, step: Progress) -> Command {
    Command::Progress {
        reservation,
        step,
        version: None,
    }
}

#[tokio::test]
async fn what_ended_long_ago_leaves_and_every_question_still_finds_it() {
    let hotel = Hotel::of(2).await;
    let guest = hotel.record(report("R1", RevisionKind::New, 0, 3)).await;
    let id = guest.reservation.expect("made").id;
    let stays = hotel.confirmed(60, 3).await;
    hotel.pass("15 days").await;
    reservation(complete(&hotel, id).await);
    hotel.pass("80 days").await;
    assert_eq!(archive(&hotel).await, 0, "ended 80 days ago");
    let before = reservations::load(&hotel.ledger, hotel.property, id).await;
    let before = before.expect("no failure").expect("there");
    let entries = reservations::entries(&hotel.ledger, hotel.property, id).await;
    hotel.pass("11 days").await;
    assert_eq!(archive(&hotel).await, 1);
    assert_eq!(
        (hotel.count(HOT).await, hotel.count(ARCHIVED).await),
        (1, 1)
    );
    let after = reservations::load(&hotel.ledger, hotel.property, id).await;
    let mut after = after.expect("no failure").expect("still found");
    after.now = before.now;
    assert_eq!(after, before);
    let still = reservations::entries(&hotel.ledger, hotel.property, id).await;
    assert_eq!(still.expect("no failure"), entries.expect("no failure"));
    let number = before.reservation.number.to_string();
    for q in [Some(number.as_str()), Some("R1"), Some("a")] {
        assert_eq!(listed(&hotel, q).await, [id], "{q:?}");
    }
    assert_eq!(listed(&hotel, None).await, [id, stays.id]);
    let filter = Filter {
        status: vec![Status::Completed],
        staying_on: Some(crate::hotel::FIRST),
        limit: 10,
        ..Filter::default()
    };
    let found = reservations::list(&hotel.ledger, hotel.property, &filter).await;
    assert_eq!(found.expect("no failure").len(), 1);
    assert_proven(&hotel).await;
}

async fn listed(hotel: &Hotel, q: Option<&str>) -> Vec<ReservationId> {
    let filter = Filter {
        q: q.map(str::to_owned),
        limit: 10,
        ..Filter::default()
    };
    let found = reservations::list(&hotel.ledger, hotel.property, &filter).await;
    let found = found.expect("no failure");
    found.iter().map(|folio| folio.reservation.id).collect()
}

#[tokio::test]
async fn what_has_not_ended_or_not_been_passed_by_the_feed_stays() {
    let hotel = Hotel::of(5).await;
    hotel.confirmed(0, 2).await;
    hotel.held(0, 2).await;
    let next_year = hotel.confirmed(300, 2).await;
    reservation(hotel.cancel(next_year.id).await);
    let cancelled = hotel.confirmed(1, 2).await;
    reservation(hotel.cancel(cancelled.id).await);
    hotel.pass("200 days").await;
    let unread = Leaving {
        after_days: 90,
        passed: Cursor::default(),
    };
    assert_eq!(archive_by(&hotel.ledger, &hotel, &unread).await, 0);
    // The feed stands before the cancellation.
    let (tx, seq): (String, i64) = sqlx::query_as(
        "select tx::text, seq from ledger_entry where reservation_id = $1
          order by ledger_entry.tx, seq limit 1",
    )
    .bind(cancelled.id.0)
    .fetch_one(&hotel.pool)
    .await
    .expect("its first entry");
    let half_read = Leaving {
        after_days: 90,
        passed: Cursor {
            tx: tx.parse().expect("a number"),
            seq,
        },
    };
    assert_eq!(archive_by(&hotel.ledger, &hotel, &half_read).await, 0);
    assert_eq!(archive(&hotel).await, 1);
    let who = "select number from archived_reservation";
    assert_eq!(hotel.count(who).await, cancelled.number);
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn who_sleeps_on_a_night_with_an_open_case_stays_until_it_is_closed() {
    let hotel = Hotel::of(1).await;
    let one = hotel.confirmed(0, 2).await;
    let two = hotel.record(report("R1", RevisionKind::New, 0, 2)).await;
    let two = two.reservation.expect("made");
    hotel.pass("12 days").await;
    for id in [one.id, two.id] {
        reservation(complete(&hotel, id).await);
    }
    hotel.pass("95 days").await;
    assert_eq!(archive(&hotel).await, 0);
    sqlx::query("update overbooking_case_night set cured_at = ledger_now()")
        .execute(&hotel.pool)
        .await
        .expect("closed");
    assert_eq!(archive(&hotel).await, 2);
}

/// The same story, archived in the middle or not: every end and every late word, each of a
/// reservation of its own.
async fn told(archived: bool) -> Vec<String> {
    let hotel = Hotel::of(60).await;
    let mut all = Vec::new();
    for end in [Status::NoShow, Status::Cancelled, Status::Completed] {
        for ask in ASKED {
            let reference = format!("R{}", all.len());
            let made = hotel
                .record(report(&reference, RevisionKind::New, 0, 3))
                .await;
            all.push((end, ask, reference, made.reservation.expect("made").id));
        }
    }
    hotel.pass("9 days").await;
    for (end, _, reference, id) in &all {
        if *end == Status::Cancelled {
            hotel
                .record(report(reference, RevisionKind::Cancelled, 0, 0))
                .await;
        } else if *end == Status::NoShow {
            let absent = Progress::NoShow { keep: Some(true) };
            reservation(hotel.ask(progress(*id, absent)).await);
        }
    }
    hotel.pass("6 days").await;
    for (.., id) in all.iter().filter(|one| one.0 == Status::Completed) {
        reservation(complete(&hotel, *id).await);
    }
    hotel.pass("120 days").await;
    if archived {
        assert_eq!(archive(&hotel).await, 15);
    }
    let mut words = Vec::new();
    for (_, ask, reference, id) in all {
        for _ in 0..2 {
            words.push(match ask {
                Asking::Fact(kind, from) => {
                    hotel.record(report(&reference, kind, from, 3)).await.did
                }
                Asking::Cancel => did(hotel.cancel(id).await),
                Asking::Confirm => did(hotel.confirm(id, Some("paid")).await),
            });
        }
        let after = reservations::load(&hotel.ledger, hotel.property, id).await;
        let after = after.expect("no failure").expect("there").reservation;
        words.push(format!(
            "{:?} {} {:?}",
            after.status, after.version, after.rooms
        ));
    }
    for night in 0..6 {
        words.push(hotel.night(night).await.sold.to_string());
    }
    assert_proven(&hotel).await;
    words
}

const ASKED: [Asking; 5] = [
    Asking::Fact(RevisionKind::New, 0),
    Asking::Fact(RevisionKind::Modified, 1),
    Asking::Fact(RevisionKind::Cancelled, 0),
    Asking::Cancel,
    Asking::Confirm,
];

#[derive(Clone, Copy)]
enum Asking {
    Fact(RevisionKind, i32),
    Cancel,
    Confirm,
}

fn did(answer: Answer) -> String {
    match answer {
        Ok(receipt) => receipt.did,
        Err(refusal) => refusal.code().to_owned(),
    }
}

#[tokio::test]
async fn a_late_word_does_to_an_archived_reservation_what_it_does_to_any_other() {
    let (hot, cold) = tokio::join!(told(false), told(true));
    assert_eq!(cold, hot);
    assert!(hot.iter().any(|word| word == "cancelled"), "{hot:?}");
}

#[tokio::test]
async fn a_late_repeat_finds_what_was_done_and_leaves_it_in_the_archive() {
    let hotel = Hotel::of(1).await;
    let first = hotel.record(report("R1", RevisionKind::New, 0, 3)).await;
    let first = first.reservation.expect("made");
    hotel.pass("15 days").await;
    reservation(complete(&hotel, first.id).await);
    hotel.pass("95 days").await;
    assert_eq!(archive(&hotel).await, 1);
    let late = hotel.record(report("R1", RevisionKind::New, 0, 3)).await;
    assert_eq!(late.did, "repeated");
    assert_eq!(late.reservation.map(|known| known.id), Some(first.id));
    assert_eq!(
        (hotel.count(HOT).await, hotel.count(ARCHIVED).await),
        (0, 1)
    );
    let late = hotel
        .record(report("R1", RevisionKind::Modified, 0, 2))
        .await;
    assert_eq!(late.reservation.map(|known| known.id), Some(first.id));
    assert_eq!(
        (hotel.count(HOT).await, hotel.count(ARCHIVED).await),
        (1, 0)
    );
    assert_proven(&hotel).await;
    // Changed today: it stays for its time, and leaves again.
    assert_eq!(archive(&hotel).await, 0);
    hotel.pass("91 days").await;
    assert_eq!(archive(&hotel).await, 1);
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn a_move_that_is_killed_half_way_has_moved_nothing() {
    let hotel = Hotel::of(2).await;
    let gone = hotel.record(report("R1", RevisionKind::New, 0, 3)).await;
    reservation(hotel.cancel(gone.reservation.expect("made").id).await);
    hotel.pass("120 days").await;
    let mut door = hotel.pool.begin().await.expect("a transaction");
    sqlx::query("lock table archived_reservation_guest in exclusive mode")
        .execute(&mut *door)
        .await
        .expect("the lock");
    let moving = archive::due(&hotel.ledger, hotel.property, &LEAVING, None, 500).await;
    let due = moving.expect("a look");
    let move_out = archive::move_out(&hotel.ledger, hotel.property, &LEAVING, &due);
    let kill = async {
        let killed = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock'";
        while hotel.count(killed).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let (moved, ()) = tokio::join!(move_out, kill);
    assert!(moved.is_err());
    door.rollback().await.expect("the lock is free");
    assert_eq!(
        (hotel.count(HOT).await, hotel.count(ARCHIVED).await),
        (1, 0)
    );
    assert_proven(&hotel).await;
    assert_eq!(archive(&hotel).await, 1);
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn a_reservation_that_somebody_changes_is_not_waited_for() {
    let hotel = Hotel::of(2).await;
    for from in [0, 1] {
        let gone = hotel.confirmed(from, 1).await;
        reservation(hotel.cancel(gone.id).await);
    }
    hotel.pass("120 days").await;
    let mut change = hotel.pool.begin().await.expect("a transaction");
    sqlx::query(
        "update reservation set updated_at = ledger_now() 
          where number = (select min(number) from reservation)",
    )
    .execute(&mut *change)
    .await
    .expect("a change");
    let moved = tokio::time::timeout(Duration::from_secs(2), archive(&hotel)).await;
    assert_eq!(moved.expect("it waits for nobody"), 1);
    change.commit().await.expect("done");
    assert_eq!(archive(&hotel).await, 0, "just changed");
}

#[tokio::test]
async fn two_who_archive_at_once_do_it_once_while_channels_tell_late_changes() {
    let hotel = Hotel::of(60).await;
    let other = hotel.second_daemon().await;
    let reference = |at: i32| format!("R{at}");
    for at in 0..40 {
        hotel
            .record(report(&reference(at), RevisionKind::New, 0, 3))
            .await;
    }
    let all = "select count(*) from known_reservation";
    hotel.pass("15 days").await;
    let ids: Vec<(uuid::Uuid,)> = sqlx::query_as("select reservation_id from reservation")
        .fetch_all(&hotel.pool)
        .await
        .expect("ids");
    for (id,) in ids {
        reservation(complete(&hotel, ReservationId(id)).await);
    }
    hotel.pass("120 days").await;
    let telling = async {
        for at in (0..40).step_by(2) {
            hotel
                .record(report(&reference(at), RevisionKind::Modified, 0, 2))
                .await;
        }
    };
    let one = archive_slowly(&hotel.ledger, &hotel, &LEAVING);
    let two = archive_slowly(&other, &hotel, &LEAVING);
    tokio::join!(one, two, telling);
    assert_eq!(hotel.count(all).await, 40);
    assert_eq!(
        (hotel.count(HOT).await, hotel.count(ARCHIVED).await),
        (20, 20)
    );
    assert_eq!(
        (hotel.night(0).await.sold, hotel.night(2).await.sold),
        (40, 20)
    );
    assert_proven(&hotel).await;
}

/// Three at a time, as long as there are any.
async fn archive_slowly(ledger: &Ledger, hotel: &Hotel, leaving: &Leaving) {
    loop {
        let due = archive::due(ledger, hotel.property, leaving, None, 3).await;
        let due = due.expect("a look");
        if due.is_empty() {
            return;
        }
        let moved = archive::move_out(ledger, hotel.property, leaving, &due).await;
        moved.expect("a move");
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}
