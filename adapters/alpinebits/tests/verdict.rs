//! The four outcomes, and what a portal demands.

use super::*;

fn answer(inside: &str) -> String {
    format!("<OTA_HotelInvCountNotifRS Version='1'>{inside}</OTA_HotelInvCountNotifRS>")
}

fn sent() -> Outbound {
    let night = push(false, vec![span("DBL", "2030-03-01", "2030-03-02", 2)]);
    PORTAL.render(&night, &agreed()).expect("one").remove(0)
}

fn judge(status: u16, body: &str) -> keyrack_model::adapter::Verdict {
    PORTAL.judge(&sent(), &reply(status, body))
}

#[test]
fn success_advice_warning_and_error_are_four_outcomes() {
    let success = judge(200, &answer("<Success/>"));
    assert_eq!((success.outcome, success.why), (Outcome::Accepted, None));
    let advised = judge(
        200,
        &answer("<Success/><Warnings><Warning Type='11'>old set</Warning></Warnings>"),
    );
    assert_eq!(advised.outcome, Outcome::Accepted);
    assert_eq!(advised.why.as_deref(), Some("old set"));
    let warned = judge(
        200,
        &answer(
            "<Success/><Warnings><Warning Type='3' RecordID='DBL'>not known</Warning></Warnings>",
        ),
    );
    assert_eq!(warned.outcome, Outcome::Partly);
    assert_eq!(warned.refused[0].record.as_deref(), Some("DBL"));
    let refused = judge(
        200,
        &answer("<Errors><Error Type='13' Code='404'>reversed</Error></Errors>"),
    );
    assert_eq!(refused.outcome, Outcome::Refused);
    assert_eq!(refused.why.as_deref(), Some("reversed (code 404)"));
}

#[test]
fn what_a_portal_demands_is_passed_on() {
    let demand = |status: &str, kind: &str| {
        let notice = format!("<{kind} Type='11' Status='ALPINEBITS_SEND_{status}'>do</{kind}>");
        let list = format!("<{kind}s>{notice}</{kind}s>");
        let success = if kind == "Warning" { "<Success/>" } else { "" };
        judge(200, &answer(&format!("{success}{list}")))
    };
    for (status, demands) in [
        ("FREEROOMS", vec![Demand::Availability]),
        ("HANDSHAKE", vec![Demand::SignIn]),
        ("RATEPLANS", vec![Demand::Rates]),
        ("INVENTORY", vec![]),
    ] {
        let advised = demand(status, "Warning");
        assert_eq!(advised.outcome, Outcome::Accepted, "{status}");
        assert_eq!(advised.demands, demands, "{status}");
        assert_eq!(demand(status, "Error").demands, demands, "{status}");
    }
    let later = Outcome::Later {
        after_seconds: Some(9),
    };
    assert_eq!(demand("HANDSHAKE", "Error").outcome, later);
    assert_eq!(demand("INVENTORY", "Error").outcome, Outcome::Refused);
    assert!(
        demand("INVENTORY", "Warning")
            .why
            .unwrap()
            .contains("staff must act")
    );
}

#[test]
fn a_text_that_starts_with_error_refuses_whatever_the_status_says() {
    assert_eq!(judge(200, "ERROR:unknown action").outcome, Outcome::Refused);
    assert_eq!(judge(400, "ERROR").outcome, Outcome::Refused);
    assert_eq!(judge(401, "ERROR").outcome, Outcome::Unauthenticated);
    assert!(matches!(judge(500, "ERROR").outcome, Outcome::Later { .. }));
}

#[test]
fn only_the_answer_to_the_question_is_taken() {
    for (status, body) in [
        (200, ""),
        (200, "<html/>"),
        (200, "<OTA_PingRS><Success/></OTA_PingRS>"),
        (
            503,
            "<OTA_HotelInvCountNotifRS><Success/></OTA_HotelInvCountNotifRS>",
        ),
        (200, "<OTA_HotelInvCountNotifRS/>"),
    ] {
        assert!(
            matches!(judge(status, body).outcome, Outcome::Later { .. }),
            "{body}"
        );
    }
    assert_eq!(judge(401, "").outcome, Outcome::Unauthenticated);
}
