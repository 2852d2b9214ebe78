//! The pools of a property, night by night, and the pick-up of its allotments.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use serde_json::{Value, json};

use crate::desk::{Answer, Desk};
use crate::table::{Table, items, runs, said};

/// Which nights of what.
#[derive(Debug, Args)]
pub struct Show {
    /// First night; left out, tonight.
    #[arg(long, value_name = "DATE")]
    from: Option<Date>,
    /// The morning after the last night; left out, two weeks later.
    #[arg(long, value_name = "DATE")]
    to: Option<Date>,
    /// Only this room type, by its code.
    #[arg(long, value_name = "CODE")]
    room_type: Option<String>,
}

/// Availability, allotments and their pick-up.
pub async fn show(desk: &Desk, asked: &Show) -> Result<Answer> {
    let today = desk.today().await?;
    let from = asked.from.unwrap_or(today);
    let to = asked.to.unwrap_or(plus_days(from, NIGHTS));
    let (from, to) = (from.to_string(), to.to_string());
    let nights = [("from", from.as_str()), ("to", to.as_str())];
    let mut query = nights.to_vec();
    query.push(("fresh", "true"));
    let room_type = asked.room_type.as_deref();
    query.extend(room_type.map(|code| ("room_type", code)));
    let availability = desk.read(&["availability"], &query).await?;
    let mut allotments = desk.all(&["allotments"], &[]).await?;
    if let Some(all) = allotments["items"].as_array_mut() {
        all.retain(|one| room_type.is_none_or(|code| one["room_type"] == code));
    }
    let mut pickups = Vec::new();
    for one in items(&allotments["items"]) {
        let code = said(&one["code"]);
        pickups.push(desk.read(&["allotments", &code, "pickup"], &nights).await?);
    }
    let mut text = format!(
        "{}, the nights {from}..{to} (the end excluded)\n",
        desk.property()
    );
    for of_type in items(&availability["room_types"]) {
        let _ = write!(text, "\n{}", free(of_type));
    }
    for (allotment, pickup) in items(&allotments["items"]).iter().zip(&pickups) {
        let _ = write!(text, "\n{}", picked_up(allotment, pickup));
    }
    if pickups.is_empty() {
        text.push_str("\nNo allotment: everything is sold from the shared pool.\n");
    }
    let json = json!({
        "availability": availability, "allotments": allotments["items"], "pickup": pickups,
    });
    Ok(Answer::of(json, text))
}

fn free(of_type: &Value) -> String {
    let head = [
        "from", "to", "rooms", "out", "limit", "allotted", "held", "sold", "free", "oversold",
    ];
    let fields = [
        "physical",
        "out_of_order",
        "overbooking_limit",
        "allotted",
        "held",
        "sold",
        "free",
        "oversold",
    ];
    let mut table = Table::new(&head);
    for run in runs(items(&of_type["nights"]), &fields) {
        table.row(run);
    }
    let code = said(&of_type["room_type"]);
    match table.is_empty() {
        true => format!("{code}: no night of these is open\n"),
        false => format!("{code}\n{}", table.shown()),
    }
}

fn picked_up(allotment: &Value, pickup: &Value) -> String {
    let mut table = Table::new(&["from", "to", "agreed", "taken", "left", "released"]);
    let fields = ["agreed", "taken", "left", "released"];
    for run in runs(items(&pickup["nights"]), &fields) {
        table.row(run);
    }
    let nights = match table.is_empty() {
        true => "nothing is agreed on these nights\n".to_owned(),
        false => table.shown(),
    };
    format!("{}\n{nights}", named(allotment))
}

/// An allotment in a line.
pub fn named(allotment: &Value) -> String {
    let owner = match &allotment["group"] {
        Value::String(group) => format!("group {group}"),
        _ => format!("account {}", said(&allotment["account"])),
    };
    let cut_off = match &allotment["cut_off"] {
        Value::String(date) => format!(", all of it on {date}"),
        _ => String::new(),
    };
    format!(
        "allotment {}: {} for {owner}, falls back {} days before each night{cut_off}",
        said(&allotment["code"]),
        said(&allotment["room_type"]),
        said(&allotment["release_period_days"]),
    )
}

/// As many as a reception looks ahead.
const NIGHTS: i32 = 14;
