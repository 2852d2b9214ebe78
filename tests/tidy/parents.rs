//! Rule 9: a file goes to the room that defines the thing, never to its own parent's page.

use crate::finding::Finding;
use crate::source::{Source, Word};
use crate::tree::{File, Tree};

const REMEDY: &str = "Import it from the file that defines it; if the parent defines it, move it \
                      to a file of its own";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let Some(place) = Place::of(file) else {
            continue;
        };
        for word in source.production_words() {
            for name in imported_from_parent(source, &word, &place) {
                if !place.has_room(tree, &name) && !in_inline_module(source, word.at) {
                    findings.push(Finding {
                        rule: 9,
                        path: file.path.clone(),
                        line: source.line(word.at),
                        what: format!("imports {name} from its own parent"),
                        remedy: REMEDY,
                    });
                }
            }
        }
    }
    findings
}

/// Where a file stands in its crate.
struct Place {
    /// The folder in which the parent's children lie.
    siblings: String,
    /// The parent's path behind `crate::`; empty when the crate's door is the parent.
    parent: Vec<String>,
}

impl Place {
    /// `None` for what has no parent: a door, or a program.
    fn of(file: &File) -> Option<Self> {
        let root = crate_root(file)?;
        let inner = file
            .path
            .strip_prefix(&root)?
            .strip_prefix('/')?
            .strip_suffix(".rs")?;
        let inner = inner.strip_suffix("/mod").unwrap_or(inner);
        let mut module: Vec<String> = inner.split('/').map(str::to_owned).collect();
        let name = module.pop()?;
        if module.is_empty() && matches!(name.as_str(), "lib" | "main" | "build") {
            return None;
        }
        let mut siblings = root;
        for part in &module {
            siblings = format!("{siblings}/{part}");
        }
        Some(Self {
            siblings,
            parent: module,
        })
    }

    /// Whether the parent has a child of that name: then the thing is defined there.
    fn has_room(&self, tree: &Tree, name: &str) -> bool {
        let (file, folder) = (
            format!("{}/{name}.rs", self.siblings),
            format!("{}/{name}/mod.rs", self.siblings),
        );
        tree.file(&file).is_some() || tree.file(&folder).is_some()
    }
}

/// The folder of the crate that a file belongs to.
fn crate_root(file: &File) -> Option<String> {
    let parts: Vec<&str> = file.parts().collect();
    let depth = match parts.as_slice() {
        // Each file beside `tests` is a program, each folder one of several files.
        [.., "tests", _] => return None,
        ["tests", ..] => 2,
        ["adapters", "tests", ..] => 3,
        ["src", _, "tests", ..] => 4,
        ["adapters", ..] => 1,
        ["src", _] => 1,
        ["src", _, ..] => 2,
        _ => return None,
    };
    Some(parts[..depth].join("/"))
}

/// The names that a path beginning at `word` takes out of the parent itself.
fn imported_from_parent(source: &Source, word: &Word, place: &Place) -> Vec<String> {
    if source.precedes(word.at, "::") || source.precedes(word.at, "(") {
        return Vec::new();
    }
    let end = word.at + word.text.chars().count();
    let start = match word.text.as_str() {
        "super" if source.follows(end, "::") => Some(source.skip_blanks(end) + 2),
        "crate" if source.follows(end, "::") => below(source, end, &place.parent),
        _ => None,
    };
    start.map_or_else(Vec::new, |start| first_names(source, start))
}

/// The position behind `::a::b::` when the path goes through the modules `a::b`.
fn below(source: &Source, end: usize, parent: &[String]) -> Option<usize> {
    let mut at = source.skip_blanks(end) + 2;
    for module in parent {
        let word = source.word_after(at);
        let after = word.at + word.text.chars().count();
        if word.text != *module || !source.follows(after, "::") {
            return None;
        }
        at = source.skip_blanks(after) + 2;
    }
    Some(at)
}

/// One name, or the first names of a group.
fn first_names(source: &Source, at: usize) -> Vec<String> {
    let start = source.skip_blanks(at);
    if source.code.get(start) != Some(&'{') {
        let name = source.word_after(start).text;
        return (name != "super").then_some(name).into_iter().collect();
    }
    let (mut names, mut depth, mut fresh) = (Vec::new(), 0, true);
    for at in start..source.closing(start) {
        match source.code[at] {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => fresh = true,
            c if fresh && depth == 1 && !c.is_whitespace() => {
                names.push(source.word_after(at).text);
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

/// Inside `mod x { … }` the parent is the file itself.
fn in_inline_module(source: &Source, at: usize) -> bool {
    source
        .words()
        .iter()
        .filter(|word| word.text == "mod" && word.at < at)
        .any(|word| {
            let (body, end) = source.item(word.at);
            body && at < end
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, text: &str) -> usize {
        let rooms = [
            ("src/ledger/lib.rs", "pub struct Ledger;"),
            ("src/ledger/handle.rs", ""),
            ("src/ledger/decide/mod.rs", "pub struct All;"),
            ("src/ledger/decide/entry.rs", ""),
        ];
        let mut files: Vec<(&str, &str)> = rooms
            .into_iter()
            .filter(|(room, _)| *room != path)
            .collect();
        files.push((path, text));
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn things_of_the_door_are_not_fetched_from_inside() {
        assert_eq!(refused("src/ledger/rates.rs", "use crate::Ledger;"), 1);
        assert_eq!(refused("src/ledger/rates.rs", "use super::Ledger;"), 1);
        assert_eq!(
            refused("src/ledger/rates.rs", "use crate::{handle::Ledger, Other};"),
            1
        );
        assert_eq!(
            refused("src/ledger/decide/revise.rs", "use crate::decide::All;"),
            1
        );
        assert_eq!(refused("src/ledger/decide/revise.rs", "use super::All;"), 1);
    }

    #[test]
    fn rooms_are_entered_by_their_own_doors() {
        assert_eq!(
            refused(
                "src/ledger/rates.rs",
                "use crate::handle::Ledger;\nuse crate::handle;"
            ),
            0
        );
        assert_eq!(
            refused("src/ledger/decide/revise.rs", "use super::entry::Entry;"),
            0
        );
        assert_eq!(
            refused("src/ledger/decide/revise.rs", "use crate::decide::entry;"),
            0
        );
        assert_eq!(
            refused("src/ledger/decide/mod.rs", "use crate::handle::Ledger;"),
            0
        );
        let tests = "struct A;\n#[cfg(test)]\nmod tests { use super::*; use super::A; }";
        assert_eq!(refused("src/ledger/rates.rs", tests), 0);
        assert_eq!(refused("src/ledger/rates.rs", "mod x { use super::A; }"), 0);
        assert_eq!(
            refused(
                "src/ledger/rates.rs",
                "pub(super) fn f() {}\npub(crate) fn g() {}"
            ),
            0
        );
    }
}
