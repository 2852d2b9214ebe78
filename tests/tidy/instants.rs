//! Rule 12: a query asks for the time once. A bare call of the clock is asked again for every row
//! that is compared with it, and no index can serve the comparison.

use crate::finding::Finding;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        if file.is_test() || !(file.path.starts_with("src/") || file.path.ends_with(".sql")) {
            continue;
        }
        for (at, line) in file.text.lines().enumerate() {
            if compares_with_the_clock(line) {
                findings.push(Finding {
                    rule: 12,
                    path: file.path.clone(),
                    line: at + 1,
                    what: "compares each row with the clock".to_owned(),
                    remedy: "Write `(select ledger_now())`, which is asked once",
                });
            }
        }
    }
    findings
}

/// A comparison by order with a bare call; values that are written or given out may call it, and
/// a `case` looks at the one row that it writes.
fn compares_with_the_clock(line: &str) -> bool {
    const CLOCK: &str = concat!("ledger_", "now()");
    line.match_indices(CLOCK).any(|(at, _)| {
        let before = line[..at].trim_end();
        let is_compared = before.ends_with(['<', '>']) || before.ends_with("<=");
        (is_compared || before.ends_with(">=")) && !before.contains("case when")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_clock_is_found_where_rows_are_compared_with_it() {
        let clock = concat!("ledger_", "now()");
        for wrong in ["due_at <= {}", "where at < {} - $1", "x >= {}", "at > {}"] {
            let line = wrong.replace("{}", clock);
            assert!(compares_with_the_clock(&line), "{line}");
        }
        for right in [
            "due_at <= (select {})",
            "set due_at = {} + $1",
            "case when at < {} then",
            "values ({})",
        ] {
            let line = right.replace("{}", clock);
            assert!(!compares_with_the_clock(&line), "{line}");
        }
    }
}
