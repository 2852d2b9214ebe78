//! The overbooking-resolution queue, worked: guests are moved and cases end together, or neither.

use std::sync::Arc;

use keyrack_ledger::command::{Asked, Command};
use keyrack_ledger::decide::overbooking::end::CaseEnd;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::overbookings::ground::Ground;
use keyrack_ledger::overbookings::{self, Work, advice};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::{RevisionKind, Status};
use keyrack_model::stay::plus_days;
use serde_json::json;

use crate::full::{Full, by, ending, to};
use crate::hotel::{FIRST, cancel, night, report};

#[tokio::test]
async fn an_upgrade_moves_the_guest_and_ends_the_case_in_one() {
    let full = Full::of(2).await;
    let case = full.case().await;
    let end = ending(
        case.id,
        Ending::Upgrade,
        vec![to(&full.sold_there, Some(full.suite))],
    );
    let ended = full.end(end.clone()).await.unwrap();
    assert_eq!(ended.outcome.as_deref(), Some("upgrade"));
    assert!(ended.nights.iter().all(|night| night.2.is_some()));
    let kinds: Vec<_> = ended.events.iter().map(|event| event.0.as_str()).collect();
    assert_eq!(kinds, ["opened", "closed"]);
    let moved = full.reservation(&full.sold_there).await;
    assert_eq!(moved.number, full.sold_there.number);
    assert_eq!(moved.channel_reference.as_deref(), Some("R1"));
    assert_eq!(moved.rooms[0].room_type, Some(full.suite));
    for offset in 0..2 {
        assert_eq!(full.hotel.night(offset).await.sold, 1);
        let suite = night(&full.hotel.pool, full.suite, plus_days(FIRST, offset)).await;
        assert_eq!(suite.sold, 1);
    }
    // The same again answers as the first did.
    assert_eq!(full.end(end).await.unwrap(), ended);
    let told = "select count(*) from ledger_entry where kind = 'overbooking_resolved'";
    assert_eq!(full.hotel.count(told).await, 1);
    full.proven().await;
}

/// The channel knows nothing of the upgrade: its dates win, the room that he was given stays.
#[tokio::test]
async fn a_later_revision_of_the_channel_leaves_the_guest_where_he_was_moved() {
    let full = Full::of(2).await;
    let case = full.case().await;
    let end = ending(
        case.id,
        Ending::Upgrade,
        vec![to(&full.sold_there, Some(full.suite))],
    );
    full.end(end).await.unwrap();
    let told = report("R1", RevisionKind::Modified, 0, 3);
    full.hotel.record(told).await;
    let moved = full.reservation(&full.sold_there).await;
    assert_eq!(moved.rooms[0].room_type, Some(full.suite));
    assert_eq!(moved.rooms[0].departure, plus_days(FIRST, 3));
    assert_eq!(full.hotel.night(0).await.sold, 1);
    let suite = night(&full.hotel.pool, full.suite, plus_days(FIRST, 2)).await;
    assert_eq!(suite.sold, 1);
    assert_eq!(full.cases().await.len(), 1, "no other case");
    full.proven().await;
}

#[tokio::test]
async fn what_would_leave_rooms_beyond_is_refused_and_says_how_many() {
    let full = Full::of(1).await;
    full.hotel
        .record(report("R2", RevisionKind::New, 0, 1))
        .await;
    let case = full.case().await;
    let end = ending(
        case.id,
        Ending::Upgrade,
        vec![to(&full.sold_there, Some(full.suite))],
    );
    let refused = full.end(end).await.unwrap_err();
    let Refusal::IllegalTransition(words) = refused else {
        panic!("{refused:?}")
    };
    assert!(words.contains("1 room on 2030-03-01"), "{words}");
    let refused = full
        .end(ending(case.id, Ending::Cured, vec![]))
        .await
        .unwrap_err();
    let Refusal::IllegalTransition(words) = refused else {
        panic!("{refused:?}")
    };
    assert!(words.contains("2 rooms on 2030-03-01"), "{words}");
    assert_eq!(full.hotel.night(0).await.sold, 3, "nobody was moved");
    assert!(full.case().await.is_open());
    // A room of another type that is not there cures nothing.
    let third = full
        .hotel
        .record(report("R3", RevisionKind::New, 0, 1))
        .await;
    let both = vec![
        to(&full.sold_there, Some(full.suite)),
        to(&third.reservation.unwrap(), Some(full.suite)),
    ];
    let refused = full.end(ending(case.id, Ending::Upgrade, both)).await;
    assert!(matches!(refused, Err(Refusal::SoldOut(_))), "{refused:?}");
    full.proven().await;
}

#[tokio::test]
async fn a_guest_or_a_case_that_has_changed_since_is_left_alone() {
    let full = Full::of(1).await;
    let case = full.case().await;
    full.hotel
        .record(report("R1", RevisionKind::Modified, 0, 2))
        .await;
    let end = ending(
        case.id,
        Ending::Upgrade,
        vec![to(&full.sold_there, Some(full.suite))],
    );
    let refused = full.end(end).await;
    assert_eq!(refused, Err(Refusal::VersionMismatch { current: 2 }));
    let (by, property) = (by(), full.hotel.property);
    let work = Work {
        property,
        case: case.id,
        by: &by,
        version: Some(case.version),
    };
    let noted = overbookings::note(&full.hotel.ledger, work, "the guest was called").await;
    let noted = noted.unwrap().unwrap();
    let mut end = ending(case.id, Ending::AcceptedAsIs, vec![]);
    (end.version, end.note) = (Some(case.version), Some("they share".to_owned()));
    let refused = full.end(end.clone()).await;
    let current = noted.version;
    assert_eq!(refused, Err(Refusal::VersionMismatch { current }));
    end.version = Some(current);
    full.end(end).await.unwrap();
    full.proven().await;
}

/// The suite is taken on the second night by a guest who could as well have the double then.
#[tokio::test]
async fn two_guests_change_their_types_on_a_full_house() {
    let full = Full::of(1).await;
    let property = full.hotel.property;
    let long = full
        .hotel
        .record(report("R1", RevisionKind::Modified, 0, 2))
        .await;
    let long = long.reservation.unwrap();
    let in_suite = crate::hotel::wish_for(full.suite, 1, 1, None);
    let in_suite = crate::hotel::reservation(full.hotel.ask(in_suite).await);
    let ground = Ground::of(&full.hotel.ledger, property).await;
    let ground = ground.unwrap().unwrap();
    let case = full.case().await;
    let told = advice::advise(&full.hotel.ledger, &ground, &case)
        .await
        .unwrap();
    let swap = told
        .ways
        .iter()
        .find(|way| way.ending == Ending::Swap)
        .expect("a swap");
    let moves = swap.moves.iter();
    let moves: Vec<_> = moves
        .map(|(guest, to)| (guest.number, to.clone().unwrap()))
        .collect();
    assert_eq!(
        moves,
        [
            (long.number, "suite".to_owned()),
            (in_suite.number, "double".to_owned())
        ]
    );
    let moves = vec![
        to(&long, Some(full.suite)),
        to(&in_suite, Some(full.hotel.double)),
    ];
    let ended = full
        .end(ending(case.id, Ending::Swap, moves))
        .await
        .unwrap();
    assert_eq!(ended.outcome.as_deref(), Some("swap"));
    for offset in 0..2 {
        assert_eq!(full.hotel.night(offset).await.sold, 1);
    }
    full.proven().await;
}

#[tokio::test]
async fn what_is_accepted_stays_closed_until_it_grows_worse() {
    let full = Full::of(2).await;
    let case = full.case().await;
    let mut end = ending(case.id, Ending::AcceptedAsIs, vec![]);
    assert!(matches!(
        full.end(end.clone()).await,
        Err(Refusal::Invalid(_))
    ));
    end.note = Some("the families share".to_owned());
    let accepted = full.end(end).await.unwrap();
    assert!(!accepted.is_open() && accepted.nights.iter().all(|night| night.3 == Some(1)));
    full.proven().await;
    // One more and one less on one of its nights: worse, and back to what was accepted.
    let third = full
        .hotel
        .record(report("R2", RevisionKind::New, 0, 1))
        .await;
    let worse = full.case().await;
    assert!(worse.is_open());
    assert_eq!(worse.events.last().unwrap().0, "reopened");
    full.hotel
        .ask(cancel(third.reservation.unwrap().id))
        .await
        .unwrap();
    assert!(
        full.case().await.is_open(),
        "what was opened again must be accepted again"
    );
    let mut end = ending(case.id, Ending::AcceptedAsIs, vec![]);
    end.note = Some("they share all the same".to_owned());
    full.end(end).await.unwrap();
    // A change that leaves as many beyond opens nothing.
    full.hotel
        .record(report("R1", RevisionKind::Modified, 0, 3))
        .await;
    assert!(!full.case().await.is_open());
    full.proven().await;
    full.hotel.ask(cancel(full.sold_there.id)).await.unwrap();
    assert_eq!(
        full.hotel
            .count("select count(*) from overbooking_case where status = 'open'")
            .await,
        0
    );
    let kept = full.cases().await.pop().unwrap();
    assert_eq!(kept.outcome.as_deref(), Some("accepted_as_is"));
    assert!(kept.nights.iter().all(|night| night.2.is_some()));
    full.proven().await;
}

#[tokio::test]
async fn a_case_is_opened_again_only_where_there_is_something_to_resolve() {
    let full = Full::of(1).await;
    let case = full.case().await;
    let by = by();
    let work = Work {
        property: full.hotel.property,
        case: case.id,
        by: &by,
        version: None,
    };
    let mut end = ending(case.id, Ending::AcceptedAsIs, vec![]);
    end.note = Some("they share".to_owned());
    full.end(end).await.unwrap();
    let reopened = overbookings::reopen(&full.hotel.ledger, work, "they do not").await;
    assert!(reopened.unwrap().unwrap().is_open());
    let told = "select count(*) from ledger_entry where kind = 'overbooking_reopened'";
    assert_eq!(full.hotel.count(told).await, 1);
    full.proven().await;
    full.hotel.ask(cancel(full.desk.id)).await.unwrap();
    let cured = full.case().await;
    assert_eq!(cured.outcome.as_deref(), Some("cured"));
    let refused = overbookings::reopen(&full.hotel.ledger, work, "why not").await;
    assert!(matches!(
        refused.unwrap(),
        Err(Refusal::IllegalTransition(_))
    ));
    full.proven().await;
}

#[tokio::test]
async fn a_case_that_cured_itself_is_told_how() {
    let full = Full::of(1).await;
    let case = full.case().await;
    let told = vec![to(&full.sold_there, None)];
    full.hotel
        .record(report("R1", RevisionKind::Cancelled, 0, 1))
        .await;
    let mut end = ending(case.id, Ending::RelocatedByChannel, told);
    end.cost_minor = Some(4_000);
    let ended = full.end(end).await.unwrap();
    assert_eq!(ended.outcome.as_deref(), Some("relocated_by_channel"));
    assert_eq!(ended.cost, Some((4_000, "EUR".to_owned())));
    let stays = ending(case.id, Ending::Walk, vec![to(&full.desk, None)]);
    assert!(
        full.end(stays).await.is_err(),
        "whoever stays has not been walked"
    );
    full.proven().await;
}

/// Of whoever leaves the house the case is: nobody else is sent away in passing, and nobody is said
/// to have left for it who had no room on its nights.
#[tokio::test]
async fn only_guests_of_the_case_leave_for_it() {
    let full = Full::of(1).await;
    let case = full.case().await;
    let stranger = full.hotel.confirmed(5, 2).await;
    let gone = full.hotel.confirmed(8, 1).await;
    full.hotel.ask(cancel(gone.id)).await.unwrap();
    let both = vec![to(&full.desk, None), to(&stranger, None)];
    let refused = full.end(ending(case.id, Ending::Walk, both)).await;
    let Err(Refusal::Invalid(wrong)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(wrong[0].0, "/moves/1/reservation");
    let here = full.reservation(&stranger).await;
    assert_eq!(here.status, Status::Confirmed);
    assert!(full.case().await.is_open());

    full.hotel.ask(cancel(full.desk.id)).await.unwrap();
    assert_eq!(full.case().await.outcome.as_deref(), Some("cured"));
    for moves in [vec![to(&gone, None)], Vec::new()] {
        let refused = full.end(ending(case.id, Ending::Walk, moves)).await;
        assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
    }
    full.proven().await;
}

/// How a case that cured itself was resolved is said once, and within what may be spent.
#[tokio::test(flavor = "multi_thread")]
async fn how_a_cured_case_was_resolved_is_said_once() {
    let full = Full::of(1).await;
    full.policy(json!({"approval_above_minor": 3_000})).await;
    let case = full.case().await;
    full.hotel.ask(cancel(full.desk.id)).await.unwrap();
    let told = |cost, word: &str| CaseEnd {
        cost_minor: Some(cost),
        note: Some(word.to_owned()),
        ..ending(case.id, Ending::Walk, vec![to(&full.desk, None)])
    };
    let dear = full.end(told(3_001, "dear")).await;
    assert!(
        matches!(dear, Err(Refusal::NeedsApproval { .. })),
        "{dear:?}"
    );
    let other = CaseEnd {
        ending: Ending::RelocatedByChannel,
        ..told(2_000, "the channel")
    };
    let (one, two) = tokio::join!(full.end(told(1_000, "a walk")), full.end(other));
    let won = [&one, &two].into_iter().filter(|told| told.is_ok()).count();
    assert_eq!(won, 1, "{one:?} {two:?}");
    let written = full.case().await;
    let told = |kind: &str| {
        written
            .events
            .iter()
            .filter(|event| event.0 == kind)
            .count()
    };
    assert_eq!(told("outcome_told"), 1);
    let cost = if one.is_ok() { 1_000 } else { 2_000 };
    assert_eq!(written.cost, Some((cost, "EUR".to_owned())));
}

/// Ten who end one case at once, on two daemons.
#[tokio::test(flavor = "multi_thread")]
async fn a_case_ends_once_however_many_end_it() {
    let full = Full::of(1).await;
    let case = full.case().await;
    let other = full.hotel.second_daemon().await;
    let end = ending(
        case.id,
        Ending::Upgrade,
        vec![to(&full.sold_there, Some(full.suite))],
    );
    let asks = (0..10).map(|at| {
        let ledger = if at % 2 == 0 {
            full.hotel.ledger.clone()
        } else {
            other.clone()
        };
        let command = Command::EndCase(Box::new(end.clone()));
        let asked = Asked::new(full.hotel.property, Arc::new(by()), command);
        tokio::spawn(async move { ledger.ask(asked).await })
    });
    let mut done = 0;
    for ask in asks.collect::<Vec<_>>() {
        done += i32::from(ask.await.unwrap().unwrap().is_ok());
    }
    assert_eq!(done, 1);
    let told = "select count(*) from ledger_entry where kind = 'overbooking_resolved'";
    assert_eq!(full.hotel.count(told).await, 1);
    full.proven().await;
}

/// In one batch: the guest is moved, and the channel sells the room that he has left.
#[tokio::test]
async fn a_night_that_is_oversold_anew_in_the_same_breath_has_a_case_of_its_own() {
    let full = Full::of(1).await;
    let case = full.case().await;
    let end = ending(
        case.id,
        Ending::Upgrade,
        vec![to(&full.sold_there, Some(full.suite))],
    );
    let mut door = full.hotel.pool.begin().await.unwrap();
    sqlx::query("select 1 from property for update")
        .execute(&mut *door)
        .await
        .unwrap();
    let mut asked = Vec::new();
    // The first takes the lane and waits; the others share the next batch.
    let noted = Command::Review {
        room_type: full.hotel.double,
        nights: crate::hotel::stay(0, 1),
    };
    let told = full.hotel.revision(report("R2", RevisionKind::New, 0, 1));
    let fact = keyrack_ledger::command::Fact {
        hash: "R2".to_owned(),
        reservation: keyrack_model::id::ReservationId(uuid::Uuid::now_v7()),
        revision: told,
    };
    let ends = Command::EndCase(Box::new(end));
    for command in [noted, ends, Command::Record(Box::new(fact))] {
        let ledger = full.hotel.ledger.clone();
        let one = Asked::new(full.hotel.property, Arc::new(by()), command);
        asked.push(tokio::spawn(async move { ledger.ask(one).await }));
        tokio::task::yield_now().await;
    }
    door.rollback().await.unwrap();
    for one in asked {
        one.await.unwrap().unwrap().unwrap();
    }
    assert_eq!(full.hotel.night(0).await.sold, 2);
    let cases = full.cases().await;
    assert_eq!(cases.len(), 2);
    assert!(cases[0].is_open() && cases[1].outcome.as_deref() == Some("upgrade"));
    full.proven().await;
}
