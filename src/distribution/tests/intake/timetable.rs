//! What falls due by the clock.

use keyrack_distribution::timetable;
use keyrack_ledger::verify::Extent;

use crate::desk::{Desk, booking, message};

#[tokio::test(flavor = "multi_thread")]
async fn the_business_day_rolls_over_once_for_each_property() {
    let desk = Desk::open().await;
    crate::desk::hotel(&desk.ledger, "bergblick").await;
    assert_eq!(
        timetable::roll_over_due(&desk.distribution).await.unwrap(),
        2
    );
    assert_eq!(
        timetable::roll_over_due(&desk.distribution).await.unwrap(),
        0
    );
    desk.pass("1 day").await;
    assert_eq!(
        timetable::roll_over_due(&desk.distribution).await.unwrap(),
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_past_their_retention_are_taken_away() {
    let desk = Desk::open().await;
    desk.take(&message(&[booking("R1")])).await;
    timetable::purge(&desk.distribution).await.unwrap();
    assert_eq!(desk.count("channel_message").await, 1);
    desk.pass("91 days").await;
    timetable::purge(&desk.distribution).await.unwrap();
    assert_eq!(desk.count("channel_message").await, 0);
    assert_eq!(desk.references().await, ["R1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_is_archived_once_the_feed_and_the_webhooks_have_passed_it() {
    let desk = Desk::open().await;
    let first = message(&[booking("R1"), booking("R2")]);
    desk.take(&first).await;
    sqlx::raw_sql(
        "update reservation set status = 'completed';
         insert into webhook (code, url, secret) values ('erp', 'http://localhost:1', '');
         insert into webhook_delivery (webhook_id, event_id, event, subject, body, due_at,
                                       created_at)
         select webhook_id, 'e1', 'reservation.confirmed', 'reservation:' || reservation_id, '{}',
                ledger_now(), ledger_now()
           from webhook, reservation where channel_reference = 'R2'",
    )
    .execute(&desk.pool)
    .await
    .unwrap();
    desk.pass("120 days").await;
    let archive = || timetable::archive_once(&desk.distribution);
    assert_eq!(archive().await.unwrap(), 0, "the feed has read nothing");
    keyrack_distribution::feed::drain(&desk.distribution)
        .await
        .unwrap();
    assert_eq!(archive().await.unwrap(), 1);
    assert_eq!(desk.references().await, ["R2"]);
    sqlx::query("update webhook_delivery set status = 'delivered', delivered_at = ledger_now()")
        .execute(&desk.pool)
        .await
        .unwrap();
    assert_eq!(archive().await.unwrap(), 1);
    // The channel repeats itself.
    desk.take(&first).await;
    assert!(desk.references().await.is_empty());
    assert_eq!(desk.count("archived_reservation").await, 2);
    assert!(timetable::close_nights(&desk.distribution).await.unwrap() > 0);
    assert_eq!(
        timetable::close_nights(&desk.distribution).await.unwrap(),
        0
    );
    for extent in [Extent::FromCheckpoints, Extent::Whole] {
        let found = timetable::verify_once(&desk.distribution, extent).await;
        assert_eq!(found.unwrap(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_proves_every_number_after_an_intake() {
    let desk = Desk::open().await;
    desk.take(&message(&[booking("R1"), booking("R2")])).await;
    assert_eq!(
        timetable::verify_once(&desk.distribution, Extent::Whole)
            .await
            .unwrap(),
        0
    );
    sqlx::query("update night set sold = sold + 1 where stay_date = '2030-03-01' and sold > 0")
        .execute(&desk.pool)
        .await
        .unwrap();
    assert!(
        timetable::verify_once(&desk.distribution, Extent::Whole)
            .await
            .unwrap()
            > 0
    );
    assert_eq!(desk.notices().await[0].0, "ledger_mismatch");
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machines_clock_is_near_its_own_database() {
    let desk = Desk::open().await;
    let distance = timetable::clock_distance_seconds(&desk.distribution)
        .await
        .unwrap();
    assert!(distance.abs() < 2, "{distance}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_holds_are_swept_and_living_ones_stay() {
    let desk = Desk::open().await;
    let double = keyrack_ledger::catalog::room_types(&desk.ledger, desk.property)
        .await
        .unwrap()
        .into_iter()
        .find(|known| known.code == "double")
        .unwrap();
    let stay = keyrack_model::stay::Stay::new(
        jiff::civil::date(2030, 3, 1),
        jiff::civil::date(2030, 3, 2),
    );
    let wish = keyrack_ledger::command::Wish {
        reservation: keyrack_model::id::ReservationId(uuid::Uuid::now_v7()),
        hold: Some(keyrack_ledger::command::HoldEnd::Default),
        source: keyrack_model::reservation::Source::Phone,
        rooms: vec![keyrack_ledger::command::WishedRoom {
            room_stay: None,
            room_type: double.id,
            rate_plan: None,
            stay: stay.unwrap(),
            quantity: 1,
            price: None,
            adults: None,
            children_ages: Vec::new(),
            guest_name: None,
            allotment: None,
        }],
        guest: None,
        note: None,
        owner_id: None,
        payment_reference: None,
        channel: None,
        guaranteed: false,
        force: None,
    };
    let asked = keyrack_ledger::command::Asked::new(
        desk.property,
        crate::desk::by().into(),
        keyrack_ledger::command::Command::Request(Box::new(wish)),
    );
    keyrack_ledger::reservations::ask(&desk.ledger, asked)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(timetable::sweep_once(&desk.distribution).await.unwrap(), 0);
    desk.pass("12 minutes").await;
    assert_eq!(timetable::sweep_once(&desk.distribution).await.unwrap(), 1);
    assert_eq!(timetable::sweep_once(&desk.distribution).await.unwrap(), 0);
}
