//! What must never be lost, hidden or believed, whatever a channel sends.

use keyrack_distribution::messages;
use keyrack_distribution::poll::PollOutcome;
use keyrack_model::adapter::ReceiptOutcome;
use serde_json::json;

use crate::desk::{Desk, booking, but, message};
use crate::portal::Fault;

#[tokio::test(flavor = "multi_thread")]
async fn of_a_half_broken_batch_of_fifty_forty_nine_are_recorded() {
    let desk = Desk::open().await;
    for n in 1..=50 {
        let told = booking(&format!("R{n:02}"));
        let told = if n == 25 {
            but(told, "arrival", "2030-02-31")
        } else {
            told
        };
        desk.portal.waits(told);
    }
    let outcome = desk.poll().await;
    assert!(
        matches!(outcome, PollOutcome::Complete { recorded: 49, .. }),
        "{outcome:?}"
    );
    assert_eq!(desk.references().await.len(), 49);
    assert_eq!(desk.sold().await, [49, 49, 0]);
    assert_eq!(desk.portal.waiting(), ["R25"]);
    let refused = desk.portal.refused();
    assert_eq!(
        refused[0],
        ("R25".into(), "its dates are impossible".into())
    );
    let kept = desk.messages().await;
    assert!(
        kept.iter().any(|m| m.status == "partly" && m.reports == 49),
        "{kept:?}"
    );
    let (kind, text) = &desk.notices().await[0];
    assert_eq!(kind, "faulty");
    assert!(
        text.contains("R25") && text.contains("Compare it"),
        "{text}"
    );
    assert!(!text.contains("Ada"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_read_is_kept_and_staff_are_told() {
    let desk = Desk::open().await;
    desk.portal.fails(
        "/queue",
        Fault::Body(b"<not json 4111111111111111".to_vec()),
    );
    let outcome = desk.poll().await;
    assert!(matches!(outcome, PollOutcome::Failed { .. }), "{outcome:?}");
    let kept = desk.messages().await;
    assert_eq!((kept.len(), kept[0].status.as_str()), (1, "unreadable"));
    let whole = messages::load(&desk.distribution, kept[0].id, None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(whole.body.unwrap().0, b"<not json ****************");
    let notices = desk.notices().await;
    assert_eq!(notices[0].0, "unreadable");
    assert!(notices[0].1.contains("extranet"), "{}", notices[0].1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_breaks_its_reader_is_unreadable_and_nothing_more() {
    let desk = Desk::open().await;
    let outcome = desk.take(&json!({"panic": true})).await;
    assert!(outcome.is_unreadable && outcome.receipts.is_empty());
    assert_eq!(desk.messages().await[0].status, "unreadable");
    desk.take(&message(&[booking("R1")])).await;
    assert_eq!(desk.references().await, ["R1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_a_hundred_megabytes_is_cut_off_and_its_beginning_kept() {
    let desk = Desk::open().await;
    desk.portal.fails("/queue", Fault::Huge(100_000_000));
    let outcome = desk.poll().await;
    let PollOutcome::Failed { why } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(why.contains("longer than 1000000 bytes"), "{why}");
    let kept = desk.messages().await;
    assert_eq!((kept.len(), kept[0].is_cut), (1, true));
    assert!(kept[0].body_bytes <= 64 * 1024);
    assert_eq!(desk.notices().await[0].0, "unreadable");
    // Nothing is stuck.
    desk.portal.waits(booking("R1"));
    assert!(matches!(desk.poll().await, PollOutcome::Complete { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_for_an_unknown_hotel_is_refused_kept_and_told() {
    let desk = Desk::open().await;
    desk.portal.waits(but(booking("R1"), "hotel", "H9"));
    desk.portal.waits(booking("R2"));
    let outcome = desk.poll().await;
    assert!(
        matches!(outcome, PollOutcome::Complete { recorded: 1, .. }),
        "{outcome:?}"
    );
    assert_eq!(desk.references().await, ["R2"]);
    assert_eq!(desk.portal.waiting(), ["R1"]);
    assert!(desk.portal.refused()[0].1.contains("H9"));
    let (kind, text) = &desk.notices().await[0];
    assert_eq!(kind, "unknown_hotel");
    assert!(text.contains("H9") && text.contains("R1"), "{text}");
    // Refused again and again, it is told once.
    desk.poll().await;
    assert_eq!(desk.notices().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_property_never_sees_what_is_not_its_own() {
    let desk = Desk::open().await;
    let other = crate::desk::hotel(&desk.ledger, "bergblick").await;
    let settings = keyrack_model::channel::AccountSettings::default();
    let second = crate::desk::listing(
        &desk.distribution,
        other,
        "booking",
        "portal",
        "H2",
        settings,
    )
    .await;
    crate::desk::map_double(&desk.ledger, &second).await;
    let outcome = desk
        .take(&message(&[
            booking("R1"),
            but(booking("R2"), "hotel", "H2"),
        ]))
        .await;
    assert_eq!(outcome.recorded.len(), 2);
    assert_eq!(desk.references().await, ["R1"]);
    let id = outcome.message.unwrap();
    let mine = Some(&[desk.account.id][..]);
    let seen = messages::load(&desk.distribution, id, mine)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(seen.body, None, "it holds another hotel's guests");
    let both = [desk.account.id, second.id];
    let seen = messages::load(&desk.distribution, id, Some(&both))
        .await
        .unwrap()
        .unwrap();
    assert!(seen.body.is_some());
    let third = [keyrack_model::id::AccountId(999)];
    assert_eq!(
        messages::load(&desk.distribution, id, Some(&third))
            .await
            .unwrap(),
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn card_numbers_reach_no_table() {
    let desk = Desk::open().await;
    let told = but(booking("R1"), "card", "4111111111111111");
    desk.take(&message(&[told])).await;
    let hits: i64 = sqlx::query_scalar(
        "select count(*) from channel_message where position('4111111111111111' in body::text) > 0
         or position(encode('4111111111111111', 'hex') in encode(body, 'hex')) > 0",
    )
    .fetch_one(&desk.pool)
    .await
    .unwrap();
    assert_eq!((desk.count("channel_message").await, hits), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_takes_no_room_and_asks_for_a_person() {
    let desk = Desk::open().await;
    let outcome = desk
        .take(&message(&[but(booking("Q1"), "quote", true)]))
        .await;
    assert_eq!(desk.sold().await, [0, 0, 0]);
    assert!(matches!(
        outcome.receipts[0].outcome,
        ReceiptOutcome::Recorded { .. }
    ));
    assert_eq!(desk.notices().await[0].0, "quote");
    let mine = [desk.account.id];
    let seen = messages::load(&desk.distribution, outcome.message.unwrap(), Some(&mine)).await;
    assert!(
        seen.unwrap().unwrap().body.is_some(),
        "the hotel sees what it is asked for"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_tells_new_and_changed_in_its_own_order() {
    let desk = Desk::open().await;
    let changed = but(
        but(booking("R1"), "kind", "modify"),
        "departure",
        "2030-03-04",
    );
    let told = message(&[booking("R1"), booking("R2"), but(changed, "order", 2)]);
    let outcome = desk.take(&told).await;
    let order: Vec<&str> = outcome
        .receipts
        .iter()
        .map(|r| r.reference.as_str())
        .collect();
    assert_eq!(order, ["R1", "R2", "R1"]);
    assert_eq!(desk.sold().await, [2, 2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_odd_fact_is_recorded_and_makes_a_person_look() {
    let desk = Desk::open().await;
    let odd = but(booking("R1"), "departure", "2030-03-01");
    let past = but(
        but(booking("R2"), "arrival", "2030-02-01"),
        "departure",
        "2030-02-03",
    );
    let outcome = desk.take(&message(&[odd, past])).await;
    assert_eq!(outcome.recorded.len(), 2);
    assert_eq!(desk.references().await, ["R1", "R2"]);
    let notices = desk.notices().await;
    assert!(
        notices.iter().all(|(kind, _)| kind == "odd_fact"),
        "{notices:?}"
    );
    let says = |reference: &str, words: &str| {
        notices
            .iter()
            .any(|(_, text)| text.contains(reference) && text.contains(words))
    };
    assert!(
        says("R1", "no whole stay") && says("R2", "before today"),
        "{notices:?}"
    );
}
