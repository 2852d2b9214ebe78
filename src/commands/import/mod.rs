//! `keyrack import`: what a hotel has already sold, before an account goes live.
//!
//! A channel must not be told of rooms that it has sold itself, so every reservation of the file is
//! recorded as the channel's own fact, under the channel's reference: when the channel speaks of it
//! later, that is its next revision. A second import changes nothing.

mod line;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use keyrack_ledger::command::By;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::{catalog, inventory, reservations};
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::reservation::RevisionKind;
use keyrack_model::stay::{Stay, StayDate, plus_days};
use sqlx::{Connection as _, PgConnection};

use crate::database::Database;
use crate::place::Place;
use crate::say;
use crate::startup::{clock, open_ledger};
use line::{Fallback, Line};
use plan::{Hotel, Plan, Planned};

/// Arguments of `keyrack import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// CSV with the columns property, account, channel_reference, room_type or channel_room_code,
    /// arrival, departure, quantity, guest_name, status, total, currency, booked_at.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Property of lines that name none, by its code.
    #[arg(long, value_name = "CODE")]
    property: Option<String>,
    /// Account of lines that name none, by its code.
    #[arg(long, value_name = "CODE")]
    account: Option<String>,
    /// Say what would overlap and which lines are bad; record nothing.
    #[arg(long)]
    dry_run: bool,
    /// Record the good lines although others are bad.
    #[arg(long)]
    skip_bad_lines: bool,
    /// Afterwards say that everything sold is imported: the account may go live.
    #[arg(long, conflicts_with = "dry_run")]
    done: bool,
    #[command(flatten)]
    place: Place,
}

/// Imports, or says what an import would do; says whether every line was good.
pub async fn import(arguments: &ImportArguments) -> Result<bool> {
    let path = arguments.file.display();
    let bytes = fs::read(&arguments.file).with_context(|| format!("reading {path}"))?;
    let fallback = Fallback {
        property: arguments.property.clone(),
        account: arguments.account.clone(),
    };
    let (lines, bad) = line::read(&bytes, &fallback).with_context(|| path.to_string())?;
    let config = arguments.place.config()?;
    let database = Database::that_is_there(&config).await?;
    let ledger = open_ledger(&config, &database).await?;
    let mut conn = PgConnection::connect_with(&database.options()).await?;
    let done = carry_out(arguments, &ledger, &mut conn, &lines, bad).await;
    conn.close().await?;
    ledger.close().await;
    database.close().await?;
    done
}

async fn carry_out(
    arguments: &ImportArguments,
    ledger: &Ledger,
    conn: &mut PgConnection,
    lines: &[Line],
    mut bad: Vec<line::BadLine>,
) -> Result<bool> {
    let hotels = hotels(ledger, lines).await?;
    let Plan {
        reservations,
        bad: more,
    } = plan::plan(lines, &hotels, clock());
    bad.extend(more);
    bad.sort_by_key(|bad| bad.number);
    for bad in &bad {
        say::line(&format!("line {}: {}", bad.number, bad.why));
    }
    let known = known(conn, &reservations).await?;
    let fresh: Vec<&Planned> = reservations
        .iter()
        .filter(|one| !is_known(&known, one))
        .collect();
    let beyond = tell_overlaps(ledger, &hotels, &fresh).await?;
    say::line(&format!(
        "{} lines, {} of them bad; {} reservations, {} of them known already; {beyond} nights \
         sold beyond what is free",
        lines.len() + bad.len() - more_than_once(lines, &bad),
        bad.len(),
        reservations.len(),
        reservations.len() - fresh.len(),
    ));
    if arguments.dry_run {
        return Ok(bad.is_empty());
    }
    if !bad.is_empty() && !arguments.skip_bad_lines {
        bail!(
            "nothing was imported: correct the bad lines, or leave them out with --skip-bad-lines"
        );
    }
    record(ledger, &known, &reservations).await?;
    if arguments.done {
        set_done(ledger, &hotels, lines, arguments).await?;
    }
    Ok(bad.is_empty())
}

/// Lines that could be read and were found bad only then.
fn more_than_once(lines: &[Line], bad: &[line::BadLine]) -> usize {
    let read: BTreeSet<u64> = lines.iter().map(|line| line.number).collect();
    bad.iter().filter(|bad| read.contains(&bad.number)).count()
}

/// Every hotel that the lines name and that there is.
async fn hotels(ledger: &Ledger, lines: &[Line]) -> Result<BTreeMap<String, Hotel>> {
    let codes: BTreeSet<&str> = lines.iter().map(|line| line.property.as_str()).collect();
    let mut hotels = BTreeMap::new();
    for code in codes {
        let Some(property) = catalog::property(ledger, code).await? else {
            continue;
        };
        let mut accounts = Vec::new();
        for row in catalog::accounts(ledger, property.id).await? {
            let mappings = catalog::mapping_codes(ledger, row.account.id).await?;
            accounts.push((row, mappings));
        }
        let room_types = catalog::room_types(ledger, property.id).await?;
        let id = property.id;
        let hotel = Hotel {
            id,
            room_types,
            accounts,
        };
        hotels.insert(code.to_owned(), hotel);
    }
    Ok(hotels)
}

/// References that the ledger knows: an earlier import, or the channel itself.
async fn known(
    conn: &mut PgConnection,
    reservations: &[Planned],
) -> Result<BTreeSet<(AccountId, String)>> {
    let accounts = reservations
        .iter()
        .map(|one| one.revision.account.0)
        .collect::<Vec<_>>();
    let references: Vec<&str> = reservations
        .iter()
        .map(|one| one.revision.report.reference.as_str())
        .collect();
    let rows: Vec<(i64, String)> = sqlx::query_as(
        "select account_id, reference from channel_reference
         where (account_id, reference) in (select * from unnest($1::bigint[], $2::text[]))",
    )
    .bind(accounts)
    .bind(references)
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|(account, reference)| (AccountId(account), reference))
        .collect())
}

fn is_known(known: &BTreeSet<(AccountId, String)>, planned: &Planned) -> bool {
    let revision = &planned.revision;
    known.contains(&(revision.account, revision.report.reference.clone()))
}

/// Tells each night on which the file sells more than is free; says how many.
async fn tell_overlaps(
    ledger: &Ledger,
    hotels: &BTreeMap<String, Hotel>,
    fresh: &[&Planned],
) -> Result<usize> {
    let mut count = 0;
    for (code, hotel) in hotels {
        let mine = fresh.iter().filter(|one| one.property == *code);
        let wanted = plan::wanted(mine.map(|one| &one.revision));
        let free = free(ledger, hotel, wanted.keys().map(|(_, night)| *night)).await?;
        for overlap in plan::overlaps(&wanted, &free) {
            let named = hotel
                .room_types
                .iter()
                .find(|known| known.id == overlap.room_type);
            let room_type = named.map_or("?", |known| known.code.as_str());
            let plan::Overlap {
                night, sold, free, ..
            } = overlap;
            let beyond = sold - free.max(0);
            say::line(&format!(
                "{code} {room_type} {night}: {beyond} sold beyond rooms ({sold} in the file, \
                 {free} free)"
            ));
            count += 1;
        }
    }
    Ok(count)
}

async fn free(
    ledger: &Ledger,
    hotel: &Hotel,
    nights: impl Iterator<Item = StayDate>,
) -> Result<BTreeMap<(RoomTypeId, StayDate), i32>> {
    let (mut first, mut last) = (None::<StayDate>, None::<StayDate>);
    for night in nights {
        first = Some(first.map_or(night, |first| first.min(night)));
        last = Some(last.map_or(night, |last| last.max(night)));
    }
    let range = first
        .zip(last)
        .and_then(|(from, last)| Stay::new(from, plus_days(last, 1)));
    let Some(range) = range else {
        return Ok(BTreeMap::new());
    };
    let (_, types) = inventory::availability(ledger, hotel.id, range, None).await?;
    let mut free = BTreeMap::new();
    for of_type in types {
        free.extend(
            of_type
                .nights
                .iter()
                .map(|line| ((of_type.id, line.night), line.free)),
        );
    }
    Ok(free)
}

/// Records every reservation; tells how many were new. A cancellation of something that nobody
/// knows takes nothing and is left out.
async fn record(
    ledger: &Ledger,
    known: &BTreeSet<(AccountId, String)>,
    reservations: &[Planned],
) -> Result<()> {
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for planned in reservations {
        let is_cancelled = planned.revision.report.kind == RevisionKind::Cancelled;
        if is_cancelled && !is_known(known, planned) {
            *done
                .entry("left out, since it is cancelled".to_owned())
                .or_default() += 1;
            continue;
        }
        let receipt = reservations::record(ledger, by(), planned.revision.clone()).await;
        let receipt = receipt.with_context(|| format!("line {}", planned.number))?;
        *done.entry(receipt.did).or_default() += 1;
    }
    for (did, count) in done {
        say::line(&format!("{count} {did}"));
    }
    Ok(())
}

async fn set_done(
    ledger: &Ledger,
    hotels: &BTreeMap<String, Hotel>,
    lines: &[Line],
    arguments: &ImportArguments,
) -> Result<()> {
    let mut named: BTreeSet<(&str, &str)> = lines
        .iter()
        .map(|line| (line.property.as_str(), line.account.as_str()))
        .collect();
    named.extend(
        arguments
            .property
            .as_deref()
            .zip(arguments.account.as_deref()),
    );
    for (property, account) in named {
        let rows = hotels.get(property).map(|hotel| hotel.accounts.as_slice());
        let rows = rows.unwrap_or_default();
        let Some((row, _)) = rows.iter().find(|(row, _)| row.account.code == account) else {
            continue;
        };
        catalog::set_import_done(ledger, row.account.id, &by()).await?;
        say::line(&format!("{property} {account}: what was sold is imported"));
    }
    Ok(())
}

fn by() -> By {
    By {
        actor: "command:import".to_owned(),
        request_id: None,
    }
}

#[cfg(test)]
mod tests {
    // Whatever stands in a file of reservations: lines are taken or named, and nothing breaks.
    use keyrack_strangers::{Message, grows_with_its_input, hostile};
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    const WHOLE: &str = "property,account,channel_reference,room_type,channel_room_code,arrival,\
                         departure,quantity,guest_name,status,total,currency,booked_at\n\
                         linden,bdc,881,double,,2030-06-01,2030-06-03,2,\"Ada \"\"A\"\" Example\",\
                         confirmed,240.00,EUR,2030-01-05T09:00:00Z\n\
                         linden,bdc,882,,DBL,2030-06-01,2030-06-03,,,cancelled,,,\n";
    const COUNTRY: &str = "account;channel_reference;room_type;arrival;departure;total;currency\n\
                           bdc;1;double;2030-06-01;2030-06-03;99;JPY\n\
                           bdc;2;double;2030-06-03;2030-06-03;;\n";

    fn fallback() -> Fallback {
        Fallback {
            property: Some("linden".to_owned()),
            account: None,
        }
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 300, ..Default::default() })]

        #[test]
        fn any_file_is_read_line_by_line_or_refused(
            Message(bytes) in hostile(vec![WHOLE.into(), COUNTRY.into()]),
        ) {
            let Ok((lines, bad)) = line::read(&bytes, &fallback()) else {
                return Ok(());
            };
            let ends = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
            prop_assert!(lines.len() + bad.len() <= ends + 1);
            prop_assert!(bad.iter().all(|bad| !bad.why.is_empty()));
            let plan = plan::plan(&lines, &BTreeMap::new(), jiff::Timestamp::UNIX_EPOCH);
            prop_assert!(plan.reservations.is_empty() && plan.bad.len() == lines.len());
            prop_assert!(more_than_once(&lines, &plan.bad) == lines.len());
        }
    }

    #[test]
    fn the_work_grows_with_the_file_also_where_every_line_is_bad() {
        let head = WHOLE.lines().next().expect("a head");
        let row = WHOLE.lines().nth(1).expect("a row");
        type Shape<'a> = (&'a str, Box<dyn Fn(usize) -> String + 'a>);
        let shapes: [Shape<'_>; 4] = [
            (
                "lines",
                Box::new(|n| format!("{head}\n{}", format!("{row}\n").repeat(n))),
            ),
            (
                "cells",
                Box::new(|n| format!("{head}\n{}", "x,".repeat(n * 20))),
            ),
            (
                "quotes",
                Box::new(|n| format!("{head}\n{}", "\"\"\"\",".repeat(n * 10))),
            ),
            ("columns", Box::new(|n| "property,".repeat(n * 20))),
        ];
        for (what, made) in shapes {
            grows_with_its_input(what, 6_000, made, |text| {
                let Ok((lines, bad)) = line::read(text.as_bytes(), &fallback()) else {
                    return;
                };
                let plan = plan::plan(&lines, &BTreeMap::new(), jiff::Timestamp::UNIX_EPOCH);
                assert_eq!(more_than_once(&lines, &plan.bad), lines.len());
                drop(bad);
            });
        }
    }
}
