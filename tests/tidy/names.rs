//! Rule 8: names that say nothing are forbidden, and nothing is left to do.

use crate::finding::Finding;
use crate::source::{Source, is_word};
use crate::tree::{File, Tree};

/// As the whole of a name, or as its last word: a `RoomManager` manages nothing either.
const FORBIDDEN: [&str; 15] = [
    "util",
    "helper",
    "common",
    "misc",
    "manager",
    "handler",
    "service",
    "processor",
    "data",
    "info",
    "base",
    "core",
    "prelude",
    "types",
    "traits",
];

/// Written in two halves, or this file would break its own rule.
const LEFT_OVER: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let mut add = |line: usize, what: String, remedy: &'static str| {
            findings.push(Finding {
                rule: 8,
                path: file.path.clone(),
                line,
                what,
                remedy,
            });
        };
        for (at, line) in file.text.lines().enumerate() {
            if !is_fixture(file) && LEFT_OVER.iter().any(|word| has_word(line, word)) {
                add(
                    at + 1,
                    "something is left to do".to_owned(),
                    "Do it, or delete the line",
                );
            }
        }
        let Some(source) = &file.rust else { continue };
        let remedy = "Name it after what it is or does";
        let folders = file.parts().rev().skip(1);
        if let Some(name) = std::iter::once(file.stem())
            .chain(folders)
            .find(|n| is_forbidden(n))
        {
            add(
                0,
                format!("the file or folder {name} has a forbidden name"),
                remedy,
            );
        }
        for (line, name) in declared(source, file) {
            if is_forbidden(&name) {
                add(line, format!("{name} is a forbidden name"), remedy);
            }
        }
        for function in source.functions() {
            if function.name.starts_with("get_") {
                let what = format!("{} begins with get_", function.name);
                add(
                    function.line,
                    what,
                    "A value's name is enough; loading has its own verbs",
                );
            }
        }
    }
    findings
}

fn is_fixture(file: &File) -> bool {
    file.parts().any(|part| part == "fixtures")
}

/// Modules and types that a file declares. A channel's own words are free in its wire files.
fn declared(source: &Source, file: &File) -> Vec<(usize, String)> {
    let wire = file.floor() == "adapters"
        && file
            .parts()
            .any(|part| matches!(part, "wire" | "wire.rs" | "ota2003"));
    let words = source.words();
    let mut found = Vec::new();
    for word in &words {
        let declares = match word.text.as_str() {
            "mod" => true,
            "struct" | "enum" | "trait" | "type" | "union" => !wire,
            _ => false,
        };
        if declares {
            let name = source.word_after(word.at + word.text.len());
            found.push((source.line(word.at), name.text));
        }
    }
    found
}

/// Looks at the last word of a name in snake or camel case, in the singular too.
fn is_forbidden(name: &str) -> bool {
    let snake = name.trim_end_matches(".rs");
    let last = match snake.rsplit_once('_') {
        Some((_, last)) => last,
        None => snake
            .rfind(char::is_uppercase)
            .map_or(snake, |at| &snake[at..]),
    };
    let last = last.to_lowercase();
    let singular = last.strip_suffix('s').unwrap_or(&last);
    FORBIDDEN
        .iter()
        .any(|word| *word == last || *word == singular)
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        assert_eq!(refused("src/api/utils.rs", ""), 1);
        assert_eq!(refused("src/api/common/page.rs", ""), 1);
        assert_eq!(refused("src/api/date_helper.rs", ""), 1);
        assert_eq!(refused("src/api/a.rs", "mod prelude;"), 1);
        assert_eq!(refused("src/api/a.rs", "pub struct RoomManager;"), 1);
        assert_eq!(refused("src/api/a.rs", "enum Info {}\ntrait Service {}"), 2);
        assert_eq!(refused("src/api/a.rs", "fn get_room() {}"), 1);
    }

    #[test]
    fn names_of_the_trade_are_fine() {
        let text = "struct TestDatabase; struct BaseRate; type Id = u8; fn get(a: &str) {}\n\
            mod data_dir { } // a manager";
        assert_eq!(refused("src/api/rates.rs", text), 0);
        assert_eq!(
            refused("adapters/expedia/wire.rs", "struct BasicPropertyInfo;"),
            0
        );
        assert_eq!(
            refused("adapters/expedia/parse.rs", "struct BasicPropertyInfo;"),
            1
        );
    }

    #[test]
    fn nothing_is_left_to_do() {
        for word in LEFT_OVER {
            assert_eq!(
                refused("README.md", &format!("a line\n{word}: write it")),
                1
            );
        }
        assert_eq!(refused("src/api/a.rs", "// MASTODON"), 0);
    }
}
