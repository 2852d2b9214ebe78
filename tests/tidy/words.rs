//! Rule 11: the project speaks of itself alone, and not of how or where it was made.

use crate::finding::Finding;
use crate::source::is_word;
use crate::tree::{File, Tree};

/// Written in two halves, or this file would break its own rule. Words of the trade that sound
/// alike stay free: a session with a channel, an issue of a key, a helper at the desk.
const STRANGE: [&str; 22] = [
    concat!("/work", "/"),
    concat!("issue", " #"),
    concat!("issues", " show"),
    concat!("this", " session"),
    concat!("previous", " session"),
    concat!("earlier", " session"),
    concat!("next", " session"),
    concat!("working", " session"),
    concat!("BRIEF", ".md"),
    concat!("house", ".md"),
    concat!("ledger", ".md"),
    concat!("api", ".md"),
    concat!("faults", ".md"),
    concat!("performance", ".md"),
    concat!("embedded-postgres", ".md"),
    concat!("open-standards", ".md"),
    concat!("work", "tree"),
    concat!("Anth", "ropic"),
    concat!("Cl", "aude"),
    concat!("language", " model"),
    concat!("AI ", "assistant"),
    concat!("land", ".sh"),
];

/// Kept outside the project; only the tests that walk it may say where, and skip when it is absent.
const BESIDE: &str = concat!("../sha", "red");

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().into_iter().filter(|file| !is_foreign(file)) {
        for (at, line) in file.text.lines().enumerate() {
            let word = STRANGE.into_iter().find(|word| holds(line, word));
            let word = word.or_else(|| names_the_samples(file, line).then_some(BESIDE));
            if let Some(word) = word {
                findings.push(Finding {
                    rule: 11,
                    path: file.path.clone(),
                    line: at + 1,
                    what: format!("mentions `{word}`, which no reader of the project knows"),
                    remedy: "Say what it means here, or delete it",
                });
            }
        }
    }
    findings
}

/// What others wrote: fixtures hold a channel's own words.
fn is_foreign(file: &File) -> bool {
    file.parts().any(|part| part == "fixtures")
}

fn names_the_samples(file: &File, line: &str) -> bool {
    !file.is_test() && line.contains(BESIDE)
}

/// As whole words, whatever the case.
fn holds(line: &str, word: &str) -> bool {
    let (line, word) = (line.to_lowercase(), word.to_lowercase());
    let starts = word.starts_with(is_word);
    let ends = word.ends_with(is_word);
    line.match_indices(&word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        // A word is whole; a path begins where it says, not inside of a longer or relative one.
        let longer_left = |c: char| is_word(c) || !starts && c == '.';
        let longer = before.is_some_and(longer_left) || ends && after.is_some_and(is_word);
        !longer
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn no_trace_of_the_workshop_is_left() {
        for word in STRANGE {
            assert_eq!(refused("README.md", &format!("see {word}")), 1, "{word}");
        }
        assert_eq!(
            refused("src/api/lib.rs", &format!("// {BESIDE}/samples")),
            1
        );
    }

    #[test]
    fn the_trade_keeps_its_words() {
        for line in [
            "a session with a channel ends when its token does",
            "use keyrack_model::adapter::Session;",
            "issue a key",
            "network/ and homework/done",
            "src/ledger.rs",
        ] {
            assert_eq!(refused("README.md", line), 0, "{line}");
        }
        assert_eq!(
            refused(
                "adapters/tests/samples.rs",
                &format!("\"{BESIDE}/samples\"")
            ),
            0
        );
        let foreign = format!("see {}", STRANGE[1]);
        assert_eq!(refused("adapters/expedia/fixtures/a.in.xml", &foreign), 0);
    }
}
