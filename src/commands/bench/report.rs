//! The table: figures, ratios, gates and goals.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Value, json};

use super::measure::Round;
use super::point::Point;

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: the ratio is at least the gate.
    Higher,
    /// Less is better: the ratio is at most the gate.
    Lower,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    name: String,
    callers: usize,
    unit: &'static str,
    figure: f64,
    plain: f64,
    ratio: f64,
    /// Smallest and largest ratio of a round.
    spread: (f64, f64),
    gate: Option<f64>,
    goal: Option<f64>,
    better: Better,
}

impl Row {
    /// The medians of the rounds' figures and ratios.
    pub(super) fn of(point: &Point, pairs: &[(Round, Round)]) -> Self {
        let ours = sorted(pairs.iter().map(|(ours, _)| (point.figure)(ours)));
        let plain = sorted(pairs.iter().map(|(_, plain)| (point.figure)(plain)));
        let ratio = |(ours, plain): &(Round, Round)| (point.figure)(ours) / (point.figure)(plain);
        let ratios = sorted(pairs.iter().map(ratio));
        Self {
            name: point.name.to_owned(),
            callers: point.load.callers,
            unit: point.unit,
            figure: median(&ours),
            plain: median(&plain),
            ratio: median(&ratios),
            spread: (
                ratios.first().copied().unwrap_or(0.0),
                ratios.last().copied().unwrap_or(0.0),
            ),
            gate: point.gate,
            goal: point.goal,
            better: point.better,
        }
    }

    fn holds(&self, limit: Option<f64>) -> bool {
        let Some(limit) = limit else { return true };
        match self.better {
            Better::Higher => self.ratio >= limit,
            Better::Lower => self.ratio <= limit,
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// A bench's table.
pub struct Report {
    bench: &'static str,
    settings: Value,
    rows: Vec<Row>,
}

impl Report {
    pub fn new(bench: &'static str, settings: Value) -> Self {
        Self {
            bench,
            settings,
            rows: Vec::new(),
        }
    }

    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Prints the table, or the same as JSON.
    pub fn print(&self, as_json: bool) -> Result<()> {
        if as_json {
            let whole = json!({
                "bench": self.bench, "settings": self.settings, "rows": self.rows,
            });
            crate::say::line(&serde_json::to_string_pretty(&whole)?);
            return Ok(());
        }
        crate::say::line(&format!("bench {}: {}", self.bench, self.settings));
        crate::say::line(&format!(
            "{:<28}{:>8}{:>14}{:>14}{:>9}  {:<16}{:>7}{:>7}",
            "", "callers", "keyrack", "plain", "ratio", "(spread)", "gate", "goal"
        ));
        for row in &self.rows {
            let mut line = String::new();
            write!(
                line,
                "{:<28}{:>8}{:>14}{:>14}{:>9.2}  {:<16}{:>7}{:>7}  {}",
                row.name,
                row.callers,
                format!("{:.*} {}", digits(row), row.figure, row.unit),
                format!("{:.*} {}", digits(row), row.plain, row.unit),
                row.ratio,
                format!("({:.2}-{:.2})", row.spread.0, row.spread.1),
                limit(row.gate),
                limit(row.goal),
                verdict(row),
            )?;
            crate::say::line(&line);
        }
        Ok(())
    }

    /// An error where a gate falls.
    pub fn judge(&self) -> Result<()> {
        let fallen: Vec<String> = self
            .rows
            .iter()
            .filter(|row| !row.holds(row.gate))
            .map(|row| {
                format!(
                    "{} at {} callers: {:.2}, gate {}",
                    row.name,
                    row.callers,
                    row.ratio,
                    limit(row.gate)
                )
            })
            .collect();
        if !fallen.is_empty() {
            bail!("below the gate: {}", fallen.join("; "));
        }
        Ok(())
    }
}

fn digits(row: &Row) -> usize {
    if row.unit == "ms" { 2 } else { 0 }
}

fn limit(of: Option<f64>) -> String {
    of.map_or_else(String::new, |limit| limit.to_string())
}

fn verdict(row: &Row) -> &'static str {
    if row.gate.is_none() {
        ""
    } else if row.holds(row.goal) {
        "goal reached"
    } else if row.holds(row.gate) {
        "gate held"
    } else {
        "GATE FALLEN"
    }
}
