//! The sandbox's own clock: the machine's, plus what somebody has turned it ahead.
//!
//! The only file of the sandbox that looks at a real clock. Thirty-minute rules are tested by
//! turning it, never by waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A clock that all channels of one sandbox share; clones turn together.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    ahead_ms: Arc<AtomicI64>,
    first_day: Option<(Date, Timestamp)>,
}

impl Clock {
    /// A clock whose business day begins as `today`; without one it is today in UTC.
    pub fn starting(today: Option<Date>) -> Clock {
        let clock = Clock::default();
        let first_day = today.map(|day| (day, clock.now()));
        Clock { first_day, ..clock }
    }

    /// The instant it is in the sandbox.
    #[allow(clippy::disallowed_methods)] // The other side of the wire has a clock of its own.
    pub fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_millis(self.ahead_ms.load(Ordering::Relaxed));
        let real = Timestamp::now();
        real.checked_add(ahead).unwrap_or(real)
    }

    /// Turns the clock ahead by so many milliseconds, for everybody who shares it.
    pub fn advance(&self, ms: u32) {
        self.ahead_ms.fetch_add(i64::from(ms), Ordering::Relaxed);
    }

    /// The business day it is: the first day told, and one more after each 24 hours.
    pub fn today(&self) -> Date {
        let now = self.now();
        let Some((first, since)) = self.first_day else {
            return now.to_zoned(TimeZone::UTC).date();
        };
        let days = elapsed_ms(since, now) / DAY_MS;
        first
            .checked_add(jiff::Span::new().days(days))
            .unwrap_or(first)
    }
}

/// Milliseconds from `earlier` to `later`; 0 if they are the other way round.
pub(crate) fn elapsed_ms(earlier: Timestamp, later: Timestamp) -> i64 {
    (later.as_millisecond() - earlier.as_millisecond()).max(0)
}

const DAY_MS: i64 = 86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_business_day_turns_after_a_day_of_turning_the_clock() {
        let clock = Clock::starting(Some(jiff::civil::date(2030, 2, 28)));
        assert_eq!(clock.today(), jiff::civil::date(2030, 2, 28));
        clock.clone().advance(86_400_000);
        assert_eq!(clock.today(), jiff::civil::date(2030, 3, 1));
    }
}
