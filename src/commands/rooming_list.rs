//! `keyrack rooming-list`: a group's guests, one reservation a line, drawn from its blocks.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::desk::{self, Answer, Asker, Desk};
use crate::table::{Table, items, said};

/// Arguments of `keyrack rooming-list`.
#[derive(Debug, Args)]
pub struct RoomingListArguments {
    /// CSV in UTF-8 with the columns `guest_name`, `arrival`, `departure`, and where they are
    /// wanted `room_type`, `allotment`, `adults`, `email`, `note`.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Code of the group.
    #[arg(long, value_name = "CODE")]
    group: String,
    /// Take the good lines although others are bad; else such a file is not taken at all.
    #[arg(long)]
    skip_bad_lines: bool,
    /// How a repeat is known; left out, by what stands in the file: the same file books nobody
    /// twice within a day.
    #[arg(long, value_name = "WORD")]
    key: Option<String>,
    #[command(flatten)]
    asker: Asker,
}

/// Takes a list in; says whether every line was taken.
pub async fn rooming_list(arguments: &RoomingListArguments) -> Result<bool> {
    let path = arguments.file.display();
    let bytes = fs::read(&arguments.file).with_context(|| format!("reading {path}"))?;
    desk::ask(&arguments.asker, "rooming-list", async |desk| {
        take(desk, arguments, bytes).await
    })
    .await
}

async fn take(desk: &Desk, asked: &RoomingListArguments, bytes: Vec<u8>) -> Result<Answer> {
    let mode = match asked.skip_bad_lines {
        true => "good_ones",
        false => "all_or_nothing",
    };
    let key = match &asked.key {
        Some(key) => key.clone(),
        None => format!("file-{}", hex::encode(Sha256::digest(&bytes))),
    };
    let path: &[&str] = &["groups", &asked.group, "rooming-list"];
    let query: &[(&str, &str)] = &[("mode", mode)];
    let json = desk.file((path, query), "text/csv", &key, bytes).await?;
    let text = in_words(&json);
    let is_well = json["refused"] == 0;
    Ok(Answer {
        json,
        text,
        is_well,
    })
}

/// Guests are not told: the file has their names.
fn in_words(json: &Value) -> String {
    let mut table = Table::new(&["line", "number", "why not"]);
    for line in items(&json["lines"]) {
        table.row(["line", "number", "why"].map(|field| said(&line[field])));
    }
    let before = match json["already"].as_u64() {
        Some(count) if count > 0 => format!(", {count} had theirs before"),
        _ => String::new(),
    };
    let [made, refused] = ["made", "refused"].map(|field| said(&json[field]));
    format!("{}{made} made{before}, {refused} not\n", table.shown())
}
