//! Nights as civil dates: a stay, a range of nights, weekdays. No hours, no zones.

use std::fmt;

use jiff::civil::{Date, Weekday};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use serde::{Deserialize, Serialize};

/// A night, as a civil date at the property.
pub type StayDate = Date;

/// The nights `arrival..departure`. The departure date is not slept in.
///
/// Invariant: `arrival < departure` and at most [`Stay::NIGHTS_MAX`] nights, held by [`Stay::new`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stay {
    arrival: StayDate,
    departure: StayDate,
}

impl Stay {
    /// The longest stay or range that is taken as meant: beyond the longest horizon.
    pub const NIGHTS_MAX: i32 = 2_200;

    /// `None` where the departure is not after the arrival, or absurdly far.
    pub fn new(arrival: StayDate, departure: StayDate) -> Option<Self> {
        let stay = Self { arrival, departure };
        (arrival < departure && stay.length() <= Self::NIGHTS_MAX).then_some(stay)
    }

    /// One night.
    ///
    /// `None` on the last day of the calendar.
    pub fn night(night: StayDate) -> Option<Self> {
        Self::new(night, night.tomorrow().ok()?)
    }

    /// The first night.
    pub fn arrival(self) -> StayDate {
        self.arrival
    }

    /// The morning after the last night.
    pub fn departure(self) -> StayDate {
        self.departure
    }

    /// Number of nights, at least 1.
    pub fn length(self) -> i32 {
        days_between(self.arrival, self.departure)
    }

    /// Each night in order.
    pub fn nights(self) -> impl Iterator<Item = StayDate> {
        let next = |night: &StayDate| night.tomorrow().ok();
        std::iter::successors(Some(self.arrival), next)
            .take_while(move |night| *night < self.departure)
    }

    /// Whether the night is slept in.
    pub fn contains(self, night: StayDate) -> bool {
        self.arrival <= night && night < self.departure
    }

    /// The nights that both have.
    pub fn intersection(self, other: Self) -> Option<Self> {
        Self::new(
            self.arrival.max(other.arrival),
            self.departure.min(other.departure),
        )
    }
}

impl fmt::Debug for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.arrival, self.departure)
    }
}

impl fmt::Display for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.arrival, self.departure)
    }
}

#[derive(Serialize, Deserialize)]
struct StayWire {
    arrival: StayDate,
    departure: StayDate,
}

impl Serialize for Stay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StayWire {
            arrival: self.arrival,
            departure: self.departure,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Stay {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = StayWire::deserialize(deserializer)?;
        Self::new(wire.arrival, wire.departure)
            .ok_or_else(|| serde::de::Error::custom("departure must be after arrival"))
    }
}

/// A range of nights `from..to`, the end excluded: the same shape as a stay, without a guest.
pub type StayRange = Stay;

/// Days from `from` to `to`, negative when `to` is earlier.
pub fn days_between(from: StayDate, to: StayDate) -> i32 {
    (to - from).get_days()
}

/// The date `days` after `date`, clamped to the calendar's last day.
pub fn plus_days(date: StayDate, days: i32) -> StayDate {
    date.saturating_add(days.days())
}

/// Joins nights into ranges of consecutive nights, in order.
pub fn ranges(nights: impl IntoIterator<Item = StayDate>) -> Vec<StayRange> {
    let mut nights: Vec<StayDate> = nights.into_iter().collect();
    nights.sort_unstable();
    nights.dedup();
    let mut joined: Vec<StayRange> = Vec::new();
    for night in nights {
        match joined.last_mut() {
            Some(last) if last.departure == night => {
                last.departure = plus_days(night, 1);
            }
            _ => joined.extend(Stay::night(night)),
        }
    }
    joined
}

/// The business day of a property: the civil date in its zone, the night before until `roll_over`.
///
/// Ledger rule: last night stays sellable until the roll-over, so that a walk-in at 01:30 takes it.
pub fn business_day(now: Timestamp, zone: &TimeZone, roll_over: jiff::civil::Time) -> StayDate {
    let local = zone.to_datetime(now);
    if local.time() < roll_over {
        plus_days(local.date(), -1)
    } else {
        local.date()
    }
}

/// A set of weekdays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Weekdays(u8);

impl Weekdays {
    /// All seven.
    pub const ALL: Self = Self(0b111_1111);

    /// The set of the given days.
    pub fn of(days: impl IntoIterator<Item = Weekday>) -> Self {
        Self(days.into_iter().fold(0, |bits, day| bits | Self::bit(day)))
    }

    /// Whether a night falls on one of the days.
    pub fn contains(self, night: StayDate) -> bool {
        self.0 & Self::bit(night.weekday()) != 0
    }

    /// The set as bits, Monday lowest: for a column.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The set from bits, Monday lowest; higher bits are dropped.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    fn bit(day: Weekday) -> u8 {
        1 << day.to_monday_zero_offset()
    }

    const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
}

impl Serialize for Weekdays {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            Self::NAMES
                .iter()
                .enumerate()
                .filter(|(i, _)| self.0 & (1 << i) != 0)
                .map(|(_, n)| n),
        )
    }
}

impl<'de> Deserialize<'de> for Weekdays {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bits = 0;
        for name in Vec::<String>::deserialize(deserializer)? {
            let day = Self::NAMES
                .iter()
                .position(|known| *known == name)
                .ok_or_else(|| {
                    serde::de::Error::custom("weekdays are mon, tue, wed, thu, fri, sat, sun")
                })?;
            bits |= 1 << day;
        }
        Ok(Self(bits))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn a_machine_without_zones_of_its_own_knows_those_of_hotels() {
        let built_in = jiff::tz::TimeZoneDatabase::bundled();
        for zone in ["Europe/Rome", "America/St_Johns", "Pacific/Chatham", "UTC"] {
            assert!(built_in.get(zone).is_ok(), "{zone}");
        }
    }

    #[test]
    fn r38_a_night_is_a_calendar_date_also_when_the_clock_changes() {
        let stay = Stay::new(date(2030, 10, 27), date(2030, 10, 28)).expect("one night");
        assert_eq!(stay.length(), 1);
        let spring = Stay::new(date(2030, 3, 31), date(2030, 4, 1)).expect("one night");
        assert_eq!(spring.nights().collect::<Vec<_>>(), [date(2030, 3, 31)]);
    }

    #[test]
    fn a_stay_leaves_after_it_came() {
        assert_eq!(Stay::new(date(2030, 1, 2), date(2030, 1, 2)), None);
        assert_eq!(Stay::new(date(2030, 1, 2), date(2030, 1, 1)), None);
        assert_eq!(Stay::new(date(2030, 1, 1), date(2050, 1, 1)), None);
    }

    #[test]
    fn last_night_is_sold_until_the_roll_over() {
        let roll_over = jiff::civil::time(4, 0, 0, 0);
        for (zone, instant, day) in [
            ("Europe/Rome", "2030-07-01T01:59:00Z", date(2030, 6, 30)),
            ("Europe/Rome", "2030-07-01T02:00:00Z", date(2030, 7, 1)),
            (
                "Pacific/Kiritimati",
                "2030-07-01T13:00:00Z",
                date(2030, 7, 1),
            ),
            (
                "Pacific/Kiritimati",
                "2030-07-01T14:00:00Z",
                date(2030, 7, 2),
            ),
            (
                "Pacific/Pago_Pago",
                "2030-07-01T14:59:00Z",
                date(2030, 6, 30),
            ),
        ] {
            let zone = TimeZone::get(zone).expect("a zone of the database");
            let now: Timestamp = instant.parse().expect("an instant");
            assert_eq!(business_day(now, &zone, roll_over), day, "{instant}");
        }
    }

    #[test]
    fn nights_join_into_ranges() {
        let nights = [3, 1, 2, 2, 5].map(|day| date(2030, 2, day));
        let joined: Vec<String> = ranges(nights).iter().map(Stay::to_string).collect();
        assert_eq!(joined, ["2030-02-01..2030-02-04", "2030-02-05..2030-02-06"]);
    }

    proptest! {
        #[test]
        fn r10_touching_stays_share_no_night(a in 0..60i32, n in 1..20i32, m in 1..20i32) {
            let day = |offset| plus_days(date(2028, 2, 1), offset);
            let first = Stay::new(day(a), day(a + n)).expect("n nights");
            let second = Stay::new(day(a + n), day(a + n + m)).expect("m nights");
            prop_assert_eq!(first.intersection(second), None);
            prop_assert_eq!(first.nights().count(), usize::try_from(n).expect("positive"));
            prop_assert!(first.nights().all(|night| !second.contains(night)));
        }
    }
}
