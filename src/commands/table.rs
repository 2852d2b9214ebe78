//! Tables for people, out of what the API answers.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use keyrack_model::stay::plus_days;
use serde_json::Value;

/// Rows under a head. Columns of numbers stand to the right; the last one may be as long as it is.
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Nothing but its head.
    pub fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|text| (*text).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// One more row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As it is shown, each line with its end.
    pub fn shown(&self) -> String {
        let wide = |text: &String| text.chars().count();
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let widths: Vec<usize> = (0..self.head.len())
            .map(|at| lines().filter_map(|line| line.get(at)).map(wide).max())
            .map(|widest| widest.unwrap_or(0))
            .collect();
        let is_number: Vec<bool> = (0..self.head.len()).map(|at| self.is_number(at)).collect();
        let mut text = String::new();
        for line in lines() {
            let mut whole = String::new();
            for ((cell, width), is_number) in line.iter().zip(&widths).zip(&is_number) {
                let _ = match is_number {
                    true => write!(whole, "{cell:>width$}  "),
                    false => write!(whole, "{cell:<width$}  "),
                };
            }
            text.push_str(whole.trim_end());
            text.push('\n');
        }
        text
    }

    fn is_number(&self, at: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(at));
        cells.all(|cell| cell == NONE || cell.parse::<i64>().is_ok())
    }
}

/// A field as it is read: money with its currency, nothing as a dash.
pub fn said(value: &Value) -> String {
    match value {
        Value::Null => NONE.to_owned(),
        Value::String(text) => text.chars().map(tame).collect(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(all) => all.iter().map(said).collect::<Vec<_>>().join(", "),
        Value::Object(_) if value["amount"].is_string() => {
            format!("{} {}", said(&value["amount"]), said(&value["currency"]))
        }
        other => other.to_string(),
    }
}

/// What would end a line, steer the terminal or turn the direction of writing becomes a blank.
fn tame(letter: char) -> char {
    let turns = matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match letter.is_control() || turns {
        true => ' ',
        false => letter,
    }
}

/// The things of a list; none where it is no list.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Nights in a row that say the same of some fields, as rows: first night, the morning after the
/// last, and the fields.
pub fn runs(nights: &[Value], fields: &[&str]) -> Vec<Vec<String>> {
    let mut runs: Vec<(Option<Date>, Vec<String>)> = Vec::new();
    for night in nights {
        let date: Option<Date> = said(&night["stay_date"]).parse().ok();
        let after = date.map(|date| plus_days(date, 1));
        let says: Vec<String> = fields.iter().map(|field| said(&night[*field])).collect();
        match runs.last_mut() {
            Some((end, row)) if *end == date && row[2..] == says => {
                *end = after;
                row[1] = shown_date(after);
            }
            _ => {
                let mut row = vec![shown_date(date), shown_date(after)];
                row.extend(says);
                runs.push((after, row));
            }
        }
    }
    runs.into_iter().map(|(_, row)| row).collect()
}

fn shown_date(date: Option<Date>) -> String {
    date.map_or_else(|| NONE.to_owned(), |date| date.to_string())
}

/// An instant as a clock at the property shows it.
pub fn at_home(value: &Value, zone: &TimeZone) -> String {
    let told: Option<Timestamp> = value.as_str().and_then(|text| text.parse().ok());
    let Some(told) = told else {
        return said(value);
    };
    let local = zone.to_datetime(told);
    let (date, time) = (local.date(), local.time());
    format!("{date} {:02}:{:02}", time.hour(), time.minute())
}

/// The zone of a property as the API shows it.
pub fn zone_of(hotel: &Value) -> TimeZone {
    let name = hotel["time_zone"].as_str().unwrap_or_default();
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

/// What stands where nothing is to be said.
pub const NONE: &str = "-";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_stand_right_and_words_left() {
        let mut table = Table::new(&["who", "rooms", "why"]);
        table.row(["Ada".to_owned(), "12".to_owned(), "a fair".to_owned()]);
        table.row(["Überall".to_owned(), NONE.to_owned(), String::new()]);
        let shown = "who      rooms  why\nAda         12  a fair\nÜberall      -\n";
        assert_eq!(table.shown(), shown);
    }

    #[test]
    fn nights_that_say_the_same_are_one_row() {
        let night = |date: &str, free: i32| json!({"stay_date": date, "free": free});
        let nights = [
            night("2030-02-27", 2),
            night("2030-02-28", 2),
            night("2030-03-01", 1),
            night("2030-03-03", 1),
        ];
        let shown: Vec<String> = runs(&nights, &["free"])
            .iter()
            .map(|r| r.join(" "))
            .collect();
        let each = [
            "2030-02-27 2030-03-01 2",
            "2030-03-01 2030-03-02 1",
            "2030-03-03 2030-03-04 1",
        ];
        assert_eq!(shown, each);
    }

    #[test]
    fn money_has_its_currency_and_instants_are_of_the_property() {
        assert_eq!(
            said(&json!({"amount": "150.00", "currency": "EUR"})),
            "150.00 EUR"
        );
        let zone = TimeZone::get("Europe/Rome").unwrap();
        assert_eq!(
            at_home(&json!("2030-06-02T07:00:00Z"), &zone),
            "2030-06-02 09:00"
        );
        assert_eq!(at_home(&Value::Null, &zone), "-");
        assert_eq!(said(&json!("a\nb\u{1b}[2Jc\u{202e}d")), "a b [2Jc d");
    }
}
