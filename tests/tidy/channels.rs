//! Rules 5 and 6: a channel lives in its folder, whole, and is named nowhere else.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::source::is_word;
use crate::tree::{File, Tree};

/// Folders of adapters that are no channels: tests, and message families that several speak.
const NO_CHANNELS: [&str; 2] = ["tests", "ota2003"];

/// Files, or folders where one has grown.
const NAMES: [&str; 5] = ["mod", "wire", "parse", "render", "verdict"];

/// Rule 5.
pub fn check_codes(tree: &Tree) -> Vec<Finding> {
    let channels = channels(tree);
    let mut findings = Vec::new();
    for file in tree
        .files()
        .into_iter()
        .filter(|file| !may_name_channels(file))
    {
        for (line, text) in literals(file) {
            let own = |channel: &str| file.path.starts_with(&format!("adapters/{channel}/"));
            let named = |channel: &&String| names(&text, channel) && !own(channel);
            if let Some(channel) = channels.iter().find(named) {
                findings.push(Finding {
                    rule: 5,
                    path: file.path.clone(),
                    line,
                    what: format!("the code of the channel {channel} is written out"),
                    remedy: "Ask the adapter or its Capabilities; the code is data everywhere else",
                });
            }
        }
    }
    findings
}

fn may_name_channels(file: &File) -> bool {
    file.is_test()
        || matches!(file.floor(), "sandbox" | "commands" | "config" | "tests")
        || file.path == "adapters/lib.rs"
}

/// String literals of code, and quoted words of SQL.
fn literals(file: &File) -> Vec<(usize, String)> {
    if let Some(source) = &file.rust {
        let literals = source.production_literals();
        return literals
            .map(|literal| (literal.line, literal.text.clone()))
            .collect();
    }
    if !file.path.ends_with(".sql") {
        return Vec::new();
    }
    let lines = file
        .text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line));
    let code = lines.map(|(at, line)| (at, line.split_once("--").map_or(line, |(sql, _)| sql)));
    let quoted = code.flat_map(|(at, line)| {
        line.split('\'')
            .skip(1)
            .step_by(2)
            .map(move |text| (at, text.to_owned()))
    });
    quoted.collect()
}

/// Whether `text` holds `channel` as a word.
fn names(text: &str, channel: &str) -> bool {
    text.match_indices(channel).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + channel.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Rule 6.
pub fn check_folders(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for channel in channels(tree) {
        let folder = format!("adapters/{channel}");
        let mut lacks = |what: String, remedy: &'static str| {
            findings.push(Finding {
                rule: 6,
                path: folder.clone(),
                line: 0,
                what,
                remedy,
            });
        };
        for name in NAMES {
            let file = tree.file(&format!("{folder}/{name}.rs")).is_some();
            let grown = tree.file(&format!("{folder}/{name}/mod.rs")).is_some();
            if !file && !grown {
                let remedy = "Every channel folder has mod, wire, parse, render and verdict";
                lacks(format!("the channel has no {name}.rs"), remedy);
            }
        }
        if tree.below(&format!("{folder}/fixtures")).next().is_none() {
            let remedy = "Put what the channel really says, and what it means, into fixtures/";
            lacks("the channel has no fixtures".to_owned(), remedy);
        }
    }
    findings
}

fn channels(tree: &Tree) -> BTreeSet<String> {
    let inside = tree.below("adapters").filter_map(|file| {
        let mut parts = file.parts().skip(1);
        let folder = parts.next()?;
        parts.next().map(|_| folder.to_owned())
    });
    // `xml.rs` beside `xml/` is a room that has grown, and no channel.
    let grown = |folder: &str| tree.file(&format!("adapters/{folder}.rs")).is_some();
    let channel = |folder: &String| !NO_CHANNELS.contains(&folder.as_str()) && !grown(folder);
    inside.filter(channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [(&str, &str); 6] = [
        ("adapters/expedia/mod.rs", "fn f() { \"expedia\" }"),
        ("adapters/expedia/wire.rs", ""),
        ("adapters/expedia/parse/mod.rs", ""),
        ("adapters/expedia/render.rs", ""),
        ("adapters/expedia/verdict.rs", ""),
        ("adapters/expedia/fixtures/one.in.xml", ""),
    ];

    fn named(path: &str, text: &str) -> usize {
        let mut files = WHOLE.to_vec();
        files.push((path, text));
        check_codes(&Tree::of(&files)).len()
    }

    #[test]
    fn a_channel_is_written_out_in_its_folder_only() {
        let text = "fn f() { if code == \"expedia\" {} }";
        assert_eq!(named("src/distribution/poll.rs", text), 1);
        assert_eq!(named("adapters/xml.rs", text), 1);
        assert_eq!(
            named("migrations/0009_x.sql", "check (code in ('expedia'))"),
            1
        );
        assert_eq!(named("adapters/lib.rs", text), 0);
        assert_eq!(named("src/sandbox/expedia.rs", text), 0);
        assert_eq!(
            named(
                "src/distribution/poll.rs",
                "// \"expedia\"\nfn expedia() {}"
            ),
            0
        );
        assert_eq!(
            named("src/distribution/poll.rs", "fn f() { \"expedian\" }"),
            0
        );
    }

    #[test]
    fn a_room_that_has_grown_is_no_channel() {
        let files = [("adapters/xml.rs", ""), ("adapters/xml/decode.rs", "")];
        assert!(check_folders(&Tree::of(&files)).is_empty());
    }

    #[test]
    fn a_channel_lacks_none_of_the_five_names_and_has_fixtures() {
        assert!(check_folders(&Tree::of(&WHOLE)).is_empty());
        for (at, (left_out, _)) in WHOLE.iter().enumerate() {
            let mut files = WHOLE.to_vec();
            files.remove(at);
            assert_eq!(check_folders(&Tree::of(&files)).len(), 1, "{left_out}");
        }
    }
}
