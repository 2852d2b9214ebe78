//! Every message ever seen means what we think, and every push says what we mean.
//!
//! `<case>.in.xml` beside `<case>.json` (its meaning) and `<case>.ack.txt` (the answer, where all
//! that could be read was stored); `<case>.ari.json` beside `<case>.out.txt`. With `KEYRACK_BLESS`
//! set, expectations are written anew: review the difference like code.

use std::fs;
use std::path::Path;

use keyrack_adapters::all;
use keyrack_model::adapter::{ChannelAdapter, Parsed};
use keyrack_model::ari::AriPush;
use serde_json::{Value, json};

mod fixture;

use fixture::case::{Case, cases, folder, names, receipts, session, shown};

#[test]
fn every_message_means_what_we_think() {
    for adapter in all() {
        let cases = cases(&*adapter);
        assert!(cases.len() >= 3, "{} has fixtures", adapter.channel());
        for case in cases {
            let parsed = adapter.parse(&case.inbound());
            let meaning = pretty(&meaning(&parsed, &case.topic));
            let at = folder(&*adapter).join(&case.name);
            hold(&at.with_extension("json"), &meaning);
            let answer = answer(&*adapter, &case, &parsed);
            if !answer.is_empty() {
                hold(&at.with_extension("ack.txt"), &answer);
            }
        }
    }
}

#[test]
fn every_push_says_what_we_mean() {
    for adapter in all() {
        let pushes = names(&*adapter, ".ari.json");
        assert!(!pushes.is_empty(), "{} has pushes", adapter.channel());
        for name in pushes {
            let at = folder(&*adapter).join(&name);
            let json = fs::read(at.with_extension("ari.json")).expect("a push");
            let push: AriPush = serde_json::from_slice(&json).expect("JSON of a push");
            let messages = adapter
                .render(&push, &session(&*adapter))
                .expect("rendered");
            let shown: String = messages.iter().map(shown).collect();
            hold(&at.with_extension("out.txt"), &shown);
        }
    }
}

fn answer(adapter: &dyn ChannelAdapter, case: &Case, parsed: &Parsed) -> String {
    let receipts = receipts(parsed);
    let messages = adapter
        .acknowledge(&case.inbound(), &receipts, &session(adapter))
        .expect("an answer");
    messages.iter().map(shown).collect()
}

fn meaning(parsed: &Parsed, topic: &str) -> Value {
    json!({
        "topic": topic,
        "is_unreadable": parsed.is_unreadable,
        "reports": parsed.reports,
        "ari": parsed.ari,
        "faults": parsed.faults,
        "trace": parsed.trace,
        "has_more": parsed.has_more,
    })
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("JSON");
    text.push('\n');
    text
}

fn hold(path: &Path, found: &str) {
    if std::env::var_os("KEYRACK_BLESS").is_some() {
        fs::write(path, found).expect("written");
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    let line = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(
        expected == found,
        "{} says something else, first here: {line:?}; KEYRACK_BLESS=1 writes it anew",
        path.display()
    );
}
