//! The roll-over, overbooking cases, and the proof that finds what was spoilt.

use keyrack_ledger::command::{Asked, Command, Forced, Progress};
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_ledger::decide::refusal::Force;
use keyrack_ledger::overbookings::case::{self, Listed};
use keyrack_ledger::verify::{self, Extent};
use keyrack_ledger::{catalog, inventory, overbookings, reservations};
use keyrack_model::id::{CaseId, ReservationId};
use keyrack_model::overbooking::Cause;
use keyrack_model::reservation::Status;

use crate::hotel::{Hotel, day, room_type, stay};
use crate::rooms::sell;

async fn step(hotel: &Hotel, reservation: ReservationId, step: Progress) {
    let command = Command::Progress {
        reservation,
        step,
        version: None,
    };
    let asked = Asked::new(hotel.property, hotel.by.clone().into(), command);
    hotel
        .ledger
        .ask(asked)
        .await
        .expect("no failure")
        .expect("no refusal");
}

async fn status(hotel: &Hotel, id: ReservationId) -> (Status, i64) {
    let read = reservations::load(&hotel.ledger, hotel.property, id).await;
    let folio = read.expect("no failure").expect("it is there");
    (folio.reservation.status, folio.reservation.version)
}

#[tokio::test]
async fn a_new_business_day_completes_lets_go_and_opens_a_night_and_does_it_once() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 9)).await;
    let past = sell(&hotel, dbl, stay(0, 2), 1).await;
    let here = sell(&hotel, dbl, stay(0, 5), 1).await;
    let absent = sell(&hotel, dbl, stay(0, 4), 2).await;
    let overdue = sell(&hotel, dbl, stay(0, 1), 1).await;
    step(&hotel, absent, Progress::NoShow { keep: Some(false) }).await;
    step(&hotel, overdue, Progress::CheckIn).await;
    inventory::roll_over(&hotel.ledger, hotel.property)
        .await
        .expect("no failure");
    assert_eq!(
        status(&hotel, past).await,
        (Status::Confirmed, 1),
        "the day is not over"
    );

    // Two days are slept through. The night is not over at one o'clock.
    hotel.at("2030-06-03T01:00:00+02:00").await;
    hotel.at("2030-06-03T10:00:00+02:00").await;
    inventory::roll_over(&hotel.ledger, hotel.property)
        .await
        .expect("no failure");
    assert_eq!(status(&hotel, past).await, (Status::Completed, 2));
    assert_eq!(status(&hotel, here).await, (Status::Confirmed, 1));
    assert_eq!(status(&hotel, absent).await, (Status::NoShow, 3));
    assert_eq!(status(&hotel, overdue).await, (Status::CheckedIn, 3));
    let read = inventory::availability(&hotel.ledger, hotel.property, stay(0, 40), Some(dbl)).await;
    let (_, types) = read.expect("no failure");
    let sold: Vec<i32> = types[0]
        .nights
        .iter()
        .map(|n| n.balance.sold)
        .take(5)
        .collect();
    assert_eq!(
        sold,
        [5, 3, 2, 1, 1],
        "the overdue guest sleeps here tonight as well"
    );
    assert_eq!(types[0].nights.len(), 32);
    let rules = hotel.rate_changes().await;
    assert_eq!(
        rules.last().map(String::as_str),
        Some("0 0 0 2030-07-01 2030-07-03 horizon")
    );
    inventory::roll_over(&hotel.ledger, hotel.property)
        .await
        .expect("no failure");
    assert_eq!(hotel.rate_changes().await, rules);
    assert_eq!(status(&hotel, absent).await, (Status::NoShow, 3));
    hotel.proven().await;
}

#[tokio::test]
async fn last_night_is_rolled_over_at_the_hour_of_the_hotel() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 1)).await;
    let guest = sell(&hotel, dbl, stay(0, 1), 1).await;
    for (instant, expected) in [
        ("2030-06-02T03:59:59+02:00", Status::Confirmed),
        ("2030-06-02T04:00:00+02:00", Status::Completed),
    ] {
        hotel.at(instant).await;
        inventory::roll_over(&hotel.ledger, hotel.property)
            .await
            .expect("no failure");
        assert_eq!(status(&hotel, guest).await.0, expected, "{instant}");
    }
}

#[tokio::test]
async fn rules_of_lead_time_are_told_again_every_day() {
    let hotel = Hotel::open().await;
    let rule = BufferRule {
        account: None,
        room_type: None,
        nights: None,
        weekdays: keyrack_model::stay::Weekdays::ALL,
        lead_days_min: None,
        lead_days_max: Some(3),
        kind: BufferKind::KeepBack(1),
    };
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    let put = catalog::put_buffer_rules(ledger, hotel.property, by, vec![rule]).await;
    put.expect("no failure").expect("no refusal");
    hotel.at("2030-06-02T10:00:00Z").await;
    inventory::roll_over(ledger, hotel.property)
        .await
        .expect("no failure");
    let last = hotel.rate_changes().await.pop().expect("told");
    assert_eq!(last, "0 0 0 2030-06-02 2030-07-02 lead_time");
}

/// Two doubles of which one burns, while both are sold on the fifth night.
async fn burnt() -> (Hotel, ReservationId, ReservationId) {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 2)).await;
    let first = sell(&hotel, dbl, stay(3, 5), 1).await;
    let second = sell(&hotel, dbl, stay(4, 6), 1).await;
    sell(&hotel, dbl, stay(1, 2), 1).await;
    let force = Some(Forced {
        reason: "fire".into(),
        allow: vec![Force::Oversell],
    });
    let (ledger, by, fewer) = (&hotel.ledger, &hotel.by, room_type("Double", 1));
    let property = hotel.property;
    let cut = catalog::put_room_type(ledger, property, by, "dbl", fewer, None, force, false);
    cut.await.expect("no failure").expect("forced");
    (hotel, first, second)
}

const OPEN: Listed = Listed {
    is_open: Some(true),
    before: None,
    limit: 10,
};

#[tokio::test]
async fn an_overbooking_case_says_who_is_concerned() {
    let (hotel, first, second) = burnt().await;
    let open = case::list(&hotel.ledger, hotel.property, OPEN).await;
    let open = open.expect("no failure");
    assert_eq!(open.len(), 1);
    let case = &open[0];
    assert_eq!(
        (case.room_type.as_str(), case.cause.as_str()),
        ("dbl", "undetermined")
    );
    assert_eq!(case.nights, [(day(4), 1, None, None)]);
    assert_eq!(case.concerned, [first, second]);
    assert_eq!(case.events[0].0, "opened");
    hotel.proven().await;
}

#[tokio::test]
async fn a_case_gathers_evidence_and_closes_when_its_night_is_cured() {
    let (hotel, _, second) = burnt().await;
    let (ledger, property) = (&hotel.ledger, hotel.property);
    let case = case::list(ledger, property, OPEN)
        .await
        .expect("no failure")
        .remove(0);
    for (id, evidence) in [(case.id, 1), (CaseId(999), 2)] {
        let evidence = serde_json::json!({ "told": evidence });
        let cause = Some(Cause::CapacityCut);
        let added = overbookings::add_evidence(ledger, property, id, evidence, cause).await;
        added.expect("no failure, and nothing where there is no case");
    }
    let cancel = Command::Cancel {
        reservation: second,
        reason: None,
        told_channel: false,
        version: None,
    };
    let asked = Asked::new(property, hotel.by.clone().into(), cancel);
    ledger
        .ask(asked)
        .await
        .expect("no failure")
        .expect("no refusal");
    let open = case::list(ledger, property, OPEN)
        .await
        .expect("no failure");
    assert_eq!(open, [], "the night is cured");
    let case = case::load(ledger, property, case.id)
        .await
        .expect("no failure");
    let case = case.expect("it is kept");
    assert_eq!(
        (case.cause.as_str(), case.outcome.as_deref()),
        ("capacity_cut", Some("cured"))
    );
    assert_eq!(case.evidence["told"], 1);
    assert!(case.nights[0].2.is_some() && case.closed_at.is_some());
    let kinds: Vec<&str> = case.events.iter().map(|event| event.0.as_str()).collect();
    assert_eq!(kinds, ["opened", "evidence", "nights_cured", "closed"]);
    hotel.proven().await;
}

#[tokio::test]
async fn the_proof_names_what_was_spoilt() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 2)).await;
    sell(&hotel, dbl, stay(3, 5), 1).await;
    hotel.proven().await;
    let whole = verify::verify(&hotel.ledger, None, Extent::FromCheckpoints)
        .await
        .expect("no failure");
    assert_eq!(
        (whole.nights, whole.reservations, whole.differences.len()),
        (30, 1, 0)
    );
    for (spoil, mend, what) in [
        (
            "update night set sold = sold + 1 where stay_date = '2030-06-04'",
            "update night set sold = sold - 1 where stay_date = '2030-06-04'",
            vec![
                "sold: entries say 1, the night 2",
                "sold: reservations say 1, the night 2",
            ],
        ),
        (
            "update night set physical = 3 where stay_date = '2030-06-10'",
            "update night set physical = 2 where stay_date = '2030-06-10'",
            vec!["physical: entries say 2, the night 3"],
        ),
        (
            "update room_stay set taken_until = taken_until - 1",
            "update room_stay set taken_until = taken_until + 1",
            vec![
                "sold: reservations say 0, the night 1",
                "reservation 1001: entries gave it 2 nights of rooms, it has 1",
            ],
        ),
        (
            "update reservation set version = 7",
            "update reservation set version = 1",
            vec!["reservation 1001: entries end at version 1, it is at 7"],
        ),
    ] {
        let run = |sql: &'static str| sqlx::query(sql).execute(&hotel.pool);
        run(spoil).await.expect("spoilt");
        let proof = verify::verify(&hotel.ledger, Some(hotel.property), Extent::FromCheckpoints)
            .await
            .expect("no failure");
        let found: Vec<&str> = proof.differences.iter().map(|d| d.what.as_str()).collect();
        assert_eq!(found, what, "{spoil}");
        run(mend).await.expect("mended");
        hotel.proven().await;
    }
}

#[tokio::test]
async fn a_verification_is_given_up_at_once_when_the_house_closes() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 2)).await;
    sell(&hotel, dbl, stay(3, 5), 1).await;
    let whole = verify::verify_until(&hotel.ledger, Extent::Whole, std::future::pending()).await;
    assert_eq!(whole.expect("no failure").expect("it ended").nights, 30);
    // It waits in the database for something that does not come.
    let mut door = hotel.pool.begin().await.expect("a transaction");
    sqlx::query("lock table night in access exclusive mode")
        .execute(&mut *door)
        .await
        .expect("the lock");
    let begun = std::time::Instant::now();
    let stopped = tokio::time::sleep(std::time::Duration::from_millis(200));
    let verified = verify::verify_until(&hotel.ledger, Extent::Whole, stopped).await;
    assert!(verified.expect("no failure").is_none());
    assert!(begun.elapsed() < std::time::Duration::from_secs(2));
    // And nobody is left behind in it.
    hotel.ledger.close().await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(3));
    door.rollback().await.expect("the lock is free");
}
