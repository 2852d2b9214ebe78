//! One table of keys out of several: the compiled-in manual, a file, the environment.
//!
//! The manual knows every key and its kind, so an unknown key or a wrong kind is refused with its
//! full name and with the place that it came from, before any floor sees it.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use toml::{Table, Value};

/// The variables of a process.
pub type Environment = BTreeMap<String, String>;

/// Reads a table. Tells the line of a fault and not its text, which may be a secret.
pub fn read(text: &str, from: &str) -> Result<Table> {
    text.parse::<Table>().map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text
            .bytes()
            .take(start)
            .filter(|byte| *byte == b'\n')
            .count()
            + 1;
        anyhow::anyhow!("{from}, line {line}: {}", error.message())
    })
}

/// Lays `over` upon `base`, which has every key that is allowed.
pub fn lay(base: &mut Table, over: Table, from: &str, environment: &Environment) -> Result<()> {
    lay_below(base, over, "", from, environment)
}

fn lay_below(
    base: &mut Table,
    over: Table,
    path: &str,
    from: &str,
    environment: &Environment,
) -> Result<()> {
    for (key, value) in over {
        let name = joined(path, &key);
        let Some(known) = base.get_mut(&key) else {
            let known: Vec<&str> = base.keys().map(String::as_str).collect();
            let known = known.join(", ");
            bail!("{from}: there is no key {name}; known here are {known}");
        };
        match (known, value) {
            (Value::Table(known), Value::Table(over)) => {
                lay_below(known, over, &name, from, environment)?;
            }
            (Value::String(known), Value::Table(reference)) => {
                *known = referred(&reference, environment)
                    .with_context(|| format!("{from}: {name} cannot be read"))?;
            }
            (known, value) => {
                let (right, wrong) = (kind(known), kind(&value));
                ensure!(right == wrong, "{from}: {name} is {right}, not {wrong}");
                *known = value;
            }
        }
    }
    Ok(())
}

/// What the environment sets: `PREFIX__SECTION__KEY`, each value read as the manual's kind of it.
pub fn of_environment(manual: &Table, environment: &Environment, prefix: &str) -> Result<Table> {
    let mut table = Table::new();
    for (variable, text) in environment {
        let Some(rest) = variable.strip_prefix(prefix) else {
            continue;
        };
        let lower = rest.to_ascii_lowercase();
        let parts: Vec<&str> = lower.split("__").collect();
        let value = typed(manual, &parts, text)
            .with_context(|| format!("{variable}, which is {}", parts.join(".")))?;
        put(&mut table, &parts, value);
    }
    Ok(table)
}

fn typed(manual: &Table, parts: &[&str], text: &str) -> Result<Value> {
    let unknown = || anyhow::anyhow!("there is no such key");
    let (first, rest) = parts.split_first().with_context(unknown)?;
    match manual.get(*first).with_context(unknown)? {
        Value::Table(below) => typed(below, rest, text),
        Value::String(_) if matches!(rest, ["file" | "env"]) => Ok(Value::from(text)),
        _ if !rest.is_empty() => Err(unknown()),
        Value::String(_) => Ok(Value::from(text)),
        Value::Integer(_) => Ok(Value::from(
            text.trim()
                .parse::<i64>()
                .context("a whole number is wanted")?,
        )),
        Value::Boolean(_) => Ok(Value::from(
            text.trim()
                .parse::<bool>()
                .context("true or false is wanted")?,
        )),
        Value::Array(_) => {
            let parts = text.split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty()).map(Value::from);
            Ok(Value::Array(parts.collect()))
        }
        other => bail!("it is {} and cannot be set here", kind(other)),
    }
}

fn put(table: &mut Table, parts: &[&str], value: Value) {
    let Some((first, rest)) = parts.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.insert((*first).to_owned(), value);
        return;
    }
    let below = table
        .entry((*first).to_owned())
        .or_insert_with(|| Value::Table(Table::new()));
    // A key that is set beside its own reference: the reference wins.
    if !below.is_table() {
        *below = Value::Table(Table::new());
    }
    if let Value::Table(below) = below {
        put(below, rest, value);
    }
}

/// The text behind `{ file = "…" }` or `{ env = "…" }`, without the line end that editors leave.
fn referred(reference: &Table, environment: &Environment) -> Result<String> {
    let one = |key: &str| reference.get(key).and_then(Value::as_str);
    ensure!(
        reference.len() == 1,
        "a reference is {{ file = \"…\" }} or {{ env = \"…\" }}"
    );
    let text = match (one("file"), one("env")) {
        (Some(file), _) => fs::read_to_string(file).with_context(|| format!("the file {file}"))?,
        (_, Some(name)) => environment
            .get(name)
            .with_context(|| format!("the variable {name} is not set"))?
            .clone(),
        _ => bail!("a reference is {{ file = \"…\" }} or {{ env = \"…\" }}"),
    };
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        return key.to_owned();
    }
    format!("{path}.{key}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a point",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}

#[cfg(test)]
mod tests {
    // Whatever stands in a file of settings: it is laid upon the manual or refused in words.
    use keyrack_strangers::{grows_with_its_input, hostile_text};
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    const MANUAL: &str = include_str!("../../../config/default.toml");

    fn laid(text: &str) -> Result<Table> {
        let mut manual = read(MANUAL, "the manual")?;
        let environment = Environment::new();
        lay(&mut manual, read(text, "a file")?, "a file", &environment)?;
        Ok(manual)
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 150, ..Default::default() })]

        #[test]
        fn any_file_is_laid_upon_the_manual_or_refused_in_words(
            text in hostile_text(&[
                MANUAL, "[http]\nlisten = \"x\"\n", "a.b = [{c = 1}, {c = 2.5}]",
            ]),
        ) {
            match laid(&text) {
                Ok(table) => prop_assert!(table.contains_key("log")),
                Err(error) => {
                    let words = format!("{error:#}");
                    prop_assert!(!words.is_empty());
                }
            }
        }
    }

    #[test]
    fn nests_of_any_depth_are_refused() {
        for (open, close) in [("[", "]"), ("{a=", "}"), ("a.", "a = 1")] {
            for begin in ["a = ", "", "["] {
                let text = format!("{begin}{}{}", open.repeat(50_000), close.repeat(50_000));
                assert!(laid(&text).is_err(), "{begin}{open}");
            }
        }
    }

    #[test]
    fn the_work_grows_with_the_file() {
        type Shape = fn(usize) -> String;
        let shapes: [(&str, Shape); 4] = [
            ("keys", |n| {
                (0..n).map(|n| format!("k{n} = {n}\n")).collect()
            }),
            ("tables", |n| (0..n).map(|n| format!("[t{n}]\n")).collect()),
            ("a list", |n| format!("a = [{}]", "1, ".repeat(n))),
            ("a text", |n| format!("a = \"{}\"", "\\u00e9".repeat(n))),
        ];
        for (what, made) in shapes {
            grows_with_its_input(what, 2_000, made, |text| {
                assert!(laid(text).is_err());
            });
        }
    }
}
