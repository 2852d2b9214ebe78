//! Codes that no mapping knows: the guest is recorded, staff are told, and what waits is read
//! again.

use keyrack_distribution::messages;
use keyrack_model::channel::AccountSettings;

use crate::desk::{Desk, booking, but, map, message, settings};

#[tokio::test(flavor = "multi_thread")]
async fn an_unmapped_room_is_recorded_told_and_read_again_once_it_is_mapped() {
    let desk = Desk::open().await;
    let told = message(&[but(booking("R1"), "room", "DLX"), booking("R2")]);
    let outcome = desk.take(&told).await;
    assert_eq!(outcome.recorded.len(), 2);
    let seen = desk.reservations().await;
    assert_eq!(seen[0], ("R1".into(), "confirmed".into(), vec![None]));
    assert_eq!(desk.sold().await, [1, 1, 0]);
    let codes = messages::unmapped_codes(&desk.distribution, desk.account.id)
        .await
        .unwrap();
    assert_eq!(
        (codes.len(), codes[0].channel_room_code.as_str()),
        (1, "DLX")
    );
    let (kind, text) = &desk.notices().await[0];
    assert_eq!(kind, "unmapped");
    assert!(text.contains("DLX") && text.contains("R1"), "{text}");
    assert_eq!(
        messages::replay_mapped(&desk.distribution, &desk.account)
            .await
            .unwrap(),
        0
    );

    map(
        &desk.ledger,
        &desk.account,
        &[("DBL", "double"), ("DLX", "double")],
    )
    .await;
    assert_eq!(
        messages::replay_all_mapped(&desk.distribution)
            .await
            .unwrap(),
        1
    );
    assert_eq!(desk.sold().await, [2, 2, 0]);
    let seen = desk.reservations().await;
    assert!(seen.len() == 2 && seen[0].2[0].is_some(), "{seen:?}");
    assert!(desk.notices().await.is_empty());
    let codes = messages::unmapped_codes(&desk.distribution, desk.account.id)
        .await
        .unwrap();
    assert!(codes.is_empty());
    assert!(!desk.messages().await[0].is_unmapped);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unmapped_room_takes_the_accounts_fallback_type() {
    let fallback = AccountSettings {
        fallback_room_type: Some("double".into()),
        ..AccountSettings::default()
    };
    let desk = Desk::with(settings(), fallback).await;
    desk.take(&message(&[but(booking("R1"), "room", "DLX")]))
        .await;
    assert_eq!(desk.sold().await, [1, 1, 0]);
    map(
        &desk.ledger,
        &desk.account,
        &[("DBL", "double"), ("DLX", "suite")],
    )
    .await;
    messages::replay_all_mapped(&desk.distribution)
        .await
        .unwrap();
    assert_eq!(desk.sold().await, [0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_again_never_undoes_what_came_later() {
    let desk = Desk::open().await;
    let first = but(booking("R1"), "room", "DLX");
    desk.take(&message(std::slice::from_ref(&first))).await;
    desk.pass("1 minute").await;
    let later = but(but(first, "departure", "2030-03-04"), "kind", "modify");
    desk.take(&message(&[but(later, "order", 2)])).await;
    desk.pass("1 minute").await;
    map(
        &desk.ledger,
        &desk.account,
        &[("DBL", "double"), ("DLX", "double")],
    )
    .await;
    messages::replay_all_mapped(&desk.distribution)
        .await
        .unwrap();
    assert_eq!(desk.sold().await, [1, 1, 1]);
    // By hand, the oldest once more.
    let oldest = desk.messages().await.last().unwrap().id;
    messages::replay(&desk.distribution, oldest).await.unwrap();
    assert_eq!(desk.sold().await, [1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_records_nothing_twice() {
    let desk = Desk::open().await;
    let outcome = desk.take(&message(&[booking("R1")])).await;
    let id = outcome.message.unwrap();
    let again = messages::replay(&desk.distribution, id).await.unwrap();
    assert_eq!(again.recorded[0].did, "repeated");
    assert_eq!(desk.sold().await, [1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_daemon_had_kept_and_not_read_is_taken_up_again() {
    let desk = Desk::open().await;
    let outcome = desk.take(&message(&[booking("R1")])).await;
    // As if the process had ended right after the raw row.
    sqlx::query("truncate reservation, room_stay, channel_reference cascade")
        .execute(&desk.pool)
        .await
        .unwrap();
    sqlx::query(
        "update channel_message set status = 'received', named = '{}' where message_id = $1",
    )
    .bind(outcome.message.unwrap().0)
    .execute(&desk.pool)
    .await
    .unwrap();
    assert_eq!(
        messages::replay_unfinished(&desk.distribution, 120)
            .await
            .unwrap(),
        0
    );
    desk.pass("3 minutes").await;
    assert_eq!(
        messages::replay_unfinished(&desk.distribution, 120)
            .await
            .unwrap(),
        1
    );
    assert_eq!(desk.references().await, ["R1"]);
    assert_eq!(
        messages::replay_unfinished(&desk.distribution, 120)
            .await
            .unwrap(),
        0
    );
}

/// Room types that the one reservation has, and the codes that are still listed.
async fn rooms_and_codes(desk: &Desk) -> (Vec<Option<i64>>, usize) {
    let rooms = desk.reservations().await.remove(0).2;
    let codes = messages::unmapped_codes(&desk.distribution, desk.account.id);
    (rooms, codes.await.unwrap().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mapping_that_is_made_while_a_guest_is_taken_in_maps_that_guest() {
    let desk = Desk::open().await;
    // Intake has read the mappings and stands before the ledger's table.
    let mut door = desk.pool.begin().await.unwrap();
    sqlx::query("lock table reservation in exclusive mode")
        .execute(&mut *door)
        .await
        .unwrap();
    let told = message(&[but(booking("R1"), "room", "DLX")]);
    let (.., ()) = tokio::join!(desk.take(&told), async {
        let waits = "select exists (select from pg_locks
                     where relation = 'reservation'::regclass and not granted)";
        while !sqlx::query_scalar::<_, bool>(waits)
            .fetch_one(&desk.pool)
            .await
            .unwrap()
        {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let rooms = [("DBL", "double"), ("DLX", "double")];
        map(&desk.ledger, &desk.account, &rooms).await;
        let replayed = messages::replay_mapped(&desk.distribution, &desk.account).await;
        assert_eq!(replayed.unwrap(), 0, "nothing waits yet");
        door.commit().await.unwrap();
    });
    let (rooms, codes) = rooms_and_codes(&desk).await;
    assert!(rooms.len() == 1 && rooms[0].is_some(), "{rooms:?}");
    assert_eq!((codes, desk.sold().await), (0, vec![1, 1, 0]));
    assert!(desk.notices().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_read_again_though_its_code_was_struck_off_the_list() {
    for looks_by_itself in [false, true] {
        let desk = Desk::open().await;
        let told = message(&[but(booking("R1"), "room", "DLX")]);
        desk.take(&told).await;
        let rooms = [("DBL", "double"), ("DLX", "double")];
        map(&desk.ledger, &desk.account, &rooms).await;
        // As a daemon of an earlier version left it, which kept no codes with the message.
        sqlx::query("delete from unmapped_code")
            .execute(&desk.pool)
            .await
            .unwrap();
        sqlx::query("update channel_message set unmapped_codes = '[]'")
            .execute(&desk.pool)
            .await
            .unwrap();
        let replayed = match looks_by_itself {
            true => messages::replay_all_mapped(&desk.distribution).await,
            false => messages::replay_mapped(&desk.distribution, &desk.account).await,
        };
        assert_eq!(replayed.unwrap(), 1);
        let (rooms, codes) = rooms_and_codes(&desk).await;
        assert!(rooms[0].is_some() && codes == 0, "{rooms:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_stays_listed_while_a_message_waits_for_it() {
    let desk = Desk::open().await;
    let mixed = [
        but(booking("R1"), "room", "DLX"),
        but(booking("R2"), "room", "SUI"),
    ];
    desk.take(&message(&mixed)).await;
    map(
        &desk.ledger,
        &desk.account,
        &[("DBL", "double"), ("DLX", "double")],
    )
    .await;
    assert_eq!(
        messages::replay_all_mapped(&desk.distribution)
            .await
            .unwrap(),
        1
    );
    // The other one waits on, and is not read over and over.
    assert_eq!(
        messages::replay_all_mapped(&desk.distribution)
            .await
            .unwrap(),
        0
    );
    let (rooms, codes) = rooms_and_codes(&desk).await;
    assert!(rooms[0].is_some() && codes == 1, "{rooms:?}");
}
