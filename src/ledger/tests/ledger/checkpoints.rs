//! Closed nights are proved once; what comes to them later is added, and a wrong proof is found.

use keyrack_ledger::checkpoint::{self, CLOSED_AFTER_DAYS};
use keyrack_ledger::verify::{self, Extent};
use keyrack_model::reservation::RevisionKind;

use crate::hotel::{Hotel, report, reservation};

const CHECKPOINTS: &str = "select count(*) from night_checkpoint";

async fn close(hotel: &Hotel) -> u64 {
    let written = checkpoint::close_nights(&hotel.ledger, hotel.property, CLOSED_AFTER_DAYS).await;
    written.expect("no failure")
}

async fn differences(hotel: &Hotel, extent: Extent) -> Vec<String> {
    let proof = verify::verify(&hotel.ledger, None, extent).await;
    let found = proof.expect("no failure").differences;
    found.into_iter().map(|d| d.what).collect()
}

async fn run(hotel: &Hotel, sql: &'static str) {
    let done = sqlx::raw_sql(sql).execute(&hotel.pool).await;
    done.expect("it runs");
}

async fn assert_proven(hotel: &Hotel) {
    hotel.assert_proven().await;
    for extent in [Extent::FromCheckpoints, Extent::Whole] {
        let found = differences(hotel, extent).await;
        assert!(found.is_empty(), "{extent:?}: {found:?}");
    }
}

/// Four nights sold in a house of three, two weeks ago; another is yet to come.
async fn past(hotel: &Hotel) {
    hotel.record(report("R1", RevisionKind::New, 0, 3)).await;
    hotel.confirmed(1, 3).await;
    hotel.confirmed(40, 2).await;
    hotel.pass("24 days").await;
}

#[tokio::test]
async fn closed_nights_are_written_down_once_and_open_ones_never() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    assert_eq!(close(&hotel).await, 4);
    assert_eq!(close(&hotel).await, 0);
    assert_proven(&hotel).await;
    // Two at once write each night once.
    hotel.pass("60 days").await;
    let other = hotel.second_daemon().await;
    let second = checkpoint::close_nights(&other, hotel.property, CLOSED_AFTER_DAYS);
    let (one, two) = tokio::join!(close(&hotel), second);
    let both = one + two.expect("no failure");
    assert!((2..=4).contains(&both), "{both}");
    assert_eq!(hotel.count(CHECKPOINTS).await, 6);
    assert_proven(&hotel).await;
}

/// Taken and given back in one batch, in lines of other lengths: the closed night is as it was, and
/// no line of it is counted without the others.
#[tokio::test]
async fn what_came_and_went_in_one_batch_leaves_a_closed_night_proved() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    close(&hotel).await;
    run(
        &hotel,
        "insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from,
                                   night_until, quantity, from_pool, to_pool, actor, at)
         select n.property_id, 'ffffffff-0000-7000-8000-000000000000', k.line, 'moved',
                n.room_type_id, k.night_from::date, k.night_until::date, 1, k.from_pool,
                k.to_pool, 'test', ledger_now()
           from (select distinct property_id, room_type_id from night) n,
                (values (0, '2030-03-04', '2030-04-11', 'free', 'held'),
                        (1, '2030-03-04', '2030-03-05', 'held', 'free'),
                        (2, '2030-03-05', '2030-04-11', 'held', 'free'))
                k(line, night_from, night_until, from_pool, to_pool)",
    )
    .await;
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn late_facts_on_closed_nights_come_on_top_and_are_written_down_by_the_next_look() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    close(&hotel).await;
    hotel.record(report("R2", RevisionKind::New, 0, 2)).await;
    hotel
        .record(report("R1", RevisionKind::Cancelled, 0, 0))
        .await;
    assert_proven(&hotel).await;
    // What nobody wrote down is found on top as well.
    run(
        &hotel,
        "update night set sold = sold + 1, version = version + 1 where stay_date = '2030-03-01'",
    )
    .await;
    let found = differences(&hotel, Extent::FromCheckpoints).await;
    assert_eq!(
        found,
        [
            "sold: entries say 1, the night 2",
            "sold: reservations say 1, the night 2"
        ]
    );
    assert_eq!(close(&hotel).await, 2, "what cannot be proved is left out");
    run(
        &hotel,
        "update night set sold = sold - 1, version = version + 1 where stay_date = '2030-03-01'",
    )
    .await;
    assert_eq!(close(&hotel).await, 1);
    assert_eq!(close(&hotel).await, 0);
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn a_night_that_cannot_be_proved_gets_no_checkpoint() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    run(
        &hotel,
        "update night set physical = 4 where stay_date = '2030-03-02'",
    )
    .await;
    // The entries agree, the reservations do not.
    run(
        &hotel,
        "update room_stay set taken_until = '2030-03-04' where arrival = '2030-03-02'",
    )
    .await;
    assert_eq!(close(&hotel).await, 2);
    let left_out = "select count(*) from night_checkpoint
                     where stay_date in ('2030-03-02', '2030-03-04')";
    assert_eq!(hotel.count(left_out).await, 0);
    for extent in [Extent::FromCheckpoints, Extent::Whole] {
        let found = differences(&hotel, extent).await;
        assert_eq!(found.len(), 3, "{found:?}");
    }
}

#[tokio::test]
async fn a_checkpoint_covers_no_entry_of_a_transaction_that_was_still_running() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    // It has its sequence before others have theirs, and commits after the checkpoint.
    let mut running = hotel.pool.begin().await.expect("a transaction");
    sqlx::raw_sql(
        "insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from,
                                   night_until, quantity, from_pool, to_pool, actor, at)
         select property_id, gen_random_uuid(), 0, 'inventory_set', room_type_id, stay_date,
                stay_date + 1, 1, 'free', 'out_of_order', 'test', ledger_now()
           from night where stay_date = '2030-03-02';
         update night set out_of_order = 1, version = version + 1 where stay_date = '2030-03-02'",
    )
    .execute(&mut *running)
    .await
    .expect("written");
    hotel.record(report("R2", RevisionKind::New, 0, 1)).await;
    assert_eq!(close(&hotel).await, 4);
    assert_proven(&hotel).await;
    running.commit().await.expect("committed");
    assert_proven(&hotel).await;
    assert_eq!(close(&hotel).await, 1);
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn a_planted_wrong_checkpoint_is_found_by_a_whole_replay() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    close(&hotel).await;
    // Wrong alone: the night says otherwise.
    run(
        &hotel,
        "update night_checkpoint set sold = sold + 1 where stay_date = '2030-03-02'",
    )
    .await;
    let found = differences(&hotel, Extent::FromCheckpoints).await;
    assert_eq!(found, ["sold: entries say 3, the night 2"]);
    // Wrong together with its night: only the entries know.
    run(
        &hotel,
        "update night set sold = sold + 1 where stay_date = '2030-03-02'",
    )
    .await;
    assert!(
        differences(&hotel, Extent::FromCheckpoints)
            .await
            .is_empty()
    );
    let found = differences(&hotel, Extent::Whole).await;
    assert_eq!(
        found,
        [
            "sold: entries say 2, the night 3",
            "sold: reservations say 2, the night 3",
            "sold: entries say 2, its checkpoint 3"
        ]
    );
}

#[tokio::test]
async fn after_a_restore_onto_another_cluster_checkpoints_count_for_nothing() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    close(&hotel).await;
    run(
        &hotel,
        "update night_checkpoint set system_identifier = 1, sold = 7, snapshot = '9:9:'",
    )
    .await;
    assert_proven(&hotel).await;
    assert_eq!(close(&hotel).await, 4);
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn what_is_archived_is_claimed_by_closed_nights_and_by_late_ones() {
    let hotel = Hotel::of(3).await;
    past(&hotel).await;
    let ids: Vec<(uuid::Uuid,)> =
        sqlx::query_as("select reservation_id from room_stay where arrival < '2030-03-10'")
            .fetch_all(&hotel.pool)
            .await
            .expect("ids");
    for (id,) in ids {
        let step = keyrack_ledger::command::Command::Progress {
            reservation: keyrack_model::id::ReservationId(id),
            step: keyrack_ledger::command::Progress::Complete,
            version: None,
        };
        reservation(hotel.ask(step).await);
    }
    hotel.pass("5 days").await;
    assert_eq!(close(&hotel).await, 4);
    assert_eq!(crate::archive::archive_after(&hotel, 1).await, 2);
    assert_proven(&hotel).await;
    hotel.record(report("R2", RevisionKind::New, 0, 2)).await;
    assert_proven(&hotel).await;
    hotel
        .record(report("R1", RevisionKind::Modified, 0, 4))
        .await;
    assert_proven(&hotel).await;
    assert_eq!(close(&hotel).await, 3);
    assert_proven(&hotel).await;
}

#[tokio::test]
async fn a_verification_reads_only_what_no_checkpoint_covers() {
    let hotel = Hotel::of(3).await;
    run(&hotel, include_str!("history.sql")).await;
    hotel.confirmed(0, 2).await;
    assert!(entries_read(&hotel).await > 16_000);
    let early = checkpoint::close_nights(&hotel.ledger, hotel.property, CLOSED_AFTER_DAYS + 15);
    assert!(early.await.expect("no failure") > 383);
    assert_eq!(close(&hotel).await, 7);
    run(&hotel, "analyze night_checkpoint").await;
    let read = entries_read(&hotel).await;
    assert!(read < 10, "{read} entries");
    assert_proven(&hotel).await;
    // A late change of a night of last week: what was written of nights from about there on.
    run(
        &hotel,
        "update night set version = version + 1 where stay_date = '2030-02-04'",
    )
    .await;
    let read = entries_read(&hotel).await;
    assert!((41..400).contains(&read), "{read} entries");
    assert_proven(&hotel).await;
}

/// How many entries a verification from checkpoints reads, by the plan that it runs.
async fn entries_read(hotel: &Hotel) -> i64 {
    let asked = include_str!("../../store/sql/verify_nights_since.sql");
    let asked = asked.replace("$1", &hotel.property.0.to_string());
    let explain = format!("explain (analyze, costs off, timing off, format json) {asked}");
    let plan: serde_json::Value = sqlx::query_scalar(sqlx::AssertSqlSafe(explain))
        .fetch_one(&hotel.pool)
        .await
        .expect("a plan");
    read_from_entries(&plan[0]["Plan"])
}

fn read_from_entries(node: &serde_json::Value) -> i64 {
    let number = |name: &str| {
        let number = &node[name];
        number
            .as_i64()
            .or_else(|| format!("{:.0}", number.as_f64()?).parse().ok())
    };
    let own = if node["Relation Name"] == "ledger_entry" {
        let rows = number("Actual Rows").unwrap_or(0);
        let removed = number("Rows Removed by Filter").unwrap_or(0);
        (rows + removed) * number("Actual Loops").unwrap_or(1)
    } else {
        0
    };
    let below = node["Plans"].as_array().into_iter().flatten();
    own + below.map(read_from_entries).sum::<i64>()
}
