//! The reservation queues of the fake Booking.com.

use keyrack_sandbox::{
    BookingCom, BookingComSettings, Change, Room, Sandbox, Settings, Sold, Wish,
};

use crate::client::{Booking, DOUBLE, FRIDAY, HOTEL, MONDAY, NEW, OTA, SUNDAY, sandbox, settings};

async fn open_house(settings: Settings) -> (Sandbox, BookingCom, Booking) {
    let sandbox = sandbox(settings).await;
    let client = Booking::connect(&sandbox).await;
    client.open(8).await;
    let channel = sandbox.booking_com();
    (sandbox, channel, client)
}

fn sell(channel: &BookingCom) -> Sold {
    channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap()
}

#[tokio::test]
async fn a_reservation_is_offered_until_it_is_acknowledged() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    let empty = client.new_ones().await;
    assert!(empty.body.contains("OTA_HotelResNotifRQ") && empty.body.contains("RUID"));
    assert!(!empty.body.contains("<HotelReservation "));
    let (first, second) = (sell(&channel), sell(&channel));
    for _ in 0..2 {
        let offered = client.new_ones().await.body;
        assert!(offered.contains(&first.reference) && offered.contains(&second.reference));
    }
    let refusal = format!(
        r#"<OTA_HotelResNotifRS xmlns="{OTA}"><Errors><Error Type="3" Code="193"
           RecordID="{}" ShortText="cannot"/></Errors></OTA_HotelResNotifRS>"#,
        first.reference
    );
    assert_eq!(client.post(NEW, &refusal).await.status, 200);
    assert!(
        client.new_ones().await.body.contains(&first.reference),
        "a refusal keeps it"
    );
    let ids = [first.reference.as_str(), second.reference.as_str()];
    assert_eq!(client.ack_new(&ids).await.status, 200);
    assert!(!client.new_ones().await.body.contains(&first.reference));
    assert_eq!(
        client.ack_new(&ids).await.status,
        200,
        "said twice, taken once"
    );
    let journal = channel.journal();
    let version = journal.reservations[0].latest();
    assert_eq!(version.delivered_at.len(), 3);
    assert!(version.acknowledged_at.is_some() && version.rejected_at.is_some());
}

#[tokio::test]
async fn the_message_has_one_rate_a_night_and_money_in_minor_units() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    sell(&channel);
    let body = client.new_ones().await.body;
    assert_eq!(body.matches("<RoomRate ").count(), 3);
    let total = r#"<Total AmountAfterTax="45000" CurrencyCode="EUR" DecimalPlaces="2"/>"#;
    assert!(body.contains(total), "{body}");
    assert!(body.contains(r#"EffectiveDate="2030-03-03""#));
    assert!(!body.contains("2030-03-04"), "no departure anywhere");
    assert!(body.contains(r#"IndexNumber="9001""#));
    let judged = keyrack_sandbox::check("booking_com", body.as_bytes(), &[]);
    assert_eq!(
        judged.verdict,
        keyrack_sandbox::Verdict::Accept,
        "{}",
        judged.reason
    );
}

#[tokio::test]
async fn a_change_before_the_acknowledgement_folds_into_the_new_one() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    let sold = sell(&channel);
    client.new_ones().await;
    let shorter = Change::Dates {
        arrival: FRIDAY,
        departure: SUNDAY,
    };
    channel.modify(&sold.reference, &shorter).unwrap();
    let stale = client.ack_new(&[&sold.reference]).await;
    assert_eq!(stale.status, 400);
    assert!(stale.body.contains("transaction message of the wrong type"));
    assert!(!client.changed_ones().await.body.contains(&sold.reference));
    let folded = client.new_ones().await.body;
    assert!(
        !folded.contains(r#"EffectiveDate="2030-03-03""#),
        "the latest state"
    );
    assert_eq!(client.ack_new(&[&sold.reference]).await.status, 200);
    let versions = channel.journal().reservations.remove(0).versions;
    assert!(versions[0].superseded_at.is_some() && versions[0].acknowledged_at.is_none());
    assert!(versions[1].acknowledged_at.is_some());
}

#[tokio::test]
async fn a_change_after_it_comes_in_the_other_queue_only() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    let sold = sell(&channel);
    client.new_ones().await;
    client.ack_new(&[&sold.reference]).await;
    let shorter = Change::Dates {
        arrival: FRIDAY,
        departure: SUNDAY,
    };
    channel.modify(&sold.reference, &shorter).unwrap();
    assert!(!client.new_ones().await.body.contains(&sold.reference));
    let changed = client.changed_ones().await.body;
    assert!(changed.contains("HotelResModify") && changed.contains(r#"IndexNumber="9001""#));
    assert!(!changed.contains("ResStatus"), "the queue tells what it is");
    assert_eq!(
        client.ack_new(&[&sold.reference]).await.status,
        400,
        "the wrong address"
    );
    assert_eq!(client.ack_changed(&[&sold.reference]).await.status, 200);
    channel.cancel(&sold.reference).unwrap();
    let cancelled = client.changed_ones().await.body;
    assert!(cancelled.contains(r#"ResStatus="Cancel""#) && !cancelled.contains("RoomStay"));
    assert_eq!(client.ack_changed(&[&sold.reference]).await.status, 200);
    assert!(!client.changed_ones().await.body.contains(&sold.reference));
}

#[tokio::test]
async fn what_was_cancelled_unacknowledged_comes_as_new_and_cancelled() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    let sold = sell(&channel);
    channel.cancel(&sold.reference).unwrap();
    let body = client.new_ones().await.body;
    assert!(body.contains(&sold.reference) && body.contains(r#"ResStatus="Cancel""#));
    assert_eq!(client.ack_new(&[&sold.reference]).await.status, 200);
    assert!(!client.changed_ones().await.body.contains(&sold.reference));
}

#[tokio::test]
async fn an_acknowledgement_names_what_waits_or_takes_nothing() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    let (first, second) = (sell(&channel), sell(&channel));
    let unseen = client.ack_new(&[&first.reference]).await;
    assert_eq!(unseen.status, 400, "never delivered");
    client.new_ones().await;
    channel.cancel(&second.reference).unwrap();
    let both = [first.reference.as_str(), second.reference.as_str()];
    assert_eq!(client.ack_new(&both).await.status, 400);
    assert!(
        client.new_ones().await.body.contains(&first.reference),
        "all or nothing"
    );
    assert_eq!(client.ack_new(&["17"]).await.status, 404);
    let neither = format!(r#"<OTA_HotelResNotifRS xmlns="{OTA}"/>"#);
    assert_eq!(client.post(NEW, &neither).await.status, 400);
}

#[tokio::test]
async fn one_account_polls_for_all_its_hotels_or_for_some() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    channel.add_hotel("7300", &[Room::new("1", &["2"], 4)]);
    let here = sell(&channel);
    let there = channel
        .sell(&Wish::one("7300", "1", FRIDAY, SUNDAY).regardless())
        .unwrap();
    let all = client.new_ones().await.body;
    assert!(all.contains(&here.reference) && all.contains(&there.reference));
    let one = client.get(&format!("{NEW}?hotel_ids=7300")).await.body;
    assert!(!one.contains(&here.reference) && one.contains(&there.reference));
    let one = client
        .get(&format!("{NEW}?id={}", here.reference))
        .await
        .body;
    assert!(one.contains(&here.reference) && !one.contains(&there.reference));
    let one = client.get(&format!("{NEW}?limit=1")).await.body;
    assert_eq!(one.matches("<HotelReservation>").count(), 1);
    channel.link("7300", false);
    assert!(!client.new_ones().await.body.contains(&there.reference));
}

#[tokio::test]
async fn asking_too_soon_after_an_acknowledgement_brings_it_again() {
    let settings = Settings {
        booking_com: BookingComSettings {
            ack_settle_ms: 5_000,
            poll_interval_ms: 20_000,
            ..BookingComSettings::default()
        },
        ..settings()
    };
    let (sandbox, channel, client) = open_house(settings).await;
    let sold = sell(&channel);
    client.new_ones().await;
    client.ack_new(&[&sold.reference]).await;
    assert!(client.new_ones().await.body.contains(&sold.reference));
    sandbox.clock().advance(5_000);
    assert!(!client.new_ones().await.body.contains(&sold.reference));
    let remarks = channel
        .journal()
        .messages
        .into_iter()
        .filter_map(|message| message.remark);
    assert_eq!(remarks.count(), 2);
}

#[tokio::test]
async fn the_answer_to_last_change_includes_the_acknowledged() {
    let (_sandbox, channel, client) = open_house(settings()).await;
    let sold = sell(&channel);
    client.new_ones().await;
    client.ack_new(&[&sold.reference]).await;
    let since = client
        .get(&format!("{NEW}?last_change=2020-01-01"))
        .await
        .body;
    assert!(since.contains(&sold.reference));
    assert_eq!(
        client.get(&format!("{NEW}?last_change=never")).await.status,
        400
    );
}
