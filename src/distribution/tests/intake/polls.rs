//! Polls: what is asked, when, and what a failure leads to.

use keyrack_distribution::poll::{self, PollOutcome, PollState};
use keyrack_distribution::{connections, timetable};
use keyrack_model::adapter::Goal;

use keyrack_model::channel::AccountSettings;

use crate::desk::{Desk, booking, but, connection, listing, map_double};
use crate::portal::Fault;

async fn state(desk: &Desk, goal: Goal) -> PollState {
    let known = connections::find(&desk.distribution, "portal")
        .await
        .unwrap()
        .unwrap();
    let states = poll::states(&desk.distribution, known.id).await.unwrap();
    states.into_iter().find(|state| state.goal == goal).unwrap()
}

fn failed(outcome: PollOutcome) -> String {
    match outcome {
        PollOutcome::Failed { why } => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_recorded_acknowledged_and_gone() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    desk.portal.waits(booking("R2"));
    let outcome = desk.poll().await;
    assert_eq!(
        outcome,
        PollOutcome::Complete {
            rounds: 2,
            recorded: 2
        }
    );
    assert_eq!(desk.references().await, ["R1", "R2"]);
    assert_eq!(desk.sold().await, [2, 2, 0]);
    assert!(desk.portal.waiting().is_empty());
    let numbers: Vec<String> = desk.portal.recorded().into_iter().map(|(_, n)| n).collect();
    assert!(
        numbers.iter().all(|number| number.parse::<i64>().is_ok()),
        "{numbers:?}"
    );
    assert_eq!(desk.count("unacknowledged").await, 0);
    let state = state(&desk, Goal::Poll).await;
    assert_eq!(state.last_complete_begun_at, state.last_begun_at);
    assert!(state.due_at > state.last_complete_at.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_leaves_no_row() {
    let desk = Desk::open().await;
    let outcome = desk.poll().await;
    assert_eq!(
        outcome,
        PollOutcome::Complete {
            rounds: 1,
            recorded: 0
        }
    );
    assert_eq!(desk.count("channel_message").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_refused_is_renewed_once() {
    let desk = Desk::open().await;
    desk.poll().await;
    desk.portal.waits(booking("R1"));
    desk.portal.fails("/queue", Fault::Status(401));
    assert!(matches!(desk.poll().await, PollOutcome::Complete { .. }));
    assert_eq!(desk.portal.requests("/token").len(), 2);
    for _ in 0..2 {
        desk.portal.fails("/queue", Fault::Status(401));
    }
    failed(desk.poll().await);
    assert_eq!(desk.portal.requests("/token").len(), 3);
    assert_eq!(desk.references().await, ["R1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_learned_anew_before_it_ends() {
    let desk = Desk::open().await;
    desk.poll().await;
    desk.poll().await;
    assert_eq!(desk.portal.requests("/token").len(), 1);
    desk.pass("51 minutes").await;
    desk.poll().await;
    assert_eq!(desk.portal.requests("/token").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_is_busy_is_left_in_peace_as_long_as_it_asks() {
    let desk = Desk::open().await;
    desk.portal.fails("/queue", Fault::Busy(90));
    failed(desk.poll().await);
    let state = state(&desk, Goal::Poll).await;
    let wait = state
        .due_at
        .duration_since(state.last_begun_at.unwrap())
        .as_secs();
    assert!((90..=105).contains(&wait), "{wait}");
    assert_eq!((state.attempt, state.last_complete_at), (1, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_fails_is_held_again_and_loses_nothing() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    desk.portal.fails("/queue", Fault::Status(500));
    desk.portal.fails("/queue", Fault::Lost);
    failed(desk.poll().await);
    let why = failed(desk.poll().await);
    assert!(why.contains("no answer within"), "{why}");
    let state_then = state(&desk, Goal::Poll).await;
    assert_eq!(state_then.attempt, 2);
    assert!(state_then.failing_since.is_some());
    assert!(matches!(desk.poll().await, PollOutcome::Complete { .. }));
    assert_eq!(desk.references().await, ["R1"]);
    let state_now = state(&desk, Goal::Poll).await;
    assert_eq!((state_now.attempt, state_now.failing_since), (0, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_minutes_without_a_poll_call_for_a_person_until_one_succeeds() {
    let desk = Desk::open().await;
    desk.portal.fails("/queue", Fault::Status(500));
    failed(desk.poll().await);
    timetable::alarm(&desk.distribution).await.unwrap();
    assert!(desk.notices().await.is_empty());
    desk.pass("10 minutes").await;
    timetable::alarm(&desk.distribution).await.unwrap();
    let notices = desk.notices().await;
    assert_eq!(notices.len(), 1);
    let (kind, text) = &notices[0];
    assert_eq!(kind, "account_failing");
    assert!(
        text.contains("booking") && text.contains("the portal said 500"),
        "{text}"
    );
    desk.poll().await;
    assert!(desk.notices().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn missed_reservations_are_asked_for_and_acknowledged_too() {
    let desk = Desk::open().await;
    desk.portal.missed(booking("M1"));
    let outcome = poll::once(&desk.distribution, "portal", Goal::PollMissed)
        .await
        .unwrap();
    assert_eq!(
        outcome,
        PollOutcome::Complete {
            rounds: 1,
            recorded: 1
        }
    );
    assert_eq!(desk.references().await, ["M1"]);
    assert_eq!(desk.portal.recorded().len(), 1);
    let state = state(&desk, Goal::PollMissed).await;
    let rest = state
        .due_at
        .duration_since(state.last_complete_at.unwrap())
        .as_secs();
    assert!((1_799..=1_800).contains(&rest), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_tells_nothing_of_missed_reservations_is_asked_at_its_usual_pace() {
    let desk = Desk::open().await;
    desk.portal.fails("/missed", Fault::Status(403));
    failed(
        poll::once(&desk.distribution, "portal", Goal::PollMissed)
            .await
            .unwrap(),
    );
    let refused = state(&desk, Goal::PollMissed).await;
    let rest = refused
        .due_at
        .duration_since(refused.last_begun_at.unwrap())
        .as_secs();
    assert!((1_800..=2_000).contains(&rest), "{rest}");
    desk.pass("10 minutes").await;
    timetable::alarm(&desk.distribution).await.unwrap();
    assert_eq!(desk.notices().await[0].0, "missed_unavailable");
    poll::once(&desk.distribution, "portal", Goal::PollMissed)
        .await
        .unwrap();
    assert!(desk.notices().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_daemons_one_polls() {
    let desk = Desk::open().await;
    desk.poll().await;
    desk.portal.waits(booking("R1"));
    desk.portal.fails("/queue", Fault::Lost);
    let other = desk.restarted().await;
    let (first, second) = tokio::join!(desk.poll(), async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        poll::once(&other, "portal", Goal::Poll).await.unwrap()
    });
    failed(first);
    assert_eq!(second, PollOutcome::Busy);
    let again = poll::once(&other, "portal", Goal::Poll).await.unwrap();
    assert!(matches!(again, PollOutcome::Complete { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_whose_end_could_not_be_written_is_held_again_at_once_and_is_no_failure() {
    let desk = Desk::open().await;
    let running = started(&desk).await;
    let is_complete = || async { state(&desk, Goal::Poll).await.last_complete_at.is_some() };
    until(is_complete).await;
    let before = state(&desk, Goal::Poll).await;
    let away = "create function away() returns trigger language plpgsql as
        $$ begin raise exception 'away'; end $$;
        create trigger away before update of last_complete_at on poll_state
            execute function away()";
    sqlx::raw_sql(away).execute(&desk.pool).await.unwrap();
    let asked = desk.portal.requests("/queue").len();
    poll::now(&running, None).await.unwrap();
    until(|| async { desk.portal.requests("/queue").len() > asked }).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    sqlx::raw_sql("drop trigger away on poll_state")
        .execute(&desk.pool)
        .await
        .unwrap();
    let begun = std::time::Instant::now();
    let is_done = || async {
        state(&desk, Goal::Poll).await.last_complete_begun_at > before.last_complete_begun_at
    };
    until(is_done).await;
    assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
    assert_eq!(state(&desk, Goal::Poll).await.attempt, 0);
    running.stop().await;
}

/// The loops of a daemon.
async fn started(desk: &Desk) -> keyrack_distribution::Distribution {
    keyrack_distribution::Distribution::start(
        desk.ledger.clone(),
        desk.pool.clone(),
        desk.distribution.channels().clone(),
        keyrack_distribution::seal::Seal::new(&"07".repeat(32).into()).unwrap(),
        crate::desk::settings(),
    )
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loops_poll_at_start_and_on_demand_and_end_in_time() {
    let desk = Desk::open().await;
    desk.portal.waits(booking("R1"));
    let running = started(&desk).await;
    until(|| async { desk.portal.waiting().is_empty() }).await;
    desk.portal
        .waits(but(booking("R2"), "guest", "Bob Example"));
    poll::now(&running, None).await.unwrap();
    until(|| async { desk.portal.waiting().is_empty() }).await;
    until(|| async { !desk.portal.requests("/missed").is_empty() }).await;
    let begun = std::time::Instant::now();
    running.stop().await;
    assert!(begun.elapsed().as_secs() < 12);
    assert_eq!(desk.references().await, ["R1", "R2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hotel_that_is_refused_does_not_keep_the_others_from_being_asked() {
    let desk = Desk::open().await;
    connection(&desk.distribution, "valley", "by_hotel", &desk.portal.url).await;
    for (code, hotel) in [("first", "V1"), ("second", "V2"), ("third", "V3")] {
        let settings = AccountSettings::default();
        let account = listing(
            &desk.distribution,
            desk.property,
            code,
            "valley",
            hotel,
            settings,
        )
        .await;
        map_double(&desk.ledger, &account).await;
        desk.portal
            .waits(but(booking(&format!("R-{hotel}")), "hotel", hotel));
    }
    let poll = || async {
        poll::once(&desk.distribution, "valley", Goal::Poll)
            .await
            .unwrap()
    };
    desk.portal.fails("/queue/V1", Fault::Status(403));
    desk.portal.fails("/queue/V3", Fault::Status(403));
    assert_eq!(
        poll().await,
        PollOutcome::Complete {
            rounds: 3,
            recorded: 1
        }
    );
    assert_eq!(desk.references().await, ["R-V2"]);
    let notices = desk.notices().await;
    assert_eq!(notices.len(), 2);
    assert!(
        notices.iter().all(|(kind, _)| kind == "hotel_refused"),
        "{notices:?}"
    );
    assert!(
        notices.iter().any(|(_, text)| text.contains("hotel V3")),
        "{notices:?}"
    );
    // The answer of one is broken: the others are recorded, and the poll is no complete one.
    desk.portal
        .fails("/queue/V1", Fault::Body(b"<broken".to_vec()));
    failed(poll().await);
    assert_eq!(desk.references().await, ["R-V2", "R-V3"]);
    assert_eq!(
        poll().await,
        PollOutcome::Complete {
            rounds: 3,
            recorded: 1
        }
    );
    assert_eq!(desk.references().await.len(), 3);
    let kinds: Vec<String> = desk
        .notices()
        .await
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(kinds, ["unreadable"]);
}

/// Waits for a thing that the loops do, ten seconds at most.
async fn until<F: std::future::Future<Output = bool>>(is_so: impl Fn() -> F) {
    for _ in 0..200 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("it did not happen within ten seconds");
}
