//! A case as somebody reads it who has to end it.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;
use keyrack_model::money::{Currency, Money};
use serde_json::Value;

use super::list::nights;
use crate::desk::{Answer, Desk};
use crate::table::{NONE, Table, at_home, items, said, zone_of};

/// Which case.
#[derive(Debug, Args)]
pub struct Show {
    /// Its number, as the list shows it.
    case: i64,
}

/// A case with its cause, its ranking and its ways out.
pub async fn show(desk: &Desk, asked: &Show) -> Result<Answer> {
    let hotel = desk.hotel().await?;
    let case = read(desk, asked.case).await?;
    let text = whole(&case, &hotel);
    Ok(Answer::of(case, text))
}

/// A case as the API shows it.
pub async fn read(desk: &Desk, case: i64) -> Result<Value> {
    let id = case.to_string();
    desk.read(&["overbooking-cases", &id], &[]).await
}

/// A case in full.
pub fn whole(case: &Value, hotel: &Value) -> String {
    let zone = zone_of(hotel);
    let mut text = head(case, &zone);
    let _ = write!(text, "\n{}", by_night(&case["nights"], &zone));
    let ranked = items(&case["ranked"]);
    if case["status"] == "open" && !ranked.is_empty() {
        let _ = write!(text, "\nWho is moved first\n{}", ranking(ranked));
    }
    if let Some(ways) = case["ways_out"].as_array() {
        let _ = match ways.is_empty() {
            true => write!(text, "\nNo way out is known.\n"),
            false => write!(text, "\nWays out\n{}", ways_out(ways)),
        };
    }
    let currency = said(&hotel["currency"]);
    for (what, told, amount) in [
        ("Proposed", &case["proposal"], "cost_minor"),
        ("Approved", &case["approval"], "up_to_minor"),
    ] {
        if told.is_object() {
            let money = minor(&told[amount], &currency);
            let words = [&told["ending"], &told["note"], &told["by"]];
            let words: Vec<String> = words
                .into_iter()
                .filter(|w| !w.is_null())
                .map(said)
                .collect();
            let _ = writeln!(text, "\n{what}: {money}; {}", words.join("; "));
        }
    }
    let _ = write!(text, "\nWhat happened\n{}", events(&case["events"], &zone));
    text
}

fn head(case: &Value, zone: &TimeZone) -> String {
    let mut text = format!(
        "Case {}: {}, {}, {} (version {})\n{}\n",
        said(&case["id"]),
        said(&case["room_type"]),
        nights(&case["nights"]),
        said(&case["status"]),
        said(&case["version"]),
        said(&case["cause_in_words"]),
    );
    let escalated = match &case["escalated_at"] {
        Value::Null => String::new(),
        at => format!(", escalated {}", at_home(at, zone)),
    };
    let _ = match &case["outcome"] {
        Value::String(outcome) => writeln!(
            text,
            "Closed {} by {outcome}, cost {}",
            at_home(&case["closed_at"], zone),
            said(&case["cost"])
        ),
        _ => writeln!(
            text,
            "Owner {}, deadline {} at the property{escalated}",
            said(&case["owner"]),
            at_home(&case["deadline"], zone)
        ),
    };
    text
}

fn by_night(nights: &Value, zone: &TimeZone) -> String {
    let mut table = Table::new(&["night", "rooms beyond", "now", "accepted", "cured"]);
    for night in items(nights) {
        let counts = ["stay_date", "rooms", "rooms_now", "accepted_rooms"];
        let mut row = counts.map(|field| said(&night[field])).to_vec();
        row.push(at_home(&night["cured_at"], zone));
        table.row(row);
    }
    table.shown()
}

fn ranking(ranked: &[Value]) -> String {
    let mut table = Table::new(&[
        "place", "number", "arrival", "nights", "through", "is", "why",
    ]);
    for one in ranked {
        let is = ["guaranteed", "vip", "in_house"];
        let is: Vec<String> = is
            .into_iter()
            .filter(|flag| one[*flag] == true)
            .map(|flag| flag.replace('_', " "))
            .collect();
        let is = match is.is_empty() {
            true => NONE.to_owned(),
            false => is.join(", "),
        };
        let through = match &one["account"] {
            Value::Null => "direct".to_owned(),
            account => said(account),
        };
        let [place, number, arrival, nights, why] =
            ["rank", "number", "arrival", "nights", "why"].map(|field| said(&one[field]));
        table.row([place, number, arrival, nights, through, is, why]);
    }
    table.shown()
}

fn ways_out(ways: &[Value]) -> String {
    let mut table = Table::new(&["way", "ending", "cost", "approval", "what"]);
    for (number, way) in (1..).zip(ways) {
        let approval = match way["needs_approval"].as_bool() {
            Some(true) => "needed",
            _ => NONE,
        };
        let [ending, cost, what] = ["ending", "cost", "what"].map(|field| said(&way[field]));
        table.row([
            i32::to_string(&number),
            ending,
            cost,
            approval.to_owned(),
            what,
        ]);
    }
    table.shown()
}

fn events(events: &Value, zone: &TimeZone) -> String {
    let mut table = Table::new(&["when", "who", "what", "words"]);
    for event in items(events) {
        let detail = &event["detail"];
        let words = ["text", "why", "owner", "note", "ending", "reason"];
        let words: Vec<String> = words
            .into_iter()
            .filter_map(|field| detail[field].as_str().map(str::to_owned))
            .collect();
        table.row([
            at_home(&event["at"], zone),
            said(&event["actor"]),
            said(&event["kind"]),
            words.join("; "),
        ]);
    }
    table.shown()
}

/// An amount of minor units as money.
fn minor(value: &Value, currency: &str) -> String {
    let money = value.as_i64().zip(Currency::from_code(currency));
    money.map_or_else(
        || NONE.to_owned(),
        |(minor, currency)| Money::new(minor, currency).to_string(),
    )
}
