//! Overbooking that was meant: its case opens when it comes near.

use keyrack_ledger::command::{Command, NightChange};

use crate::hotel::{Hotel, stay};

#[tokio::test]
async fn what_was_meant_opens_a_case_when_the_night_comes_near_and_not_before() {
    let hotel = Hotel::of(1).await;
    let limit = Command::SetNights {
        changes: vec![NightChange {
            room_type: hotel.double,
            nights: stay(0, 1),
            out_of_order: None,
            overbooking_limit: Some(1),
            reason: Some("two in ten do not come".to_owned()),
        }],
        dry_run: false,
    };
    hotel.ask(limit).await.unwrap();
    hotel.confirmed(0, 1).await;
    hotel.confirmed(0, 1).await;
    let open = "select count(*) from overbooking_case where status = 'open'";
    let review = Command::Review {
        room_type: hotel.double,
        nights: stay(-1, 4),
    };
    hotel.ask(review.clone()).await.unwrap();
    assert_eq!(
        (hotel.count(open).await, hotel.night(0).await.oversold),
        (0, 0)
    );
    hotel.pass("7 days").await;
    for _ in 0..2 {
        hotel.ask(review.clone()).await.unwrap();
        assert_eq!(hotel.count(open).await, 1);
    }
    hotel.assert_proven().await;
}
