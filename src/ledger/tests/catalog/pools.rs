//! What an account is told of its allotment and of what is shared, and why.

use keyrack_ledger::allotments::{self, Put};
use keyrack_ledger::catalog::{self, MappingSetup};
use keyrack_ledger::decide::allotment::{AgreedRooms, Owner};
use keyrack_ledger::decide::pool_rule::{PoolRule, Scarcity};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::tail;
use keyrack_model::allotment::Release;
use keyrack_model::channel::PoolMode;
use keyrack_model::stay::{Stay, Weekdays};

use crate::hotel::{day, stay};
use crate::rooms::sell;
use crate::told::Told;

async fn agree(told: &Told, rooms: i32) {
    let (hotel, ledger) = (&told.hotel, &told.hotel.ledger);
    let put = Put {
        code: "tour".to_owned(),
        owner: Owner::Account(told.account.id),
        room_type: told.dbl,
        release: Release::default(),
        values: vec![AgreedRooms {
            nights: stay(2, 6),
            weekdays: Weekdays::ALL,
            rooms,
        }],
        version: None,
        force: None,
        dry_run: false,
    };
    let put = allotments::put(ledger, hotel.property, &hotel.by, put).await;
    put.expect("no failure").expect("agreed");
}

fn mapping(pool: PoolMode, allotment: Option<&str>) -> MappingSetup {
    MappingSetup {
        room_type: "dbl".to_owned(),
        rate_plan: None,
        channel_room_code: "R-dbl".to_owned(),
        channel_rate_code: None,
        pool,
        allotment: allotment.map(str::to_owned),
    }
}

async fn map(told: &mut Told, pool: PoolMode) {
    let (ledger, by) = (&told.hotel.ledger, &told.hotel.by);
    let code = (pool != PoolMode::Shared).then_some("tour");
    let setups = vec![mapping(pool, code)];
    let put = catalog::put_mappings(ledger, told.account.id, by, setups).await;
    put.expect("no failure").expect("no refusal");
    let read = catalog::mappings(ledger, told.account.id).await;
    told.mappings = read.expect("no failure").0;
}

async fn rules(told: &Told, rules: &[PoolRule]) {
    let (hotel, ledger) = (&told.hotel, &told.hotel.ledger);
    let put = catalog::put_pool_rules(ledger, hotel.property, &hotel.by, rules).await;
    put.expect("no failure").expect("put");
}

async fn steps(told: &Told, offset: i32) -> Vec<(String, String)> {
    let (ledger, key) = (&told.hotel.ledger, told.room(offset));
    let lines = tail::explain(ledger, &told.listing(), key).await;
    let lines = lines.expect("no failure").into_iter();
    lines.map(|line| (line.step, line.why)).collect()
}

#[tokio::test]
async fn an_account_is_told_the_pools_that_its_mapping_names() {
    let mut told = Told::open().await;
    agree(&told, 3).await;
    // Nights 1, 2 (agreed) and 6 (not): of four doubles one is shared.
    for (pool, expected) in [
        (PoolMode::Shared, [4, 1, 4]),
        (PoolMode::Allotment, [0, 3, 0]),
        (PoolMode::AllotmentThenShared, [4, 4, 4]),
    ] {
        map(&mut told, pool).await;
        let rooms = told.rooms([1, 2, 6].into_iter()).await;
        let rooms: Vec<i32> = rooms.into_iter().map(|(rooms, _)| rooms).collect();
        assert_eq!(rooms, expected, "{pool:?}");
    }
    sell(&told.hotel, told.dbl, stay(2, 3), 1).await;
    assert_eq!(
        told.rooms(2..3).await,
        [(3, false)],
        "what is shared is gone"
    );
    map(&mut told, PoolMode::Allotment).await;
    assert_eq!(told.rooms(2..3).await, [(3, false)], "and its own stands");
    let steps = steps(&told, 2).await;
    let own = steps.iter().find(|(step, _)| step == "allotment");
    assert!(own.expect("a line").1.contains("3 rooms"), "{steps:?}");
}

#[tokio::test]
async fn a_mapping_names_an_allotment_of_its_account_and_type() {
    let told = Told::open().await;
    agree(&told, 3).await;
    let (ledger, by) = (&told.hotel.ledger, &told.hotel.by);
    let mut other_pool = mapping(PoolMode::Shared, None);
    other_pool.channel_room_code = "R-2".to_owned();
    let own = mapping(PoolMode::Allotment, Some("tour"));
    for (setups, pointer) in [
        (vec![mapping(PoolMode::Allotment, None)], "/0/allotment"),
        (
            vec![mapping(PoolMode::Shared, Some("tour"))],
            "/0/allotment",
        ),
        (
            vec![mapping(PoolMode::Allotment, Some("x"))],
            "/0/allotment",
        ),
        (vec![own, other_pool], "/1/pool"),
    ] {
        let put = catalog::put_mappings(ledger, told.account.id, by, setups).await;
        let Err(Refusal::Invalid(faults)) = put.expect("no failure") else {
            panic!("{pointer} is not refused");
        };
        assert_eq!(faults[0].0, pointer);
    }
}

#[tokio::test]
async fn a_rule_switches_the_pool_by_season_and_by_scarcity_and_says_so() {
    let told = Told::open().await;
    agree(&told, 1).await;
    let rule = PoolRule {
        account: told.account.id,
        room_type: Some(told.dbl),
        nights: Stay::new(day(2), day(4)),
        weekdays: Weekdays::ALL,
        mode: PoolMode::AllotmentThenShared,
        scarcity: None,
    };
    let scarce = PoolRule {
        nights: None,
        mode: PoolMode::Allotment,
        scarcity: Some(Scarcity {
            at_most: 2,
            again_at: 4,
        }),
        ..rule.clone()
    };
    rules(&told, &[rule, scarce]).await;
    assert_eq!(
        told.rooms(1..5).await,
        [(4, false), (4, false), (4, false), (3, false)]
    );
    sell(&told.hotel, told.dbl, stay(2, 3), 1).await;
    assert_eq!(told.rooms(2..4).await, [(1, false), (4, false)]);
    let steps = steps(&told, 2).await;
    let (_, why) = steps
        .iter()
        .find(|(step, _)| step == "pool_rule")
        .expect("a line");
    assert!(
        why.contains("2 or fewer") && why.contains("until 4"),
        "{why}"
    );
}
