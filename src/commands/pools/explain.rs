//! Why an account is told what it is told.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::desk::{Answer, Desk};
use crate::table::{Table, at_home, items, said, zone_of};

/// Which number.
#[derive(Debug, Args)]
pub struct Explain {
    /// Code of the account.
    #[arg(long, value_name = "CODE")]
    account: String,
    /// Code of the room type.
    #[arg(long, value_name = "CODE")]
    room_type: String,
    /// The night.
    #[arg(long, value_name = "DATE")]
    night: Date,
    /// Code of the rate plan; left out, the rooms themselves.
    #[arg(long, value_name = "CODE")]
    rate_plan: Option<String>,
    /// What had been told by this instant, such as 2030-02-14T12:00:00Z; left out, now.
    #[arg(long, value_name = "INSTANT")]
    at: Option<Timestamp>,
}

/// Every line of the calculation.
pub async fn explain(desk: &Desk, asked: &Explain) -> Result<Answer> {
    let hotel = desk.hotel().await?;
    let (night, at) = (asked.night.to_string(), asked.at.map(|at| at.to_string()));
    let mut query = vec![
        ("account", asked.account.as_str()),
        ("room_type", asked.room_type.as_str()),
        ("stay_date", night.as_str()),
    ];
    let rate_plan = asked.rate_plan.as_deref();
    query.extend(rate_plan.map(|code| ("rate_plan", code)));
    query.extend(at.as_deref().map(|at| ("at", at)));
    let json = desk.read(&["explain"], &query).await?;
    let text = in_words(&json, &zone_of(&hotel));
    Ok(Answer::of(json, text))
}

fn in_words(json: &Value, zone: &TimeZone) -> String {
    let mut table = Table::new(&["step", "rooms", "closed", "why"]);
    for line in items(&json["lines"]) {
        table.row(["step", "rooms", "closed", "why"].map(|field| said(&line[field])));
    }
    let mut text = String::new();
    let then = &json["then"];
    if then.is_object() {
        let at = at_home(&then["at"], zone);
        let _ = writeln!(text, "At {at} at the property: {}.", said(&then["known"]));
        for (what, told) in [("sent", &then["sent"]), ("shown", &then["shown"])] {
            if told.is_object() {
                let _ = writeln!(text, "{}", was_told(what, told, zone));
            }
        }
    }
    if !table.is_empty() {
        text.push_str(&table.shown());
    }
    text
}

fn was_told(what: &str, told: &Value, zone: &TimeZone) -> String {
    let values = &told["values"];
    let number = match (&values["rooms"], &values["rate"]) {
        (Value::Null, rate) => said(rate),
        (rooms, _) => format!("{} rooms", said(rooms)),
    };
    let closed = match values["closed"].as_bool() {
        Some(true) => ", closed",
        _ => "",
    };
    let taken = match &told["acknowledged_at"] {
        Value::Null => "never taken".to_owned(),
        at => format!("taken {}", at_home(at, zone)),
    };
    let (due, sent) = (
        at_home(&told["due_at"], zone),
        at_home(&told["sent_at"], zone),
    );
    format!("{what}: {number}{closed}; changed {due}, sent {sent}, {taken}")
}
