//! How far a hotel means to sell: rules on nights, also where somebody dies in between.

use keyrack_ledger::decide::overbooking::limits::{Limit, LimitRule};
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::inventory;
use keyrack_ledger::overbookings::limits;
use keyrack_model::stay::Weekdays;

use crate::full::by;
use crate::hotel::{Hotel, stay};

fn rule(hotel: &Hotel, (from, to): (i32, i32), rooms: i32) -> LimitRule {
    LimitRule {
        room_type: hotel.double,
        nights: stay(from, to),
        weekdays: Weekdays::ALL,
        lead_days_min: 1,
        lead_days_max: None,
        limit: Limit::Rooms(rooms),
    }
}

async fn put(hotel: &Hotel, rules: &[LimitRule]) -> Result<(), LedgerError> {
    let put = limits::put(&hotel.ledger, hotel.property, by(), rules, None).await?;
    put.expect("no refusal");
    Ok(())
}

async fn limit(hotel: &Hotel, nights: [i32; 3]) -> Vec<i32> {
    let mut found = Vec::new();
    for night in nights {
        found.push(hotel.night(night).await.overbooking_limit);
    }
    found
}

#[tokio::test]
async fn nights_of_a_rule_that_is_gone_get_nothing_and_the_rule_is_gone() {
    let hotel = Hotel::of(3).await;
    inventory::extend_horizon(&hotel.ledger, hotel.property)
        .await
        .expect("nights");
    put(&hotel, &[rule(&hotel, (0, 4), 2)]).await.expect("put");
    assert_eq!(limit(&hotel, [0, 3, 5]).await, [2, 2, 0]);
    let next = [rule(&hotel, (3, 6), 1)];
    put(&hotel, &next).await.expect("put");
    assert_eq!(limit(&hotel, [0, 3, 5]).await, [0, 1, 1]);
    let listed = limits::list(&hotel.ledger, hotel.property).await;
    assert_eq!(listed.expect("no failure"), next);
    put(&hotel, &[]).await.expect("put");
    assert_eq!(limit(&hotel, [0, 3, 5]).await, [0, 0, 0]);
    let listed = limits::list(&hotel.ledger, hotel.property).await;
    assert_eq!(listed.expect("no failure"), []);
    hotel.assert_proven().await;
}

/// Whoever replaced the rules died before their nights had the new ones.
#[tokio::test]
async fn a_rule_that_is_gone_lets_its_nights_go_whoever_dies() {
    let hotel = Hotel::of(3).await;
    inventory::extend_horizon(&hotel.ledger, hotel.property)
        .await
        .expect("nights");
    put(&hotel, &[rule(&hotel, (0, 4), 2)]).await.expect("put");
    for sql in [
        "create function stop_here() returns trigger language plpgsql as
         $$ begin raise exception 'killed'; end $$",
        "create trigger stop before update on night
         for each row execute function stop_here()",
    ] {
        sqlx::query(sql).execute(&hotel.pool).await.expect("a trap");
    }
    assert!(put(&hotel, &[]).await.is_err(), "it died");
    sqlx::query("drop trigger stop on night")
        .execute(&hotel.pool)
        .await
        .expect("it is lifted");
    assert_eq!(limit(&hotel, [0, 3, 5]).await, [2, 2, 0]);
    inventory::roll_over(&hotel.ledger, hotel.property)
        .await
        .expect("a new day");
    assert_eq!(limit(&hotel, [0, 3, 5]).await, [0, 0, 0]);
    hotel.assert_proven().await;
}
