//! The queue, the most urgent case first.

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::desk::{Answer, Desk};
use crate::table::{NONE, Table, at_home, items, said, zone_of};

/// Which cases.
#[derive(Debug, Args)]
pub struct List {
    /// Also those that are closed.
    #[arg(long)]
    all: bool,
}

/// Open cases by deadline, then closed ones as the API gives them.
pub async fn list(desk: &Desk, asked: &List) -> Result<Answer> {
    let zone = zone_of(&desk.hotel().await?);
    let query: &[(&str, &str)] = match asked.all {
        true => &[],
        false => &[("status", "open")],
    };
    let mut page = desk.all(&["overbooking-cases"], query).await?;
    let mut cases: Vec<Value> = items(&page["items"]).to_vec();
    cases.sort_by_key(urgency);
    let text = match cases.is_empty() {
        true => "No case: nothing more is sold than can be slept in.\n".to_owned(),
        false => shown(&cases, &zone),
    };
    page["items"] = json!(cases);
    Ok(Answer::of(page, text))
}

/// Open before closed, then the earlier deadline; whose deadline is not known last.
fn urgency(case: &Value) -> (bool, bool, Option<Timestamp>) {
    let told = case["deadline"].as_str();
    let deadline: Option<Timestamp> = told.and_then(|text| text.parse().ok());
    (case["status"] != "open", deadline.is_none(), deadline)
}

fn shown(cases: &[Value], zone: &TimeZone) -> String {
    let mut table = Table::new(&[
        "case",
        "deadline",
        "room type",
        "nights",
        "missing",
        "owner",
        "status",
        "why",
    ]);
    for case in cases {
        let status = match (&case["outcome"], &case["escalated_at"]) {
            (Value::String(outcome), _) => outcome.clone(),
            (_, Value::String(_)) => "escalated".to_owned(),
            _ => said(&case["status"]),
        };
        table.row([
            said(&case["id"]),
            at_home(&case["deadline"], zone),
            said(&case["room_type"]),
            nights(&case["nights"]),
            missing(&case["nights"]).to_string(),
            said(&case["owner"]),
            status,
            said(&case["cause_in_words"]),
        ]);
    }
    table.shown()
}

/// The first and the last night of a case.
pub fn nights(nights: &Value) -> String {
    let nights = items(nights);
    match (nights.first(), nights.last()) {
        (Some(first), Some(last)) if nights.len() > 1 => {
            format!(
                "{} to {}",
                said(&first["stay_date"]),
                said(&last["stay_date"])
            )
        }
        (Some(only), _) => said(&only["stay_date"]),
        _ => NONE.to_owned(),
    }
}

/// Rooms that are missing on its worst night.
fn missing(nights: &Value) -> i64 {
    let rooms = items(nights)
        .iter()
        .filter_map(|night| night["rooms"].as_i64());
    rooms.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_case_stands_first_and_closed_ones_last() {
        let case = |id: i32, status: &str, deadline: Option<&str>| {
            let mut case = json!({ "id": id, "status": status });
            case["deadline"] = json!(deadline);
            case
        };
        let mut cases = [
            case(4, "closed", None),
            case(3, "open", None),
            case(2, "open", Some("2030-06-02T10:00:00Z")),
            case(1, "open", Some("2030-06-02T09:00:00.5Z")),
        ];
        cases.sort_by_key(urgency);
        assert_eq!(cases.map(|case| case["id"].clone()), [1, 2, 3, 4]);
    }
}
