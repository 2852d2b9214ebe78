//! The table: figures, ratios, gates and goals.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Value, json};

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: the ratio is at least the gate.
    Higher,
    /// Less is better: the ratio is at most the gate.
    Lower,
}

/// What is asked of a line of the table: at least (or at most) the gate; the goal is the aim.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Asked {
    /// What is measured.
    pub name: &'static str,
    /// How many ask at once.
    pub callers: usize,
    /// Unit of the figures.
    pub unit: &'static str,
    /// None where the figure is shown and not judged.
    pub gate: Option<f64>,
    pub goal: Option<f64>,
    pub better: Better,
}

impl Asked {
    /// Shown, and not judged.
    pub fn shown(self) -> Self {
        Self {
            gate: None,
            goal: None,
            ..self
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    #[serde(flatten)]
    asked: Asked,
    figure: f64,
    plain: f64,
    ratio: f64,
    /// Smallest and largest ratio of a round.
    spread: (f64, f64),
}

impl Row {
    /// The medians of the rounds' figures and ratios; of each pair ours is first.
    pub(super) fn of(asked: Asked, pairs: &[(f64, f64)]) -> Self {
        let ours = sorted(pairs.iter().map(|(ours, _)| *ours));
        let plain = sorted(pairs.iter().map(|(_, plain)| *plain));
        let ratios = sorted(pairs.iter().map(|(ours, plain)| ours / plain));
        Self {
            asked,
            figure: median(&ours),
            plain: median(&plain),
            ratio: median(&ratios),
            spread: (
                ratios.first().copied().unwrap_or(0.0),
                ratios.last().copied().unwrap_or(0.0),
            ),
        }
    }

    fn holds(&self, limit: Option<f64>) -> bool {
        let Some(limit) = limit else { return true };
        match self.asked.better {
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
            "{:<34}{:>8}{:>14}{:>14}{:>9}  {:<16}{:>7}{:>7}",
            "", "callers", "keyrack", "plain", "ratio", "(spread)", "gate", "goal"
        ));
        for row in &self.rows {
            let mut line = String::new();
            write!(
                line,
                "{:<34}{:>8}{:>14}{:>14}{:>9.2}  {:<16}{:>7}{:>7}  {}",
                row.asked.name,
                row.asked.callers,
                shown(row.figure, row.asked.unit),
                shown(row.plain, row.asked.unit),
                row.ratio,
                format!("({:.2}-{:.2})", row.spread.0, row.spread.1),
                limit(row.asked.gate),
                limit(row.asked.goal),
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
            .filter(|row| !row.holds(row.asked.gate))
            .map(|row| {
                format!(
                    "{} at {} callers: {:.2}, gate {}",
                    row.asked.name,
                    row.asked.callers,
                    row.ratio,
                    limit(row.asked.gate)
                )
            })
            .collect();
        if !fallen.is_empty() {
            bail!("below the gate: {}", fallen.join("; "));
        }
        Ok(())
    }
}

/// Three digits that say something, and no more behind the point than two.
fn shown(figure: f64, unit: &str) -> String {
    let digits = match figure.abs() {
        small if small < 10.0 => 2,
        middle if middle < 100.0 => 1,
        _ => 0,
    };
    format!("{figure:.digits$} {unit}")
}

fn limit(of: Option<f64>) -> String {
    of.map_or_else(String::new, |limit| limit.to_string())
}

fn verdict(row: &Row) -> &'static str {
    if row.asked.gate.is_none() {
        ""
    } else if row.holds(row.asked.goal) {
        "goal reached"
    } else if row.holds(row.asked.gate) {
        "gate held"
    } else {
        "GATE FALLEN"
    }
}
