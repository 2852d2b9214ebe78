//! Messages standing alone, in the sandbox's own words: what holds without the published samples.

use keyrack_sandbox::{CheckAnswer, Verdict, check};

use crate::client::{OTA, avail, count};

fn with(headers: &[(&str, &str)], channel: &str, body: &str) -> CheckAnswer {
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    check(channel, body.as_bytes(), &headers)
}

fn rooms(hotel: &str, inventories: &str) -> String {
    format!(
        r#"<OTA_HotelInvCountNotifRQ xmlns="{OTA}" Version="4">
           <UniqueID Type="16" ID="1" Instance="CompleteSet"/><Inventories HotelCode="{hotel}">
           {inventories}</Inventories></OTA_HotelInvCountNotifRQ>"#
    )
}

#[test]
fn hotels_and_categories_are_those_of_the_samples_unless_told_otherwise() {
    let night = count("DBL", "2030-03-01", "2030-03-02", 2);
    let verdict = |headers: &[(&str, &str)], hotel: &str| {
        with(headers, "alpinebits", &rooms(hotel, &night)).verdict
    };
    assert_eq!(verdict(&[], "HTL1"), Verdict::Accept);
    assert_eq!(verdict(&[], "HTL2"), Verdict::Reject);
    assert_eq!(
        verdict(&[("X-Sandbox-Hotel", "HTL2")], "HTL2"),
        Verdict::Accept
    );
    assert_eq!(
        verdict(&[("x-sandbox-categories", "SGL")], "HTL1"),
        Verdict::Reject
    );
    let old = ("X-AlpineBits-ClientProtocolVersion", "2018-10");
    assert_eq!(verdict(&[old], "HTL1"), Verdict::Reject);
    assert_eq!(with(&[], "expedia", "<x/>").status, 404);
}

#[test]
fn capabilities_that_were_not_announced_are_refused() {
    let night = count("DBL", "2030-03-01", "2030-03-02", 2);
    let body = rooms("HTL1", &night);
    let verdict = |capabilities: &str| {
        with(
            &[("X-Sandbox-Capabilities", capabilities)],
            "alpinebits",
            &body,
        )
        .verdict
    };
    assert_eq!(
        verdict("accept_categories,accept_complete_set"),
        Verdict::Accept
    );
    assert_eq!(verdict("accept_categories"), Verdict::Reject);
    assert_eq!(verdict("accept_complete_set"), Verdict::Reject);
    assert_eq!(verdict(""), Verdict::Reject);
}

fn request(attributes: &str, kind: &str, stay: &str) -> String {
    format!(
        r#"<OTA_ResRetrieveRS xmlns="{OTA}" Version="7.000"><Success/><ReservationsList>
           <HotelReservation CreateDateTime="2026-11-20T09:15:00+01:00" {attributes}>
           <UniqueID Type="{kind}" ID="R1"/>{stay}</HotelReservation></ReservationsList>
           </OTA_ResRetrieveRS>"#
    )
}

#[test]
fn guest_requests_are_judged_by_rules_that_the_schema_lets_pass() {
    let stay = r#"<RoomStays><RoomStay><RoomTypes><RoomType RoomTypeCode="DBL"/></RoomTypes>
        <RatePlans/><GuestCounts/><TimeSpan Start="2027-03-05" End="2027-03-07"/>
        <Total AmountAfterTax="1" CurrencyCode="EUR"/></RoomStay></RoomStays>
        <ResGlobalInfo><BasicPropertyInfo HotelCode="HTL1"/></ResGlobalInfo>"#;
    let judge = |body: &str| with(&[], "alpinebits", body);
    let reserved = request(r#"ResStatus="Reserved""#, "14", stay);
    let taken = judge(&reserved);
    assert_eq!(taken.verdict, Verdict::Accept, "{}", taken.reason);
    assert!(String::from_utf8_lossy(&taken.body).contains("OTA_NotifReportRQ"));
    let zero = stay.replace("2027-03-07", "2027-03-05");
    let refused = judge(&request(r#"ResStatus="Reserved""#, "14", &zero));
    assert_eq!(refused.verdict, Verdict::Reject);
    assert!(String::from_utf8_lossy(&refused.body).contains(r#"RecordID="R1""#));
    for body in [
        request(r#"ResStatus="Cancelled""#, "14", ""),
        request(r#"ResStatus="Reserved""#, "15", stay),
        request(r#"ResStatus="Booked""#, "14", stay),
        request(r#"ResStatus="Reserved""#, "14", ""),
        request(
            r#"ResStatus="Reserved""#,
            "14",
            &stay.replace("GuestCounts", "Guests"),
        ),
        reserved.replace("+01:00", ""),
    ] {
        assert_eq!(judge(&body).verdict, Verdict::Reject, "{body}");
    }
    let cancelled = request(r#"ResStatus="Cancelled""#, "15", "");
    assert_eq!(judge(&cancelled).verdict, Verdict::Accept);
}

#[test]
fn hostile_bodies_are_refused_in_a_sentence() {
    let bomb = r#"<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>"#;
    let latin = r#"<?xml version="1.0" encoding="ISO-8859-1"?><x/>"#;
    let deep = "<a>".repeat(100_000);
    for channel in ["booking_com", "alpinebits"] {
        for body in [bomb, latin, deep.as_str(), "", "<x/>", "no xml at all"] {
            let answer = with(&[], channel, body);
            assert_eq!(answer.verdict, Verdict::Reject);
            assert!(!answer.reason.is_empty());
        }
        assert_eq!(
            check(channel, &[0xff, 0xfe, 0x00], &[]).verdict,
            Verdict::Reject
        );
    }
}

#[test]
fn availability_alone_is_answered_as_on_the_wire() {
    let element = r#"<AvailStatusMessage BookingLimit="3" LocatorID="9"><StatusApplicationControl
        Start="2030-03-01" End="2030-03-03" InvTypeCode="4711"/></AvailStatusMessage>"#;
    let good = with(&[], "booking_com", &avail("7200", element));
    assert_eq!((good.status, good.verdict), (200, Verdict::Accept));
    assert!(String::from_utf8_lossy(&good.body).contains("<Success/>"));
    let foreign = with(&[], "booking_com", &avail("7201", element));
    assert_eq!((foreign.status, foreign.verdict), (403, Verdict::Reject));
    let past = [("X-Sandbox-Today", "2031-01-01")];
    let late = with(&past, "booking_com", &avail("7200", element));
    assert_eq!(late.status, 400);
    assert!(late.reason.contains("element 9") && late.reason.contains("NOT_A_VALID_DATE"));
    let json = serde_json::to_value(&late).unwrap();
    assert_eq!(json["verdict"], "reject");
    assert!(json["body"].as_str().unwrap().contains("RUID"));
}
