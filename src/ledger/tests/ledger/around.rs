//! Around the work on a case: one opened by hand, a deadline that passes, and what is advised.

use keyrack_ledger::command::{Command, NightChange};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::overbookings::case;
use keyrack_ledger::overbookings::ground::Ground;
use keyrack_ledger::overbookings::{self, Work, advice, escalation};
use keyrack_model::overbooking::Ending;
use serde_json::json;

use crate::full::{Full, by};
use crate::hotel::{FIRST, Hotel, cancel, stay};

#[tokio::test]
async fn a_person_opens_a_case_for_what_was_meant_and_it_stays_until_it_is_over() {
    let hotel = Hotel::of(1).await;
    let limit = Command::SetNights {
        changes: vec![NightChange {
            room_type: hotel.double,
            nights: stay(0, 1),
            out_of_order: None,
            overbooking_limit: Some(2),
            reason: None,
        }],
        dry_run: false,
    };
    hotel.ask(limit).await.unwrap();
    let open = |nights| {
        let asked = (hotel.double, nights);
        overbookings::open_by_hand(&hotel.ledger, hotel.property, by(), asked, Some("a fair"))
    };
    hotel.confirmed(0, 1).await;
    let refused = open(stay(0, 1)).await.unwrap().unwrap_err();
    let Refusal::IllegalTransition(words) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        words.contains("nothing is oversold on 2030-03-01"),
        "{words}"
    );
    let second = hotel.confirmed(0, 1).await;
    let case = open(stay(0, 1)).await.unwrap().unwrap();
    assert!(case.by_hand && case.is_open());
    assert_eq!(case.events[0].1, "key:1 (Anna)");
    assert!(
        open(stay(0, 1)).await.unwrap().is_err(),
        "there is one already"
    );
    let third = hotel.confirmed(0, 1).await;
    hotel.ask(cancel(third.id)).await.unwrap();
    let load = || case::load(&hotel.ledger, hotel.property, case.id);
    assert!(load().await.unwrap().unwrap().is_open(), "still beyond");
    hotel.ask(cancel(second.id)).await.unwrap();
    let cured = load().await.unwrap().unwrap();
    assert_eq!(cured.outcome.as_deref(), Some("cured"));
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_deadline_that_passes_is_said_once_by_whoever_looks() {
    let full = Full::of(1).await;
    full.policy(json!({"deadline": {"at": "12:00"}, "escalate_to": ["boss@seehof.example"]}))
        .await;
    let other = full.hotel.second_daemon().await;
    assert_eq!(escalation::escalate_due(&other).await.unwrap(), 0);
    full.hotel.pass("9 days").await;
    let (one, two) = tokio::join!(
        escalation::escalate_due(&full.hotel.ledger),
        escalation::escalate_due(&other)
    );
    assert_eq!(one.unwrap() + two.unwrap(), 1);
    assert_eq!(escalation::escalate_due(&other).await.unwrap(), 0);
    let told = "select count(*) from ledger_entry where kind = 'overbooking_escalated'";
    assert_eq!(full.hotel.count(told).await, 1);
    let untold = escalation::to_tell(&other).await.unwrap();
    assert_eq!(untold[0].to, ["boss@seehof.example"]);
    escalation::told(&other, full.hotel.property, untold[0].case)
        .await
        .unwrap();
    assert_eq!(escalation::to_tell(&other).await.unwrap(), []);
    // Another deadline may pass once more.
    let by = by();
    let case = full.case().await;
    assert!(case.escalated_at.is_some());
    let work = Work {
        property: full.hotel.property,
        case: case.id,
        by: &by,
        version: Some(case.version),
    };
    let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select ledger_now() + interval '1 hour'")
        .fetch_one(&full.hotel.pool)
        .await
        .unwrap();
    let later = Some(now.to_jiff());
    overbookings::assign(&other, work, "Anna", later)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(escalation::escalate_due(&other).await.unwrap(), 0);
    full.hotel.pass("2 hours").await;
    assert_eq!(escalation::escalate_due(&other).await.unwrap(), 1);
    full.proven().await;
}

#[tokio::test]
async fn the_advice_ranks_who_moves_and_what_it_costs() {
    let full = Full::of(1).await;
    full.policy(json!({
        "compensation": [{"amount_minor": 10_000}], "upgrade_per_night_minor": 500,
        "rank": ["channel_priority"], "channel_priority": ["direct"],
    }))
    .await;
    let ground = Ground::of(&full.hotel.ledger, full.hotel.property).await;
    let ground = ground.unwrap().unwrap();
    let case = full.case().await;
    let told = advice::advise(&full.hotel.ledger, &ground, &case)
        .await
        .unwrap();
    assert_eq!(told.beyond, [(FIRST, 1)]);
    let order: Vec<_> = told.ranked.iter().map(|place| place.number).collect();
    assert_eq!(order, [full.sold_there.number, full.desk.number]);
    assert!(
        told.ranked[0].why.contains("test comes after direct"),
        "{}",
        told.ranked[0].why
    );
    let ways: Vec<_> = told
        .ways
        .iter()
        .map(|way| (way.ending, way.cost_minor))
        .collect();
    assert_eq!(
        ways,
        [
            (Ending::Upgrade, Some(500)),
            (Ending::Upgrade, Some(500)),
            (Ending::Walk, Some(10_000)),
            (Ending::RelocatedByChannel, Some(10_000)),
            (Ending::Walk, Some(10_000)),
            (Ending::Cured, None),
        ]
    );
    let waiting = &told.ways[5].words;
    assert!(waiting.contains("0 stays are known"), "{waiting}");
}
