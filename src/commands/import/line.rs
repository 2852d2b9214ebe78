//! The lines of the file: what a hotel has already sold, one room type of one reservation a line.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::{Context as _, Result, bail};
use csv::{ReaderBuilder, StringRecord, Trim};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use keyrack_model::money::{Currency, Money};
use keyrack_model::reservation::GuestName;
use keyrack_model::stay::Stay;

/// A line that can be used as far as it can be told without asking the ledger.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Code of the property.
    pub property: String,
    /// Code of the account.
    pub account: String,
    /// The channel's reference.
    pub reference: String,
    /// Code of our room type, or else …
    pub room_type: Option<String>,
    /// … the channel's code of it.
    pub channel_room_code: Option<String>,
    /// The nights.
    pub stay: Stay,
    /// Rooms.
    pub quantity: i32,
    /// Who comes. Personal data.
    pub guest_name: GuestName,
    /// Whether the reservation stands.
    pub is_cancelled: bool,
    /// Price of this line.
    pub total: Option<Money>,
    /// When the guest booked.
    pub booked_at: Option<Timestamp>,
}

/// A line that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Why, as a sentence that tells what would have been right.
    pub why: String,
}

/// What a line takes from the command line where the file does not say it.
#[derive(Clone, Debug, Default)]
pub struct Fallback {
    /// Code of the property.
    pub property: Option<String>,
    /// Code of the account.
    pub account: Option<String>,
}

/// Reads a file; an error where its columns are not what they should be.
pub fn read(bytes: &[u8], fallback: &Fallback) -> Result<(Vec<Line>, Vec<BadLine>)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(bytes))
        .trim(Trim::All)
        .flexible(true)
        .from_reader(bytes);
    let columns = columns(reader.headers().context("the first line has no columns")?)?;
    let (mut lines, mut bad) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let (number, line) = match record {
            Ok(record) => {
                let number = record.position().map_or(0, csv::Position::line);
                (
                    number,
                    line(
                        number,
                        &Cells {
                            record,
                            columns: &columns,
                        },
                        fallback,
                    ),
                )
            }
            Err(error) => {
                let number = error.position().map_or(0, csv::Position::line);
                (
                    number,
                    Err("this line cannot be read; is it UTF-8?".to_owned()),
                )
            }
        };
        match line {
            Ok(line) => lines.push(line),
            Err(why) => bad.push(BadLine { number, why }),
        }
    }
    Ok((lines, bad))
}

/// Spreadsheets of many countries write semicolons.
fn delimiter(bytes: &[u8]) -> u8 {
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let count = |wanted: u8| first.iter().filter(|byte| **byte == wanted).count();
    let most = [b',', b';', b'\t']
        .into_iter()
        .rev()
        .max_by_key(|byte| count(*byte));
    most.unwrap_or(b',')
}

fn columns(headers: &StringRecord) -> Result<BTreeMap<String, usize>> {
    let mut columns = BTreeMap::new();
    for (at, header) in headers.iter().enumerate() {
        let name = header.to_ascii_lowercase().replace([' ', '-'], "_");
        if !COLUMNS.contains(&name.as_str()) {
            bail!(
                "there is no column {header:?}; known are {}",
                COLUMNS.join(", ")
            );
        }
        if columns.insert(name, at).is_some() {
            bail!("the column {header:?} stands there twice");
        }
    }
    for needed in ["channel_reference", "arrival", "departure"] {
        if !columns.contains_key(needed) {
            bail!("the column {needed} is missing");
        }
    }
    if !columns.contains_key("room_type") && !columns.contains_key("channel_room_code") {
        bail!("one of the columns room_type and channel_room_code is needed");
    }
    Ok(columns)
}

struct Cells<'a> {
    record: StringRecord,
    columns: &'a BTreeMap<String, usize>,
}

impl Cells<'_> {
    /// The text of a cell; an empty one is none.
    fn text(&self, column: &str) -> Option<&str> {
        let at = *self.columns.get(column)?;
        self.record.get(at).filter(|text| !text.is_empty())
    }

    fn needed(&self, column: &str) -> Result<&str, String> {
        self.text(column)
            .ok_or_else(|| format!("{column} is empty"))
    }

    fn date(&self, column: &str) -> Result<Date, String> {
        let text = self.needed(column)?;
        let parsed: Result<Date, _> = text.parse();
        let date = parsed.map_err(|_| format!("{column} is {text:?}, not a date as YYYY-MM-DD"))?;
        match YEARS.contains(&date.year()) {
            true => Ok(date),
            false => Err(format!(
                "{column} is {text:?}, not of the years {} to {}",
                YEARS.start(),
                YEARS.end()
            )),
        }
    }
}

fn line(number: u64, cells: &Cells<'_>, fallback: &Fallback) -> Result<Line, String> {
    let or = |column: &str, fallback: &Option<String>| {
        let given = cells
            .text(column)
            .map(str::to_owned)
            .or_else(|| fallback.clone());
        given.ok_or_else(|| format!("{column} is empty, and no --{column} was given"))
    };
    let (arrival, departure) = (cells.date("arrival")?, cells.date("departure")?);
    let stay = stay(arrival, departure)?;
    let quantity = match cells.text("quantity") {
        None => 1,
        Some(text) => text
            .parse::<i32>()
            .ok()
            .filter(|quantity| (1..=QUANTITY_MAX).contains(quantity))
            .ok_or_else(|| {
                format!("quantity is {text:?}, not a number from 1 to {QUANTITY_MAX}")
            })?,
    };
    let (room_type, channel_room_code) = (cells.text("room_type"), cells.text("channel_room_code"));
    if room_type.or(channel_room_code).is_none() {
        return Err("neither room_type nor channel_room_code is filled in".to_owned());
    }
    Ok(Line {
        number,
        property: or("property", &fallback.property)?,
        account: or("account", &fallback.account)?,
        reference: cells.needed("channel_reference")?.to_owned(),
        room_type: room_type.map(str::to_owned),
        channel_room_code: channel_room_code.map(str::to_owned),
        stay,
        quantity,
        guest_name: GuestName(cells.text("guest_name").unwrap_or_default().to_owned()),
        is_cancelled: is_cancelled(cells.text("status").unwrap_or("confirmed"))?,
        total: total(cells)?,
        booked_at: cells.text("booked_at").map(instant).transpose()?,
    })
}

fn stay(arrival: Date, departure: Date) -> Result<Stay, String> {
    Stay::new(arrival, departure).ok_or_else(|| match arrival < departure {
        true => format!(
            "from the arrival {arrival} to the departure {departure} are more than {} nights",
            Stay::NIGHTS_MAX
        ),
        false => format!("the departure {departure} is not after the arrival {arrival}"),
    })
}

fn is_cancelled(status: &str) -> Result<bool, String> {
    match status.to_ascii_lowercase().as_str() {
        "confirmed" | "checked_in" => Ok(false),
        "cancelled" | "canceled" => Ok(true),
        _ => Err(format!(
            "status is {status:?}, not confirmed, checked_in or cancelled"
        )),
    }
}

fn total(cells: &Cells<'_>) -> Result<Option<Money>, String> {
    let Some(text) = cells.text("total") else {
        return Ok(None);
    };
    let code = cells
        .text("currency")
        .ok_or("total is given without a currency")?;
    let currency = Currency::from_code(code)
        .ok_or_else(|| format!("currency is {code:?}, not a code such as EUR"))?;
    let money = Money::from_decimal(text, currency)
        .ok_or_else(|| format!("total is {text:?}, not an amount such as 148.50 in {code}"))?;
    Ok(Some(money))
}

/// With its offset, or else as told in UTC: it only orders and informs.
fn instant(text: &str) -> Result<Timestamp, String> {
    let wrong = || format!("booked_at is {text:?}, not an instant such as 2026-05-01T10:30:00Z");
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    let local: jiff::civil::DateTime = text.parse().map_err(|_| wrong())?;
    let zoned = local.to_zoned(TimeZone::UTC).map_err(|_| wrong())?;
    Ok(zoned.timestamp())
}

const COLUMNS: [&str; 13] = [
    "property",
    "account",
    "channel_reference",
    "room_type",
    "channel_room_code",
    "arrival",
    "departure",
    "quantity",
    "guest_name",
    "status",
    "total",
    "currency",
    "booked_at",
];
/// Years that a stay can lie in: whatever else stands in a file is a slip of the finger.
const YEARS: RangeInclusive<i16> = 1900..=9998;
/// More rooms on one line are a slip of the finger.
const QUANTITY_MAX: i32 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Vec<Line>, Vec<BadLine>) {
        let fallback = Fallback {
            property: Some("linden".into()),
            account: None,
        };
        read(text.as_bytes(), &fallback).unwrap()
    }

    #[test]
    fn a_line_says_what_was_sold() {
        let (lines, bad) = read_text(
            "account;channel_reference;room_type;arrival;departure;quantity;guest_name;total;\
             currency;booked_at\n\
             bdc;881;double;2030-06-01;2030-06-03;2;Ada Example;240.00;EUR;2030-01-05T09:00:00Z\n",
        );
        assert!(bad.is_empty(), "{bad:?}");
        let line = &lines[0];
        assert_eq!(
            (line.number, line.property.as_str(), line.account.as_str()),
            (2, "linden", "bdc")
        );
        assert_eq!((line.stay.length(), line.quantity), (2, 2));
        assert_eq!(line.total.map(|total| total.minor), Some(24_000));
        assert!(
            !format!("{line:?}").contains("Ada"),
            "a guest leaves no trace in a log"
        );
    }

    #[test]
    fn a_bad_line_is_named_by_its_number_and_hides_no_neighbour() {
        let (lines, bad) = read_text(
            "account,channel_reference,room_type,arrival,departure,status,total\n\
             bdc,1,double,2030-06-01,2030-06-03,,\n\
             bdc,2,double,2030-06-03,2030-06-03,,\n\
             bdc,3,double,03.06.2030,2030-06-04,,\n\
             ,4,double,2030-06-01,2030-06-03,,\n\
             bdc,5,double,2030-06-01,2030-06-03,maybe,\n\
             bdc,6,double,2030-06-01,2030-06-03,,12\n\
             bdc,7,,2030-06-01,2030-06-03,,\n\
             bdc,8,double,2030-06-01,2030-06-03,cancelled,\n",
        );
        let numbers: Vec<u64> = bad.iter().map(|bad| bad.number).collect();
        assert_eq!(numbers, [3, 4, 5, 6, 7, 8], "{bad:?}");
        let good: Vec<&str> = lines.iter().map(|line| line.reference.as_str()).collect();
        assert_eq!(good, ["1", "8"]);
        assert!(lines[1].is_cancelled);
    }

    #[test]
    fn a_date_that_cannot_be_is_told_truly() {
        let (lines, bad) = read_text(
            "account,channel_reference,room_type,arrival,departure\n\
             bdc,1,double,2030-06-01,9999-12-01\n\
             bdc,2,double,0000-12-01,2030-06-01\n\
             bdc,3,double,2030-06-01,2040-06-01\n\
             bdc,4,double,2030-06-02,2030-06-01\n",
        );
        let whys: Vec<&str> = bad.iter().map(|bad| bad.why.as_str()).collect();
        assert_eq!(
            whys,
            [
                "departure is \"9999-12-01\", not of the years 1900 to 9998",
                "arrival is \"0000-12-01\", not of the years 1900 to 9998",
                "from the arrival 2030-06-01 to the departure 2040-06-01 are more than 2200 nights",
                "the departure 2030-06-01 is not after the arrival 2030-06-02",
            ]
        );
        assert!(lines.is_empty());
    }

    #[test]
    fn a_column_that_nobody_knows_is_refused() {
        let text = "channel_reference,room_type,arrival,departure,cardnumber\n";
        let refused = read(text.as_bytes(), &Fallback::default()).expect_err("refused");
        assert!(refused.to_string().contains("cardnumber"), "{refused}");
    }
}
