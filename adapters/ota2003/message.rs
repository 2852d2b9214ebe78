//! What all messages share: namespace, success, errors and warnings, dates, instants, amounts.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use keyrack_model::money::{Currency, Money};
use keyrack_model::stay::{Stay, StayDate, StayRange};

use crate::fault::kept;
use crate::xml::Element;

/// The namespace of every release.
pub(crate) const NAMESPACE: &str = "http://www.opentravel.org/OTA/2003/05";

/// Characters of a channel's code that are kept: more than any channel gives, and few enough to be
/// the key of a row.
const CODE_CHARS_MAX: usize = 64;

/// A channel's code of a hotel, a room or a rate. What is longer is none that anybody maps: its
/// beginning is shown to staff.
pub(crate) fn code(text: &str) -> String {
    kept(text, CODE_CHARS_MAX)
}

/// Whether the end of a range of nights is a night itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndRule {
    /// The last night.
    IsNight,
}

impl EndRule {
    /// The days that are written as start and end.
    pub(crate) fn write(self, nights: StayRange) -> (StayDate, StayDate) {
        let end = match self {
            // The departure lies after the arrival, so that there is a day before it.
            Self::IsNight => nights.departure().yesterday(),
        };
        (nights.arrival(), end.unwrap_or(nights.arrival()))
    }

    /// The nights between a written start and end.
    pub(crate) fn read(self, control: Element<'_>) -> Result<StayRange, String> {
        let start = required_date(control, "Start")?;
        let end = required_date(control, "End")?;
        let after = match self {
            Self::IsNight => end.tomorrow().unwrap_or(end),
        };
        Stay::new(start, after).ok_or_else(|| {
            format!("End {end} must not lie before Start {start}, nor years after it")
        })
    }
}

/// A date that must be there.
pub(crate) fn required_date(element: Element<'_>, name: &str) -> Result<StayDate, String> {
    let text = element
        .attribute(name)
        .ok_or_else(|| format!("{} needs {name}, a date such as 2030-03-01", element.name()))?;
    date(text).ok_or_else(|| format!("{name} {text:?} is no date of the calendar"))
}

/// A civil date; a time after it is dropped.
pub(crate) fn date(text: &str) -> Option<StayDate> {
    let day = match text.split_once('T') {
        Some((day, _)) => day,
        None => text,
    };
    let [y, e, a, r, b'-', m, o, b'-', d, t] = day.as_bytes() else {
        return None;
    };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0_i16, |number, digit| {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            Some(number * 10 + i16::from(digit))
        })
    };
    let year = number(&[y, e, a, r])?;
    let small = |digits: &[&u8]| number(digits).and_then(|number| i8::try_from(number).ok());
    StayDate::new(year, small(&[m, o])?, small(&[d, t])?).ok()
}

/// An instant; without an offset it is taken as UTC.
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant);
    }
    let local: DateTime = text.parse().ok()?;
    let zoned = local.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

/// `AmountAfterTax` (or, where that is missing, `AmountBeforeTax`) in its currency: a plain
/// decimal, or an integer with `DecimalPlaces`. `None` where it is missing or no amount: prices
/// are kept as they come and never cost a guest the room.
pub(crate) fn amount(element: Element<'_>) -> Option<Money> {
    ["AmountAfterTax", "AmountBeforeTax"]
        .iter()
        .find_map(|name| money(element, name))
}

/// An amount under a name of its own.
pub(crate) fn money(element: Element<'_>, name: &str) -> Option<Money> {
    let text = element.attribute(name)?;
    let currency = Currency::from_code(element.attribute("CurrencyCode")?)?;
    let places: Option<u32> = element
        .attribute("DecimalPlaces")
        .and_then(|places| places.parse().ok());
    match (places, text.parse::<i64>()) {
        (Some(places), Ok(integer)) => Money::from_scaled(integer, places, currency),
        _ => Money::from_decimal(text, currency),
    }
}

/// Success, warnings and errors of an answer.
#[derive(Default)]
pub(crate) struct Answer {
    /// The element Success is there.
    pub(crate) success: bool,
    pub(crate) errors: Vec<Notice>,
    pub(crate) warnings: Vec<Notice>,
}

/// An error or a warning.
#[derive(Clone)]
pub(crate) struct Notice {
    /// Table EWT: 3 business rule, 11 advisory, 13 application error.
    pub(crate) kind: Option<String>,
    /// Table ERR, or the partner's own.
    pub(crate) code: Option<String>,
    /// Which record it speaks of.
    pub(crate) record: Option<String>,
    /// A demand, in AlpineBits.
    pub(crate) status: Option<String>,
    /// In words.
    pub(crate) words: String,
}

impl Notice {
    /// Characters of a code, a record or a status that are kept.
    pub(crate) const NAME_CHARS_MAX: usize = 100;
    /// Characters of the words that are kept.
    pub(crate) const WORDS_CHARS_MAX: usize = 500;

    fn read(element: Element<'_>) -> Self {
        let owned = |name: &str| {
            let text = element.attribute(name)?;
            Some(kept(text, Self::NAME_CHARS_MAX))
        };
        let words = [element.text(), element.attribute("ShortText").unwrap_or("")]
            .into_iter()
            .find(|words| !words.is_empty());
        Self {
            kind: owned("Type"),
            code: owned("Code"),
            record: owned("RecordID").or_else(|| owned("LocatorID")),
            status: owned("Status"),
            words: kept(words.unwrap_or_default(), Self::WORDS_CHARS_MAX),
        }
    }

    /// Code and words for staff.
    pub(crate) fn why(&self) -> String {
        match (self.code.as_deref(), self.words.as_str()) {
            (Some(code), "") => format!("code {code}"),
            (Some(code), words) => format!("{words} (code {code})"),
            (None, "") => "no reason was given".to_owned(),
            (None, words) => words.to_owned(),
        }
    }
}

/// Reads success, warnings and errors below an outermost element.
pub(crate) fn answer(root: Element<'_>) -> Answer {
    let notices = |path: [&str; 2]| -> Vec<Notice> { root.every(path).map(Notice::read).collect() };
    Answer {
        success: root.child("Success").is_some(),
        errors: notices(["Errors", "Error"]),
        warnings: notices(["Warnings", "Warning"]),
    }
}

/// All reasons in one line.
pub(crate) fn reasons(notices: &[Notice]) -> String {
    let each: Vec<String> = notices.iter().take(20).map(Notice::why).collect();
    each.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml;

    #[test]
    fn amounts_come_as_integers_with_places_or_as_decimals() {
        for (attributes, money) in [
            (
                "AmountAfterTax='14850' CurrencyCode='EUR' DecimalPlaces='2'",
                Some("148.50 EUR"),
            ),
            (
                "AmountAfterTax='14850' CurrencyCode='JPY' DecimalPlaces='0'",
                Some("14850 JPY"),
            ),
            (
                "AmountAfterTax='148.5' CurrencyCode='EUR'",
                Some("148.50 EUR"),
            ),
            (
                "AmountAfterTax='299' CurrencyCode='EUR'",
                Some("299.00 EUR"),
            ),
            (
                "AmountBeforeTax='100.00' CurrencyCode='USD'",
                Some("100.00 USD"),
            ),
            (
                "AmountAfterTax='148.50' CurrencyCode='EUR' DecimalPlaces='2'",
                Some("148.50 EUR"),
            ),
            ("AmountAfterTax='a lot' CurrencyCode='EUR'", None),
            ("AmountAfterTax='1' CurrencyCode='XYZ'", None),
            ("AmountAfterTax='1'", None),
        ] {
            let message = format!("<Total {attributes}/>");
            let text = xml::text(message.as_bytes());
            let document = xml::read(&text).expect("a message");
            let read = amount(document.root());
            assert_eq!(
                read.map(|m| m.to_string()).as_deref(),
                money,
                "{attributes}"
            );
        }
    }

    #[test]
    fn r38_instants_come_with_and_without_an_offset() {
        for text in [
            "2030-01-05T10:11:12Z",
            "2030-01-05T11:11:12+01:00",
            "2030-01-05T10:11:12",
        ] {
            let read = instant(text).expect(text);
            assert_eq!(read.to_string(), "2030-01-05T10:11:12Z", "{text}");
        }
        assert_eq!(instant("yesterday"), None);
    }

    #[test]
    fn impossible_dates_are_no_dates() {
        for text in [
            "2027-02-30",
            "2027-2-3",
            "03/01/2027",
            "",
            "2027-02-3x",
            "20270203",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
        assert!(date("2028-02-29").is_some());
        assert!(date("2028-02-29T12:00:00").is_some());
    }
}
