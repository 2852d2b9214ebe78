//! Accounts, mappings, buffer rules.

use keyrack_ledger::catalog::{self, AccountRow, MappingSetup};
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_model::channel::{AccountSettings, AccountState};
use keyrack_model::id::{ConnectionId, RoomTypeId};
use keyrack_model::stay::Weekdays;

use crate::hotel::{Hotel, rate_plan, room_type, stay};

async fn put(
    hotel: &Hotel,
    code: &str,
    connection: ConnectionId,
    hotel_code: &str,
    settings: AccountSettings,
) -> Result<(AccountRow, bool), Refusal> {
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    let property = hotel.property;
    catalog::put_account(
        ledger, property, by, code, connection, "fake", hotel_code, settings, None,
    )
    .await
    .expect("no failure")
}

fn at(refusal: Refusal) -> String {
    match refusal {
        Refusal::Invalid(faults) => faults[0].0.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_account_begins_in_setup_and_one_listing_has_one_account() {
    let hotel = Hotel::open().await;
    let connection = hotel.connection("login").await;
    let settings = AccountSettings {
        scarcity_rooms: 5,
        ..Default::default()
    };
    let made = put(&hotel, "fake", connection, "H1", settings.clone()).await;
    let (row, is_new) = made.expect("no refusal");
    assert!(is_new && !row.import_done);
    assert_eq!((row.account.state, row.version), (AccountState::Setup, 1));
    assert_eq!(row.account.settings, settings);
    let again = put(&hotel, "fake", connection, "H1", settings.clone()).await;
    assert_eq!(again, Ok((row.clone(), false)));

    let taken = put(&hotel, "other", connection, "H1", settings.clone()).await;
    assert_eq!(at(taken.expect_err("taken")), "/hotel_code");
    let nowhere = put(&hotel, "other", ConnectionId(999), "H2", settings.clone()).await;
    assert_eq!(at(nowhere.expect_err("no connection")), "/connection");
    let fallback = AccountSettings {
        fallback_room_type: Some("suite".into()),
        ..Default::default()
    };
    let unknown = put(&hotel, "other", connection, "H2", fallback).await;
    assert_eq!(
        at(unknown.expect_err("no such type")),
        "/settings/fallback_room_type"
    );

    let moved = put(&hotel, "fake", connection, "H9", settings)
        .await
        .expect("no refusal");
    assert_eq!(
        (moved.0.version, moved.0.account.hotel_code.as_str()),
        (2, "H9")
    );
    let id = row.account.id;
    let change = format!("0 0 {id} 2030-06-01 2030-07-01 account");
    assert_eq!(hotel.rate_changes().await, [change.clone(), change]);
}

#[tokio::test]
async fn a_state_carries_its_reason_and_marks_the_whole_horizon() {
    let hotel = Hotel::open().await;
    let connection = hotel.connection("login").await;
    let (row, _) = put(&hotel, "fake", connection, "H1", AccountSettings::default())
        .await
        .expect("made");
    let id = row.account.id;
    let rules = hotel.rules_version().await;
    catalog::set_import_done(&hotel.ledger, id, &hotel.by)
        .await
        .expect("no failure");
    let set =
        |state, reason| catalog::set_account_state(&hotel.ledger, id, &hotel.by, state, reason);
    set(AccountState::Live, None).await.expect("no failure");
    set(AccountState::Paused, Some("renovation"))
        .await
        .expect("no failure");
    set(AccountState::Paused, Some("renovation"))
        .await
        .expect("no failure");
    assert_eq!(hotel.rules_version().await, rules + 2);
    assert_eq!(hotel.rate_changes().await.len(), 3);
    let all = catalog::all_accounts(&hotel.ledger)
        .await
        .expect("no failure");
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].account.state, AccountState::Paused);
    assert_eq!(all[0].state_reason.as_deref(), Some("renovation"));
    assert!(all[0].import_done);
}

#[tokio::test]
async fn a_removed_account_is_out_of_sight_and_comes_back_under_its_id() {
    let hotel = Hotel::open().await;
    let connection = hotel.connection("login").await;
    let default = AccountSettings::default;
    let (row, _) = put(&hotel, "fake", connection, "H1", default())
        .await
        .expect("made");
    let id = row.account.id;
    sqlx::query(
        "insert into channel_reference (property_id, account_id, reference, last_kind, last_hash) \
         values ($1, $2, 'R1', 'new', '')",
    )
    .bind(hotel.property.0)
    .bind(id.0)
    .execute(&hotel.pool)
    .await
    .expect("a reference that is kept for ever");
    catalog::remove_account(&hotel.ledger, id, &hotel.by)
        .await
        .expect("no failure");
    let accounts = catalog::accounts(&hotel.ledger, hotel.property).await;
    assert_eq!(accounts.expect("no failure"), []);
    put(&hotel, "second", connection, "H1", default())
        .await
        .expect("the listing is free");
    let (back, is_new) = put(&hotel, "fake", connection, "H2", default())
        .await
        .expect("made");
    assert_eq!((back.account.id, is_new), (id, true));
    assert_eq!(back.account.state, AccountState::Setup);
}

fn mapping(room_type: &str, plan: Option<&str>, room: &str, rate: Option<&str>) -> MappingSetup {
    MappingSetup {
        room_type: room_type.into(),
        rate_plan: plan.map(str::to_owned),
        channel_room_code: room.into(),
        channel_rate_code: rate.map(str::to_owned),
        pool: Default::default(),
        allotment: None,
    }
}

#[tokio::test]
async fn mappings_are_replaced_as_a_whole_by_codes_that_exist() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 0)).await;
    let flex = hotel.rate_plan("flex", rate_plan("Flexible")).await;
    let connection = hotel.connection("login").await;
    let settings = AccountSettings {
        fallback_room_type: Some("dbl".into()),
        ..Default::default()
    };
    let (row, _) = put(&hotel, "fake", connection, "H1", settings)
        .await
        .expect("made");
    let id = row.account.id;
    let set = |mappings: Vec<MappingSetup>| async {
        catalog::put_mappings(&hotel.ledger, id, &hotel.by, mappings)
            .await
            .expect("no failure")
    };
    let good = vec![
        mapping("dbl", None, "R1", None),
        mapping("dbl", Some("flex"), "R1", Some("A")),
    ];
    assert_eq!(set(good.clone()).await, Ok(good.clone()));
    let wrong = set(vec![mapping("dbl", Some("gone"), "R1", None)]).await;
    assert_eq!(at(wrong.expect_err("no such plan")), "/0/rate_plan");
    let wrong = set(vec![mapping("gone", None, "R1", None)]).await;
    assert_eq!(at(wrong.expect_err("no such type")), "/0/room_type");
    let codes = catalog::mapping_codes(&hotel.ledger, id)
        .await
        .expect("no failure");
    assert_eq!(codes, good);
    let (ids, fallback) = catalog::mappings(&hotel.ledger, id)
        .await
        .expect("no failure");
    assert_eq!((ids[1].room_type, ids[1].rate_plan), (dbl, Some(flex)));
    assert_eq!(fallback, Some(dbl));
    let last = hotel.rate_changes().await.pop().expect("a change");
    assert_eq!(last, format!("0 0 {id} 2030-06-01 2030-07-01 mapping"));
}

#[tokio::test]
async fn buffer_rules_read_back_in_their_order() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 0)).await;
    let rule = BufferRule {
        account: None,
        room_type: Some(dbl),
        nights: Some(stay(3, 9)),
        weekdays: Weekdays::from_bits(0b110_0000),
        lead_days_min: Some(2),
        lead_days_max: None,
        kind: BufferKind::CloseAt(2),
    };
    let rules = vec![
        rule.clone(),
        BufferRule {
            room_type: None,
            nights: None,
            kind: BufferKind::KeepBack(1),
            ..rule.clone()
        },
    ];
    let put = |rules| catalog::put_buffer_rules(&hotel.ledger, hotel.property, &hotel.by, rules);
    assert_eq!(
        put(rules.clone()).await.expect("no failure"),
        Ok(rules.clone())
    );
    let read = catalog::buffer_rules(&hotel.ledger, hotel.property).await;
    assert_eq!(read.expect("no failure"), rules);
    let stranger = BufferRule {
        room_type: Some(RoomTypeId(999)),
        ..rule
    };
    let refusal = put(vec![stranger])
        .await
        .expect("no failure")
        .expect_err("no such type");
    assert_eq!(at(refusal), "/0/room_type");
}
