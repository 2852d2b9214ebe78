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
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(bytes))
        .trim(Trim::All)
        .flexible(true)
        .from_reader(bytes);
    let headers = reader.headers();
    let headers = headers.map_err(|_| "the first line has no columns in UTF-8".to_owned())?;
    let columns = columns(headers)?;
    let mut lines = Vec::new();
    for record in reader.records() {
        if lines.len() >= LINES_MAX {
            return Err(format!("at most {LINES_MAX} lines: send it in parts"));
        }
        lines.push(match record {
            Ok(record) => {
                let number = record.position().map_or(0, csv::Position::line);
                let cells = Cells {
                    record,
                    columns: &columns,
                };
                line(number, &cells).map_err(|why| (number, why))
            }
            Err(error) => {
                let number = error.position().map_or(0, csv::Position::line);
                Err((number, "this line cannot be read; is it UTF-8?".to_owned()))
            }
        });
    }
    if lines.is_empty() {
        return Err("the list has no line beside its columns".to_owned());
    }
    Ok(lines)
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
            return Err(format!("there is no column {header:?}; known are {known}"));
        }
        if columns.insert(name, at).is_some() {
            return Err(format!("the column {header:?} stands there twice"));
        }
    }
    for needed in &COLUMNS[..3] {
        if !columns.contains_key(*needed) {
            return Err(format!("the column {needed} is missing"));
        }
    }
    Ok(columns)
}

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
        if text.chars().count() > max {
            return Err(format!("{column}: at most {max} characters"));
        }
        if text.chars().any(leaves_its_line) {
            return Err(format!("{column}: must hold no control characters"));
        }
        Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    fn day(&self, column: &str) -> Result<Day, String> {
        let text = self.text(column, 20)?.unwrap_or_default();
        Day::parse(&text).ok_or_else(|| format!("{column}: a date is YYYY-MM-DD"))
    }
}

fn line(number: u64, cells: &Cells<'_>) -> Result<Line, String> {
    let guest = cells.text("guest_name", 200)?;
    let guest = guest.ok_or_else(|| "guest_name: must not be empty".to_owned())?;
    let (arrival, departure) = (cells.day("arrival")?, cells.day("departure")?);
    let stay = Stay::new(arrival.0, departure.0);
    let stay = stay.ok_or_else(|| "departure: must be after arrival".to_owned())?;
    let adults = match cells.text("adults", 40)? {
        None => None,
        Some(text) => {
            let adults = text
                .parse()
                .ok()
                .filter(|adults| (1..=100).contains(adults));
            Some(adults.ok_or_else(|| "adults: 1 to 100".to_owned())?)
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
                    Eve;2030-06-10;2030-06-11\n";
        let expected = [
            "2: 2030-06-10..2030-06-12",
            "3: guest_name: must not be empty",
            "4: departure: must be after arrival",
            "5: arrival: a date is YYYY-MM-DD",
            "6: adults: 1 to 100",
            "7: 2030-06-10..2030-06-11",
        ];
        assert_eq!(whys(text), expected);
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
