//! The same exercise for each adapter: the contract is kept whatever a channel sends.

use keyrack_adapters::{all, by_code};
use keyrack_model::adapter::{
    Exchange, Goal, Method, Outbound, Outcome, Parsed, Receipt, ReceiptOutcome, Reply, Session,
    Step,
};
use proptest::prelude::{any, prop_assert, proptest};
use proptest::test_runner::Config;
use secrecy::SecretString;

mod fixture;

use fixture::case::{SECRET, cases, inbound, receipts, session};
use fixture::cells::{pushes, tellable, told};
use fixture::hostile;
use fixture::sent::{a_push, everything_sent, first};

fn reply(status: u16, body: &[u8]) -> Reply {
    Reply {
        status,
        headers: Vec::new(),
        body: body.to_vec(),
    }
}

#[test]
fn each_channel_has_a_code_of_its_own() {
    let codes: Vec<String> = all().iter().map(|a| a.channel().to_string()).collect();
    for code in &codes {
        assert_eq!(codes.iter().filter(|other| *other == code).count(), 1);
        assert_eq!(by_code(code).expect("known").channel().as_str(), code);
    }
    assert!(by_code("nowhere").is_none());
}

#[test]
fn capabilities_agree_with_what_is_done() {
    for adapter in all() {
        let able = adapter.capabilities();
        let asks = |goal| {
            matches!(
                adapter.next(&session(&*adapter), &first(goal)),
                Exchange::Send(_)
            )
        };
        assert_eq!(asks(Goal::Poll), able.is_polled, "{}", adapter.channel());
        assert_eq!(asks(Goal::SignIn), able.signs_in, "{}", adapter.channel());
        assert_eq!(asks(Goal::PollMissed), able.missed_seconds.is_some());
        assert!(asks(Goal::Test));
        assert!(able.poll_seconds > 0 && able.requests_per_minute > 0);
        assert!(able.takes_deltas || able.takes_complete_sets);
    }
}

#[test]
fn without_having_signed_in_nothing_is_told() {
    for adapter in all().into_iter().filter(|a| a.capabilities().signs_in) {
        let stranger = Session {
            learned: SecretString::from(""),
            ..session(&*adapter)
        };
        let error = adapter
            .render(&a_push(false), &stranger)
            .expect_err("not signed in");
        assert!(error.demand.is_some(), "{}: {error}", adapter.channel());
    }
}

#[test]
fn a_cut_message_is_never_taken_for_a_whole_one() {
    for adapter in all() {
        for case in cases(&*adapter) {
            let whole = adapter.parse(&case.inbound());
            let end = case
                .bytes
                .iter()
                .rposition(|byte| *byte == b'>')
                .unwrap_or(0);
            // Past the outermost element stand comments, which may be lost.
            let root_end = case.bytes[..end].windows(3).rposition(|w| w == b">\n<");
            let steps = (0..root_end.unwrap_or(end)).step_by(37);
            for cut in steps.chain([1, root_end.unwrap_or(end).saturating_sub(1)]) {
                let parsed = adapter.parse(&inbound(&case.bytes[..cut], &case.topic));
                assert!(parsed.is_unreadable, "{} cut at {cut}", case.name);
                assert!(parsed.reports.is_empty() && parsed.ari.is_none());
                assert_eq!(parsed.faults.len(), 1, "{} cut at {cut}", case.name);
                assert!(!parsed.faults[0].why.is_empty());
            }
            assert!(
                whole.is_unreadable || whole.faults.len() <= 1,
                "{}",
                case.name
            );
        }
    }
}

#[test]
fn a_doubled_message_is_refused() {
    for adapter in all() {
        for case in cases(&*adapter) {
            let twice = [&case.bytes[..], &case.bytes[..]].concat();
            let parsed = adapter.parse(&inbound(&twice, &case.topic));
            assert!(parsed.is_unreadable, "{}", case.name);
        }
    }
}

#[test]
fn hostile_messages_are_refused_in_words_and_in_bounds() {
    for adapter in all() {
        for (what, bytes) in hostile::messages() {
            let parsed = adapter.parse(&inbound(&bytes, ""));
            assert!(parsed.is_unreadable, "{}: {what}", adapter.channel());
            assert_eq!(parsed.faults.len(), 1, "{what}");
            assert!(parsed.faults[0].why.len() > 10, "{what}");
            assert!(parsed.faults[0].raw.chars().count() <= 500, "{what}");
            let is_quick = bytes.len() < 200_000;
            for sent in everything_sent(&*adapter).iter().filter(|_| is_quick) {
                let outcome = adapter.judge(sent, &reply(200, &bytes)).outcome;
                assert_ne!(outcome, Outcome::Accepted, "{what} to {}", sent.topic);
            }
        }
    }
}

#[test]
fn an_unknown_answer_is_never_taken_for_a_yes() {
    for adapter in all() {
        for sent in everything_sent(&*adapter) {
            for status in [
                100, 200, 202, 204, 302, 400, 401, 403, 404, 409, 429, 500, 503, 599,
            ] {
                for body in [
                    &b""[..],
                    b"OK",
                    b"<html><body>Success</body></html>",
                    b"<Success/>",
                    b"{}",
                    b"{\"ok\":true,\"success\":true}",
                    b"<OTA_HotelDescriptiveInfoRS><Success/></OTA_HotelDescriptiveInfoRS>",
                ] {
                    let verdict = adapter.judge(&sent, &reply(status, body));
                    assert_ne!(
                        verdict.outcome,
                        Outcome::Accepted,
                        "{status} to {} of {}",
                        sent.topic,
                        adapter.channel()
                    );
                }
                let verdict = adapter.judge(&sent, &reply(status, b""));
                let waits = matches!(verdict.outcome, Outcome::Later { .. });
                assert!(status < 500 || waits, "{status} to {}", sent.topic);
                assert!(verdict.why.is_some(), "{status} to {}", sent.topic);
            }
        }
    }
}

#[test]
fn the_answer_names_every_receipt() {
    for adapter in all() {
        for case in cases(&*adapter) {
            let numbers = 0..250;
            let receipts: Vec<Receipt> = numbers
                .map(|number| Receipt {
                    reference: format!("ref-{number}&<\">"),
                    acknowledge_as: None,
                    outcome: match number % 3 {
                        0 => ReceiptOutcome::Refused {
                            why: "no such <night> & room".to_owned(),
                        },
                        _ => ReceiptOutcome::Recorded {
                            number: format!("K{number}"),
                        },
                    },
                })
                .collect();
            let answers = adapter
                .acknowledge(&case.inbound(), &receipts, &session(&*adapter))
                .expect("answers");
            let bodies: String = answers
                .iter()
                .map(|answer| String::from_utf8_lossy(&answer.body).into_owned())
                .collect();
            for number in 0..250 {
                let named = format!("\"ref-{number}&amp;&lt;&quot;&gt;\"");
                assert_eq!(bodies.matches(&named).count(), 1, "{}", case.name);
            }
            assert!(!bodies.contains("<night>"));
        }
    }
}

#[test]
fn a_poll_ends_also_when_nothing_can_be_acknowledged() {
    for adapter in all() {
        let answers: Vec<Reply> = cases(&*adapter)
            .iter()
            .map(|case| reply(200, &case.bytes))
            .collect();
        for goal in [Goal::Poll, Goal::PollMissed] {
            for answer in &answers {
                let mut last: Option<Outbound> = None;
                let mut round = 0;
                loop {
                    let step = Step {
                        round,
                        last: last.as_ref().map(|sent| (sent, answer)),
                        has_more: true,
                        ..first(goal)
                    };
                    match adapter.next(&session(&*adapter), &step) {
                        Exchange::Send(outbound) => last = Some(outbound),
                        _ => break,
                    }
                    round += 1;
                    assert!(round < 100, "{} asks for ever", adapter.channel());
                }
            }
        }
    }
}

#[test]
fn what_is_kept_holds_no_card_and_means_the_same() {
    for adapter in all() {
        for case in cases(&*adapter) {
            let kept = adapter.redact(&case.bytes);
            assert_eq!(adapter.redact(&kept), kept);
            let text = String::from_utf8_lossy(&kept);
            for secret in ["411111", "4111-1111", "\"737\""] {
                assert!(!text.contains(secret), "{} keeps {secret}", case.name);
            }
            let (before, after) = (
                adapter.parse(&case.inbound()),
                adapter.parse(&inbound(&kept, &case.topic)),
            );
            assert_eq!(before, after, "{}", case.name);
            let reports = serde_json::to_string(&before.reports).expect("JSON");
            assert!(!reports.contains("1111"), "{}", case.name);
        }
    }
}

#[test]
fn a_log_shows_neither_secrets_nor_guests() {
    for adapter in all() {
        let session = session(&*adapter);
        let mut seen = format!("{session:?}");
        for sent in everything_sent(&*adapter) {
            let exchange = Exchange::Send(sent.clone());
            seen.push_str(&format!("{sent:?} {exchange:?}"));
        }
        for case in cases(&*adapter) {
            let parsed = adapter.parse(&case.inbound());
            let answer = reply(200, &case.bytes);
            seen.push_str(&format!("{:?} {parsed:?} {answer:?}", case.inbound()));
        }
        for secret in [
            SECRET,
            "Musterfrau",
            "guest.example",
            "5550001",
            "header.payload",
        ] {
            assert!(!seen.contains(secret), "{}: {secret}", adapter.channel());
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 24, ..Config::default() })]

    #[test]
    fn what_is_rendered_reads_back_as_far_as_the_channel_can(push in pushes()) {
        for adapter in all() {
            let messages = adapter.render(&push, &session(&*adapter)).expect("rendered");
            let (said, meant) = (told(&*adapter, &messages, "HTL1"), tellable(&*adapter, &push));
            prop_assert!(said == meant, "{}", adapter.channel());
            prop_assert!(messages.iter().all(|m| m.method == Method::Post));
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 200, ..Config::default() })]

    #[test]
    fn random_bytes_are_refused_and_break_nothing(
        bytes in any::<Vec<u8>>(), status in 100..600_u16,
    ) {
        for adapter in all() {
            prop_assert!(adapter.parse(&inbound(&bytes, "")).is_unreadable);
            let _ = adapter.redact(&bytes);
            let sent = adapter.render(&a_push(true), &session(&*adapter)).expect("a push");
            let verdict = adapter.judge(&sent[0], &reply(status, &bytes));
            prop_assert!(verdict.outcome != Outcome::Accepted);
        }
    }

    #[test]
    fn a_message_with_wrong_bytes_in_it_breaks_nothing(
        which in any::<proptest::sample::Index>(),
        places in proptest::collection::vec(any::<(proptest::sample::Index, u8)>(), 1..6),
    ) {
        for adapter in all() {
            let cases = cases(&*adapter);
            let case = which.get(&cases);
            let mut bytes = case.bytes.clone();
            for (place, byte) in &places {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            let parsed: Parsed = adapter.parse(&inbound(&bytes, &case.topic));
            prop_assert!(!parsed.is_unreadable || parsed.reports.is_empty());
            prop_assert!(parsed.is_unreadable != parsed.faults.is_empty() || !parsed.is_unreadable);
            let kept = adapter.redact(&bytes);
            prop_assert!(adapter.redact(&kept) == kept);
            let receipts = receipts(&parsed);
            let inbound = inbound(&bytes, &case.topic);
            prop_assert!(adapter.acknowledge(&inbound, &receipts, &session(&*adapter)).is_ok());
        }
    }
}
