//! Cases of a time, counted.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use jiff::ToSpan as _;
use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use serde_json::Value;

use crate::desk::{Answer, Desk};
use crate::table::{NONE, Table, said};

/// Of which days.
#[derive(Debug, Args)]
pub struct Report {
    /// Opened on this day or later; left out, a year ago.
    #[arg(long, value_name = "DATE")]
    from: Option<Date>,
    /// Opened before this day; left out, until now.
    #[arg(long, value_name = "DATE")]
    to: Option<Date>,
}

/// By cause, channel, account, month and outcome.
pub async fn report(desk: &Desk, asked: &Report) -> Result<Answer> {
    // The calendar may be a day ahead of the business day.
    let after_now = plus_days(desk.today().await?, 2);
    let to = asked.to.unwrap_or(after_now);
    let from = asked.from.unwrap_or(to.saturating_sub(1.year()));
    let (from, to) = (from.to_string(), to.to_string());
    let query = [("from", from.as_str()), ("to", to.as_str())];
    let json = desk.read(&["overbooking-reports"], &query).await?;
    let mut text = format!("Cases opened {from}..{to} (the end excluded)\n");
    let mut all = counts("all");
    all.row(row("all", &json["all"]));
    let _ = write!(text, "\n{}", all.shown());
    for (what, field) in [
        ("cause", "by_cause"),
        ("channel", "by_channel"),
        ("account", "by_account"),
        ("month", "by_month"),
        ("outcome", "by_outcome"),
    ] {
        let mut table = counts(what);
        for (name, count) in json[field].as_object().into_iter().flatten() {
            table.row(row(name, count));
        }
        if !table.is_empty() {
            let _ = write!(text, "\n{}", table.shown());
        }
    }
    Ok(Answer::of(json, text))
}

fn counts(what: &str) -> Table {
    Table::new(&[what, "cases", "open", "escalated", "rooms", "cost"])
}

fn row(name: &str, count: &Value) -> Vec<String> {
    let fields = ["cases", "open", "escalated", "rooms", "cost"];
    let mut row = vec![name.to_owned()];
    row.extend(fields.map(|field| match said(&count[field]) {
        nothing if nothing.is_empty() => NONE.to_owned(),
        told => told,
    }));
    row
}
