//! What goes wrong on the way, switched on and off.

use std::time::Instant;

use keyrack_sandbox::{Chance, Faults, Latency, Wish};

use crate::client::{
    Alpine, Booking, DOUBLE, FRIDAY, HOTEL, MONDAY, NEW, ack, count, sandbox, settings,
};

#[tokio::test]
async fn a_lost_answer_was_dealt_with_all_the_same() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(8).await;
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    client.new_ones().await;
    channel.set_faults(Faults {
        lost_answer: Chance::Next(1),
        only: vec!["POST OTA_HotelResNotif".to_owned()],
        ..Faults::default()
    });
    let body = ack(
        "OTA_HotelResNotifRS",
        "HotelReservation",
        &[&sold.reference],
    );
    assert!(
        client.try_post(NEW, &body).await.is_err(),
        "the connection drops"
    );
    let journal = channel.journal();
    assert!(journal.reservations[0].latest().acknowledged_at.is_some());
    let lost = journal
        .messages
        .iter()
        .find(|message| message.answer_lost)
        .unwrap();
    assert_eq!((lost.status, lost.accepted), (200, true));
    assert_eq!(
        client.ack_new(&[&sold.reference]).await.status,
        200,
        "said again, taken"
    );
}

#[tokio::test]
async fn what_was_lost_on_the_way_was_not_delivered() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(8).await;
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    client.new_ones().await;
    channel.cancel(&sold.reference).unwrap();
    channel.set_faults(Faults {
        lost_answer: Chance::Next(1),
        ..Faults::default()
    });
    assert!(client.try_get(NEW).await.is_err());
    let stale = client.ack_new(&[&sold.reference]).await;
    assert_eq!(
        stale.status, 400,
        "the client has only ever seen the first version"
    );
}

#[tokio::test]
async fn refusals_by_fault_do_nothing_and_say_so_in_the_channels_words() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    let once = Chance::Next(1);
    let element = r#"<AvailStatusMessage BookingLimit="2"><StatusApplicationControl
        Start="2030-03-01" End="2030-03-01" InvTypeCode="4711"/></AvailStatusMessage>"#;
    let cases = [
        (
            Faults {
                unauthorized: once,
                ..Faults::default()
            },
            401,
        ),
        (
            Faults {
                too_many: once,
                retry_after_seconds: Some(7),
                ..Faults::default()
            },
            429,
        ),
        (
            Faults {
                server_error: once,
                ..Faults::default()
            },
            500,
        ),
    ];
    for (faults, status) in cases {
        channel.set_faults(faults);
        let answer = client.avail(element).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.retry_after.is_some(), status == 429);
        assert!(answer.body.contains("<Errors>") && answer.body.contains("RUID"));
        assert_eq!(channel.shown(HOTEL, DOUBLE, FRIDAY).unwrap().number, None);
    }
    assert_eq!(client.avail(element).await.status, 200);

    let (channel, client) = (sandbox.alpinebits(), Alpine::connect(&sandbox));
    channel.set_faults(Faults {
        server_error: once,
        ..Faults::default()
    });
    let answer = client.read("").await;
    assert_eq!(answer.status, 500);
    assert!(answer.body.starts_with("ERROR"));
}

#[tokio::test]
async fn a_part_may_fail_and_is_named() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    let element = |night: &str| {
        format!(
            r#"<AvailStatusMessage BookingLimit="2"><StatusApplicationControl Start="{night}"
               End="{night}" InvTypeCode="4711"/></AvailStatusMessage>"#
        )
    };
    channel.set_faults(Faults {
        partial: Chance::Next(1),
        ..Faults::default()
    });
    let both = element("2030-03-01") + &element("2030-03-02");
    let answer = client.avail(&both).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("<Errors>") && answer.body.contains("RecordID"));
    let told = channel.journal().nights.len();
    assert_eq!(told, 1, "one of the two");

    let (channel, client) = (sandbox.alpinebits(), Alpine::connect(&sandbox));
    channel.set_faults(Faults {
        partial: Chance::Next(1),
        ..Faults::default()
    });
    let both =
        count("DBL", "2030-03-01", "2030-03-01", 1) + &count("SGL", "2030-03-01", "2030-03-01", 1);
    let answer = client.free_rooms(true, &both).await;
    assert!(answer.body.contains("<Success/>") && answer.body.contains(r#"Warning Type="3""#));
    assert!(!channel.journal().messages[0].accepted);
}

#[tokio::test]
async fn a_slow_channel_is_slow_and_a_hanging_one_ends_with_the_sandbox() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    channel.set_faults(Faults {
        latency: Latency::fixed(120),
        ..Faults::default()
    });
    let before = Instant::now();
    client.new_ones().await;
    assert!(before.elapsed().as_millis() >= 120);
    channel.set_faults(Faults {
        hang: Chance::Percent(100),
        hang_ms: 600_000,
        ..Faults::default()
    });
    let asked = tokio::spawn(async move { client.try_get(NEW).await.is_err() });
    while channel
        .journal()
        .messages
        .iter()
        .all(|message| message.fault.is_none())
    {
        tokio::task::yield_now().await;
    }
    sandbox.stop().await;
    assert!(asked.await.unwrap(), "dropped without an answer");
}

#[tokio::test]
async fn acknowledged_reservations_may_be_delivered_again() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(8).await;
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    client.new_ones().await;
    client.ack_new(&[&sold.reference]).await;
    channel.set_faults(Faults {
        duplicate: Chance::Next(1),
        ..Faults::default()
    });
    assert!(client.new_ones().await.body.contains(&sold.reference));
    assert!(!client.new_ones().await.body.contains(&sold.reference));
}
