//! What is done with a case before it ends, and after.

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Value, json};

use super::moves::money;
use super::show::whole;
use crate::desk::{Answer, Desk};

/// Who works a case.
#[derive(Debug, Args)]
pub struct Assign {
    /// Its number.
    case: i64,
    /// A name.
    owner: String,
    /// Another deadline than the policy's, such as 2030-02-14T12:00:00Z.
    #[arg(long, value_name = "INSTANT")]
    deadline: Option<Timestamp>,
    #[command(flatten)]
    read: AsRead,
}

/// Up to which cost.
#[derive(Debug, Args)]
pub struct Approve {
    /// Its number.
    case: i64,
    /// So much, such as 150.00; left out, what was proposed.
    #[arg(long, value_name = "AMOUNT")]
    up_to: Option<String>,
    /// In words.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    read: AsRead,
}

/// Something to write down.
#[derive(Debug, Args)]
pub struct Note {
    /// Its number.
    case: i64,
    /// In words. No data of guests: a case is kept when a guest is erased.
    text: String,
}

/// Nights that were meant to be oversold.
#[derive(Debug, Args)]
pub struct Open {
    /// Code of the room type.
    #[arg(long, value_name = "CODE")]
    room_type: String,
    /// First night.
    #[arg(long, value_name = "DATE")]
    from: Date,
    /// The morning after the last night.
    #[arg(long, value_name = "DATE")]
    to: Date,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// Why it is opened again.
#[derive(Debug, Args)]
pub struct Reopen {
    /// Its number.
    case: i64,
    /// In words.
    reason: String,
    #[command(flatten)]
    read: AsRead,
}

/// The state of a case on which somebody decided.
#[derive(Debug, Args)]
pub struct AsRead {
    /// Only where the case is still at this version, as `show` tells it.
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
}

/// Says who works it.
pub async fn assign(desk: &Desk, asked: &Assign) -> Result<Answer> {
    let mut body = json!({ "owner": asked.owner });
    if let Some(deadline) = asked.deadline {
        body["deadline"] = json!(deadline);
    }
    verb(desk, (asked.case, "assign", NO_QUERY), &body, &asked.read).await
}

/// Approves a cost.
pub async fn approve(desk: &Desk, asked: &Approve) -> Result<Answer> {
    let mut body = json!({});
    if let Some(up_to) = &asked.up_to {
        body["up_to"] = money(up_to, &desk.hotel().await?);
    }
    if let Some(note) = &asked.note {
        body["note"] = json!(note);
    }
    verb(desk, (asked.case, "approve", NO_QUERY), &body, &asked.read).await
}

/// Writes something down.
pub async fn note(desk: &Desk, asked: &Note) -> Result<Answer> {
    let read = AsRead { if_version: None };
    let body = json!({ "text": asked.text });
    verb(desk, (asked.case, "note", NO_QUERY), &body, &read).await
}

/// Opens a case by hand.
pub async fn open(desk: &Desk, asked: &Open) -> Result<Answer> {
    let body = json!({
        "room_type": asked.room_type, "from": asked.from, "to": asked.to, "note": asked.note,
    });
    let path: &[&str] = &["overbooking-cases"];
    let case = desk.change(Method::POST, (path, &[]), &body, None).await?;
    answered(desk, case).await
}

/// Opens a case again.
pub async fn reopen(desk: &Desk, asked: &Reopen) -> Result<Answer> {
    let body = json!({ "reason": asked.reason });
    verb(desk, (asked.case, "reopen", NO_QUERY), &body, &asked.read).await
}

/// Does something with a case, and shows it as it is then.
pub async fn verb(
    desk: &Desk,
    (case, verb, query): (i64, &str, &[(&str, &str)]),
    body: &Value,
    read: &AsRead,
) -> Result<Answer> {
    let id = case.to_string();
    let path: &[&str] = &["overbooking-cases", &id, verb];
    let version = read.if_version;
    let to = (path, query);
    let case = desk.change(Method::POST, to, body, version).await?;
    answered(desk, case).await
}

/// Nothing more is said than the path and the body say.
pub const NO_QUERY: &[(&str, &str)] = &[];

async fn answered(desk: &Desk, case: Value) -> Result<Answer> {
    let text = whole(&case, &desk.hotel().await?);
    Ok(Answer::of(case, text))
}
