//! Rule 10: `config/default.toml` is the manual, so it has every key of the settings and no other.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::source::Source;
use crate::tree::{File, Tree};

const MANUAL: &str = "config/default.toml";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(manual) = tree.file(MANUAL) else {
        return Vec::new();
    };
    let written = written(&manual.text);
    let (known, tables) = known(tree);
    let mut findings = Vec::new();
    for (key, line) in &written {
        let is_ours = tables.iter().any(|table| below(key, table));
        if is_ours && !known.keys().any(|known| below(key, known)) {
            findings.push(Finding {
                rule: 10,
                path: MANUAL.to_owned(),
                line: *line,
                what: format!("no settings have the key {key}"),
                remedy: "Delete the line, or add the field to the floor's Settings",
            });
        }
    }
    for (key, path) in &known {
        if !written.keys().any(|written| below(written, key)) {
            findings.push(Finding {
                rule: 10,
                path: path.clone(),
                line: 0,
                what: format!("the key {key} is not in {MANUAL}"),
                remedy: "Write it down with its default, its unit and a sentence",
            });
        }
    }
    findings
}

/// Whether `key` is `table` or lies in it; everything lies in the empty one.
fn below(key: &str, table: &str) -> bool {
    let inside = |rest: &str| rest.is_empty() || rest.starts_with('.');
    table.is_empty() || key.strip_prefix(table).is_some_and(inside)
}

/// The keys of a TOML file with their lines. A key without a default stands in a comment.
fn written(text: &str) -> BTreeMap<String, usize> {
    let mut keys = BTreeMap::new();
    let mut table = String::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('#').trim_start();
        if let Some(header) = line.strip_prefix('[') {
            let inner = header.trim_start_matches('[');
            let name = inner.split(']').next().unwrap_or_default().trim();
            if is_key(name) {
                table = name.to_owned();
            }
        } else if let Some((key, _)) = line.split_once('=') {
            let key = key.trim();
            if is_key(key) {
                let path = if table.is_empty() {
                    key.to_owned()
                } else {
                    format!("{table}.{key}")
                };
                keys.entry(path).or_insert(at + 1);
            }
        }
    }
    keys
}

fn is_key(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// Every key that the settings know, with the file that has it, and the tables they speak for:
/// the whole manual where a `config.rs` joins the floors, else one table a floor.
fn known(tree: &Tree) -> (BTreeMap<String, String>, Vec<String>) {
    let mut keys = BTreeMap::new();
    let joins = |file: &&File| file.stem() == "config" || file.path.ends_with("/config/mod.rs");
    let joining = tree
        .rust()
        .map(|(file, _)| file)
        .filter(|file| !file.is_test())
        .find(joins);
    let root = joining.and_then(|file| {
        let names = ["Config", "Settings"];
        names
            .iter()
            .find_map(|name| Some((file, fields(file, name)?)))
    });
    if let Some((file, fields)) = root {
        collect(tree, file, &fields, "", &mut keys);
        return (keys, vec![String::new()]);
    }
    let mut tables = Vec::new();
    for (file, _) in tree.rust().filter(|(file, _)| file.stem() == "settings") {
        // The private server is set up by its callers, not by the manual.
        if file.floor() == "embedded" {
            continue;
        }
        if let Some(fields) = fields(file, "Settings") {
            collect(tree, file, &fields, file.floor(), &mut keys);
            tables.push(file.floor().to_owned());
        }
    }
    (keys, tables)
}

/// A field as the manual would call it.
struct Field {
    key: String,
    kind: String,
    flat: bool,
}

fn collect(
    tree: &Tree,
    file: &File,
    fields: &[Field],
    table: &str,
    keys: &mut BTreeMap<String, String>,
) {
    for field in fields {
        let path = match (field.flat, table) {
            (true, _) => table.to_owned(),
            (false, "") => field.key.clone(),
            (false, _) => format!("{table}.{}", field.key),
        };
        match inner(tree, file, &field.kind) {
            Some((file, fields)) => collect(tree, file, &fields, &path, keys),
            None => {
                keys.insert(path, file.path.clone());
            }
        }
    }
}

/// The file and fields of a type that is a struct of the house and read from configuration.
fn inner<'a>(tree: &'a Tree, file: &File, kind: &str) -> Option<(&'a File, Vec<Field>)> {
    let kind = kind
        .strip_prefix("Option<")
        .and_then(|kind| kind.strip_suffix('>'))
        .unwrap_or(kind);
    if kind.contains('<') {
        return None;
    }
    let path = imported(file, kind).unwrap_or_else(|| kind.to_owned());
    let name = path.rsplit("::").next()?;
    let floor = match path.strip_prefix("keyrack_") {
        Some(rest) => rest.split("::").next()?,
        None => file.floor(),
    };
    let module = path.rsplit("::").nth(1).filter(|module| *module != "crate");
    let fits = |found: &&File| {
        let in_floor = found.floor() == floor && !found.is_test();
        in_floor
            && module.is_none_or(|module| {
                found
                    .parts()
                    .any(|part| part.strip_suffix(".rs").unwrap_or(part) == module)
                    || path.starts_with("keyrack_") && path.matches("::").count() == 1
            })
    };
    let own = tree.file(&file.path).filter(|_| !path.contains("::"));
    let files = own
        .into_iter()
        .chain(tree.rust().map(|(found, _)| found).filter(fits));
    files
        .into_iter()
        .find_map(|found| Some((found, fields(found, name)?)))
}

/// The full path of a name that the file imports, under its own name or another.
fn imported(file: &File, kind: &str) -> Option<String> {
    let (first, rest) = kind
        .split_once("::")
        .map_or((kind, None), |(a, b)| (a, Some(b)));
    let uses = file
        .text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("use "));
    let paths = uses.map(|line| line.trim_end_matches(';'));
    let found = paths.filter_map(|path| match path.split_once(" as ") {
        Some((path, alias)) => (alias == first).then_some(path),
        None => (path.rsplit("::").next() == Some(first)).then_some(path),
    });
    let path = found.into_iter().next()?;
    Some(rest.map_or_else(|| path.to_owned(), |rest| format!("{path}::{rest}")))
}

/// The fields of a struct with a derived `Deserialize`.
fn fields(file: &File, name: &str) -> Option<Vec<Field>> {
    let source = file.rust.as_ref()?;
    let words = source.production_words();
    let found = words
        .iter()
        .filter(|word| word.text == "struct")
        .find(|word| source.word_after(word.at + 6).text == name)?;
    let text: Vec<char> = file.text.chars().collect();
    let before: String = text[..found.at].iter().collect();
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    let (body, end) = source.item(found.at);
    if !body || !attributes.contains("Deserialize") {
        return None;
    }
    let open = found.at + source.code[found.at..].iter().position(|c| *c == '{')?;
    Some(
        split(source, open + 1, end - 1)
            .into_iter()
            .filter_map(|(a, b)| field(&text, source, a, b))
            .collect(),
    )
}

/// The ranges between the commas of a body.
fn split(source: &Source, start: usize, end: usize) -> Vec<(usize, usize)> {
    let (mut ranges, mut depth, mut from) = (Vec::new(), 0, start);
    for at in start..end {
        match source.code[at] {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                ranges.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    ranges.push((from, end));
    ranges
}

fn field(text: &[char], source: &Source, start: usize, end: usize) -> Option<Field> {
    let mut at = source.skip_blanks(start);
    let mut attributes = String::new();
    while source.code.get(at) == Some(&'#') && at < end {
        let close = source.closing(at + 1);
        attributes.extend(&text[at..close]);
        at = source.skip_blanks(close);
    }
    let code: String = source.code[at..end].iter().collect();
    let (name, kind) = code.split_once(':')?;
    let name = name.split_whitespace().next_back()?;
    let serde = |word: &str| attributes.contains("serde(") && attributes.contains(word);
    if serde("skip)") || serde("skip,") || serde("skip_deserializing") {
        return None;
    }
    let renamed = attributes
        .split_once("rename = \"")
        .and_then(|(_, rest)| rest.split('"').next());
    let key = renamed.unwrap_or(name).to_owned();
    let kind = kind.split_whitespace().collect();
    Some(Field {
        key,
        kind,
        flat: serde("flatten"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEDGER: &str = r#"
#[derive(Deserialize)]
pub struct Settings {
    /// How many, at most.
    pub lanes: u32,
    #[serde(rename = "patience_ms")]
    pub patience: Vec<(u8, u8)>,
    #[serde(skip)]
    pub hidden: u8,
}
"#;
    const CONFIG: &str = r#"
use keyrack_ledger::settings::Settings as LedgerSettings;

#[derive(Deserialize)]
pub struct Config {
    pub ledger: LedgerSettings,
    pub desk: Option<Desk>,
    pub url: Option<String>,
}

#[derive(Deserialize)]
struct Desk { name: String }
"#;
    const WHOLE: &str = r#"# The manual.
# url = "postgres://…"

[ledger]
lanes = 2
patience_ms = [
    [1, 2],
]

[desk]
name = "front"
"#;

    fn refused(manual: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("src/ledger/settings.rs", LEDGER),
            ("src/commands/config.rs", CONFIG),
            (MANUAL, manual),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn the_manual_and_the_settings_agree() {
        assert_eq!(refused(WHOLE), Vec::<String>::new());
    }

    #[test]
    fn a_key_that_nobody_reads_is_refused() {
        let manual = WHOLE.replace("lanes = 2", "lanes = 2\nlane = 3");
        assert_eq!(refused(&manual), ["no settings have the key ledger.lane"]);
        let manual = format!("{WHOLE}[attic]\nbox = 1\n");
        assert_eq!(refused(&manual), ["no settings have the key attic.box"]);
    }

    #[test]
    fn a_key_that_nobody_explains_is_refused() {
        let manual = WHOLE.replace("name = \"front\"", "");
        assert_eq!(
            refused(&manual),
            ["the key desk.name is not in config/default.toml"]
        );
        let manual = WHOLE.replace("# url", "# The url").replace("lanes = 2", "");
        let expected = ["ledger.lanes", "url"];
        let expected = expected.map(|key| format!("the key {key} is not in config/default.toml"));
        assert_eq!(refused(&manual), expected);
    }

    #[test]
    fn before_the_floors_are_joined_each_answers_for_its_own_table() {
        let manual = "[ledger]\nlanes = 2\nlane = 3\n[api]\nport = 1\n";
        let tree = Tree::of(&[("src/ledger/settings.rs", LEDGER), (MANUAL, manual)]);
        let found: Vec<String> = check(&tree)
            .into_iter()
            .map(|finding| finding.what)
            .collect();
        let expected = [
            "no settings have the key ledger.lane",
            "the key ledger.patience_ms is not in config/default.toml",
        ];
        assert_eq!(found, expected);
    }
}
