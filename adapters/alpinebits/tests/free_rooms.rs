//! Free rooms, written and read.

use super::*;
use crate::alpinebits::free_rooms::read;
use crate::xml;

const COMPLETE: &str = "<UniqueID Type='16' ID='1' Instance='CompleteSet'/>";

fn period(start: &str, end: &str, codes: &str, counts: &str) -> String {
    format!(
        "<Inventory><StatusApplicationControl Start='2027-{start}' End='2027-{end}' {codes}/>\
         {counts}</Inventory>"
    )
}

fn counted(counts: &[(&str, &str)]) -> String {
    let each = counts
        .iter()
        .map(|(kind, rooms)| format!("<InvCount CountType='{kind}' Count='{rooms}'/>"));
    format!("<InvCounts>{}</InvCounts>", each.collect::<String>())
}

fn message(set: &str, inventories: &str) -> String {
    format!(
        "<OTA_HotelInvCountNotifRQ Version='4'>{set}<Inventories HotelCode='HTL1'>{inventories}\
         </Inventories></OTA_HotelInvCountNotifRQ>"
    )
}

fn takes(message: &str, without: Option<&str>) -> Result<AriPush, String> {
    let text = xml::text(message.as_bytes());
    let document = xml::read(&text).expect("XML");
    read(document.root(), &|name| Some(name) != without)
}

#[test]
fn ends_are_nights_and_equal_neighbours_are_joined() {
    let told = push(
        false,
        vec![
            span("DBL", "2030-03-01", "2030-03-04", 2),
            span("DBL", "2030-03-04", "2030-03-05", 2),
            span("DBL", "2030-03-05", "2030-03-06", 1),
        ],
    );
    let body = render(&told, &agreed()).expect("one").remove(0);
    assert!(
        body.contains("Start=\"2030-03-01\" End=\"2030-03-04\""),
        "{body}"
    );
    assert!(
        body.contains("Start=\"2030-03-05\" End=\"2030-03-05\""),
        "{body}"
    );
    assert_eq!(body.matches("<Inventory>").count(), 2);
    assert!(!body.contains("CompleteSet"));
}

#[test]
fn closed_is_told_as_zero_and_rates_have_no_place() {
    let mut closed = span("DBL", "2030-03-01", "2030-03-04", 2);
    closed.values.closed = true;
    let mut rate = span("SGL", "2030-03-01", "2030-03-04", 2);
    rate.channel_rate_code = Some("BAR".to_owned());
    let body = render(&push(true, vec![closed, rate]), &agreed())
        .expect("one")
        .remove(0);
    assert!(
        body.contains("<InvCount CountType=\"2\" Count=\"0\"/>"),
        "{body}"
    );
    assert!(!body.contains("SGL"));
    assert!(body.contains("<UniqueID Type=\"16\" ID=\"1\" Instance=\"CompleteSet\"/>"));
}

#[test]
fn what_the_portal_does_not_take_is_not_sent() {
    let night = vec![span("DBL", "2030-03-01", "2030-03-02", 2)];
    let without_deltas = session(&[ACTION_FREE_ROOMS, CATEGORIES, COMPLETE_SET]);
    let error = render(&push(false, night.clone()), &without_deltas).expect_err("no deltas");
    assert_eq!(error.demand, Some(Demand::Availability));
    assert!(render(&push(true, night.clone()), &without_deltas).is_ok());
    let without_sets = session(&[ACTION_FREE_ROOMS, CATEGORIES, DELTAS]);
    let body = render(&push(true, night.clone()), &without_sets)
        .expect("singly")
        .remove(0);
    assert!(!body.contains("CompleteSet"));
    for supports in [
        &[ACTION_FREE_ROOMS, CATEGORIES][..],
        &[ACTION_FREE_ROOMS, DELTAS],
        &[CATEGORIES, DELTAS],
    ] {
        let error = render(&push(false, night.clone()), &session(supports));
        assert_eq!(error.expect_err("nothing").demand, None);
    }
    let unshaken = Session {
        learned: SecretString::from(""),
        ..agreed()
    };
    let error = render(&push(false, night), &unshaken).expect_err("no handshake");
    assert_eq!(error.demand, Some(Demand::SignIn));
}

#[test]
fn codes_and_mappings_that_the_standard_refuses_are_not_sent() {
    for spans in [
        vec![span("NINECHARS", "2030-03-01", "2030-03-02", 2)],
        vec![
            span("DBL", "2030-03-01", "2030-03-04", 2),
            span("DBL", "2030-03-03", "2030-03-05", 1),
        ],
    ] {
        assert!(render(&push(false, spans), &agreed()).is_err());
    }
    let mut long = push(false, vec![span("DBL", "2030-03-01", "2030-03-02", 2)]);
    long.hotel_code = "a-code-of-17-char".to_owned();
    assert!(render(&long, &agreed()).is_err());
}

#[test]
fn a_large_complete_set_begins_complete_and_goes_on_with_single_nights() {
    let first: jiff::civil::Date = "2030-01-01".parse().unwrap();
    let spans = (0..2_500).map(|n| {
        let night = first.saturating_add(jiff::Span::new().days(n));
        let nights = Stay::night(night).unwrap();
        let rooms = n % 2;
        AriSpan {
            nights,
            ..span("DBL", "2030-01-01", "2030-01-02", rooms)
        }
    });
    let bodies = render(&push(true, spans.collect()), &agreed()).expect("two");
    assert_eq!(bodies.len(), 2);
    assert!(bodies[0].contains("CompleteSet") && !bodies[1].contains("CompleteSet"));
    let nothing = render(&push(true, Vec::new()), &agreed())
        .expect("a reset")
        .remove(0);
    assert!(nothing.contains("<Inventories HotelCode=\"HTL1\"><Inventory/></Inventories>"));
    assert!(
        render(&push(false, Vec::new()), &agreed())
            .expect("none")
            .is_empty()
    );
}

#[test]
fn what_must_be_refused_is_refused_as_a_whole() {
    let dbl = "InvTypeCode='DBL'";
    let one = counted(&[("2", "1")]);
    let fine = period("02-01", "02-10", dbl, &one);
    let season = period("02-05", "02-08", "AllInvCode='true'", "");
    let cases = [
        (
            "overlap",
            fine.clone() + &period("02-10", "02-12", dbl, &one),
        ),
        (
            "mixture",
            fine.clone() + &period("02-01", "02-10", "InvTypeCode='SGL' InvCode='1'", ""),
        ),
        ("reversed", period("02-10", "02-01", dbl, &one)),
        ("impossible date", period("02-30", "03-02", dbl, &one)),
        (
            "type 1",
            period("02-01", "02-10", dbl, &counted(&[("1", "1")])),
        ),
        (
            "a type twice",
            period("02-01", "02-10", dbl, &counted(&[("2", "1"), ("2", "1")])),
        ),
        (
            "negative",
            period("02-01", "02-10", dbl, &counted(&[("2", "-1")])),
        ),
        (
            "no number",
            period("02-01", "02-10", dbl, &counted(&[("2", "+1")])),
        ),
        ("no count", period("02-01", "02-10", dbl, "<InvCounts/>")),
        ("no category", period("02-01", "02-10", "", &one)),
        (
            "a long code",
            period("02-01", "02-10", "InvTypeCode='NINECHARS'", &one),
        ),
        (
            "two counts of a room",
            period(
                "02-01",
                "02-10",
                "InvTypeCode='SGL' InvCode='1'",
                &counted(&[("2", "1"), ("6", "0")]),
            ),
        ),
        ("season after the rest", fine.clone() + &season),
        ("bookable in a season", season.clone() + &fine),
        (
            "season with counts",
            period("02-05", "02-08", "AllInvCode='true'", &one),
        ),
        (
            "seasons overlap",
            season.clone() + &period("02-08", "02-09", "AllInvCode='1'", ""),
        ),
        ("nothing", String::new()),
        ("empty beside others", "<Inventory/>".to_owned() + &fine),
    ];
    for (what, inventories) in cases {
        let parsed = parse("", &message(COMPLETE, &inventories));
        assert!(parsed.is_unreadable && parsed.ari.is_none(), "{what}");
    }
}

#[test]
fn what_names_no_hotel_or_no_proper_set_is_refused() {
    let fine = period(
        "02-01",
        "02-10",
        "InvTypeCode='DBL'",
        &counted(&[("2", "1")]),
    );
    let season = period("02-05", "02-08", "AllInvCode='true'", "");
    for (what, broken) in [
        ("reset of a delta", message("", "<Inventory/>")),
        ("season in a delta", message("", &season)),
        (
            "another set",
            message("<UniqueID Type='14' ID='1' Instance='CompleteSet'/>", &fine),
        ),
        (
            "no hotel",
            message(COMPLETE, &fine).replace("HotelCode='HTL1'", "HotelName='Seehof'"),
        ),
        (
            "long hotel",
            message(COMPLETE, &fine).replace("HTL1", "a-code-of-17-char"),
        ),
        (
            "two hotels",
            message(COMPLETE, &fine).replace(
                "</Inventories>",
                "</Inventories><Inventories HotelCode='2'/>",
            ),
        ),
    ] {
        assert!(parse("", &broken).is_unreadable, "{what}");
    }
}

#[test]
fn what_needs_a_capability_is_refused_without_it() {
    let dbl = "InvTypeCode='DBL'";
    let count = |kind| counted(&[(kind, "1")]);
    for (capability, set, inventories) in [
        (DELTAS, "", period("02-01", "02-10", dbl, &count("2"))),
        (
            COMPLETE_SET,
            COMPLETE,
            period("02-01", "02-10", dbl, &count("2")),
        ),
        (CATEGORIES, "", period("02-01", "02-10", dbl, "")),
        (
            ROOMS,
            "",
            period("02-01", "02-10", "InvTypeCode='DBL' InvCode='1'", ""),
        ),
        (OUT_OF_ORDER, "", period("02-01", "02-10", dbl, &count("6"))),
        (
            OUT_OF_MARKET,
            "",
            period("02-01", "02-10", dbl, &count("9")),
        ),
        (
            CLOSING_SEASONS,
            COMPLETE,
            period("02-01", "02-10", "AllInvCode='true'", ""),
        ),
    ] {
        let message = message(set, &inventories);
        assert!(takes(&message, None).is_ok(), "{capability}");
        let why = takes(&message, Some(capability)).expect_err(capability);
        assert!(why.contains(capability), "{why}");
    }
}

#[test]
fn a_category_that_is_not_counted_is_fully_booked() {
    let dbl = "InvTypeCode='DBL'";
    let out = counted(&[("6", "4")]);
    let inventories = period("02-01", "02-10", dbl, "") + &period("02-11", "02-12", dbl, &out);
    let told = takes(&message("", &inventories), None).expect("taken");
    let rooms: Vec<Option<i32>> = told.spans.iter().map(|span| span.values.rooms).collect();
    assert_eq!(rooms, [Some(0), Some(0)]);
}
