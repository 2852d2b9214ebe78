//! Rule 3: SQL, HTTP and XML stay in their rooms.

use crate::finding::Finding;
use crate::source::{Source, Word};
use crate::sql;
use crate::tree::{File, Tree};

/// Free of this rule: they show, simulate or serve the house from outside.
const FREE: [&str; 6] = ["commands", "sim", "bench", "embedded", "sandbox", "tests"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let bound = |file: &File| !file.is_test() && !FREE.contains(&file.floor());
    for (file, source) in tree.rust().filter(|(file, _)| bound(file)) {
        let mut add = |line: usize, what: String, remedy: &'static str| {
            findings.push(Finding {
                rule: 3,
                path: file.path.clone(),
                line,
                what,
                remedy,
            });
        };
        if !is_store(file) {
            for literal in source.production_literals() {
                if sql::is_statement(&literal.text) {
                    let remedy = "Move the query into the store of the table's owner";
                    add(literal.line, "SQL outside a store".to_owned(), remedy);
                }
            }
        }
        for word in source.production_words() {
            if let Some((what, remedy)) = breach(file, source, &word) {
                add(source.line(word.at), what, remedy);
            }
        }
    }
    findings
}

/// The stores, and the batch, which holds the transaction.
fn is_store(file: &File) -> bool {
    file.floor() != "roof" && file.parts().any(|part| matches!(part, "store" | "batch"))
        || matches!(file.stem(), "store")
}

fn breach(file: &File, source: &Source, word: &Word) -> Option<(String, &'static str)> {
    let transport = file.floor() == "distribution" && names(file, "transport");
    let verdict = file.floor() == "adapters" && names(file, "verdict");
    match word.text.as_str() {
        "query" | "query_as" | "query_scalar" | "query_as_unchecked" | "query_file"
            if !is_store(file) && is_macro_or_sqlx(source, word) =>
        {
            Some((
                "a query outside a store".into(),
                "Move it into the store of the table's owner",
            ))
        }
        "reqwest" if !transport => Some((
            "reqwest outside distribution/transport.rs".into(),
            "Hand an Outbound to the transport",
        )),
        "quick_xml" if file.floor() != "adapters" => Some((
            "quick_xml outside adapters".into(),
            "XML is the adapters' trade; take values",
        )),
        "StatusCode" if !transport && !verdict && !shows_http(file) => Some((
            "an HTTP status outside api, console, transport and verdict".into(),
            "Return a value and let the door translate it",
        )),
        "status" if !transport && !verdict && !shows_http(file) && is_compared(source, word) => {
            Some((
                "an HTTP status is judged outside transport and verdict".into(),
                "Move the comparison into the adapter's verdict.rs",
            ))
        }
        _ => None,
    }
}

fn names(file: &File, part: &str) -> bool {
    file.stem() == part || file.parts().any(|found| found == part)
}

fn shows_http(file: &File) -> bool {
    matches!(file.floor(), "api" | "console")
}

/// `sqlx::query(…)` or `query!(…)`; other things may be called query.
fn is_macro_or_sqlx(source: &Source, word: &Word) -> bool {
    let end = word.at + word.text.chars().count();
    source.precedes(word.at, "sqlx::") || source.code.get(end) == Some(&'!')
}

/// `status == 404` and the like: compared with a number of three digits.
fn is_compared(source: &Source, word: &Word) -> bool {
    let end = source.skip_blanks(word.at + word.text.chars().count());
    let operator = source.code[end..]
        .iter()
        .take_while(|c| matches!(c, '=' | '!' | '<' | '>'));
    let length = operator.count();
    let number = source.word_after(end + length).text;
    length > 0 && number.len() == 3 && number.parse::<u16>().is_ok_and(|n| n < 600)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn sql_stands_in_a_store_or_nowhere() {
        let text = "fn f() { run(\"select code from property where id = $1\") }";
        assert_eq!(refused("src/ledger/catalog.rs", text), 1);
        assert_eq!(refused("src/api/routes/rates.rs", text), 1);
        assert_eq!(refused("src/ledger/store/property.rs", text), 0);
        assert_eq!(refused("src/ledger/batch/run.rs", text), 0);
        assert_eq!(refused("src/distribution/store.rs", text), 0);
        assert_eq!(refused("src/commands/bench.rs", text), 0);
        assert_eq!(refused("src/ledger/tests/races.rs", text), 0);
    }

    #[test]
    fn a_query_is_known_by_its_macro_too() {
        assert_eq!(
            refused("src/ledger/catalog.rs", "fn f() { sqlx::query_as!(A, X); }"),
            1
        );
        assert_eq!(
            refused("src/api/routes/rates.rs", "fn f(query: Query) { query.x; }"),
            0
        );
    }

    #[test]
    fn http_and_xml_have_their_rooms() {
        assert_eq!(
            refused("src/distribution/poll.rs", "use reqwest::Client;"),
            1
        );
        assert_eq!(
            refused("src/distribution/transport.rs", "use reqwest::StatusCode;"),
            0
        );
        assert_eq!(
            refused("src/distribution/intake.rs", "use quick_xml::Reader;"),
            1
        );
        assert_eq!(refused("adapters/xml.rs", "use quick_xml::Reader;"), 0);
        assert_eq!(refused("src/ledger/error.rs", "use http::StatusCode;"), 1);
        assert_eq!(
            refused("src/api/problem.rs", "use axum::http::StatusCode;"),
            0
        );
    }

    #[test]
    fn the_status_is_judged_by_the_verdict_only() {
        let text = "fn f() -> bool { reply.status >= 500 }";
        assert_eq!(refused("adapters/expedia/parse.rs", text), 1);
        assert_eq!(refused("adapters/expedia/verdict.rs", text), 0);
        assert_eq!(
            refused(
                "src/ledger/verify.rs",
                "fn f() { status == Status::Booked }"
            ),
            0
        );
    }
}
