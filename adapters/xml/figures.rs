//! Numbers and days as messages write them, without memory of their own: a push has thousands.

use keyrack_model::stay::StayDate;

/// The longest: the lowest number of 64 bits, with its sign.
const LENGTH_MAX: usize = 20;

/// Writes a whole number.
#[inline]
pub(super) fn number(number: i64, out: &mut Vec<u8>) {
    let mut figures = [0; LENGTH_MAX];
    let mut from = LENGTH_MAX;
    let mut rest = number.unsigned_abs();
    loop {
        from -= 1;
        figures[from] = digit(rest);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        from -= 1;
        figures[from] = b'-';
    }
    out.extend_from_slice(&figures[from..]);
}

/// Writes a day, such as `2030-03-01`; years have four digits.
#[inline]
pub(super) fn day(day: StayDate, out: &mut Vec<u8>) {
    let year = u64::from(day.year().unsigned_abs());
    let (month, of_month) = (day.month().unsigned_abs(), day.day().unsigned_abs());
    let (month, of_month) = (u64::from(month), u64::from(of_month));
    out.extend_from_slice(&[
        digit(year / 1000),
        digit(year / 100),
        digit(year / 10),
        digit(year),
        b'-',
        digit(month / 10),
        digit(month),
        b'-',
        digit(of_month / 10),
        digit(of_month),
    ]);
}

/// The last digit of a number.
#[inline]
fn digit(number: u64) -> u8 {
    b'0' + u8::try_from(number % 10).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("digits, a sign and hyphens are ASCII")
    }

    #[test]
    fn days_are_written_as_the_calendar_writes_them() {
        for day in [date(2030, 3, 1), date(2031, 12, 31), date(987, 1, 9)] {
            assert_eq!(written(|out| super::day(day, out)), day.to_string());
        }
    }

    proptest! {
        #[test]
        fn numbers_are_written_whole(number in any::<i64>()) {
            prop_assert_eq!(written(|out| super::number(number, out)), number.to_string());
        }

        #[test]
        fn extremes_have_room(lowest in i64::MIN..i64::MIN + 9, highest in i64::MAX - 9..i64::MAX) {
            for number in [lowest, highest] {
                prop_assert_eq!(written(|out| super::number(number, out)), number.to_string());
            }
        }
    }
}
