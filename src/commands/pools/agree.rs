//! Agreeing rooms. What the API takes is the whole of an allotment; a command adds to what is
//! agreed, on the version that it read, unless it is told otherwise.

use anyhow::{Context as _, Result};
use axum::http::Method;
use clap::{Args, ValueEnum};
use jiff::civil::Date;
use serde_json::{Value, json};

use super::show::named;
use crate::desk::{Answer, Desk};
use crate::table::{Table, items, said};

/// What is agreed.
#[derive(Debug, Args)]
pub struct Agree {
    /// Code of the allotment.
    allotment: String,
    /// For whom, where it is new: code of the account.
    #[arg(long, value_name = "CODE", conflicts_with = "group")]
    account: Option<String>,
    /// For whom, where it is new: code of the group.
    #[arg(long, value_name = "CODE")]
    group: Option<String>,
    /// Of which plain room type, where it is new.
    #[arg(long, value_name = "CODE")]
    room_type: Option<String>,
    #[command(flatten)]
    nights: Nights,
    /// Only on these weekdays, such as `fri,sat`.
    #[arg(long, value_name = "DAYS", value_delimiter = ',')]
    weekdays: Vec<String>,
    /// How many rooms a night.
    #[arg(long)]
    rooms: i32,
    /// Days before each night at whose midnight what is unsold falls back; left out, as it was.
    #[arg(long, value_name = "DAYS")]
    release_period: Option<i32>,
    /// The date on which all that is unsold falls back; left out, as it was.
    #[arg(long, value_name = "DATE", conflicts_with = "no_cut_off")]
    cut_off: Option<Date>,
    /// It has no cut-off any more.
    #[arg(long)]
    no_cut_off: bool,
    /// These nights and no others: what was agreed on others goes back to free sale.
    #[arg(long)]
    only: bool,
    #[command(flatten)]
    forced: Forced,
    /// Say which nights it would hit; agree nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Which nights, the end excluded.
#[derive(Clone, Copy, Debug, Args)]
struct Nights {
    /// First night.
    #[arg(long, value_name = "DATE")]
    from: Date,
    /// The morning after the last night.
    #[arg(long, value_name = "DATE")]
    to: Date,
}

/// An override with its reason.
#[derive(Debug, Args)]
pub struct Forced {
    /// What may be overridden: `oversell` to keep more rooms than are free, `allotment` to keep
    /// fewer than are taken.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', requires = "reason")]
    force: Vec<Force>,
    /// Why; it is written down.
    #[arg(long, value_name = "TEXT", requires = "force")]
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Force {
    Allotment,
    Oversell,
}

impl Forced {
    /// As the API takes it.
    fn body(&self) -> Option<Value> {
        let reason = self.reason.as_deref()?;
        let allow: Vec<&str> = self.force.iter().map(|one| one.as_str()).collect();
        Some(json!({ "reason": reason, "allow": allow }))
    }
}

impl Force {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allotment => "allotment",
            Self::Oversell => "oversell",
        }
    }
}

/// Agrees, or says what would stand in the way.
pub async fn agree(desk: &Desk, asked: &Agree) -> Result<Answer> {
    let known = desk.look(&["allotments", &asked.allotment]).await?;
    let mut body = match &known {
        Some(known) => as_it_is(known),
        None => asked.new_one()?,
    };
    let terms = [
        ("account", asked.account.as_ref().map(|code| json!(code))),
        ("group", asked.group.as_ref().map(|code| json!(code))),
        (
            "room_type",
            asked.room_type.as_ref().map(|code| json!(code)),
        ),
        ("cut_off", asked.cut_off.map(|date| json!(date))),
        ("cut_off", asked.no_cut_off.then_some(Value::Null)),
        (
            "release_period_days",
            asked.release_period.map(|days| json!(days)),
        ),
        ("force", asked.forced.body()),
    ];
    for (field, told) in terms {
        if let Some(told) = told {
            body[field] = told;
        }
    }
    if let Some(values) = body["values"].as_array_mut() {
        if asked.only {
            values.clear();
        }
        values.push(asked.value());
    }
    let known = known.as_ref();
    let mut answer = put(desk, &asked.allotment, &body, known, asked.dry_run).await?;
    let today = desk.today().await?;
    let cut_off: Option<Date> = body["cut_off"].as_str().and_then(|told| told.parse().ok());
    if let Some(cut_off) = cut_off.filter(|cut_off| *cut_off <= today && asked.rooms > 0) {
        answer.text.push_str(&format!(
            "Its cut-off {cut_off} is over, so what is unsold falls back at once: give another \
             with --cut-off, or none with --no-cut-off.\n"
        ));
    }
    Ok(answer)
}

impl Agree {
    fn new_one(&self) -> Result<Value> {
        let code = &self.allotment;
        let days = self.release_period.with_context(|| {
            format!("there is no allotment {code} yet: say --release-period of a new one")
        })?;
        self.room_type.as_ref().with_context(|| {
            format!("there is no allotment {code} yet: say --room-type of a new one")
        })?;
        Ok(json!({ "release_period_days": days, "values": [] }))
    }

    fn value(&self) -> Value {
        let Nights { from, to } = self.nights;
        let mut value = json!({ "from": from, "to": to, "rooms": self.rooms });
        if !self.weekdays.is_empty() {
            value["weekdays"] = json!(self.weekdays);
        }
        value
    }
}

/// What is shown of an allotment, as it is put.
pub fn as_it_is(known: &Value) -> Value {
    let mut body = known.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.remove("code");
        fields.remove("version");
    }
    body
}

/// Puts an allotment on the version that was read.
pub async fn put(
    desk: &Desk,
    code: &str,
    body: &Value,
    known: Option<&Value>,
    dry_run: bool,
) -> Result<Answer> {
    let query: &[(&str, &str)] = match dry_run {
        true => &[("dry_run", "true")],
        false => &[],
    };
    let version = known.and_then(|known| known["version"].as_i64());
    let path = ["allotments", code];
    let json = desk
        .change(Method::PUT, (&path, query), body, version)
        .await?;
    let short = items(&json["short"]);
    let is_forced = body["force"].is_object();
    let text = match dry_run {
        true => format!("{}{}", would(short, is_forced), hit(&json["hits"])),
        false => done(&json["allotment"], short),
    };
    let is_well = !dry_run || short.is_empty() || is_forced;
    Ok(Answer {
        json,
        text,
        is_well,
    })
}

fn would(short: &[Value], is_forced: bool) -> String {
    let what = match (short.is_empty(), is_forced) {
        (true, _) => "Nothing stands in the way.\n".to_owned(),
        (false, true) => format!("It would be forced on these nights:\n{}", wanting(short)),
        (false, false) => format!(
            "It would be refused, unless --force and --reason are given; rooms are wanting on \
             these nights:\n{}",
            wanting(short)
        ),
    };
    format!("A dry run: nothing is changed. {what}")
}

/// Whom it would hit: guests by their numbers, channels by their codes.
fn hit(hits: &Value) -> String {
    let numbers = items(&hits["reservations"])
        .iter()
        .map(|one| said(&one["number"]));
    let numbers: Vec<String> = numbers.collect();
    let accounts: Vec<String> = items(&hits["accounts"]).iter().map(said).collect();
    let more = if hits["more"] == true {
        " and more"
    } else {
        ""
    };
    let mut text = String::new();
    if !numbers.is_empty() {
        text += &format!(
            "Reservations on these nights: {}{more}\n",
            numbers.join(", ")
        );
    }
    if !accounts.is_empty() {
        text += &format!("Accounts that sell them: {}\n", accounts.join(", "));
    }
    text
}

fn done(allotment: &Value, short: &[Value]) -> String {
    let mut table = Table::new(&["from", "to", "agreed"]);
    for value in items(&allotment["values"]) {
        table.row(["from", "to", "rooms"].map(|field| said(&value[field])));
    }
    let agreed = match table.is_empty() {
        true => "nothing is agreed from today on\n".to_owned(),
        false => table.shown(),
    };
    let forced = match short.is_empty() {
        true => String::new(),
        false => format!(
            "Forced; rooms are wanting on these nights:\n{}",
            wanting(short)
        ),
    };
    let version = said(&allotment["version"]);
    format!("{} (version {version})\n{agreed}{forced}", named(allotment))
}

fn wanting(short: &[Value]) -> String {
    let mut table = Table::new(&["room type", "night", "rooms"]);
    for night in short {
        table.row(["room_type", "stay_date", "rooms"].map(|field| said(&night[field])));
    }
    table.shown()
}
