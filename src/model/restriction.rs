//! Restrictions of a night: what may arrive, leave, stay how long and book how early.

use serde::{Deserialize, Serialize};

/// The restrictions of one night; `None` and `false` restrict nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Restrictions {
    /// Nights a stay must have when it arrives on this night.
    pub min_stay_arrival: Option<i32>,
    /// Nights a stay must have when it touches this night.
    pub min_stay_through: Option<i32>,
    /// Nights a stay may have at most when it arrives on this night.
    pub max_stay: Option<i32>,
    /// Nobody arrives on this night.
    pub closed_to_arrival: bool,
    /// Nobody departs on this date.
    pub closed_to_departure: bool,
    /// Days before the arrival from which it is too late to book.
    pub min_advance_days: Option<i32>,
    /// Days before the arrival from which it may be booked at the earliest.
    pub max_advance_days: Option<i32>,
    /// Closed for sale.
    pub stop_sell: bool,
}

/// The kinds of restriction, for what a channel can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestrictionKind {
    /// [`Restrictions::min_stay_arrival`].
    MinStayArrival,
    /// [`Restrictions::min_stay_through`].
    MinStayThrough,
    /// [`Restrictions::max_stay`].
    MaxStay,
    /// [`Restrictions::closed_to_arrival`].
    ClosedToArrival,
    /// [`Restrictions::closed_to_departure`].
    ClosedToDeparture,
    /// [`Restrictions::min_advance_days`].
    MinAdvanceDays,
    /// [`Restrictions::max_advance_days`].
    MaxAdvanceDays,
    /// [`Restrictions::stop_sell`].
    StopSell,
}

impl Restrictions {
    /// The kinds that restrict something here.
    pub fn kinds(&self) -> Vec<RestrictionKind> {
        use RestrictionKind as Kind;
        [
            (
                self.min_stay_arrival.is_some_and(|n| n > 1),
                Kind::MinStayArrival,
            ),
            (
                self.min_stay_through.is_some_and(|n| n > 1),
                Kind::MinStayThrough,
            ),
            (self.max_stay.is_some(), Kind::MaxStay),
            (self.closed_to_arrival, Kind::ClosedToArrival),
            (self.closed_to_departure, Kind::ClosedToDeparture),
            (
                self.min_advance_days.is_some_and(|n| n > 0),
                Kind::MinAdvanceDays,
            ),
            (self.max_advance_days.is_some(), Kind::MaxAdvanceDays),
            (self.stop_sell, Kind::StopSell),
        ]
        .into_iter()
        .filter_map(|(restricts, kind)| restricts.then_some(kind))
        .collect()
    }

    /// Both together: the stricter of each.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        let least = |a: Option<i32>, b: Option<i32>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            min_stay_arrival: self.min_stay_arrival.max(other.min_stay_arrival),
            min_stay_through: self.min_stay_through.max(other.min_stay_through),
            max_stay: least(self.max_stay, other.max_stay),
            closed_to_arrival: self.closed_to_arrival || other.closed_to_arrival,
            closed_to_departure: self.closed_to_departure || other.closed_to_departure,
            min_advance_days: self.min_advance_days.max(other.min_advance_days),
            max_advance_days: least(self.max_advance_days, other.max_advance_days),
            stop_sell: self.stop_sell || other.stop_sell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_of_two_wins_field_by_field() {
        let plan = Restrictions {
            min_stay_arrival: Some(2),
            max_stay: Some(9),
            ..Default::default()
        };
        let room = Restrictions {
            min_stay_arrival: Some(3),
            stop_sell: true,
            ..Default::default()
        };
        let both = plan.stricter(room);
        assert_eq!(
            (both.min_stay_arrival, both.max_stay, both.stop_sell),
            (Some(3), Some(9), true)
        );
    }

    #[test]
    fn a_minimum_of_one_night_restricts_nothing() {
        let lax = Restrictions {
            min_stay_arrival: Some(1),
            ..Default::default()
        };
        assert!(lax.kinds().is_empty());
    }
}
