//! Rooms kept by agreement: what is left of a night, and when that falls back to free sale.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::stay::{StayDate, days_between};

/// What an allotment counts of one night, in rooms.
///
/// Invariant: `released` is `max(0, agreed - taken)` where the night is released and else 0, held
/// by [`AllotmentNight::settled`]; the schema checks it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllotmentNight {
    /// Kept by agreement.
    pub agreed: i32,
    /// Of reservations that drew from it; more than agreed only after a forced cut.
    pub taken: i32,
    /// Fallen back to free sale.
    pub released: i32,
    /// What was unsold has fallen back, and what comes free later falls back as well.
    pub is_released: bool,
}

impl AllotmentNight {
    /// The same night with what is released worked out anew.
    #[must_use]
    pub fn settled(self) -> Self {
        let unsold = (self.agreed - self.taken).max(0);
        let released = if self.is_released { unsold } else { 0 };
        Self { released, ..self }
    }

    /// Rooms that may still be drawn: its part of what the night keeps in allotments.
    pub fn left(self) -> i32 {
        if self.is_released {
            0
        } else {
            (self.agreed - self.taken).max(0)
        }
    }
}

/// When what is left of an allotment falls back to free sale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Days before the stay date.
    pub period_days: i32,
    /// The date on which all of it falls back.
    pub cut_off: Option<StayDate>,
}

impl Release {
    /// Whether a night has fallen back on a calendar day of the property. It falls back at the
    /// midnight in which the day begins (ledger, section 1), not with the business day.
    pub fn is_due(self, night: StayDate, today: StayDate) -> bool {
        days_between(today, night) <= self.period_days
            || self.cut_off.is_some_and(|cut_off| cut_off <= today)
    }
}

/// The calendar day of a property at an instant.
pub fn calendar_day(now: Timestamp, zone: &TimeZone) -> StayDate {
    zone.to_datetime(now).date()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn due(zone: &str, at: &str, release: Release, night: StayDate) -> bool {
        let zone = TimeZone::get(zone).expect("a zone");
        let now = at.parse().expect("an instant");
        release.is_due(night, calendar_day(now, &zone))
    }

    #[test]
    fn r07_a_night_falls_back_at_its_own_midnight_in_any_zone_and_on_days_of_a_clock_change() {
        // The stay date, its zone, and the instants right before and at the midnight seven days
        // earlier.
        for (zone, night, before, at) in [
            (
                "Pacific/Kiritimati",
                date(2026, 4, 5),
                "2026-03-28T09:59:59Z",
                "2026-03-28T10:00:00Z",
            ),
            (
                "Pacific/Honolulu",
                date(2026, 4, 5),
                "2026-03-29T09:59:59Z",
                "2026-03-29T10:00:00Z",
            ),
            // The day on which clocks go forward, and the one after it.
            (
                "Europe/Berlin",
                date(2026, 4, 5),
                "2026-03-28T22:59:59Z",
                "2026-03-28T23:00:00Z",
            ),
            (
                "Europe/Berlin",
                date(2026, 4, 6),
                "2026-03-29T21:59:59Z",
                "2026-03-29T22:00:00Z",
            ),
            // The day on which they go back, and the one after it.
            (
                "Europe/Berlin",
                date(2026, 11, 1),
                "2026-10-24T21:59:59Z",
                "2026-10-24T22:00:00Z",
            ),
            (
                "Europe/Berlin",
                date(2026, 11, 2),
                "2026-10-25T22:59:59Z",
                "2026-10-25T23:00:00Z",
            ),
        ] {
            let release = Release {
                period_days: 7,
                cut_off: None,
            };
            let is_due = |at| due(zone, at, release, night);
            assert_eq!(
                (is_due(before), is_due(at)),
                (false, true),
                "{zone} {night}"
            );
        }
    }

    #[test]
    fn a_cut_off_lets_all_nights_fall_back_when_its_day_begins() {
        let release = Release {
            period_days: 0,
            cut_off: Some(date(2026, 5, 1)),
        };
        let night = date(2026, 9, 1);
        assert!(!release.is_due(night, date(2026, 4, 30)));
        assert!(release.is_due(night, date(2026, 5, 1)));
        // And a night with no days before it on its own day.
        assert!(release.is_due(date(2026, 4, 30), date(2026, 4, 30)));
        assert!(!release.is_due(date(2026, 4, 30), date(2026, 4, 29)));
    }

    #[test]
    fn what_is_left_is_agreed_less_taken_until_it_is_released() {
        let night = |agreed, taken, is_released| {
            let night = AllotmentNight {
                agreed,
                taken,
                is_released,
                ..AllotmentNight::default()
            };
            let night = night.settled();
            (night.left(), night.released)
        };
        assert_eq!(night(5, 2, false), (3, 0));
        assert_eq!(night(5, 2, true), (0, 3));
        assert_eq!(night(1, 2, false), (0, 0), "after a forced cut");
        assert_eq!(night(1, 2, true), (0, 0));
    }
}
