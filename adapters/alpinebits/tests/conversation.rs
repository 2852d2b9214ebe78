//! Handshake, poll, acknowledgement.

use super::*;

fn step<'a>(
    goal: Goal,
    round: u32,
    last: Option<(&'a Outbound, &'a Reply)>,
    hotel_codes: &'a [String],
) -> Step<'a> {
    Step {
        goal,
        round,
        last,
        hotel_codes,
        has_more: false,
    }
}

fn ask(goal: Goal) -> Outbound {
    match PORTAL.next(&agreed(), &step(goal, 0, None, &["H1".to_owned()])) {
        Exchange::Send(outbound) => outbound,
        other => panic!("{other:?}"),
    }
}

fn handshake(json: &str) -> Reply {
    reply(
        200,
        &format!(
            "<OTA_PingRS Version='8.000'><Success/><Warnings><Warning Type='11' \
             Status='ALPINEBITS_HANDSHAKE'>\n{json}\n</Warning></Warnings><EchoData>{{}}</EchoData>\
             </OTA_PingRS>"
        ),
    )
}

#[test]
fn the_handshake_learns_what_both_sides_can() {
    let asked = ask(Goal::SignIn);
    let announced = message_of(&asked.body);
    assert!(
        announced.contains("&quot;") || announced.contains("\"2024-10\""),
        "{announced}"
    );
    let padding = " ".repeat(600);
    let theirs = format!(
        "{{\"versions\":[{{\"version\":\"2024-10\",{padding}\"actions\":[{{\"action\":\
         \"{ACTION_FREE_ROOMS}\",\"supports\":[\"{DELTAS}\",\"{ROOMS}\"]}},{{\"action\":\
         \"action_OTA_Cooking\"}}]}}]}}"
    );
    let answer = handshake(&theirs);
    let done = PORTAL.next(
        &agreed(),
        &step(Goal::SignIn, 1, Some((&asked, &answer)), &[]),
    );
    let Exchange::Done {
        learned: Some(learned),
    } = done
    else {
        panic!("{done:?}");
    };
    let kept = learned.expose_secret();
    assert!(
        kept.contains(DELTAS) && kept.contains(ACTION_FREE_ROOMS),
        "{kept}"
    );
    assert!(!kept.contains(ROOMS) && !kept.contains("Cooking"), "{kept}");
}

#[test]
fn a_portal_of_other_versions_is_told_to_staff() {
    let asked = ask(Goal::SignIn);
    for answer in [
        handshake("{\"versions\":[{\"version\":\"2018-10\"}]}"),
        handshake("{\"versions\":["),
        reply(200, "<OTA_PingRS><Success/><EchoData/></OTA_PingRS>"),
        reply(200, "ERROR: no"),
    ] {
        let failed = PORTAL.next(
            &agreed(),
            &step(Goal::SignIn, 1, Some((&asked, &answer)), &[]),
        );
        let Exchange::Failed(verdict) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!(verdict.outcome, Outcome::Refused);
    }
}

#[test]
fn each_hotel_is_asked_once_and_a_refused_one_does_not_hide_the_next() {
    let hotels = ["H1".to_owned(), "H2".to_owned()];
    let first = ask(Goal::Poll);
    assert_eq!(first.topic, "guest_requests:H1");
    assert!(message_of(&first.body).contains("<HotelReadRequest HotelCode=\"H1\"/>"));
    let refused = reply(
        200,
        "<OTA_ResRetrieveRS><Errors><Error Type='13'>no such hotel</Error></Errors>\
         </OTA_ResRetrieveRS>",
    );
    let next = PORTAL.next(
        &agreed(),
        &step(Goal::Poll, 1, Some((&first, &refused)), &hotels),
    );
    let Exchange::Send(second) = next else {
        panic!("{next:?}");
    };
    assert_eq!(second.topic, "guest_requests:H2");
    let over = PORTAL.next(
        &agreed(),
        &step(Goal::Poll, 2, Some((&second, &refused)), &hotels),
    );
    assert!(matches!(over, Exchange::Failed(_)));
    let fine = reply(
        200,
        "<OTA_ResRetrieveRS><Success/><ReservationsList/></OTA_ResRetrieveRS>",
    );
    let over = PORTAL.next(
        &agreed(),
        &step(Goal::Poll, 2, Some((&second, &fine)), &hotels),
    );
    assert!(matches!(over, Exchange::Done { learned: None }));
    let down = reply(500, "");
    let over = PORTAL.next(
        &agreed(),
        &step(Goal::Poll, 1, Some((&first, &down)), &hotels),
    );
    assert!(matches!(over, Exchange::Failed(_)));
}

#[test]
fn the_test_of_a_login_shakes_hands_and_asks_for_each_hotel() {
    let hotels = ["H1".to_owned()];
    let first = ask(Goal::Test);
    assert_eq!(first.topic, "handshake");
    let answer = handshake("{\"versions\":[{\"version\":\"2024-10\"}]}");
    let next = PORTAL.next(
        &agreed(),
        &step(Goal::Test, 1, Some((&first, &answer)), &hotels),
    );
    let Exchange::Send(second) = next else {
        panic!("{next:?}");
    };
    assert_eq!(second.topic, "guest_requests:H1");
    let fine = reply(
        200,
        "<OTA_ResRetrieveRS><Success/><ReservationsList/></OTA_ResRetrieveRS>",
    );
    let over = PORTAL.next(
        &agreed(),
        &step(Goal::Test, 2, Some((&second, &fine)), &hotels),
    );
    assert!(matches!(over, Exchange::Done { .. }));
}

#[test]
fn an_acknowledgement_names_type_and_reference_and_the_refused_as_warnings() {
    let receipt = |reference: &str, kind: &str, why: Option<&str>| Receipt {
        reference: reference.to_owned(),
        acknowledge_as: Some(kind.to_owned()),
        outcome: match why {
            Some(why) => ReceiptOutcome::Refused {
                why: why.to_owned(),
            },
            None => ReceiptOutcome::Recorded {
                number: "K1".to_owned(),
            },
        },
    };
    let receipts = [
        receipt("R1", "14", None),
        receipt("R2", "15", None),
        receipt("R3", "14", Some("no nights")),
    ];
    let messages = PORTAL
        .acknowledge(&Inbound::default(), &receipts, &agreed())
        .expect("one");
    let body = message_of(&messages[0].body);
    let (success, warning) = (body.find("<Success/>"), body.find("<Warnings>"));
    assert!(
        success < warning && warning < body.find("<NotifDetails>"),
        "{body}"
    );
    assert!(
        body.contains("RecordID=\"R3\">no nights</Warning>"),
        "{body}"
    );
    assert!(body.contains("<UniqueID Type=\"14\" ID=\"R1\"/>"), "{body}");
    assert!(body.contains("<UniqueID Type=\"15\" ID=\"R2\"/>"), "{body}");
    let none = PORTAL
        .acknowledge(&Inbound::default(), &[], &agreed())
        .expect("none");
    assert!(none.is_empty());
}

#[test]
fn each_request_carries_version_client_and_credentials() {
    let sent = ask(Goal::Poll);
    let header = |name: &str| {
        let found = sent.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    assert_eq!(header("X-AlpineBits-ClientProtocolVersion"), "2024-10");
    assert_eq!(header("X-AlpineBits-ClientID"), "keyrack");
    assert_eq!(header("Authorization"), "Basic c2VlaG9mOm9wZW4tc2VzYW1l");
    let boundary = header("Content-Type").split_once("boundary=").unwrap().1;
    let body = String::from_utf8(sent.body.clone()).unwrap();
    assert!(body.starts_with(&format!("--{boundary}\r\n")));
    assert!(body.ends_with(&format!("\r\n--{boundary}--\r\n")));
    assert!(body.contains("name=\"action\"\r\n\r\nOTA_Read:GuestRequests\r\n"));
    let homeless = Session {
        endpoint: None,
        ..agreed()
    };
    let first = step(Goal::Poll, 0, None, &[]);
    assert!(matches!(
        PORTAL.next(&homeless, &first),
        Exchange::Done { .. }
    ));
    let hotels = ["H1".to_owned()];
    let asked = PORTAL.next(&homeless, &step(Goal::Poll, 0, None, &hotels));
    assert!(matches!(asked, Exchange::Failed(_)));
}
