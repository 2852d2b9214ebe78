//! Shapes on the wire that several routes share: dates, nights, money, and how fields are checked.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use keyrack_model::money::Money;
use keyrack_model::stay::{Stay, StayRange};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::problem::sentence::of_field;
use crate::problem::{FieldError, Problem};

/// A civil date, `YYYY-MM-DD` and nothing else, of the years 1900 to 9998 (so that the next morning
/// always exists).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = Date, example = "2030-02-14")]
pub struct Day(pub Date);

impl Day {
    /// `None` where the text is no such date.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let shaped = bytes.len() == 10
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        shaped.then_some(())?;
        let date = Date::new(
            text.get(0..4)?.parse().ok()?,
            text.get(5..7)?.parse().ok()?,
            text.get(8..10)?.parse().ok()?,
        )
        .ok()?;
        (1900..=9998).contains(&date.year()).then_some(Self(date))
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom("a date is YYYY-MM-DD, of the years 1900 to 9998")
        })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An instant, RFC 3339, of the same years as a [`Day`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2030-02-14T12:00:00Z")]
pub struct Instant(pub Timestamp);

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read: Option<Timestamp> = text.parse().ok();
        let years = 1900..=9998;
        read.filter(|read| years.contains(&read.to_zoned(TimeZone::UTC).year()))
            .map(Self)
            .ok_or_else(|| {
                serde::de::Error::custom(
                    "an instant is written as 2030-02-14T12:00:00Z, of the years 1900 to 9998",
                )
            })
    }
}

/// The nights `from..to`, or which query parameter is wrong.
pub fn range(from: Day, to: Day) -> Result<StayRange, Problem> {
    Stay::new(from.0, to.0).ok_or_else(|| {
        Problem::invalid(
            "/to",
            "must be after from (the end is excluded), by at most 2,200 nights",
        )
    })
}

/// An amount of money: a decimal string, never a float.
#[derive(Serialize, ToSchema)]
#[schema(as = Money)]
pub struct MoneyShape {
    /// With at most as many digits after the point as the currency has.
    #[schema(example = "120.00")]
    pub amount: String,
    /// ISO 4217.
    #[schema(example = "EUR")]
    pub currency: String,
}

/// A night and its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct NightPrice {
    /// The night.
    pub stay_date: Day,
    /// Of one room, as it was told or agreed: gross where nothing else was said.
    #[schema(value_type = MoneyShape)]
    pub price: Money,
}

/// An override, written down with its reason.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceBody {
    /// Why; not empty.
    pub reason: String,
    /// What may be overridden.
    #[schema(value_type = Vec<ForceShape>)]
    pub allow: Vec<keyrack_ledger::decide::refusal::Force>,
}

/// What a force may override. The front desk may the first two.
#[derive(Serialize, ToSchema)]
#[schema(as = Force)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's enum in the OpenAPI document"
)]
pub enum ForceShape {
    /// A stay rule.
    Restriction,
    /// A stop sell, a night that is not yet open.
    Closed,
    /// Nights before the business day.
    Past,
    /// What an allotment keeps.
    Allotment,
    /// More rooms than there are.
    Oversell,
}

/// Tells an absent field (`None`) from one that is `null` (`Some(None)`).
pub fn present<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Whether a character could forge lines of a printed sheet: it controls a terminal, ends a line or
/// turns the direction of what stands after it.
pub fn leaves_its_line(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The rules of a whole list, each read at its place; what is wrong with any of them is said at
/// once.
pub fn rules<T, R>(
    told: Vec<T>,
    mut read: impl FnMut(T, usize, &mut Wrongs) -> Option<R>,
) -> Result<Vec<R>, Problem> {
    let mut wrongs = Wrongs::default();
    wrongs.unless(told.len() <= 200, "/rules", "at most 200");
    let each = told.into_iter().enumerate();
    let rules = each
        .filter_map(|(at, rule)| read(rule, at, &mut wrongs))
        .collect();
    wrongs.finish()?;
    Ok(rules)
}

/// A refusal of the ledger, which names the member of a list and what is wrong in it
/// (`/3/account`), as one of the list's field: `/rules/3/account`.
pub fn of_list(list: &str, mut problem: Problem) -> Problem {
    for error in &mut problem.errors {
        if !error.pointer.starts_with(list) {
            error.pointer = format!("{list}{}", error.pointer);
        }
    }
    if let Some(first) = problem.errors.first() {
        problem.detail = of_field(&first.pointer, &first.message);
    }
    problem
}

/// Collects every field that is wrong, so that a caller mends them at once.
#[derive(Debug, Default)]
pub struct Wrongs(Vec<FieldError>);

impl Wrongs {
    /// Notes a wrong field.
    pub fn add(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldError {
            pointer: pointer.into(),
            message: message.into(),
        });
    }

    /// Notes the field unless `is_right`.
    pub fn unless(&mut self, is_right: bool, pointer: impl Into<String>, message: &str) {
        if !is_right {
            self.add(pointer, message);
        }
    }

    /// Notes a text that is longer than `max` characters.
    pub fn longest(&mut self, text: Option<&str>, max: usize, pointer: impl Into<String>) {
        if text.is_some_and(|text| text.chars().count() > max) {
            self.add(pointer, format!("at most {max} characters"));
        }
    }

    /// Notes a text that is blank, or no single line of at most `max` characters.
    pub fn named(&mut self, text: &str, max: usize, pointer: impl Into<String>) {
        let pointer = pointer.into();
        self.unless(!text.trim().is_empty(), &*pointer, "must not be empty");
        self.line(Some(text), max, pointer);
    }

    /// Notes a text that is longer than `max` characters, or would not stay on its line of a sheet.
    pub fn line(&mut self, text: Option<&str>, max: usize, pointer: impl Into<String>) {
        let pointer = pointer.into();
        let is_plain = text.is_none_or(|text| !text.chars().any(leaves_its_line));
        let message = "must hold no line breaks, control characters or bidirectional overrides";
        self.unless(is_plain, &*pointer, message);
        self.longest(text, max, pointer);
    }

    /// The nights of a rule, where it names any: a note where one end stands alone, or they stand
    /// in no order.
    pub fn nights(
        &mut self,
        from: Option<Day>,
        to: Option<Day>,
        pointer: impl Into<String>,
    ) -> Option<Stay> {
        let nights = from.zip(to).and_then(|(from, to)| Stay::new(from.0, to.0));
        let is_ranged = from.is_some() || to.is_some();
        let message = "from and to stand together, to after from";
        self.unless(nights.is_some() || !is_ranged, pointer, message);
        nights
    }

    /// The stay, or a note.
    pub fn stay(&mut self, arrival: Day, departure: Day, pointer: &str) -> Option<Stay> {
        let stay = Stay::new(arrival.0, departure.0);
        if stay.is_none() {
            let message = "must be after arrival (the end is excluded), by at most 2,200 nights";
            self.add(format!("{pointer}/departure"), message);
        }
        stay
    }

    /// All that was noted, as a problem.
    pub fn finish(self) -> Result<(), Problem> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Problem::invalid_fields(self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_in_one_way_only() {
        assert!(Day::parse("2028-02-29").is_some());
        for wrong in [
            "2030-02-30",
            "2030-02-29",
            "20300214",
            "2030-W07-4",
            "2030-02-14T10:00",
            "9999-12-31",
            "0000-01-01",
            "-001-01-01",
            "2030-2-14",
            "２030-02-1",
            "",
        ] {
            assert_eq!(Day::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_absent_field_is_not_a_null() {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default, deserialize_with = "present")]
            rate: Option<Option<i32>>,
        }
        let read = |text| serde_json::from_str::<Body>(text).map(|body| body.rate);
        assert_eq!(read("{}").ok(), Some(None));
        assert_eq!(read(r#"{"rate":null}"#).ok(), Some(Some(None)));
        assert_eq!(read(r#"{"rate":3}"#).ok(), Some(Some(Some(3))));
    }
}
