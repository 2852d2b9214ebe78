//! Guest requests.

use super::*;

fn request(attributes: &str, id: &str, inside: &str) -> String {
    format!(
        "<HotelReservation CreateDateTime='2026-11-20T09:15:00+01:00' {attributes}>{id}{inside}\
         <ResGlobalInfo><BasicPropertyInfo HotelCode='HTL1'/></ResGlobalInfo></HotelReservation>"
    )
}

fn id(kind: &str, id: &str) -> String {
    format!("<UniqueID Type='{kind}' ID='{id}'/>")
}

fn room(span: &str) -> String {
    format!(
        "<RoomStays><RoomStay><RoomTypes><RoomType RoomTypeCode='DBL'/></RoomTypes><RatePlans>\
         <RatePlan RatePlanCode='BAR'><MealsIncluded MealPlanIndicator='true' \
         MealPlanCodes='12'/></RatePlan></RatePlans><GuestCounts><GuestCount Count='2'/>\
         <GuestCount Count='1' Age='9'/></GuestCounts>{span}<Total AmountAfterTax='240' \
         CurrencyCode='EUR'/></RoomStay></RoomStays>"
    )
}

fn three_nights() -> String {
    room("<TimeSpan Start='2027-03-05' End='2027-03-08'/>")
}

fn list(requests: &str) -> Parsed {
    parse(
        "guest_requests:HTL1",
        &format!(
            "<OTA_ResRetrieveRS Version='7.000'><Success/><ReservationsList>{requests}\
             </ReservationsList></OTA_ResRetrieveRS>"
        ),
    )
}

#[test]
fn the_end_of_a_stay_is_the_departure() {
    let parsed = list(&request(
        "ResStatus='Reserved'",
        &id("14", "R1"),
        &three_nights(),
    ));
    let report = &parsed.reports[0];
    let stay = &report.rooms[0];
    assert_eq!(stay.departure.unwrap().to_string(), "2027-03-08");
    assert_eq!(
        (stay.adults, stay.children_ages.clone()),
        (Some(2), vec![Some(9)])
    );
    assert_eq!(report.total.unwrap().minor, 24000);
    assert_eq!(report.acknowledge_as.as_deref(), Some("14"));
    assert_eq!(report.remarks[0].0, "Meals: half board");
}

#[test]
fn status_and_type_of_identifier_must_be_a_pair() {
    for (status, kind, is_pair) in [
        ("Requested", "14", true),
        ("Reserved", "14", true),
        ("Modify", "14", true),
        ("Cancelled", "15", true),
        ("Cancelled", "14", false),
        ("Reserved", "15", false),
        ("Modify", "15", false),
        ("Booked", "14", false),
    ] {
        let attributes = format!("ResStatus='{status}'");
        let parsed = list(&request(&attributes, &id(kind, "R1"), &three_nights()));
        assert_eq!(
            parsed.reports.len(),
            usize::from(is_pair),
            "{status} {kind}"
        );
        let refused = parsed
            .faults
            .first()
            .and_then(|fault| fault.reference.as_deref());
        assert_eq!(refused, (!is_pair).then_some("R1"), "{status} {kind}");
    }
}

#[test]
fn a_stay_of_no_night_is_refused_and_its_neighbour_is_not() {
    let none = room("<TimeSpan Start='2027-03-05' End='2027-03-05'/>");
    let backward = room("<TimeSpan Start='2027-03-05' End='2027-03-04'/>");
    let status = "ResStatus='Reserved'";
    let parsed = list(
        &[
            request(status, &id("14", "R1"), &none),
            request(status, &id("14", "R2"), &backward),
            request(status, &id("14", "R3"), &three_nights()),
            request(status, &id("14", "R4"), ""),
        ]
        .concat(),
    );
    assert_eq!(parsed.reports[0].reference, "R3");
    assert_eq!(parsed.reports.len(), 1);
    let refused: Vec<_> = parsed
        .faults
        .iter()
        .map(|f| f.reference.as_deref())
        .collect();
    assert_eq!(refused, [Some("R1"), Some("R2"), Some("R4")]);
}

#[test]
fn a_quote_touches_nothing_and_may_have_a_window_instead_of_dates() {
    let window = "<RoomStays><RoomStay><TimeSpan Duration='P5N'><StartDateWindow \
                  EarliestDate='2027-07-01' LatestDate='2027-07-31'/></TimeSpan></RoomStay>\
                  </RoomStays>";
    let parsed = list(&request("ResStatus='Requested'", &id("14", "Q1"), window));
    assert!(parsed.reports[0].is_quote);
    assert_eq!(parsed.reports[0].rooms[0].arrival, None);
    let remark = &parsed.reports[0].remarks[0].0;
    assert_eq!(
        remark,
        "Arrival between 2027-07-01 and 2027-07-31, 5 nights"
    );
}

#[test]
fn a_cancellation_needs_nothing_but_its_reference_and_takes_the_hotel_from_the_question() {
    let bare = "<HotelReservation ResStatus='Cancelled'><UniqueID Type='15' ID='R1'/>\
                </HotelReservation>";
    let parsed = list(bare);
    assert_eq!(parsed.reports[0].kind, RevisionKind::Cancelled);
    assert_eq!(parsed.reports[0].hotel_code.as_deref(), Some("HTL1"));
    assert_eq!(parsed.reports[0].acknowledge_as.as_deref(), Some("15"));
    assert_eq!(parsed.reports[0].order, None);
}

#[test]
fn a_list_in_any_order_is_recorded_in_the_order_of_events() {
    let cancelled = request("ResStatus='Cancelled'", &id("15", "R1"), "");
    let later = "ResStatus='Modify' LastModifyDateTime='2026-11-21T10:00:00+01:00'";
    let modified = request(later, &id("14", "R1"), &three_nights());
    let reserved = request("ResStatus='Reserved'", &id("14", "R1"), &three_nights());
    for order in [
        [&cancelled, &modified, &reserved],
        [&modified, &reserved, &cancelled],
        [&reserved, &cancelled, &modified],
    ] {
        let parsed = list(&order.map(String::as_str).concat());
        let kinds: Vec<RevisionKind> = parsed.reports.iter().map(|report| report.kind).collect();
        let (new, modified) = (RevisionKind::New, RevisionKind::Modified);
        assert_eq!(kinds, [new, modified, RevisionKind::Cancelled]);
    }
}

#[test]
fn daily_prices_hold_through_their_last_day_or_up_to_it() {
    let rates = "<RoomRates><RoomRate><Rates><Rate EffectiveDate='2027-03-05' \
                 ExpireDate='2027-03-07' ExpireDateExclusiveInd='true' RateTimeUnit='Day'><Base \
                 AmountAfterTax='75' CurrencyCode='EUR'/></Rate><Rate EffectiveDate='2027-03-07' \
                 ExpireDate='2027-03-07'><Base AmountAfterTax='90' CurrencyCode='EUR'/></Rate>\
                 </Rates></RoomRate></RoomRates>";
    let stay = three_nights().replace("<GuestCounts>", &format!("{rates}<GuestCounts>"));
    let parsed = list(&request("ResStatus='Reserved'", &id("14", "R1"), &stay));
    let nightly = &parsed.reports[0].rooms[0].nightly;
    let minor: Vec<i64> = nightly.iter().map(|(_, money)| money.minor).collect();
    assert_eq!(minor, [7500, 7500, 9000]);
}

#[test]
fn a_payment_card_is_ignored_and_masked() {
    let card = "<Guarantee><GuaranteesAccepted><GuaranteeAccepted><PaymentCard CardCode='VI' \
                ExpireDate='1226'><CardHolderName>Otto</CardHolderName><CardNumber>\
                <PlainText>4444333322221111\n </PlainText></CardNumber></PaymentCard>\
                </GuaranteeAccepted></GuaranteesAccepted></Guarantee><Total";
    let stay = three_nights().replace("<Total", card);
    let message = request("ResStatus='Reserved'", &id("14", "R1"), &stay);
    let report = serde_json::to_string(&list(&message).reports).unwrap();
    let kept = String::from_utf8(PORTAL.redact(message.as_bytes())).unwrap();
    for text in [report, kept] {
        assert!(!text.contains("4444") && !text.contains("1111"), "{text}");
    }
}

#[test]
fn an_answer_that_refuses_is_not_an_empty_list() {
    for body in [
        "ERROR: unknown action",
        "<OTA_ResRetrieveRS><Errors><Error Type='13' Code='392'>no</Error></Errors>\
         </OTA_ResRetrieveRS>",
        "<OTA_ResRetrieveRS/>",
        "<html/>",
        "",
    ] {
        assert!(parse("guest_requests:HTL1", body).is_unreadable, "{body}");
    }
    let empty = list("");
    assert!(!empty.is_unreadable && empty.faults.is_empty() && empty.reports.is_empty());
}
