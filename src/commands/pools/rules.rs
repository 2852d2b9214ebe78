//! The rules of a property that switch pools and keep rooms back, and which of them hold now.

use anyhow::Result;
use clap::Args;
use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use serde_json::{Value, json};

use crate::desk::{Answer, Desk};
use crate::table::{NONE, Table, items, said};

/// All of them.
#[derive(Debug, Args)]
pub struct Rules {}

/// Pool rules, where they have switched, and buffer rules.
pub async fn rules(desk: &Desk) -> Result<Answer> {
    let today = desk.today().await?;
    let pool_rules = desk.read(&["pool-rules"], &[]).await?;
    let (from, to) = (today.to_string(), plus_days(today, FAR).to_string());
    let nights = [("from", from.as_str()), ("to", to.as_str())];
    let switches = desk.read(&["pool-rules", "switches"], &nights).await?;
    let buffer_rules = desk.read(&["buffer-rules"], &[]).await?;
    let pools = pools(&pool_rules["rules"], &switches["switches"], today);
    let buffers = buffers(&buffer_rules["rules"], today);
    let json = json!({
        "pool_rules": pool_rules, "switches": switches, "buffer_rules": buffer_rules,
    });
    Ok(Answer::of(json, format!("{pools}\n{buffers}")))
}

fn pools(rules: &Value, switches: &Value, today: Date) -> String {
    let mut table = Table::new(&[
        "rule",
        "account",
        "room type",
        "nights",
        "weekdays",
        "sells",
        "when free",
        "holds",
    ]);
    for (number, rule) in (1_i64..).zip(items(rules)) {
        let when = match &rule["when_free"] {
            Value::Null => "always".to_owned(),
            at_most => format!("{at_most} or fewer, until {}", said(&rule["until_free"])),
        };
        let holds = match &rule["when_free"] {
            Value::Null => by_calendar(rule, today),
            _ => switched(switches, number),
        };
        let [account, room_type, nights, weekdays] = scope(rule);
        let sells = said(&rule["pool"]);
        table.row([
            number.to_string(),
            account,
            room_type,
            nights,
            weekdays,
            sells,
            when,
            holds,
        ]);
    }
    match table.is_empty() {
        true => "No pool rules: every mapping sells as it says.\n".to_owned(),
        false => format!(
            "Pool rules (of those that hold on a night the last one says)\n{}",
            table.shown()
        ),
    }
}

fn buffers(rules: &Value, today: Date) -> String {
    let mut table = Table::new(&[
        "rule",
        "account",
        "room type",
        "nights",
        "weekdays",
        "days ahead",
        "keeps back",
        "holds",
    ]);
    for (number, rule) in (1..).zip(items(rules)) {
        let [account, room_type, nights, weekdays] = scope(rule);
        let (least, most) = (&rule["lead_days_min"], &rule["lead_days_max"]);
        let ahead = match (least, most) {
            (Value::Null, Value::Null) => NONE.to_owned(),
            (least, Value::Null) => format!("{least} or more"),
            (Value::Null, most) => format!("{most} or fewer"),
            (least, most) => format!("{least} to {most}"),
        };
        let (keeps, holds) = (kept_back(rule), by_calendar(rule, today));
        let number = i32::to_string(&number);
        table.row([
            number, account, room_type, nights, weekdays, ahead, keeps, holds,
        ]);
    }
    match table.is_empty() {
        true => "No buffer rules: every account is told all that it may sell.\n".to_owned(),
        false => format!(
            "Buffer rules (the strictest of those that hold on a night says)\n{}",
            table.shown()
        ),
    }
}

/// Account, room type, nights and weekdays.
fn scope(rule: &Value) -> [String; 4] {
    let or_all = |field: &str| match &rule[field] {
        Value::Null => "all".to_owned(),
        told => said(told),
    };
    let nights = match (&rule["from"], &rule["to"]) {
        (Value::Null, _) => "all".to_owned(),
        (from, to) => format!("{}..{}", said(from), said(to)),
    };
    [
        or_all("account"),
        or_all("room_type"),
        nights,
        or_all("weekdays"),
    ]
}

fn kept_back(rule: &Value) -> String {
    let number = |field: &str| rule[field].as_i64();
    if let Some(rooms) = number("keep_back") {
        return format!("{rooms} rooms");
    }
    if let Some(rooms) = number("close_at") {
        return format!("all, when {rooms} or fewer are left");
    }
    if let Some(rooms) = number("cap") {
        return format!("what is above {rooms}");
    }
    if let Some(percent) = number("share_percent") {
        return format!("all but {percent} %");
    }
    match &rule["safety"]["one_in"] {
        Value::Null => "for safety, as the property says".to_owned(),
        one_in => format!("for safety, 1 in {one_in}"),
    }
}

/// A rule of dates holds on its nights until they are past.
fn by_calendar(rule: &Value, today: Date) -> String {
    let to: Option<Date> = rule["to"].as_str().and_then(|text| text.parse().ok());
    match to {
        Some(to) if to <= today => "no more: its nights are past".to_owned(),
        Some(_) => "on its nights".to_owned(),
        None => "on every night".to_owned(),
    }
}

/// A rule of scarcity holds where it has switched.
fn switched(switches: &Value, number: i64) -> String {
    let of_rule = |one: &&Value| one["rule"] == number;
    let on: Vec<&Value> = items(switches).iter().filter(of_rule).collect();
    if on.is_empty() {
        return "switched off on every night".to_owned();
    }
    let shown = on.iter().take(SHOWN).map(|one| {
        let [room_type, from, to] = ["room_type", "from", "to"].map(|field| said(&one[field]));
        format!("{room_type} {from}..{to}")
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match on.len().saturating_sub(SHOWN) {
        0 => format!("switched on: {shown}"),
        more => format!("switched on: {shown} and {more} more"),
    }
}

/// As far as anything is sold.
const FAR: i32 = 2_000;
/// Runs of nights that a line has room for.
const SHOWN: usize = 4;

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_rule_says_where_it_holds() {
        let rules = json!([
            {"account": "bdc", "pool": "allotment", "from": "2030-01-01", "to": "2030-02-01"},
            {"account": "bdc", "room_type": "DBL", "pool": "allotment", "when_free": 2,
             "until_free": 4},
            {"account": "exp", "pool": "shared", "when_free": 0, "until_free": 1},
        ]);
        let on = json!([{"rule": 2, "room_type": "DBL", "from": "2030-06-01", "to": "2030-06-03"}]);
        let said = pools(&rules, &on, date(2030, 6, 1));
        let lines: Vec<&str> = said.lines().skip(2).collect();
        assert!(lines[0].ends_with("no more: its nights are past"), "{said}");
        assert!(lines[1].contains("2 or fewer, until 4"), "{said}");
        assert!(
            lines[1].ends_with("switched on: DBL 2030-06-01..2030-06-03"),
            "{said}"
        );
        assert!(lines[2].ends_with("switched off on every night"), "{said}");
        let rules = json!([{"cap": 3, "lead_days_max": 7}, {"safety": {}}]);
        let said = buffers(&rules, date(2030, 6, 1));
        assert!(said.contains("7 or fewer  what is above 3"), "{said}");
        assert!(said.contains("for safety, as the property says"), "{said}");
    }
}
