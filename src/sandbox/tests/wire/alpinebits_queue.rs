//! Guest requests by pull from the fake portal.

use keyrack_sandbox::{AlpineBits, Chance, Change, Faults, Sandbox, Verdict, Wish, check};

use crate::client::{Alpine, FRIDAY, MONDAY, SUNDAY, count, sandbox, settings};

async fn open_house() -> (Sandbox, AlpineBits, Alpine) {
    let sandbox = sandbox(settings()).await;
    let client = Alpine::connect(&sandbox);
    client
        .free_rooms(true, &count("DBL", "2030-03-01", "2030-03-10", 4))
        .await;
    let channel = sandbox.alpinebits();
    (sandbox, channel, client)
}

#[tokio::test]
async fn every_version_waits_until_it_is_acknowledged_by_its_own_type() {
    let (_sandbox, channel, client) = open_house().await;
    let sold = channel
        .sell(&Wish::one("HTL1", "DBL", FRIDAY, MONDAY))
        .unwrap();
    let shorter = Change::Dates {
        arrival: FRIDAY,
        departure: SUNDAY,
    };
    channel.modify(&sold.reference, &shorter).unwrap();
    channel.cancel(&sold.reference).unwrap();
    let body = client.read("").await.body;
    for status in ["Reserved", "Modify", "Cancelled"] {
        assert!(body.contains(&format!("ResStatus=\"{status}\"")), "{body}");
    }
    assert_eq!(body.matches(r#"UniqueID Type="14""#).count(), 2);
    assert_eq!(body.matches(r#"UniqueID Type="15""#).count(), 1);
    let judged = check("alpinebits", body.as_bytes(), &[]);
    assert_eq!(judged.verdict, Verdict::Accept, "{}", judged.reason);
    client.report(&[("14", &sold.reference)], &[]).await;
    let left = client.read("").await.body;
    assert!(left.contains("Cancelled") && !left.contains("Reserved"));
    client.report(&[("15", &sold.reference)], &[]).await;
    assert!(!client.read("").await.body.contains(&sold.reference));
    let again = client.report(&[("15", &sold.reference)], &[]).await;
    assert!(again.body.contains("no such request waits"));
    let versions = channel.journal().reservations.remove(0).versions;
    assert!(
        versions
            .iter()
            .all(|version| version.acknowledged_at.is_some())
    );
    assert!(versions.windows(2).all(|pair| pair[0].at < pair[1].at));
}

#[tokio::test]
async fn what_was_not_yet_read_cannot_be_acknowledged() {
    let (_sandbox, channel, client) = open_house().await;
    let sold = channel
        .sell(&Wish::one("HTL1", "DBL", FRIDAY, MONDAY))
        .unwrap();
    client.read("").await;
    let shorter = Change::Dates {
        arrival: FRIDAY,
        departure: SUNDAY,
    };
    channel.modify(&sold.reference, &shorter).unwrap();
    client.report(&[("14", &sold.reference)], &[]).await;
    let left = client.read("").await.body;
    assert!(
        left.contains("Modify") && !left.contains("Reserved"),
        "{left}"
    );
}

#[tokio::test]
async fn a_refused_request_leaves_the_queue_and_is_marked() {
    let (_sandbox, channel, client) = open_house().await;
    let sold = channel
        .sell(&Wish::one("HTL1", "DBL", FRIDAY, MONDAY))
        .unwrap();
    client.read("").await;
    client.report(&[], &[&sold.reference]).await;
    assert!(!client.read("").await.body.contains(&sold.reference));
    assert!(
        channel.journal().reservations[0]
            .latest()
            .rejected_at
            .is_some()
    );
}

#[tokio::test]
async fn daily_prices_go_only_to_a_client_that_can_read_them() {
    let (_sandbox, channel, client) = open_house().await;
    channel
        .sell(&Wish::one("HTL1", "DBL", FRIDAY, MONDAY))
        .unwrap();
    assert!(!client.read("").await.body.contains("RoomRates"));
    let ping = r#"<OTA_PingRQ xmlns="http://www.opentravel.org/OTA/2003/05" Version="8.000">
        <EchoData>{"versions":[{"version":"2024-10","actions":[{"action":"action_OTA_Read",
        "supports":["OTA_Read_accept_RoomRates"]}]}]}</EchoData></OTA_PingRQ>"#;
    client.act("OTA_Ping:Handshaking", ping).await;
    let body = client.read("").await.body;
    assert_eq!(body.matches("<Rate ").count(), 3);
    assert!(
        body.contains(r#"<Total AmountAfterTax="300.00" CurrencyCode="EUR"/>"#),
        "{body}"
    );
    assert!(body.contains(r#"<TimeSpan Start="2030-03-01" End="2030-03-04"/>"#));
}

#[tokio::test]
async fn a_quote_takes_no_room() {
    let (_sandbox, channel, client) = open_house().await;
    let quote = Wish {
        quote: true,
        ..Wish::one("HTL1", "DBL", FRIDAY, MONDAY)
    };
    let asked = channel.sell(&quote.rooms(9)).unwrap();
    assert_eq!(
        channel.shown("HTL1", "DBL", FRIDAY).unwrap().number,
        Some(4)
    );
    let body = client.read("").await.body;
    assert!(body.contains(&asked.reference) && body.contains(r#"ResStatus="Requested""#));
}

#[tokio::test]
async fn the_order_of_a_list_is_no_promise_and_old_ones_may_come_again() {
    let (_sandbox, channel, client) = open_house().await;
    let sold = channel
        .sell(&Wish::one("HTL1", "DBL", FRIDAY, MONDAY))
        .unwrap();
    for _ in 0..4 {
        channel.modify(
            &sold.reference,
            &Change::Dates {
                arrival: FRIDAY,
                departure: SUNDAY,
            },
        );
        channel.modify(
            &sold.reference,
            &Change::Dates {
                arrival: FRIDAY,
                departure: MONDAY,
            },
        );
    }
    channel.cancel(&sold.reference).unwrap();
    let ordered = client.read("").await.body;
    assert!(ordered.find("Reserved") < ordered.find("Cancelled"));
    channel.set_faults(Faults {
        reorder: Chance::Percent(100),
        ..Faults::default()
    });
    let mut shuffled = false;
    for _ in 0..20 {
        let body = client.read("").await.body;
        shuffled |= body.find("Cancelled") < body.find("Reserved");
    }
    assert!(shuffled);
    client
        .report(&[("14", &sold.reference), ("15", &sold.reference)], &[])
        .await;
    channel.set_faults(Faults {
        duplicate: Chance::Next(1),
        ..Faults::default()
    });
    assert!(
        client.read("").await.body.contains(&sold.reference),
        "once more"
    );
    assert!(!client.read("").await.body.contains(&sold.reference));
}
