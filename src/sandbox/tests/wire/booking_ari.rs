//! Tokens, availability and prices at the fake Booking.com.

use keyrack_sandbox::{BookingComSettings, Room, Settings};

use crate::client::{Booking, DOUBLE, FRIDAY, HOTEL, MONDAY, SUNDAY, avail, sandbox, settings};

fn limit(period: &str, rooms: &str) -> String {
    format!(
        r#"<AvailStatusMessage BookingLimit="{rooms}"><StatusApplicationControl {period}
           InvTypeCode="4711"/></AvailStatusMessage>"#
    )
}

#[tokio::test]
async fn a_token_expires_and_its_maker_gives_few_an_hour() {
    let sandbox = sandbox(Settings {
        booking_com: BookingComSettings {
            tokens_per_hour_max: 3,
            ..BookingComSettings::default()
        },
        ..settings()
    })
    .await;
    let mut client = Booking::connect(&sandbox).await;
    assert_eq!(client.new_ones().await.status, 200);
    assert_eq!(client.exchange("wrong").await, Err(401));
    sandbox.clock().advance(3_599_000);
    assert_eq!(client.new_ones().await.status, 200);
    sandbox.clock().advance(2_000);
    let late = client.new_ones().await;
    assert_eq!(late.status, 401);
    assert!(late.body.contains("<!-- RUID: ["), "{}", late.body);

    client.token = client.exchange("sandbox-secret").await.unwrap();
    assert_eq!(client.new_ones().await.status, 200);
    client.exchange("sandbox-secret").await.unwrap();
    client.exchange("sandbox-secret").await.unwrap();
    assert_eq!(client.exchange("sandbox-secret").await, Err(429));
    sandbox.booking_com().revoke_tokens();
    assert_eq!(client.new_ones().await.status, 401);
}

#[tokio::test]
async fn a_night_is_sold_only_if_open_counted_and_priced() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    let shown = |night| channel.shown(HOTEL, DOUBLE, night).unwrap();
    assert_eq!((shown(FRIDAY).rooms, shown(FRIDAY).number), (0, None));
    let limited = client
        .avail(&limit(r#"Start="2030-03-01" End="2030-03-03""#, "3"))
        .await;
    assert_eq!(limited.status, 200);
    assert_eq!(
        (shown(FRIDAY).rooms, shown(FRIDAY).number),
        (0, Some(3)),
        "no price yet"
    );
    client.open(3).await;
    assert_eq!(shown(SUNDAY).rooms, 3, "End is the last night");
    assert_eq!(shown(MONDAY).number, None);
    assert_eq!(shown(FRIDAY).price_minor, Some(15_000));

    let close = |rate: &str, status: &str| {
        format!(
            r#"<AvailStatusMessage><StatusApplicationControl Start="2030-03-01" End="2030-03-01"
               InvTypeCode="4711" {rate}/><RestrictionStatus Status="{status}"/>
               </AvailStatusMessage>"#
        )
    };
    client.avail(&close(r#"RatePlanCode="901""#, "Close")).await;
    assert_eq!((shown(FRIDAY).rooms, shown(FRIDAY).closed), (0, true));
    client.avail(&close("", "Open")).await;
    assert!(
        shown(FRIDAY).closed,
        "reopening needs the level that was closed"
    );
    client.avail(&close(r#"RatePlanCode="901""#, "Open")).await;
    assert_eq!(shown(FRIDAY).rooms, 3);
    client.avail(&close("", "Close")).await;
    client
        .avail(&limit(r#"Start="2030-03-01" End="2030-03-01""#, "5"))
        .await;
    assert_eq!(
        (shown(FRIDAY).rooms, shown(FRIDAY).number),
        (0, Some(5)),
        "still closed"
    );
}

#[tokio::test]
async fn wrong_elements_are_named_and_the_others_applied() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    let good = limit(r#"Start="2030-03-01" End="2030-03-01""#, "2");
    let wrong = [
        limit(r#"Start="2030-02-30" End="2030-03-01""#, "2"),
        limit(r#"Start="2030-03-04" End="2030-03-01""#, "2"),
        limit(r#"Start="2029-12-01" End="2030-03-01""#, "2"),
        limit(r#"Start="2030-03-01" End="2030-03-01""#, "255"),
        limit(r#"Start="2030-03-01" End="2030-03-01""#, "-1"),
        good.replace("4711", "9999"),
        good.replace("InvTypeCode", "RatePlanCode=\"7\" InvTypeCode"),
    ];
    for element in &wrong {
        let alone = client.avail(element).await;
        assert_eq!(alone.status, 400, "{element}");
        assert!(alone.body.contains("<Errors>") && !alone.body.contains("<Success/>"));
        let beside = client.avail(&format!("{good}{element}")).await;
        assert_eq!(beside.status, 200, "{element}");
        assert!(beside.body.contains(r#"RecordID="2""#), "{}", beside.body);
        assert!(!beside.body.contains("<Success/>"));
    }
    assert_eq!(
        channel.shown(HOTEL, DOUBLE, FRIDAY).unwrap().number,
        Some(2)
    );
    assert_eq!(client.avail("<nonsense").await.status, 400);
    assert_eq!(client.avail("").await.status, 400);
    let journal = channel.journal();
    let last = journal
        .messages
        .iter()
        .rfind(|message| !message.refused.is_empty())
        .unwrap();
    assert!(!last.accepted);
}

#[tokio::test]
async fn a_hotel_of_somebody_else_is_denied() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    channel.add_hotel("7300", &[Room::new(DOUBLE, &["901"], 1)]);
    let element = limit(r#"Start="2030-03-01" End="2030-03-01""#, "1");
    let path = "/hotels/ota/OTA_HotelAvailNotif";
    assert_eq!(
        client.post(path, &avail("7300", &element)).await.status,
        200
    );
    assert_eq!(
        client.post(path, &avail("7999", &element)).await.status,
        403
    );
    channel.link("7300", false);
    assert_eq!(
        client.post(path, &avail("7300", &element)).await.status,
        403
    );
    let queue = client
        .get("/hotels/ota/OTA_HotelResNotif?hotel_ids=7200,7300")
        .await;
    assert_eq!(queue.status, 403);
    assert!(queue.body.contains("Access denied for hotel 7300"));
}

#[tokio::test]
async fn stays_obey_arrival_departure_and_length() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(8).await;
    let sells = |from, to| {
        let wish = keyrack_sandbox::Wish::one(HOTEL, DOUBLE, from, to);
        channel.sell(&wish).is_some()
    };
    let rule = |inside: &str| {
        format!(
            r#"<AvailStatusMessage><StatusApplicationControl Start="2030-03-03" End="2030-03-03"
               InvTypeCode="4711" RatePlanCode="901"/>{inside}</AvailStatusMessage>"#
        )
    };
    assert!(sells(SUNDAY, MONDAY));
    client
        .avail(&rule(
            r#"<RestrictionStatus Restriction="Arrival" Status="Close"/>"#,
        ))
        .await;
    assert!(!sells(SUNDAY, MONDAY));
    assert!(sells(FRIDAY, MONDAY));
    client
        .avail(&rule(
            r#"<RestrictionStatus Restriction="Arrival" Status="Open"/>"#,
        ))
        .await;
    client
        .avail(&rule(
            r#"<RestrictionStatus Restriction="Departure" Status="Close"/>"#,
        ))
        .await;
    assert!(!sells(FRIDAY, SUNDAY));
    let least = r#"<LengthsOfStay><LengthOfStay Time="3" TimeUnit="Day"
        MinMaxMessageType="SetMinLOS"/></LengthsOfStay>"#;
    client.avail(&rule(least)).await;
    assert!(
        !sells(SUNDAY, MONDAY),
        "too short a stay that touches Sunday"
    );
    assert!(sells(FRIDAY, MONDAY));
    client.avail(&rule(&least.replace("\"3\"", "\"0\""))).await;
    assert!(sells(SUNDAY, MONDAY), "0 clears");
}
