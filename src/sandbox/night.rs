//! Nights as civil dates: counting them, and reading them without forgiveness.

use jiff::civil::Date;

/// The nights `from..to`, the end excluded.
pub(crate) fn nights(from: Date, to: Date) -> impl Iterator<Item = Date> {
    std::iter::successors(Some(from), |day| day.tomorrow().ok()).take_while(move |day| *day < to)
}

/// How many nights `from..to` has; 0 if there is none.
pub(crate) fn length(from: Date, to: Date) -> u32 {
    let days = from.until(to).map_or(0, |span| span.get_days());
    u32::try_from(days).unwrap_or(0)
}

/// A date written `YYYY-MM-DD` that the calendar has; nothing else is one.
pub(crate) fn date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shaped.then(|| text.parse().ok()).flatten()
}

/// A period longer than this in one message is a mistake, not a horizon.
pub(crate) const PERIOD_MAX: u32 = 3_660;

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil;

    #[test]
    fn only_days_of_the_calendar_are_dates() {
        assert_eq!(date("2028-02-29"), Some(civil::date(2028, 2, 29)));
        for wrong in [
            "2027-02-29",
            "2027-2-01",
            "20270201",
            "2027-02-01T00:00",
            "",
        ] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_departure_is_not_slept_in() {
        let (from, to) = (civil::date(2028, 2, 28), civil::date(2028, 3, 1));
        assert_eq!(length(from, to), 2);
        assert_eq!(nights(from, to).count(), 2);
        assert_eq!(length(to, from), 0);
    }
}
