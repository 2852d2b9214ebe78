//! The word given to a channel: after the commit, once, and an alarm while it is not taken.

use futures_util::future::join_all;
use keyrack_distribution::poll::PollOutcome;
use keyrack_distribution::timetable;
use keyrack_ledger::command::{Asked, Command};
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::Status;

use crate::desk::{Desk, booking, but, by, message};
use crate::portal::Fault;

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_record_and_acknowledgement_it_is_recorded_once() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    // Recorded, and the process ends before it says so.
    desk.take(&message(&[booking("R1")])).await;
    assert_eq!(desk.portal.waiting(), ["R1"]);
    let after = desk.restarted().await;
    let outcome =
        keyrack_distribution::poll::once(&after, "portal", keyrack_model::adapter::Goal::Poll)
            .await
            .unwrap();
    assert!(matches!(outcome, PollOutcome::Complete { .. }));
    assert!(desk.portal.waiting().is_empty());
    assert_eq!(desk.references().await, ["R1"]);
    assert_eq!(desk.sold().await, [1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_an_acknowledgement_is_no_alarm() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    desk.portal.fails("/ack", Fault::Lost);
    assert!(matches!(desk.poll().await, PollOutcome::Failed { .. }));
    assert_eq!(desk.count("unacknowledged").await, 1);
    // The channel had taken it: a complete poll without it proves that.
    assert!(matches!(desk.poll().await, PollOutcome::Complete { .. }));
    assert_eq!(desk.count("unacknowledged").await, 0);
    assert_eq!(desk.sold().await, [1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_is_not_taken_for_ten_minutes_calls_for_a_person() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    for minutes in [0, 5, 5] {
        desk.pass(&format!("{minutes} minutes")).await;
        desk.portal.fails("/ack", Fault::Status(500));
        assert!(matches!(desk.poll().await, PollOutcome::Failed { .. }));
    }
    timetable::alarm(&desk.distribution).await.unwrap();
    let kinds: Vec<String> = desk
        .notices()
        .await
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(kinds, ["account_failing", "unacknowledged"]);
    assert_eq!(desk.sold().await, [1, 1, 0]);
    desk.poll().await;
    timetable::alarm(&desk.distribution).await.unwrap();
    assert!(desk.notices().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_changed_meanwhile_is_asked_for_again_in_the_same_poll() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    desk.portal.fails("/ack", Fault::Status(409));
    let outcome = desk.poll().await;
    assert!(
        matches!(outcome, PollOutcome::Complete { recorded: 2, .. }),
        "{outcome:?}"
    );
    assert!(desk.portal.waiting().is_empty());
    assert_eq!(desk.sold().await, [1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_reference_does_not_keep_the_others_in_the_queue() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    desk.portal.waits(booking("R2"));
    desk.portal.waits(booking("R3"));
    // The whole, and then the first alone.
    desk.portal.fails("/ack", Fault::Status(400));
    desk.portal.fails("/ack", Fault::Status(400));
    assert!(matches!(desk.poll().await, PollOutcome::Failed { .. }));
    assert_eq!(desk.portal.waiting(), ["R1"]);
    assert_eq!(desk.references().await, ["R1", "R2", "R3"]);
    assert_eq!(desk.count("unacknowledged").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_token_while_acknowledging_is_renewed() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    desk.portal.fails("/ack", Fault::Status(401));
    assert!(matches!(desk.poll().await, PollOutcome::Complete { .. }));
    assert!(desk.portal.waiting().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn r18_the_same_notification_twice_at_once_is_one_reservation() {
    let desk = Desk::open().await;
    let told = message(&[booking("R1")]);
    let (first, second) = tokio::join!(desk.take(&told), desk.take(&told));
    assert_eq!(first.receipts, second.receipts);
    desk.pass("1 hour").await;
    let third = desk.take(&told).await;
    assert_eq!(first.receipts, third.receipts);
    assert_eq!(desk.sold().await, [1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r19_a_storm_of_repeats_costs_one_row() {
    let desk = Desk::open().await;
    let told = message(&[booking("R1")]);
    for _ in 0..50 {
        desk.take(&told).await;
    }
    let kept = desk.messages().await;
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].copies, kept[0].status.as_str()), (50, "recorded"));
    assert_eq!(desk.sold().await, [1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_a_cancel_that_says_nothing_but_the_reference_frees_the_nights() {
    let desk = Desk::open().await;
    // Two hotels behind the connection: whose is it?
    let other = crate::desk::hotel(&desk.ledger, "bergblick").await;
    let settings = keyrack_model::channel::AccountSettings::default();
    let second = crate::desk::listing(
        &desk.distribution,
        other,
        "booking",
        "portal",
        "H2",
        settings,
    )
    .await;
    crate::desk::map_double(&desk.ledger, &second).await;
    desk.take(&message(&[
        booking("R1"),
        but(booking("R2"), "hotel", "H2"),
    ]))
    .await;
    assert_eq!(desk.sold().await, [1, 1, 0]);
    let cancel = serde_json::json!({"ref": "R1", "kind": "cancel", "order": 2});
    let outcome = desk.take(&message(&[cancel])).await;
    assert_eq!(outcome.recorded.len(), 1, "{outcome:?}");
    assert_eq!(outcome.recorded[0].account, desk.account.id);
    assert_eq!(desk.sold().await, [0, 0, 0]);
    // Nobody knows this one: it is not acknowledged as done, and comes again.
    let cancel = serde_json::json!({"ref": "R9", "kind": "cancel", "order": 2});
    let outcome = desk.take(&message(&[cancel])).await;
    assert!(outcome.recorded.is_empty() && outcome.faults.len() == 1);
    let (kind, text) = &desk.notices().await[0];
    assert!(kind == "faulty" && text.contains("R9"), "{kind}: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r15_a_hundred_cancels_from_desk_and_channel_are_answered_alike() {
    let desk = Desk::open().await;
    desk.take(&message(&[booking("R1")])).await;
    let cancel = message(&[serde_json::json!({"ref": "R1", "kind": "cancel", "order": 2})]);
    let id = sqlx::query_scalar("select reservation_id from reservation")
        .fetch_one(&desk.pool)
        .await
        .unwrap();
    let staff = || {
        let cancel = Command::Cancel {
            reservation: ReservationId(id),
            reason: None,
            told_channel: true,
            version: None,
        };
        desk.ledger
            .ask(Asked::new(desk.property, by().into(), cancel))
    };
    let (said, told) = tokio::join!(
        join_all((0..50).map(|_| staff())),
        join_all((0..50).map(|_| desk.take(&cancel))),
    );
    let said: Vec<_> = said
        .into_iter()
        .map(|said| said.unwrap().unwrap().reservation.unwrap())
        .collect();
    assert_eq!(said[0].status, Status::Cancelled);
    assert!(said.iter().all(|one| *one == said[0]), "{said:#?}");
    assert_eq!(told[0].recorded.len(), 1, "{:?}", told[0]);
    for outcome in &told {
        assert_eq!(outcome.receipts, told[0].receipts);
    }
    assert_eq!(desk.sold().await, [0, 0, 0]);
}
