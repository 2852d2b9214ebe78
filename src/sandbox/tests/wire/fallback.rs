//! Messages that nobody acknowledges in time.

use jiff::civil::date;
use keyrack_sandbox::{BookingComSettings, Sandbox, Settings, Wish};

use crate::client::{
    Alpine, Booking, DOUBLE, FRIDAY, HOTEL, MONDAY, NEW, OTA, count, sandbox, settings,
};

const MISSED: &str = "/reservations-flow-control/missed-reservations";
const HALF_AN_HOUR: u32 = 1_800_000;

async fn with_recovery(recovery: bool) -> (Sandbox, Booking) {
    let settings = Settings {
        booking_com: BookingComSettings {
            recovery,
            ..BookingComSettings::default()
        },
        ..settings()
    };
    let sandbox = sandbox(settings).await;
    let client = Booking::connect(&sandbox).await;
    client.open(8).await;
    (sandbox, client)
}

#[tokio::test]
async fn after_half_an_hour_a_message_is_mailed_and_comes_no_more() {
    let (sandbox, client) = with_recovery(false).await;
    let channel = sandbox.booking_com();
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    sandbox.clock().advance(HALF_AN_HOUR - 60_000);
    assert!(client.new_ones().await.body.contains(&sold.reference));
    sandbox.clock().advance(60_000);
    assert!(!client.new_ones().await.body.contains(&sold.reference));
    let journal = channel.journal();
    assert_eq!(journal.mailbox.len(), 1);
    assert_eq!(journal.mailbox[0].reference, sold.reference);
    assert!(journal.reservations[0].latest().fell_back_at.is_some());
    assert_eq!(client.get(MISSED).await.status, 403, "not enabled");
    channel.cancel(&sold.reference).unwrap();
    let changed = client.changed_ones().await.body;
    assert!(
        changed.contains(&sold.reference),
        "the mail was its delivery; this is a change"
    );
}

#[tokio::test]
async fn with_recovery_what_was_missed_can_be_asked_for_until_it_is_mailed() {
    let (sandbox, client) = with_recovery(true).await;
    let channel = sandbox.booking_com();
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    let left = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    assert!(!client.get(MISSED).await.body.contains(&sold.reference));
    sandbox.clock().advance(HALF_AN_HOUR);
    assert!(!client.new_ones().await.body.contains(&sold.reference));
    let missed = client.get(MISSED).await.body;
    assert!(missed.contains(&sold.reference) && missed.contains(r#"ResStatus="Commit""#));
    assert!(channel.journal().mailbox.is_empty());
    assert_eq!(client.ack_new(&[&sold.reference]).await.status, 200);
    assert!(!client.get(MISSED).await.body.contains(&sold.reference));
    assert_eq!(
        client
            .get("/hotels/ota/OTA_HotelResNotif?last_change=2030-01-01")
            .await
            .status,
        400
    );
    sandbox.clock().advance(86_400_000);
    channel.let_fall();
    let mailbox = channel.journal().mailbox;
    assert_eq!(mailbox.len(), 1, "only what nobody recovered");
    assert_eq!(mailbox[0].reference, left.reference);
}

#[tokio::test]
async fn an_arrival_within_two_days_is_mailed_at_once_and_a_refused_one_too() {
    let settings = Settings {
        today: None,
        booking_com: BookingComSettings {
            recovery: true,
            ..BookingComSettings::default()
        },
        ..Settings::default()
    };
    let sandbox = sandbox(settings).await;
    let channel = sandbox.booking_com();
    let today = sandbox.clock().today();
    let tomorrow = today.tomorrow().unwrap();
    channel
        .sell(&Wish::one(HOTEL, DOUBLE, today, tomorrow).regardless())
        .unwrap();
    let far = Wish::one(HOTEL, DOUBLE, date(2199, 1, 1), date(2199, 1, 2));
    let far = far.regardless();
    let (refused, waiting) = (channel.sell(&far).unwrap(), channel.sell(&far).unwrap());
    let client = Booking::connect(&sandbox).await;
    client.new_ones().await;
    let no = format!(
        r#"<OTA_HotelResNotifRS xmlns="{OTA}"><Errors><Error RecordID="{}"/></Errors>
           </OTA_HotelResNotifRS>"#,
        refused.reference
    );
    assert_eq!(client.post(NEW, &no).await.status, 200);
    sandbox.clock().advance(HALF_AN_HOUR);
    channel.let_fall();
    let mailbox = channel.journal().mailbox;
    assert_eq!(mailbox.len(), 2);
    assert!(
        mailbox
            .iter()
            .all(|mail| mail.reference != waiting.reference)
    );
}

#[tokio::test]
async fn the_portal_mails_what_nobody_acknowledged_too() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.alpinebits(), Alpine::connect(&sandbox));
    client
        .free_rooms(true, &count("DBL", "2030-03-01", "2030-03-10", 3))
        .await;
    let sold = channel
        .sell(&Wish::one("HTL1", "DBL", FRIDAY, MONDAY))
        .unwrap();
    assert!(client.read("").await.body.contains(&sold.reference));
    sandbox.clock().advance(HALF_AN_HOUR);
    assert!(!client.read("").await.body.contains(&sold.reference));
    assert_eq!(channel.journal().mailbox[0].reference, sold.reference);
    let since = r#"<SelectionCriteria Start="2020-01-01T00:00:00+00:00"/>"#;
    assert!(
        client.read(since).await.body.contains(&sold.reference),
        "asked for by time"
    );
}
