//! Rule 7: what does not fit on a few screens is two things.

use crate::finding::Finding;
use crate::tree::{File, Tree};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;
/// A file of SQL holds no formatter's lines; a condition is read best as one.
const SQL_COLUMNS_MAX: usize = 120;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().into_iter().filter(|file| is_code(file)) {
        let mut add = |line: usize, what: String, remedy: &'static str| {
            findings.push(Finding {
                rule: 7,
                path: file.path.clone(),
                line,
                what,
                remedy,
            });
        };
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            let remedy = "It is two rooms: split it where it changes its subject";
            add(
                0,
                format!("{lines} lines (at most {FILE_LINES_MAX})"),
                remedy,
            );
        }
        let is_sql = file.path.ends_with(".sql");
        let columns_max = if is_sql {
            SQL_COLUMNS_MAX
        } else {
            LINE_COLUMNS_MAX
        };
        for (at, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > columns_max {
                let what = format!("{columns} columns (at most {columns_max})");
                add(at + 1, what, "Break the line");
            }
        }
        for function in file.rust.iter().flat_map(|source| source.functions()) {
            if function.lines > FUNCTION_LINES_MAX {
                let (name, lines) = (&function.name, function.lines);
                let what = format!("{name} has {lines} lines (at most {FUNCTION_LINES_MAX})");
                add(
                    function.line,
                    what,
                    "Name its steps and make them functions",
                );
            }
        }
    }
    findings
}

/// What somebody wrote to be read as code. Fixtures are as long as their channel makes them.
fn is_code(file: &File) -> bool {
    let ending = file.path.ends_with(".rs") || file.path.ends_with(".sql");
    ending && !file.parts().any(|part| part == "fixtures") || file.path == ".ci/run"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn long_files_functions_and_lines_are_refused() {
        assert_eq!(refused("src/api/a.rs", &"// x\n".repeat(501)), 1);
        assert_eq!(refused("src/api/a.rs", &"// x\n".repeat(500)), 0);
        assert_eq!(
            refused("src/api/a.rs", &format!("// {}", "é".repeat(98))),
            1
        );
        assert_eq!(
            refused("src/api/a.rs", &format!("// {}", "é".repeat(97))),
            0
        );
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "a();\n".repeat(lines - 2));
        assert_eq!(refused("src/api/a.rs", &function(71)), 1);
        assert_eq!(refused("src/api/a.rs", &function(70)), 0);
        assert_eq!(
            refused("migrations/0001_a.sql", &format!("-- {}", "x".repeat(118))),
            1
        );
        assert_eq!(refused("README.md", &"x".repeat(200)), 0);
    }
}
