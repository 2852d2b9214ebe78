//! How far beyond its rooms a hotel means to sell a night, by its rules (ledger, section 6).

use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::{StayDate, StayRange, Weekdays, days_between};

/// A rule. Of several that apply to a night the first wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRule {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// On which nights.
    pub nights: StayRange,
    /// Only on these weekdays.
    pub weekdays: Weekdays,
    /// Only so many days ahead or more: 1 leaves the day of arrival without.
    pub lead_days_min: i32,
    /// Only so many days ahead or fewer.
    pub lead_days_max: Option<i32>,
    /// How far.
    pub limit: Limit,
}

/// How far beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many rooms.
    Rooms(i32),
    /// So many percent of the rooms that there are, rounded down.
    Percent(i32),
}

impl LimitRule {
    /// Whether it speaks of a night, on some day or other.
    pub fn covers(&self, room_type: RoomTypeId, night: StayDate) -> bool {
        self.room_type == room_type && self.nights.contains(night) && self.weekdays.contains(night)
    }

    fn applies(&self, lead_days: i32) -> bool {
        lead_days >= self.lead_days_min && self.lead_days_max.is_none_or(|max| lead_days <= max)
    }

    fn rooms(&self, physical: i32) -> i32 {
        match self.limit {
            Limit::Rooms(rooms) => rooms,
            Limit::Percent(percent) => {
                let rooms = i64::from(physical.max(0)) * i64::from(percent) / 100;
                i32::try_from(rooms).unwrap_or(i32::MAX)
            }
        }
    }
}

/// The limit of a night today: `None` where no rule speaks of it, 0 where those that do apply on
/// other days only.
pub fn limit_of(
    rules: &[LimitRule],
    (room_type, night): (RoomTypeId, StayDate),
    physical: i32,
    today: StayDate,
) -> Option<i32> {
    let mut covering = rules.iter().filter(|rule| rule.covers(room_type, night));
    let lead = days_between(today, night);
    let first = covering.clone().find(|rule| rule.applies(lead));
    match first {
        Some(rule) => Some(rule.rooms(physical)),
        None => covering.next().map(|_| 0),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::{Weekday, date};
    use keyrack_model::stay::Stay;

    use super::*;

    const DOUBLE: RoomTypeId = RoomTypeId(1);

    fn rule(limit: Limit) -> LimitRule {
        LimitRule {
            room_type: DOUBLE,
            nights: Stay::new(date(2030, 3, 1), date(2030, 3, 31)).expect("a stay"),
            weekdays: Weekdays::ALL,
            lead_days_min: 1,
            lead_days_max: None,
            limit,
        }
    }

    #[test]
    fn the_first_rule_that_applies_today_says_how_far() {
        let far = LimitRule {
            lead_days_min: 14,
            ..rule(Limit::Percent(25))
        };
        let friday = LimitRule {
            weekdays: Weekdays::of([Weekday::Friday]),
            lead_days_min: 0,
            ..rule(Limit::Rooms(5))
        };
        let rules = [far, friday, rule(Limit::Percent(10))];
        // night of March, days ahead, limit of nineteen rooms
        for (night, lead, limit) in [
            (6, 20, Some(4)),
            (6, 14, Some(4)),
            (6, 13, Some(1)),
            (6, 1, Some(1)),
            (6, 0, Some(0)),
            (8, 20, Some(4)),
            (8, 2, Some(5)),
            (8, 0, Some(5)),
            (31, 5, None),
        ] {
            let night = date(2030, 3, night);
            let today = keyrack_model::stay::plus_days(night, -lead);
            let found = limit_of(&rules, (DOUBLE, night), 19, today);
            assert_eq!(found, limit, "{night}, {lead} days ahead");
        }
        let other = limit_of(
            &rules,
            (RoomTypeId(2), date(2030, 3, 6)),
            19,
            date(2030, 3, 1),
        );
        assert_eq!(other, None);
    }

    #[test]
    fn a_percentage_is_rounded_down() {
        for (percent, physical, rooms) in [(10, 9, 0), (10, 10, 1), (33, 10, 3), (100, 7, 7)] {
            let found = rule(Limit::Percent(percent)).rooms(physical);
            assert_eq!(found, rooms, "{percent} % of {physical}");
        }
    }
}
