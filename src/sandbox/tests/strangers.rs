//! Whatever message comes: the fake channels judge it in words and nothing breaks. The bytes are
//! the golden messages of both channels, what we send and what we get, made hostile.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use keyrack_sandbox::{Verdict, check};
use keyrack_strangers::{Message, hostile};
use proptest::prelude::{Strategy, prop_assert, proptest};
use proptest::sample::select;
use proptest::test_runner::Config;

/// The XML of every fixture: those of what we send stand in a form.
fn samples() -> Vec<Vec<u8>> {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters");
    let mut samples = Vec::new();
    for channel in CHANNELS {
        let folder = adapters.join(channel).join("fixtures");
        for entry in fs::read_dir(folder).expect("fixtures") {
            let bytes = fs::read(entry.expect("a fixture").path()).expect("a fixture");
            let from = bytes.windows(5).position(|five| five == b"<?xml");
            let to = bytes.iter().rposition(|byte| *byte == b'>');
            if let (Some(from), Some(to)) = (from, to)
                && from < to
            {
                samples.push(bytes[from..=to].to_vec());
            }
        }
    }
    assert!(samples.len() > 10, "{} samples", samples.len());
    samples
}

fn messages() -> impl Strategy<Value = Message> {
    static SAMPLES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    hostile(SAMPLES.get_or_init(samples).clone())
}

const CHANNELS: [&str; 2] = ["booking_com", "alpinebits"];

proptest! {
    #![proptest_config(Config { cases: 3_000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_comes_is_taken_or_refused_with_a_reason(
        message in messages(),
        channel in select(&CHANNELS[..]),
    ) {
        let answer = check(channel, &message.0, &[]);
        prop_assert!((200..600).contains(&answer.status), "{}", answer.status);
        prop_assert!(!answer.reason.is_empty());
        if answer.verdict == Verdict::Reject {
            prop_assert!(answer.reason != "everything in the message is taken");
        }
    }
}
