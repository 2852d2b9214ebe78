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
mod tests;
