//! A rooming list as a spreadsheet writes it: its lines, and what is wrong with each.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord, Trim};
use keyrack_model::stay::Stay;

use crate::wire::{Day, leaves_its_line};

/// A guest of the list. Personal data.
#[derive(Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Who comes.
    pub guest: String,
    /// Their e-mail.
    pub email: Option<String>,
    /// Code of the room type.
    pub room_type: Option<String>,
    /// Code of the allotment.
    pub allotment: Option<String>,
    /// Which nights.
    pub stay: Stay,
    /// How many adults.
    pub adults: Option<i32>,
    /// Staff's note.
    pub note: Option<String>,
}

/// The lines of a list, each good or with its number and what is wrong with it.
pub type Lines = Vec<Result<Line, (u64, String)>>;

/// Reads a list; an error where its columns are not what they should be.
pub fn read(bytes: &[u8]) -> Result<Lines, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = &with_plain_line_ends(bytes)[..];
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(bytes))
        .trim(Trim::All)
        .flexible(true)
        .from_reader(bytes);
    let headers = reader.headers();
    let headers = headers.map_err(|_| NOT_UTF_8.to_owned())?;
    let columns = columns(headers)?;
    let headers_count = headers.len();
    let mut lines = Vec::new();
    for record in reader.records() {
        if lines.len() >= LINES_MAX {
            return Err(format!(
                "the list has more than {LINES_MAX} lines: send it in parts"
            ));
        }
        lines.push(match record {
            Ok(record) if has_surplus(&record, headers_count) => {
                let words =
                    "has more cells than there are columns: quote a cell with a comma in it";
                Err((number(bytes, record.position()), words.to_owned()))
            }
            Ok(record) => {
                let number = number(bytes, record.position());
                let cells = Cells {
                    record,
                    columns: &columns,
                };
                line(number, &cells).map_err(|why| (number, why))
            }
            Err(error) => Err((number(bytes, error.position()), NOT_UTF_8.to_owned())),
        });
    }
    if lines.is_empty() {
        return Err("the list has no line beside its columns: fill in who comes".to_owned());
    }
    Ok(lines)
}

/// Whether something stands behind the last column; spreadsheets write empty cells there.
fn has_surplus(record: &StringRecord, columns: usize) -> bool {
    record.iter().skip(columns).any(|cell| !cell.is_empty())
}

/// Lines end with a feed alone, whatever machine wrote them: so they are counted alike.
fn with_plain_line_ends(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        if *byte == b'\r' {
            rest.next_if(|next| **next == b'\n');
        }
        plain.push(if *byte == b'\r' { b'\n' } else { *byte });
    }
    plain
}

/// The number of a record's line in the file; the reader gives the place before the blank lines
/// that it skips.
fn number(bytes: &[u8], at: Option<&csv::Position>) -> u64 {
    let Some(at) = at else { return 0 };
    let skipped = usize::try_from(at.byte()).unwrap_or(usize::MAX);
    let blank = bytes
        .iter()
        .skip(skipped)
        .take_while(|byte| **byte == b'\n');
    at.line() + u64::try_from(blank.count()).unwrap_or(0)
}

/// Spreadsheets of many countries write semicolons.
fn delimiter(bytes: &[u8]) -> u8 {
    let first = bytes.split(|byte| *byte == b'\n').next();
    let count = |wanted: u8| {
        let first = first.unwrap_or_default().iter();
        first.filter(|byte| **byte == wanted).count()
    };
    let most = [b'\t', b';', b','].into_iter().max_by_key(|at| count(*at));
    most.unwrap_or(b',')
}

fn columns(headers: &StringRecord) -> Result<BTreeMap<String, usize>, String> {
    let mut columns = BTreeMap::new();
    for (at, header) in headers.iter().enumerate() {
        let name = header.to_ascii_lowercase().replace([' ', '-'], "_");
        if !COLUMNS.contains(&name.as_str()) {
            let known = COLUMNS.join(", ");
            let header: String = header.chars().take(HEADER_SHOWN).collect();
            return Err(format!("there is no column {header:?}: use {known}"));
        }
        if columns.insert(name, at).is_some() {
            return Err(format!(
                "the column {header:?} stands there twice: leave one out"
            ));
        }
    }
    for needed in &COLUMNS[..3] {
        if !columns.contains_key(*needed) {
            return Err(format!(
                "the column {needed} is missing: add it to the first line"
            ));
        }
    }
    Ok(columns)
}

/// Characters of a column's name that a message repeats.
const HEADER_SHOWN: usize = 40;

/// The first three must be there.
const COLUMNS: [&str; 8] = [
    "guest_name",
    "arrival",
    "departure",
    "room_type",
    "allotment",
    "adults",
    "email",
    "note",
];

const NOT_UTF_8: &str = "it cannot be read: save the list as CSV in UTF-8";

/// Lines of one list: they are judged and written in one piece.
const LINES_MAX: usize = 300;

struct Cells<'a> {
    record: StringRecord,
    columns: &'a BTreeMap<String, usize>,
}

impl Cells<'_> {
    /// What stands in a column, where anything does.
    fn text(&self, column: &str, max: usize) -> Result<Option<String>, String> {
        let at = self.columns.get(column);
        let text = at.and_then(|at| self.record.get(*at)).unwrap_or_default();
        if text.chars().count() > max && !text.contains('\n') {
            return Err(in_column(
                column,
                &format!("has more than {max} characters"),
            ));
        }
        if text.contains('\n') {
            let words = "must be one line: is there a quotation mark that nothing closes?";
            return Err(in_column(column, words));
        }
        if text.chars().any(leaves_its_line) {
            return Err(in_column(
                column,
                "must be one line without control characters",
            ));
        }
        Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    fn day(&self, column: &str) -> Result<Day, String> {
        let text = self.text(column, 20)?.unwrap_or_default();
        Day::parse(&text).ok_or_else(|| in_column(column, "must be a date as 2030-12-31"))
    }
}

/// What is wrong in a column, as people name it.
fn in_column(column: &str, words: &str) -> String {
    format!("{}: {words}", column.replace('_', " "))
}

fn line(number: u64, cells: &Cells<'_>) -> Result<Line, String> {
    let guest = cells.text("guest_name", 200)?;
    let guest = guest.ok_or_else(|| "guest name: must not be empty".to_owned())?;
    let (arrival, departure) = (cells.day("arrival")?, cells.day("departure")?);
    let stay = Stay::new(arrival.0, departure.0);
    let stay = stay.ok_or_else(|| {
        "departure: must be after the arrival, by at most 2,200 nights".to_owned()
    })?;
    let adults = match cells.text("adults", 40)? {
        None => None,
        Some(text) => {
            let adults = text
                .parse()
                .ok()
                .filter(|adults| (1..=100).contains(adults));
            Some(adults.ok_or_else(|| "adults: must be 1 to 100".to_owned())?)
        }
    };
    Ok(Line {
        number,
        guest,
        email: cells.text("email", 254)?,
        room_type: cells.text("room_type", 40)?,
        allotment: cells.text("allotment", 40)?,
        stay,
        adults,
        note: cells.text("note", 4_000)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whys(text: &str) -> Vec<String> {
        let lines = read(text.as_bytes()).expect("good columns");
        let each = lines.into_iter().map(|line| match line {
            Ok(line) => format!("{}: {}", line.number, line.stay),
            Err((number, why)) => format!("{number}: {why}"),
        });
        each.collect()
    }

    #[test]
    fn each_line_is_read_for_itself_whatever_the_spreadsheet_writes() {
        let text = "\u{feff}Guest Name;Arrival;Departure;Adults\n\
                    Ada;2030-06-10;2030-06-12;2\n\
                    ;2030-06-10;2030-06-12;2\n\
                    Bob;2030-06-12;2030-06-12;\n\
                    Cyd;10.6.2030;2030-06-12;\n\
                    Dan;2030-06-10;2030-06-11;many\n\
                    Eve;2030-06-10;2030-06-11\n\
                    Fay;2030-06-10;2030-06-11;2;;\n\
                    Gus;2030-06-10;2030-06-11;2;late\n";
        let expected = [
            "2: 2030-06-10..2030-06-12",
            "3: guest name: must not be empty",
            "4: departure: must be after the arrival, by at most 2,200 nights",
            "5: arrival: must be a date as 2030-12-31",
            "6: adults: must be 1 to 100",
            "7: 2030-06-10..2030-06-11",
            "8: 2030-06-10..2030-06-11",
            "9: has more cells than there are columns: quote a cell with a comma in it",
        ];
        assert_eq!(whys(text), expected);
    }

    /// As other machines end their lines, and with blank lines and a cell of two lines between.
    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        for end in ["\n", "\r\n", "\r"] {
            let text = "guest_name,arrival,departure\n\n\n\
                        Ada,2030-06-10,2030-06-12\n\
                        \"Bob\nBob\",2030-06-10,2030-06-12\n\n\
                        ,2030-06-10,2030-06-12\n";
            let expected = [
                "4: 2030-06-10..2030-06-12",
                "5: guest name: must be one line: is there a quotation mark that nothing closes?",
                "8: guest name: must not be empty",
            ];
            assert_eq!(whys(&text.replace('\n', end)), expected, "{end:?}");
        }
    }

    #[test]
    fn columns_that_are_not_known_missing_or_doubled_are_named() {
        for (text, says) in [
            ("", "the column guest_name is missing"),
            ("guest_name,arrival\nA,2030-06-10\n", "departure is missing"),
            (
                "guest_name,arrival,departure,shoes\n",
                "no column \"shoes\"",
            ),
            ("guest_name,arrival,departure,arrival\n", "twice"),
            ("guest_name,arrival,departure\n", "no line"),
        ] {
            let why = read(text.as_bytes()).err().expect("refused");
            assert!(why.contains(says), "{text:?}: {why}");
        }
    }
}
