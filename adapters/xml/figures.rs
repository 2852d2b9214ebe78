//! Numbers and days as messages write them, on the stack: a push has thousands of them.

use keyrack_model::stay::StayDate;

/// The longest: the lowest number of 64 bits, with its sign.
const LENGTH_MAX: usize = 20;

/// A number or a day in digits.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    bytes: [u8; LENGTH_MAX],
    from: usize,
}

impl Figures {
    /// A whole number.
    pub(crate) fn number(number: impl Into<i64>) -> Self {
        let number: i64 = number.into();
        let mut figures = Self {
            bytes: [b'0'; LENGTH_MAX],
            from: LENGTH_MAX,
        };
        let mut rest = number.unsigned_abs();
        loop {
            figures.put(rest % 10);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            figures.from -= 1;
            figures.bytes[figures.from] = b'-';
        }
        figures
    }

    /// A place in a list.
    pub(crate) fn place(place: usize) -> Self {
        Self::number(i64::try_from(place).unwrap_or(i64::MAX))
    }

    /// A day, such as `2030-03-01`; years have four digits.
    pub(crate) fn day(day: StayDate) -> Self {
        let mut figures = Self {
            bytes: [b'-'; LENGTH_MAX],
            from: LENGTH_MAX,
        };
        for (part, digits) in [
            (i16::from(day.day()), 2),
            (i16::from(day.month()), 2),
            (day.year(), 4),
        ] {
            if figures.from < LENGTH_MAX {
                figures.from -= 1;
            }
            let mut rest = u64::from(part.unsigned_abs());
            for _ in 0..digits {
                figures.put(rest % 10);
                rest /= 10;
            }
        }
        figures
    }

    fn put(&mut self, digit: u64) {
        self.from -= 1;
        self.bytes[self.from] = b'0' + u8::try_from(digit).unwrap_or(0);
    }

    /// As text.
    pub(crate) fn as_str(&self) -> &str {
        let digits = std::str::from_utf8(&self.bytes[self.from..]);
        digits.expect("digits, a sign and hyphens are ASCII")
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn days_are_written_as_the_calendar_writes_them() {
        for day in [date(2030, 3, 1), date(2031, 12, 31), date(987, 1, 9)] {
            assert_eq!(Figures::day(day).as_str(), day.to_string());
        }
    }

    proptest! {
        #[test]
        fn numbers_are_written_whole(number in any::<i64>(), place in any::<u32>()) {
            let written = Figures::number(number);
            prop_assert_eq!(written.as_str(), number.to_string());
            let place = usize::try_from(place).expect("32 bits");
            let written = Figures::place(place);
            prop_assert_eq!(written.as_str(), place.to_string());
        }

        #[test]
        fn extremes_have_room(lowest in i64::MIN..i64::MIN + 9, highest in i64::MAX - 9..i64::MAX) {
            let written = Figures::number(lowest);
            prop_assert_eq!(written.as_str(), lowest.to_string());
            let written = Figures::number(highest);
            prop_assert_eq!(written.as_str(), highest.to_string());
        }
    }
}
