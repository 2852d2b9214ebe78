//! What we tell, and what they say to it.

use super::*;

#[test]
fn several_bookings_are_thanked_for_in_one_message_and_refused_in_another() {
    let receipt = |reference: &str, queue: Option<&str>, is_recorded: bool| Receipt {
        reference: reference.to_owned(),
        acknowledge_as: queue.map(str::to_owned),
        outcome: if is_recorded {
            ReceiptOutcome::Recorded {
                number: "K1".to_owned(),
            }
        } else {
            ReceiptOutcome::Refused {
                why: "no <dates>".to_owned(),
            }
        },
    };
    let receipts = [
        receipt("1", Some("new"), true),
        receipt("2", Some("new"), true),
        receipt("3", None, false),
        receipt("4", Some("modified"), true),
    ];
    let asked = Inbound {
        topic: "reservations.new".to_owned(),
        ..Inbound::default()
    };
    let messages = BOOKING
        .acknowledge(&asked, &receipts, &signed_in())
        .expect("messages");
    let bodies: Vec<String> = messages
        .iter()
        .map(|message| String::from_utf8(message.body.clone()).unwrap())
        .collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies[0].contains("OTA_HotelResModifyNotifRS"));
    assert!(bodies[1].contains("ResID_Value=\"1\"") && bodies[1].contains("ResID_Value=\"2\""));
    assert!(bodies[1].contains("<Success/>") && !bodies[1].contains("Error"));
    assert!(bodies[2].contains("RecordID=\"3\"") && bodies[2].contains("no &lt;dates&gt;"));
    assert!(!bodies[2].contains("Success"));
    let url = "http://desk.test/hotels/ota/OTA_HotelResModifyNotif";
    assert_eq!(messages[0].url, url);
}

#[test]
fn what_fell_back_is_acknowledged_through_the_queue_that_it_belongs_to() {
    let stay = room("9001", &two_nights());
    let bookings = [
        booking("ResStatus='Commit'", "1", &stay),
        booking("ResStatus='Modify'", "2", &stay),
        booking("ResStatus='Cancel'", "3", ""),
    ];
    let mut asked = inbound(&format!(
        "<OTA_HotelResNotifRQ><HotelReservations>{}</HotelReservations></OTA_HotelResNotifRQ>",
        bookings.concat()
    ));
    asked.topic = "reservations.missed".to_owned();
    let parsed = BOOKING.parse(&asked);
    let kinds: Vec<RevisionKind> = parsed.reports.iter().map(|report| report.kind).collect();
    let (new, modified) = (RevisionKind::New, RevisionKind::Modified);
    assert_eq!(kinds, [new, modified, RevisionKind::Cancelled]);
    let receipts: Vec<Receipt> = parsed
        .reports
        .iter()
        .map(|report| Receipt {
            reference: report.reference.clone(),
            acknowledge_as: report.acknowledge_as.clone(),
            outcome: ReceiptOutcome::Recorded {
                number: "K1".to_owned(),
            },
        })
        .collect();
    let messages = BOOKING.acknowledge(&asked, &receipts, &signed_in());
    let named: Vec<(String, Vec<bool>)> = messages
        .expect("messages")
        .into_iter()
        .map(|message| {
            let body = String::from_utf8(message.body).unwrap();
            let names = ["1", "2", "3"].map(|n| body.contains(&format!("ResID_Value=\"{n}\"")));
            (message.topic, names.to_vec())
        })
        .collect();
    let said = |topic: &str, which: [bool; 3]| (topic.to_owned(), which.to_vec());
    let (modified, new) = ("acknowledge.modified", "acknowledge.new");
    let expected = [
        said(modified, [false, true, false]),
        said(modified, [false, false, true]),
        said(new, [true, false, false]),
        said(new, [false, false, true]),
    ];
    assert_eq!(
        named, expected,
        "a cancellation may be of either queue, and stands alone"
    );
}

#[test]
fn a_400_to_an_acknowledgement_means_that_a_later_state_exists() {
    let wrong = "<errors><error><message>transaction message of the wrong type</message></error>\
                 </errors>";
    assert_eq!(outcome("acknowledge.new", 400, wrong), Outcome::Stale);
    assert_eq!(outcome("acknowledge.modified", 400, ""), Outcome::Stale);
    assert_eq!(outcome("availability", 400, wrong), Outcome::Refused);
}

#[test]
fn a_200_with_errors_inside_was_applied_in_part_and_names_the_span() {
    let body = "<OTA_HotelAvailNotifRS><Errors><Error Type='3' Code='ROOM_ID_INVALID' \
                RecordID='10'>no such room</Error></Errors></OTA_HotelAvailNotifRS>";
    let verdict = BOOKING.judge(&sent("availability"), &reply(200, body));
    assert_eq!(verdict.outcome, Outcome::Partly);
    assert_eq!(verdict.refused[0].span, Some(1));
    assert!(verdict.refused[0].why.contains("mapping"));
    let rendered = render(vec![rooms(1, false), rooms(2, false)]);
    let second = "BookingLimit=\"2\" BookingLimitMessageType=\"SetLimit\" LocatorID=\"10\"";
    assert!(rendered[0].contains(second), "{}", rendered[0]);
    assert_eq!(outcome("acknowledge.new", 200, body), Outcome::Refused);
}

#[test]
fn warnings_tell_whether_something_was_dropped() {
    let warned = |code: &str| {
        format!(
            "<OTA_HotelAvailNotifRS><Success/><Warnings><Warning Type='3' ShortText='{code}'/>\
             </Warnings></OTA_HotelAvailNotifRS>"
        )
    };
    let harmless = warned("WARN_UNPROCESSED_ADDITIONAL_GUEST");
    assert_eq!(outcome("rates", 200, &harmless), Outcome::Accepted);
    let dropped = warned("WARN_DUPLICATE_DATES");
    assert_eq!(outcome("availability", 200, &dropped), Outcome::Partly);
}

#[test]
fn statuses_without_words_tell_what_to_do() {
    let wait = Outcome::Later {
        after_seconds: Some(17),
    };
    for (status, expected) in [
        (401, Outcome::Unauthenticated),
        (403, Outcome::Refused),
        (429, wait),
        (500, wait),
        (503, wait),
        (400, Outcome::Refused),
    ] {
        assert_eq!(outcome("availability", status, ""), expected, "{status}");
    }
    let verdict = BOOKING.judge(&sent("availability"), &reply(403, "<html/>"));
    assert!(verdict.why.unwrap().contains("pending"));
    let denied = "<OTA_HotelAvailNotifRS><Errors><Error Type='6' Code='392' ShortText='denied'/>\
                  </Errors></OTA_HotelAvailNotifRS>";
    let verdict = BOOKING.judge(&sent("availability"), &reply(403, denied));
    assert_eq!(verdict.outcome, Outcome::Refused);
    assert!(verdict.why.unwrap().contains("pending"));
    let fault = "<fault code='401' string='authentication failed'/>";
    assert_eq!(
        outcome("reservations.new", 200, fault),
        Outcome::Unauthenticated
    );
    assert!(matches!(
        outcome("availability", 200, "<ok/>"),
        Outcome::Accepted
    ));
    assert_ne!(
        outcome("availability", 200, "<html>ok</html>"),
        Outcome::Accepted
    );
    assert_ne!(outcome("availability", 500, "<ok/>"), Outcome::Accepted);
    assert_ne!(outcome("reservations.new", 200, "<ok/>"), Outcome::Accepted);
}

#[test]
fn a_room_without_anything_to_sell_is_told_zero_and_closed() {
    for span in [rooms(0, false), rooms(5, true)] {
        let body = render(vec![span]).remove(0);
        assert!(body.contains("BookingLimit=\"0\""), "{body}");
        assert!(
            body.contains("<RestrictionStatus Status=\"Close\"/>"),
            "{body}"
        );
    }
}

#[test]
fn a_room_is_opened_before_its_limit_is_told() {
    let body = render(vec![rooms(300, false)]).remove(0);
    let open = body
        .find("<RestrictionStatus Status=\"Open\"/>")
        .expect("opened");
    let limit = body
        .find("BookingLimit=\"254\"")
        .expect("the largest number");
    assert!(open < limit);
    assert!(
        body.contains("Start=\"2030-03-01\" End=\"2030-03-03\""),
        "the end is a night"
    );
    assert!(
        !body.contains("RatePlanCode"),
        "a limit belongs to the room"
    );
}

#[test]
fn room_and_rate_are_closed_and_opened_each_by_its_own_switch() {
    let closed = AriValues {
        closed: true,
        ..AriValues::default()
    };
    let body = render(vec![rooms(2, false), span(Some("901"), closed)]).remove(0);
    let pieces: Vec<&str> = body.split("<AvailStatusMessage ").collect();
    let switch = |rate: bool| {
        pieces.iter().find(|piece| {
            piece.contains("RatePlanCode") == rate && piece.contains("<RestrictionStatus Status")
        })
    };
    assert!(switch(false).expect("room").contains("Open"));
    assert!(switch(true).expect("rate").contains("Close"));
}

#[test]
fn a_minimum_stay_through_and_one_on_arrival_are_two_things() {
    let values = AriValues {
        restrictions: Restrictions {
            min_stay_through: Some(2),
            min_stay_arrival: Some(3),
            max_stay: Some(9),
            ..Restrictions::default()
        },
        ..AriValues::default()
    };
    let body = render(vec![span(Some("901"), values)]).remove(0);
    let through = "<LengthsOfStay><LengthOfStay Time=\"2\" TimeUnit=\"Day\" \
                   MinMaxMessageType=\"SetMinLOS\"/></LengthsOfStay>";
    assert!(body.contains(through), "{body}");
    let arriving = "<LengthsOfStay ArrivalDateBased=\"true\"><LengthOfStay Time=\"3\"";
    assert!(body.contains(arriving), "{body}");
    assert!(body.contains("Time=\"9\" TimeUnit=\"Day\" MinMaxMessageType=\"SetMaxLOS\""));
}

#[test]
fn prices_are_told_in_minor_units_after_availability() {
    let values = AriValues {
        rate: Some(Money::new(15050, Currency::from_code("EUR").unwrap())),
        ..AriValues::default()
    };
    let bodies = render(vec![span(Some("901"), values)]);
    assert!(bodies[0].contains("OTA_HotelAvailNotifRQ"));
    let price = "AmountAfterTax=\"15050\" CurrencyCode=\"EUR\" DecimalPlaces=\"2\"";
    assert!(bodies[1].contains(price), "{}", bodies[1]);
}

#[test]
fn without_a_token_nothing_is_sent_and_signing_in_is_demanded() {
    let push = AriPush {
        hotel_code: "7200".to_owned(),
        complete: false,
        spans: vec![rooms(1, false)],
    };
    let error = BOOKING.render(&push, &session("")).expect_err("no token");
    assert_eq!(error.demand, Some(Demand::SignIn));
}

#[test]
fn signing_in_exchanges_the_secret_for_a_token() {
    let session = session("");
    let step = |last| Step {
        goal: Goal::SignIn,
        round: 0,
        last,
        hotel_codes: &[],
        has_more: false,
    };
    let Exchange::Send(asked) = BOOKING.next(&session, &step(None)) else {
        panic!("a request first");
    };
    assert_eq!(
        asked.url,
        "http://desk.test/token-based-authentication/exchange"
    );
    assert!(!format!("{asked:?}").contains("open-sesame"));
    let token = reply(200, "{\"jwt\":\"a.b.c\",\"ruid\":\"r\",\"more\":1}");
    let Exchange::Done {
        learned: Some(learned),
    } = BOOKING.next(&session, &step(Some((&asked, &token))))
    else {
        panic!("a token");
    };
    assert!(learned.expose_secret().contains("a.b.c"));
    let denied = reply(401, "{\"errors\":[\"no\"]}");
    let Exchange::Failed(verdict) = BOOKING.next(&session, &step(Some((&asked, &denied)))) else {
        panic!("no token");
    };
    assert_eq!(verdict.outcome, Outcome::Unauthenticated);
}

#[test]
fn a_poll_empties_the_new_queue_before_the_modified_one() {
    let session = signed_in();
    let queue = reply(200, "<OTA_HotelResNotifRQ/>");
    let mut last: Option<Outbound> = None;
    let mut asked = Vec::new();
    for (round, has_more) in [false, true, false, true, false].into_iter().enumerate() {
        let step = Step {
            goal: Goal::Poll,
            round: u32::try_from(round).unwrap(),
            last: last.as_ref().map(|sent| (sent, &queue)),
            hotel_codes: &[],
            has_more,
        };
        match BOOKING.next(&session, &step) {
            Exchange::Send(outbound) => {
                asked.push(outbound.topic.clone());
                last = Some(outbound);
            }
            Exchange::Done { .. } => asked.push("done".to_owned()),
            Exchange::Failed(verdict) => panic!("{verdict:?}"),
        }
    }
    let (new, modified) = ("reservations.new", "reservations.modified");
    assert_eq!(asked, [new, new, modified, modified, "done"]);
}

#[test]
fn a_poll_that_is_refused_ends_with_the_reason() {
    let session = signed_in();
    let asked = sent("reservations.new");
    let answer = reply(403, "");
    let step = Step {
        goal: Goal::Poll,
        round: 1,
        last: Some((&asked, &answer)),
        hotel_codes: &[],
        has_more: false,
    };
    let Exchange::Failed(verdict) = BOOKING.next(&session, &step) else {
        panic!("refused");
    };
    assert_eq!(verdict.outcome, Outcome::Refused);
}
