//! Giving back, by hand and at once: all that is left of an allotment, or of some of its nights.

use anyhow::{Result, ensure};
use clap::Args;
use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use serde_json::{Value, json};

use super::agree::{as_it_is, put};
use crate::desk::{Answer, Desk};
use crate::table::{Table, items, runs};

/// What is given back.
#[derive(Debug, Args)]
pub struct Release {
    /// Code of the allotment.
    allotment: String,
    /// Only from this night on; left out with `--to`, all of it, and its cut-off is today.
    #[arg(long, value_name = "DATE", requires = "to")]
    from: Option<Date>,
    /// Only before this date.
    #[arg(long, value_name = "DATE", requires = "from")]
    to: Option<Date>,
    /// Say what would be given back; give nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Gives back what is left. All of it by a cut-off of today, so that what comes free later falls
/// back as well; of some nights by agreeing no more than is taken.
pub async fn release(desk: &Desk, asked: &Release) -> Result<Answer> {
    let code = asked.allotment.as_str();
    let known = desk.read(&["allotments", code], &[]).await?;
    let today = desk.today().await?;
    let some = asked.from.zip(asked.to);
    let (from, to) = some.unwrap_or((today, plus_days(today, FAR)));
    let from = from.max(today);
    ensure!(
        from < to,
        "--to must be after --from and after today: what is past stays as it was"
    );
    let (from, to) = (from.to_string(), to.to_string());
    let query = [("from", from.as_str()), ("to", to.as_str())];
    let pickup = desk.read(&["allotments", code, "pickup"], &query).await?;
    let mut left = items(&pickup["nights"]).to_vec();
    left.retain(|night| night["left"].as_i64().is_some_and(|left| left > 0));
    let mut body = as_it_is(&known);
    match some {
        None => body["cut_off"] = json!(today),
        Some(_) => {
            if let Some(known) = body["values"].as_array_mut() {
                known.extend(no_more_than_taken(&left));
            }
        }
    }
    let answer = put(desk, code, &body, Some(&known), asked.dry_run).await?;
    let text = match (left.is_empty(), asked.dry_run) {
        (true, _) => format!("Nothing is left of {code} on these nights.\n"),
        (false, true) => format!(
            "A dry run: this would go back to free sale.\n{}",
            back(&left)
        ),
        (false, false) => format!("This is back in free sale.\n{}", back(&left)),
    };
    Ok(Answer { text, ..answer })
}

/// Of what is left on some nights, what is taken and no more.
fn no_more_than_taken(left: &[Value]) -> Vec<Value> {
    let runs = runs(left, &["taken"]).into_iter();
    runs.map(|run| {
        let rooms: Option<i64> = run[2].parse().ok();
        json!({ "from": run[0], "to": run[1], "rooms": rooms })
    })
    .collect()
}

fn back(left: &[Value]) -> String {
    let mut table = Table::new(&["from", "to", "rooms"]);
    for run in runs(left, &["left"]) {
        table.row(run);
    }
    table.shown()
}

/// As far as anything is agreed.
const FAR: i32 = 2_000;
