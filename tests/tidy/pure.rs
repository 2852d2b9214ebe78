//! Rule 2: what decides, batches and backs off is a function of the model's values.

use crate::finding::Finding;
use crate::source::{Source, Word};
use crate::tree::{File, Tree};

const REMEDY: &str = "Take the value as an argument and let the caller fetch it";

/// The pure files and folders, and the places of their own crate that each may see: decisions
/// are about commands, and a command is a value too.
const PURE: [(&str, &[&str]); 4] = [
    ("src/ledger/decide", &["decide", "command"]),
    ("src/ledger/command", &["decide", "command"]),
    ("src/distribution/push/batch", &[]),
    ("src/distribution/push/backoff", &[]),
];

/// Beside the model: instants and ids are values, and a value may be written down.
const VALUES: [&str; 4] = ["keyrack-model", "jiff", "serde", "uuid"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let crates = known_crates(tree);
    let mut findings = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| !file.is_test()) {
        let Some((_, own)) = PURE.iter().find(|(place, _)| lies_in(file, place)) else {
            continue;
        };
        for word in source.production_words() {
            if let Some(what) = breach(file, source, &word, &crates, own) {
                let (path, line) = (file.path.clone(), source.line(word.at));
                findings.push(Finding {
                    rule: 2,
                    path,
                    line,
                    what,
                    remedy: REMEDY,
                });
            }
        }
    }
    findings
}

/// `place` as a file or as a folder.
fn lies_in(file: &File, place: &str) -> bool {
    file.path
        .strip_prefix(place)
        .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// A pure place of one file: its `super` is the impure folder.
fn is_single(file: &File) -> bool {
    PURE.iter()
        .any(|(place, _)| file.path.strip_prefix(place) == Some(".rs"))
}

fn breach(
    file: &File,
    source: &Source,
    word: &Word,
    crates: &[String],
    own: &[&str],
) -> Option<String> {
    let end = word.at + word.text.chars().count();
    let is_path = source.follows(end, "::") || source.precedes(word.at, "use");
    if !is_path || source.precedes(word.at, "::") {
        return None;
    }
    if crates.contains(&word.text) {
        return Some(format!("a pure file imports {}", word.text));
    }
    let leaves = file.stem() == "mod" || own.is_empty() && is_single(file);
    if word.text == "super" && (leaves || source.follows(end, "::super")) {
        return Some("a pure file imports from the folder above it".to_owned());
    }
    if word.text == "crate" {
        let seen = heads(source, end);
        let strange = seen.iter().find(|head| !own.contains(&head.as_str()));
        return strange.map(|head| format!("a pure file imports crate::{head}"));
    }
    None
}

/// The first names after `crate::`, whether one or a group.
fn heads(source: &Source, at: usize) -> Vec<String> {
    let start = source.skip_blanks(source.skip_blanks(at) + 2);
    if source.code.get(start) != Some(&'{') {
        return vec![source.word_after(start).text];
    }
    let end = source.closing(start);
    let (mut heads, mut depth, mut fresh) = (Vec::new(), 0, true);
    for at in start..end {
        match source.code[at] {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => fresh = true,
            c if fresh && depth == 1 && !c.is_whitespace() => {
                heads.push(source.word_after(at).text);
                fresh = false;
            }
            _ => {}
        }
    }
    heads
}

/// Every crate that the workspace knows, but for the values, as code spells it.
fn known_crates(tree: &Tree) -> Vec<String> {
    let manifest = tree
        .file("Cargo.toml")
        .map(|file| file.text.as_str())
        .unwrap_or_default();
    let names = manifest
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, _)| key.trim());
    let plain = |name: &&str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    let names = names.filter(plain).filter(|name| !VALUES.contains(name));
    names.map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.dependencies]\nsqlx = \"0.9\"\ntokio = { version = \"1\" }\n\
        keyrack-model = { path = \"src/model\" }\nkeyrack-ledger = { path = \"src/ledger\" }\n";

    fn refused(path: &str, text: &str) -> usize {
        check(&Tree::of(&[("Cargo.toml", MANIFEST), (path, text)])).len()
    }

    #[test]
    fn the_database_does_not_decide() {
        let file = "src/ledger/decide/sellable.rs";
        assert_eq!(refused(file, "use sqlx::PgConnection;"), 1);
        assert_eq!(refused(file, "fn f() { sqlx::query(\"x\"); }"), 1);
        assert_eq!(refused(file, "use crate::store::read;"), 1);
        assert_eq!(
            refused(file, "use crate::{decide::entry::Entry, store::read};"),
            1
        );
        assert_eq!(refused("src/ledger/decide/mod.rs", "use super::store;"), 1);
        assert_eq!(
            refused("src/ledger/command.rs", "use crate::handle::Ledger;"),
            1
        );
    }

    #[test]
    fn values_and_neighbours_are_fine_and_tests_are_free() {
        let text = "use std::fmt;\nuse jiff::Timestamp;\nuse keyrack_model::stay::Stay;\n\
            use crate::command::Command;\n\
            use crate::decide::{entry::Entry, refusal::Refusal};\nuse super::entry::Entry as E;\n\
            #[cfg(test)]\nmod tests { use super::*; use tokio::time; }\n";
        assert_eq!(refused("src/ledger/decide/revise.rs", text), 0);
        assert_eq!(
            refused("src/ledger/store/read.rs", "use sqlx::PgConnection;"),
            0
        );
    }

    #[test]
    fn batch_and_backoff_see_the_model_only() {
        assert_eq!(
            refused("src/distribution/push/batch.rs", "use crate::store::Mark;"),
            1
        );
        assert_eq!(
            refused("src/distribution/push/batch.rs", "use super::deliver;"),
            1
        );
        assert_eq!(
            refused(
                "src/distribution/push/batch/join.rs",
                "use super::super::deliver;"
            ),
            1
        );
        assert_eq!(
            refused(
                "src/distribution/push/batch/join.rs",
                "use super::span::Span;"
            ),
            0
        );
        assert_eq!(
            refused(
                "src/distribution/push/backoff.rs",
                "use tokio::time::sleep;"
            ),
            1
        );
        assert_eq!(
            refused(
                "src/distribution/push/deliver.rs",
                "use tokio::time::sleep;"
            ),
            0
        );
    }
}
