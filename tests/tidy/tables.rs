//! Rule 4: every table has one owner, and nobody else names it in SQL.
//!
//! A migration says at its head who owns what: `-- keyrack-ledger owns: night, rate_night.`

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::sql;
use crate::tree::{File, Tree};

/// They look at the house from outside, with queries of their own.
const FREE: [&str; 6] = ["commands", "sim", "bench", "embedded", "sandbox", "tests"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let owners = owners(tree, &mut findings);
    for (file, line, text) in statements(tree) {
        for table in sql::tables(&text) {
            let Some(owner) = owners.get(&table).filter(|owner| *owner != file.floor()) else {
                continue;
            };
            findings.push(Finding {
                rule: 4,
                path: file.path.clone(),
                line,
                what: format!(
                    "{} names the table {table}, which {owner} owns",
                    file.floor()
                ),
                remedy: "Ask the owner by verb",
            });
        }
    }
    findings
}

/// The owner of each table; migrations whose head and statements disagree are found here.
fn owners(tree: &Tree, findings: &mut Vec<Finding>) -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for file in tree
        .below("migrations")
        .filter(|file| file.path.ends_with(".sql"))
    {
        let said = said(&file.text);
        for (line, table) in created(&file.text) {
            if !said.iter().any(|(_, named)| *named == table) {
                findings.push(Finding {
                    rule: 4,
                    path: file.path.clone(),
                    line,
                    what: format!("nobody is said to own the table {table}"),
                    remedy: "Name it at the head of the migration: `-- keyrack-X owns: a, b.`",
                });
            }
        }
        owners.extend(said.into_iter().map(|(owner, table)| (table, owner)));
    }
    owners
}

/// The pairs of owner and table that the head of a migration names.
fn said(migration: &str) -> Vec<(String, String)> {
    let head = migration.lines().map_while(|line| line.strip_prefix("--"));
    let head = head.collect::<Vec<&str>>().join(" ");
    let mut found = Vec::new();
    for part in head.split("keyrack-").skip(1) {
        let Some((owner, rest)) = part.split_once(" owns:") else {
            continue;
        };
        let names = rest
            .split('.')
            .next()
            .unwrap_or(rest)
            .split(',')
            .map(str::trim);
        found.extend(names.map(|table| (owner.to_owned(), table.to_owned())));
    }
    found
}

/// The tables that a migration creates, with their lines.
fn created(migration: &str) -> Vec<(usize, String)> {
    let lines = migration.lines().enumerate();
    let lines = lines.filter(|(_, line)| line.to_lowercase().starts_with("create table"));
    lines
        .flat_map(|(at, line)| sql::tables(line).into_iter().map(move |t| (at + 1, t)))
        .collect()
}

/// Every statement that a floor sends, from its code and from its files of SQL.
fn statements(tree: &Tree) -> Vec<(&File, usize, String)> {
    let bound = |file: &File| {
        let floor = file.floor();
        !file.is_test() && !FREE.contains(&floor) && !matches!(floor, "migrations" | "roof")
    };
    let mut found = Vec::new();
    for file in tree.files().into_iter().filter(|file| bound(file)) {
        if let Some(source) = &file.rust {
            let literals = source
                .production_literals()
                .filter(|found| sql::is_statement(&found.text));
            found.extend(literals.map(|literal| (file, literal.line, literal.text.clone())));
        } else if file.path.ends_with(".sql") {
            found.push((file, 0, file.text.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIGRATION: &str = "-- keyrack-ledger owns: night,\n-- room. keyrack-distribution owns: \
        mark.\n\n\
        create table night (a int);\ncreate table room (a int);\ncreate table mark (a int);\n";

    fn refused(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[("migrations/0001_night.sql", MIGRATION), (path, text)]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn a_table_of_another_floor_is_asked_for_by_verb() {
        let text = "fn f() { q(\"update night set sold = $1\") }";
        let expected = ["distribution names the table night, which ledger owns"];
        assert_eq!(refused("src/distribution/store.rs", text), expected);
        assert!(refused("src/ledger/store/night.rs", text).is_empty());
        assert!(refused("src/ledger/tests/races.rs", text).is_empty());
        let file = "select a from mark m join night n on m.a = n.a";
        let expected = ["ledger names the table mark, which distribution owns"];
        assert_eq!(refused("src/ledger/store/sql/tail.sql", file), expected);
    }

    #[test]
    fn a_table_without_an_owner_is_refused() {
        let text = "-- What is sold.\ncreate table sale (a int);\n";
        let expected = ["nobody is said to own the table sale"];
        assert_eq!(refused("migrations/0002_sale.sql", text), expected);
    }
}
