//! What they tell.

use super::*;

#[test]
fn money_is_an_integer_with_decimal_places() {
    let parsed = new_queue(&booking("", "1", &room("9001", &two_nights())));
    let nightly = &parsed.reports[0].rooms[0].nightly;
    let minor: Vec<i64> = nightly.iter().map(|(_, money)| money.minor).collect();
    assert_eq!(minor, [15000, 14850]);
    let plain = format!(
        "<RoomRates>{}</RoomRates>",
        night("2030-03-01", "148.5", "")
    );
    let parsed = new_queue(&booking("", "1", &room("9001", &plain)));
    assert_eq!(parsed.reports[0].rooms[0].nightly[0].1.minor, 14850);
}

#[test]
fn the_departure_is_the_day_after_the_last_night_unless_a_span_tells_it() {
    let parsed = new_queue(&booking("", "1", &room("9001", &two_nights())));
    let stay = &parsed.reports[0].rooms[0];
    assert_eq!(stay.arrival.unwrap().to_string(), "2030-03-01");
    assert_eq!(stay.departure.unwrap().to_string(), "2030-03-03");
    let spanned = "<TimeSpan Start='2030-03-01' End='2030-03-05'/>";
    let parsed = new_queue(&booking("", "1", &room("9001", spanned)));
    let stay = &parsed.reports[0].rooms[0];
    assert_eq!(stay.departure.unwrap().to_string(), "2030-03-05");
}

#[test]
fn each_room_instance_has_its_own_key_and_dates() {
    let one_night = format!("<RoomRates>{}</RoomRates>", night("2030-03-01", "1", ""));
    let stays = room("9001", &two_nights()) + &room("9002", &one_night);
    let parsed = new_queue(&booking("", "1", &stays));
    let rooms = &parsed.reports[0].rooms;
    let keys: Vec<&str> = rooms.iter().filter_map(|r| r.room_key.as_deref()).collect();
    assert_eq!(keys, ["9001", "9002"]);
    assert_ne!(rooms[0].departure, rooms[1].departure);
    assert_eq!(rooms[0].room_code, rooms[1].room_code);
}

#[test]
fn a_cancellation_is_told_by_its_status_or_by_having_no_rooms() {
    let with_rooms = booking("ResStatus='Cancel'", "1", &room("9001", &two_nights()));
    let without = booking("", "2", "");
    for message in [&with_rooms, &without] {
        let parsed = modified_queue(message);
        assert_eq!(parsed.reports[0].kind, RevisionKind::Cancelled);
    }
    let changed = modified_queue(&booking("", "1", &room("9001", &two_nights())));
    assert_eq!(changed.reports[0].kind, RevisionKind::Modified);
    assert_eq!(
        changed.reports[0].acknowledge_as.as_deref(),
        Some("modified")
    );
}

#[test]
fn a_booking_cancelled_before_it_was_acknowledged_comes_as_new_and_is_cancelled() {
    let parsed = new_queue(&booking("ResStatus='Cancel'", "1", ""));
    assert_eq!(parsed.reports[0].kind, RevisionKind::Cancelled);
    assert_eq!(parsed.reports[0].acknowledge_as.as_deref(), Some("new"));
    let unclear = new_queue(&booking("", "1", ""));
    assert!(
        unclear.reports.is_empty(),
        "a new booking without rooms is no cancellation"
    );
    assert_eq!(unclear.faults[0].reference.as_deref(), Some("1"));
}

#[test]
fn a_cancelled_message_may_carry_its_fee_and_nothing_else() {
    let cancelled = booking("ResStatus='Cancel'", "1", "").replace(
        "<ResGlobalInfo>",
        "<ResGlobalInfo><Total AmountAfterTax='5000' CurrencyCode='EUR' DecimalPlaces='2'/>",
    );
    let parsed = modified_queue(&cancelled);
    assert_eq!(parsed.reports[0].total.unwrap().minor, 5000);
    assert_eq!(parsed.reports[0].hotel_code, None);
    assert!(parsed.reports[0].rooms.is_empty());
}

#[test]
fn the_mark_of_a_virtual_card_is_no_part_of_the_rate() {
    let marked = two_nights().replace("'901'", "'901VCC'");
    let parsed = new_queue(&booking("", "1", &room("9001", &marked)));
    assert_eq!(parsed.reports[0].rooms[0].rate_code.as_deref(), Some("901"));
    assert_eq!(parsed.reports[0].payment_model.as_deref(), Some("VCC"));
}

#[test]
fn a_rate_may_differ_by_night_and_each_night_keeps_its_price() {
    let split = two_nights().replacen("'901'", "'902'", 1);
    let parsed = new_queue(&booking("", "1", &room("9001", &split)));
    let stay = &parsed.reports[0].rooms[0];
    assert_eq!(stay.rate_code.as_deref(), Some("902"));
    assert_eq!(stay.nightly.len(), 2);
}

#[test]
fn the_order_is_the_time_of_the_change_and_never_guessed() {
    let stay = room("9001", &two_nights());
    let created = "CreateDateTime='2030-01-05T10:11:12Z'";
    let changed = "LastModifyDateTime='2030-01-06T00:00:00+01:00'";
    let new = new_queue(&booking(created, "1", &stay));
    let later = modified_queue(&booking(&format!("{created} {changed}"), "1", &stay));
    assert!(new.reports[0].order < later.reports[0].order);
    let untimed = modified_queue(&booking(created, "1", &stay));
    assert_eq!(untimed.reports[0].order, None);
}

#[test]
fn one_broken_booking_does_not_hide_its_neighbour() {
    let broken = room("9001", &two_nights()).replace("2030-03-02", "2030-02-30");
    let unnamed = booking("", "", &room("9001", &two_nights()));
    let good = booking("", "3", &room("9001", &two_nights()));
    let parsed = new_queue(&(booking("", "1", &broken) + &unnamed + &good));
    assert_eq!(parsed.reports.len(), 1);
    assert_eq!(parsed.reports[0].reference, "3");
    assert_eq!(parsed.faults.len(), 2);
    assert_eq!(parsed.faults[0].reference.as_deref(), Some("1"));
    assert!(parsed.faults[0].why.contains("2030-02-30"));
    assert!(parsed.faults[0].raw.contains("IndexNumber"));
    assert_eq!(parsed.faults[1].reference, None);
    assert!(!parsed.is_unreadable);
}

#[test]
fn a_booking_belongs_to_one_hotel() {
    let other = room("9002", &two_nights()).replace("7200", "7300");
    let parsed = new_queue(&booking("", "1", &(room("9001", &two_nights()) + &other)));
    assert!(parsed.faults[0].why.contains("7300"));
}

#[test]
fn a_fault_is_not_an_empty_queue() {
    for body in [
        "<fault code='401' string='authentication failed'/>",
        "<errors><error><code>500</code><message>down</message></error></errors>",
        "<OTA_HotelResNotifRS><Errors><Error Type='3' ShortText='no'/></Errors>\
         </OTA_HotelResNotifRS>",
        "<reservations/>",
        "<html/>",
        "{\"errors\":[]}",
        "",
    ] {
        let parsed = parse(body);
        assert!(parsed.is_unreadable && parsed.faults.len() == 1, "{body}");
    }
    let empty = new_queue("");
    assert!(!empty.is_unreadable && empty.faults.is_empty());
}

#[test]
fn the_request_id_behind_the_message_is_kept_for_support() {
    let parsed = parse("<OTA_HotelResNotifRQ/>\n<!-- RUID: [ZGVtbw==] -->\n");
    assert_eq!(parsed.trace.as_deref(), Some("ZGVtbw=="));
    let answer = "<OTA_HotelAvailNotifRS><Success/></OTA_HotelAvailNotifRS><!-- RUID: [x1] -->";
    let verdict = BOOKING.judge(&sent("availability"), &reply(200, answer));
    assert_eq!(verdict.trace.as_deref(), Some("x1"));
    let verdict = BOOKING.judge(&sent("sign_in"), &reply(401, "{\"ruid\":\"x2\"}"));
    assert_eq!(verdict.trace.as_deref(), Some("x2"));
}

#[test]
fn card_data_is_in_no_report_and_in_no_kept_message() {
    let card = "<Guarantee><PaymentCard CardNumber='4111111111111111' SeriesCode='737' \
                ExpireDate='1230'/></Guarantee><Comments><Comment><Text>my card is 4111 1111 \
                1111 1111, thanks</Text></Comment></Comments>";
    let message = booking("", "1", &room("9001", &two_nights()))
        .replace("<ResGlobalInfo>", &format!("<ResGlobalInfo>{card}"));
    let message = format!(
        "<OTA_HotelResNotifRQ><HotelReservations>{message}</HotelReservations>\
         </OTA_HotelResNotifRQ>"
    );
    let parsed = parse(&message);
    let report = serde_json::to_string(&parsed.reports).unwrap();
    assert!(
        !report.contains("1111") && !report.contains("737"),
        "{report}"
    );
    assert_eq!(
        parsed.reports[0].remarks[0].0,
        "my card is **** **** **** ****, thanks"
    );
    let kept = String::from_utf8(BOOKING.redact(message.as_bytes())).unwrap();
    assert!(!kept.contains("1111") && !kept.contains("737"), "{kept}");
    assert_eq!(parse(&kept), parsed, "the kept message means the same");
}
