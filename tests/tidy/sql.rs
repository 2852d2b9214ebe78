//! Tells SQL from prose, and reads the names of tables out of it.

/// Whether a text is a statement: begins like one and goes on like one.
pub fn is_statement(text: &str) -> bool {
    let words = words(text);
    let word = |at: usize| words.get(at).map(String::as_str).unwrap_or_default();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    match (word(0), word(1)) {
        ("select", next) => {
            has("from") && text.contains(['=', '*', '(', '\n', ','])
                || next.starts_with('$')
                || text.contains("()")
        }
        ("insert", "into") => has("values") || has("select") || has("default"),
        ("update", _) => has("set"),
        ("delete", "from") => true,
        ("with", _) => has("as") && has("select"),
        ("create" | "alter" | "drop", kind) => KINDS.contains(&kind),
        ("truncate", _) => words.len() == 2 || word(1) == "table",
        ("lock", "table") => true,
        _ => false,
    }
}

/// The tables that a text of SQL names: what stands after `from`, `join`, `into`, `update` and
/// their like. Names of common table expressions are among them; the caller knows its tables.
pub fn tables(text: &str) -> Vec<String> {
    let words = words(text);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = at
            .checked_sub(1)
            .map(|at| words[at].as_str())
            .unwrap_or_default();
        let opens = match word.as_str() {
            "from" | "join" | "into" | "table" | "truncate" | "references" => true,
            // Not the `for update` of a select, nor the `do update` of an insert.
            "update" => !matches!(before, "for" | "do" | "key" | "on" | "of"),
            _ => false,
        };
        if opens {
            let rest = words[at + 1..].iter();
            let mut rest = rest.skip_while(|word| FILLERS.contains(&word.as_str()));
            found.extend(rest.next().map(|name| plain(name)));
        }
    }
    found
}

/// Without schema and quotes.
fn plain(name: &str) -> String {
    let name = name.trim_matches('"');
    name.rsplit_once('.')
        .map_or(name, |(_, table)| table)
        .to_owned()
}

/// Words in lower case, without comments; brackets and commas end a word.
fn words(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .map(|line| line.split_once("--").map_or(line, |(sql, _)| sql));
    let text: String = lines.collect::<Vec<&str>>().join("\n").to_lowercase();
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';');
    text.split(ends)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

const KINDS: [&str; 9] = [
    "table",
    "index",
    "unique",
    "database",
    "schema",
    "function",
    "extension",
    "type",
    "sequence",
];
const FILLERS: [&str; 6] = ["only", "if", "not", "exists", "table", "lateral"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_from_prose() {
        for statement in [
            "select code from property where id = $1",
            "\n  select *\n  from night",
            "select $1::date",
            "select now()",
            "insert into night (a) values ($1)",
            "update night set sold = 1",
            "with seen as (select 1) select * from seen",
            "create index a on b (c)",
        ] {
            assert!(is_statement(statement), "{statement}");
        }
        for prose in [
            "select a room from the list",
            "update the mapping of the account",
            "with tax",
            "create a key",
            "insert into the envelope",
            "",
        ] {
            assert!(!is_statement(prose), "{prose}");
        }
    }

    #[test]
    fn tables_are_found_wherever_a_statement_names_them() {
        let text = "with seen as (select * from night n join only public.room_type on true)\n\
            -- from comment\n insert into \"mark\" (a) select b from seen for update of night";
        assert_eq!(tables(text), ["night", "room_type", "mark", "seen"]);
        assert_eq!(tables("update night set x = 1"), ["night"]);
        assert_eq!(
            tables("insert into a values (1) on conflict do update set b = 2"),
            ["a"]
        );
    }
}
