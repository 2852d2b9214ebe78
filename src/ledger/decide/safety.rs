//! The measured numbers that `safety` rules keep back, by account, room type and kind of night.
//!
//! A number belongs to a kind of night and not to a night, since no single night has seen enough
//! sales to be measured alone. It stands as a row, so that any daemon tells the same.

use std::collections::BTreeMap;

use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange, Weekdays, days_between, plus_days};

use super::buffer_rule::{BufferKind, BufferRule, Scope};

/// A kind of night: how far ahead it is, and whether it leads into a Saturday or Sunday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NightKind {
    ahead: Ahead,
    is_weekend: bool,
}

/// How far ahead a night is. Nights near at hand are booked by the hour, far ones by the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Ahead {
    /// Within the next [`NEAR_DAYS`].
    Near,
    /// Within the next [`SOON_DAYS`].
    Soon,
    Far,
}

impl NightKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..6).filter_map(Self::from_index)
    }

    /// The kind of a night, seen from a business day.
    pub fn of(night: StayDate, business_day: StayDate) -> Self {
        let ahead = match days_between(business_day, night) {
            ..NEAR_DAYS => Ahead::Near,
            NEAR_DAYS..SOON_DAYS => Ahead::Soon,
            _ => Ahead::Far,
        };
        Self {
            ahead,
            is_weekend: Weekdays::from_bits(WEEKEND_BITS).contains(night),
        }
    }

    /// Its number, 0 to 5, as it is stored.
    pub fn index(self) -> i16 {
        let ahead = match self.ahead {
            Ahead::Near => 0,
            Ahead::Soon => 1,
            Ahead::Far => 2,
        };
        ahead * 2 + i16::from(self.is_weekend)
    }

    /// The reverse of [`NightKind::index`].
    pub fn from_index(index: i16) -> Option<Self> {
        let ahead = match index / 2 {
            0 => Ahead::Near,
            1 => Ahead::Soon,
            2 => Ahead::Far,
            _ => return None,
        };
        (index >= 0).then_some(Self {
            ahead,
            is_weekend: index % 2 == 1,
        })
    }

    /// In words.
    pub fn in_words(self) -> &'static str {
        match (self.ahead, self.is_weekend) {
            (Ahead::Near, false) => "weekday nights of the next 3 days",
            (Ahead::Near, true) => "weekend nights of the next 3 days",
            (Ahead::Soon, false) => "weekday nights 3 to 13 days ahead",
            (Ahead::Soon, true) => "weekend nights 3 to 13 days ahead",
            (Ahead::Far, false) => "weekday nights 14 days ahead and more",
            (Ahead::Far, true) => "weekend nights 14 days ahead and more",
        }
    }
}

/// Which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafetyKey {
    /// Told to whom.
    pub account: AccountId,
    /// Of which type.
    pub room_type: RoomTypeId,
    /// On which nights.
    pub kind: NightKind,
    /// The rule's own target: one of so many scarce room nights; 0 is the property's.
    pub one_in: i32,
}

/// A number that a rule keeps back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Rooms.
    pub rooms: i32,
    /// What it rests on, for people.
    pub why: String,
}

/// The numbers of a property.
pub type SafetyNumbers = BTreeMap<SafetyKey, Kept>;

/// What is kept back where nothing was measured yet.
pub const COLD_ROOMS: i32 = 1;
/// As people read it.
pub const COLD_WHY: &str = "nothing has been measured yet";

/// The cells that are told otherwise by numbers in place of others, as far as rules bind them, of
/// the nights that are open on a business day.
pub fn changed(
    before: &SafetyNumbers,
    after: &SafetyNumbers,
    rules: &[BufferRule],
    (open, business_day): (StayRange, StayDate),
) -> Vec<Scope> {
    let rooms = |numbers: &SafetyNumbers, key: &SafetyKey| {
        numbers.get(key).map_or(COLD_ROOMS, |kept| kept.rooms)
    };
    let keys = before.keys().chain(after.keys());
    let mut scopes = std::collections::BTreeSet::new();
    for key in keys.filter(|key| rooms(before, key) != rooms(after, key)) {
        let rules = rules.iter().filter(|rule| {
            rule.kind == BufferKind::Safety(key.one_in)
                && rule.account.is_none_or(|account| account == key.account)
                && rule.room_type.is_none_or(|id| id == key.room_type)
        });
        for rule in rules {
            let is_bound = |night| {
                rule.binds(night, business_day) && NightKind::of(night, business_day) == key.kind
            };
            scopes.extend(runs(open, is_bound).into_iter().map(|nights| Scope {
                account: Some(key.account),
                room_type: Some(key.room_type),
                nights,
            }));
        }
    }
    scopes.into_iter().collect()
}

/// The nights that are of another kind on a business day than they were on an earlier one.
pub fn turned(before: StayDate, business_day: StayDate) -> Vec<StayRange> {
    let ends = [NEAR_DAYS, SOON_DAYS];
    let nights = ends.iter().filter_map(|days| {
        StayRange::new(plus_days(before, *days), plus_days(business_day, *days))
    });
    nights.collect()
}

/// Runs of the nights of a range for which something holds.
pub(super) fn runs(range: StayRange, holds: impl Fn(StayDate) -> bool) -> Vec<StayRange> {
    let mut runs = Vec::new();
    let mut begun = None;
    let mut night = range.arrival();
    while night <= range.departure() {
        match (night < range.departure() && holds(night), begun) {
            (true, None) => begun = Some(night),
            (false, Some(first)) => {
                runs.extend(StayRange::new(first, night));
                begun = None;
            }
            _ => {}
        }
        night = plus_days(night, 1);
    }
    runs
}

const NEAR_DAYS: i32 = 3;
const SOON_DAYS: i32 = 14;
/// Friday and Saturday nights.
const WEEKEND_BITS: u8 = 0b011_0000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::buffer::tell;
    use crate::decide::cell::Cell;
    use crate::decide::cell_samples::{ABLE, listening, night, room};

    #[test]
    fn a_night_is_of_a_kind_by_its_distance_and_its_weekday() {
        // 2030-07-01 is a Monday.
        for (offset, index) in [
            (-1, 0),
            (0, 0),
            (2, 0),
            (3, 2),
            (4, 3),
            (5, 3),
            (6, 2),
            (11, 3),
            (13, 2),
            (14, 4),
            (18, 5),
            (700, 4),
        ] {
            let kind = NightKind::of(night(offset), night(0));
            assert_eq!(kind.index(), index, "{offset}");
            assert_eq!(NightKind::from_index(index), Some(kind));
        }
        assert_eq!(NightKind::all().count(), 6);
        assert_eq!(NightKind::from_index(-1), None);
        assert_eq!(NightKind::from_index(6), None);
    }

    fn rule(one_in: i32) -> BufferRule {
        of_kind(BufferKind::Safety(one_in))
    }

    fn of_kind(kind: BufferKind) -> BufferRule {
        BufferRule {
            account: None,
            room_type: None,
            nights: None,
            weekdays: Weekdays::ALL,
            lead_days_min: None,
            lead_days_max: None,
            kind,
        }
    }

    fn numbers(of: &[(i16, i32)]) -> SafetyNumbers {
        let each = of.iter().map(|(kind, rooms)| {
            let key = SafetyKey {
                account: AccountId(1),
                room_type: RoomTypeId(1),
                kind: NightKind::from_index(*kind).expect("a kind"),
                one_in: 0,
            };
            let why = String::new();
            (key, Kept { rooms: *rooms, why })
        });
        each.collect()
    }

    fn days(before: &[(i16, i32)], after: &[(i16, i32)], rules: &[BufferRule]) -> Vec<(i32, i32)> {
        let open = StayRange::new(night(0), night(20)).expect("a range");
        let (before, after) = (numbers(before), numbers(after));
        let day = |date| days_between(night(0), date);
        changed(&before, &after, rules, (open, night(0)))
            .iter()
            .map(|scope| (day(scope.nights.arrival()), day(scope.nights.departure())))
            .collect()
    }

    #[test]
    fn a_changed_number_concerns_the_nights_of_its_kind_that_a_rule_binds_and_no_other() {
        let everywhere = [rule(0)];
        assert_eq!(days(&[(0, 1)], &[(0, 2)], &everywhere), [(0, 3)]);
        assert_eq!(days(&[(3, 1)], &[(3, 2)], &everywhere), [(4, 6), (11, 13)]);
        assert_eq!(days(&[(3, 2)], &[(3, 2)], &everywhere), []);
        assert_eq!(days(&[], &[(0, 1)], &everywhere), [], "one was kept before");
        assert_eq!(days(&[], &[(0, 0)], &everywhere), [(0, 3)]);
        assert_eq!(days(&[(0, 3)], &[], &everywhere), [(0, 3)]);
        assert_eq!(
            days(&[(0, 1)], &[(0, 2)], &[rule(500)]),
            [],
            "another target"
        );
        let elsewhere = BufferRule {
            account: Some(AccountId(2)),
            ..rule(0)
        };
        assert_eq!(days(&[(0, 1)], &[(0, 2)], &[elsewhere]), []);
        let ranged = BufferRule {
            nights: StayRange::new(night(1), night(9)),
            ..rule(0)
        };
        assert_eq!(days(&[(0, 1)], &[(0, 2)], &[ranged]), [(1, 3)]);
    }

    #[test]
    fn a_new_day_turns_the_nights_at_the_borders_of_the_kinds() {
        let range = |from, to| StayRange::new(night(from), night(to)).expect("a range");
        assert_eq!(turned(night(0), night(1)), [range(3, 4), range(14, 15)]);
        assert_eq!(turned(night(0), night(3)), [range(3, 6), range(14, 17)]);
        assert_eq!(turned(night(1), night(1)), []);
    }

    #[test]
    fn a_safety_rule_keeps_back_what_was_measured_for_the_cell_and_says_why() {
        let cell = room(3, 9);
        let key = |kind, one_in| SafetyKey {
            account: cell.account,
            room_type: cell.room_type,
            kind,
            one_in,
        };
        let kind = NightKind::of(cell.night, cell.business_day);
        let other = NightKind::from_index(kind.index() ^ 1).expect("a kind");
        let kept = |rooms: i32| Kept {
            rooms,
            why: format!("{rooms} was measured"),
        };
        let numbers = SafetyNumbers::from([
            (key(kind, 0), kept(2)),
            (key(kind, 500), kept(0)),
            (key(other, 0), kept(3)),
        ]);
        let measured = Cell {
            safety: &numbers,
            ..cell
        };
        use BufferKind::{Cap, CloseAt, KeepBack, Safety};
        for (cell, kinds, told, why) in [
            (cell, vec![Safety(0)], 2, "nothing has been measured yet"),
            (
                measured,
                vec![Safety(0)],
                1,
                "2 of 3 are kept back for safety: 2 was measured",
            ),
            (measured, vec![Safety(500)], 3, "0 was measured"),
            (
                measured,
                vec![Safety(77)],
                2,
                "nothing has been measured yet",
            ),
            (measured, vec![KeepBack(1), Safety(0)], 1, "2 was measured"),
            (measured, vec![Safety(500), Cap(2)], 2, "no more than 2"),
            (
                measured,
                vec![Safety(0), CloseAt(3)],
                0,
                "nothing is told when 3",
            ),
        ] {
            let rules: Vec<BufferRule> = kinds.into_iter().map(of_kind).collect();
            let mut lines = Vec::new();
            let found = tell(&cell, &rules, &listening(&ABLE), Some(&mut lines));
            assert_eq!(found.rooms, Some(told), "{rules:?}");
            assert!(lines.iter().any(|line| line.why.contains(why)), "{lines:?}");
        }
    }
}
