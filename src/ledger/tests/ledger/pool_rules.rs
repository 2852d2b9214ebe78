//! Rules that switch the pool of an account: whoever changes a night turns its switches, once, and
//! one cancellation does not turn them back.

use futures_util::future::join_all;
use keyrack_ledger::catalog::{pool_rules, put_pool_rules};
use keyrack_ledger::command::{By, Command, HoldEnd, NightChange};
use keyrack_ledger::decide::pool_rule::{PoolRule, Scarcity};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::holds;
use keyrack_model::channel::PoolMode;
use keyrack_model::stay::Weekdays;

use super::allotments::{agreed, proven};
use super::hotel::{Hotel, ask, stay};

fn scarce(hotel: &Hotel, at_most: i32, again_at: i32) -> PoolRule {
    PoolRule {
        account: hotel.account,
        room_type: None,
        nights: None,
        weekdays: Weekdays::ALL,
        mode: PoolMode::Allotment,
        scarcity: Some(Scarcity { at_most, again_at }),
    }
}

async fn put(hotel: &Hotel, rules: &[PoolRule]) -> Result<Vec<PoolRule>, Refusal> {
    let by = By::default();
    let put = put_pool_rules(&hotel.ledger, hotel.property, &by, rules).await;
    put.expect("no failure")
}

/// Nights on which a rule of scarcity holds, as offsets.
async fn on(hotel: &Hotel) -> Vec<i32> {
    sqlx::query_scalar(
        "select stay_date - date '2030-03-01' from pool_switch order by stay_date, rule_id",
    )
    .fetch_all(&hotel.pool)
    .await
    .expect("the switches")
}

#[tokio::test]
async fn a_switch_turns_at_its_threshold_and_back_only_at_the_other() {
    let hotel = Hotel::of(6).await;
    agreed(&hotel, 3, 1).await;
    let rules = [scarce(&hotel, 3, 5)];
    put(&hotel, &rules).await.expect("put");
    let stored = pool_rules(&hotel.ledger, hotel.property).await;
    assert_eq!(stored.expect("read"), rules);
    assert_eq!(on(&hotel).await, [0; 0], "five are free");
    let mut guests = Vec::new();
    for turned in [&[][..], &[0]] {
        guests.push(hotel.confirmed(0, 1).await);
        assert_eq!(on(&hotel).await, turned);
    }
    hotel.cancel(guests[0].id).await.expect("cancelled");
    assert_eq!(on(&hotel).await, [0], "four are free, and five end it");
    hotel.cancel(guests[1].id).await.expect("cancelled");
    assert_eq!(on(&hotel).await, [0; 0]);
    // Out of order makes rooms scarce as well, and a rule that stays keeps its switches.
    let broken = NightChange {
        room_type: hotel.double,
        nights: stay(1, 1),
        out_of_order: Some(2),
        overbooking_limit: None,
        reason: None,
    };
    let changes = vec![broken];
    let dry_run = false;
    hotel
        .ask(Command::SetNights { changes, dry_run })
        .await
        .expect("set");
    assert_eq!(on(&hotel).await, [1]);
    let season = PoolRule {
        scarcity: None,
        ..scarce(&hotel, 0, 1)
    };
    put(&hotel, &[season.clone(), rules[0].clone()])
        .await
        .expect("put");
    assert_eq!(on(&hotel).await, [1]);
    put(&hotel, &[season]).await.expect("put");
    assert_eq!(on(&hotel).await, [0; 0], "gone with its rule");
    proven(&hotel).await;
}

#[tokio::test]
async fn a_new_rule_looks_at_what_is_free_already() {
    let hotel = Hotel::of(6).await;
    agreed(&hotel, 3, 1).await;
    for _ in 0..3 {
        hotel.confirmed(1, 1).await;
    }
    put(&hotel, &[scarce(&hotel, 3, 5)]).await.expect("put");
    assert_eq!(on(&hotel).await, [1]);
    // Whoever put it was cut off before the nights were looked at, and puts it again.
    sqlx::query("delete from pool_switch")
        .execute(&hotel.pool)
        .await
        .expect("deleted");
    put(&hotel, &[scarce(&hotel, 3, 5)]).await.expect("put");
    assert_eq!(on(&hotel).await, [1]);
    proven(&hotel).await;
}

#[tokio::test]
async fn a_rule_needs_an_allotment_to_live_on_and_an_end_above_its_beginning() {
    let hotel = Hotel::of(6).await;
    let refused = put(&hotel, &[scarce(&hotel, 3, 5)]).await;
    let pointer = |refused: Result<_, Refusal>| match refused {
        Err(Refusal::Invalid(faults)) => faults[0].0.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(pointer(refused), "/0/account");
    agreed(&hotel, 3, 1).await;
    let refused = put(&hotel, &[scarce(&hotel, 3, 3)]).await;
    assert_eq!(pointer(refused), "/0/until_free");
}

#[tokio::test]
async fn dead_holds_turn_switches_whoever_lets_them_go() {
    let hotel = Hotel::of(6).await;
    agreed(&hotel, 3, 1).await;
    put(&hotel, &[scarce(&hotel, 3, 5)]).await.expect("put");
    for _ in 0..2 {
        let hold = hotel.wish(0, 1, Some(HoldEnd::Seconds(60)));
        hotel.ask(hold).await.expect("held");
    }
    assert_eq!(on(&hotel).await, [0]);
    hotel.pass("10 minutes").await;
    let shares = [(hotel.property, 10)].into();
    let swept = holds::expire_due(&hotel.ledger, &shares)
        .await
        .expect("swept");
    assert_eq!((swept.let_go, swept.failed.len()), (2, 0));
    assert_eq!(on(&hotel).await, [0; 0]);
    proven(&hotel).await;
}

#[tokio::test]
async fn two_daemons_turn_a_switch_once_and_alike() {
    let hotel = Hotel::of(30).await;
    agreed(&hotel, 2, 1).await;
    put(&hotel, &[scarce(&hotel, 10, 12)]).await.expect("put");
    let second = hotel.second_daemon().await;
    let wishes = (0..19).map(|turn| {
        let ledger = if turn % 2 == 0 {
            &hotel.ledger
        } else {
            &second
        };
        ask(ledger, hotel.property, hotel.wish(0, 2, None))
    });
    let mut made = Vec::new();
    for answer in join_all(wishes).await {
        let receipt = answer.expect("no failure").expect("made");
        made.push(receipt.reservation.expect("a reservation").id);
    }
    assert_eq!(on(&hotel).await, [0, 1], "ten are free");
    let cancels = made[..2].iter().enumerate().map(|(turn, id)| {
        let ledger = if turn % 2 == 0 {
            &hotel.ledger
        } else {
            &second
        };
        ask(ledger, hotel.property, super::hotel::cancel(*id))
    });
    for answer in join_all(cancels).await {
        answer.expect("no failure").expect("cancelled");
    }
    assert_eq!(on(&hotel).await, [0; 0], "twelve are free");
    proven(&hotel).await;
}
