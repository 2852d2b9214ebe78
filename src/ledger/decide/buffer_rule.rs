//! Rules that keep rooms back from what channels are told.

use std::collections::BTreeSet;

use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange, Weekdays, days_between};

use super::cell::Cell;
use super::safety::{COLD_ROOMS, COLD_WHY, NightKind, SafetyKey, runs};

/// A rule that keeps rooms back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferRule {
    /// Only this account.
    pub account: Option<AccountId>,
    /// Only this type.
    pub room_type: Option<RoomTypeId>,
    /// Only these nights.
    pub nights: Option<StayRange>,
    /// Only these weekdays.
    pub weekdays: Weekdays,
    /// Only so many days ahead or more.
    pub lead_days_min: Option<i32>,
    /// Only so many days ahead or fewer.
    pub lead_days_max: Option<i32>,
    /// What it does.
    pub kind: BufferKind,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// Tells so many rooms fewer.
    KeepBack(i32),
    /// Tells 0 when so many or fewer are left.
    CloseAt(i32),
    /// Tells so many rooms at most.
    Cap(i32),
    /// Tells so many of a hundred free rooms, rounded down.
    SharePercent(i32),
    /// Tells as many rooms fewer as could still be sold on stale numbers, by measurement, so that
    /// at most one of so many scarce room nights is sold twice; 0 is the property's target.
    Safety(i32),
}

impl BufferKind {
    /// Its number: rooms, hundredths, or one of how many.
    pub fn number(self) -> i32 {
        match self {
            Self::KeepBack(number)
            | Self::CloseAt(number)
            | Self::Cap(number)
            | Self::SharePercent(number)
            | Self::Safety(number) => number,
        }
    }

    /// Rooms that it leaves of those that are free. What `safety` keeps back is a measured number:
    /// without one it keeps what is kept while nothing is measured.
    pub fn leaves(self, free: i32) -> i32 {
        match self {
            Self::KeepBack(rooms) => free - rooms,
            Self::Safety(_) => free - COLD_ROOMS,
            Self::CloseAt(rooms) if free <= rooms => 0,
            Self::CloseAt(_) => free,
            Self::Cap(rooms) => free.min(rooms),
            Self::SharePercent(percent) => {
                let share = i64::from(free) * i64::from(percent) / 100;
                i32::try_from(share).unwrap_or(free)
            }
        }
        .max(0)
    }

    /// Its name as whoever set it wrote it.
    pub fn name(self) -> String {
        match self {
            Self::KeepBack(rooms) => format!("keep_back {rooms}"),
            Self::CloseAt(rooms) => format!("close_at {rooms}"),
            Self::Cap(rooms) => format!("cap {rooms}"),
            Self::SharePercent(percent) => format!("share_percent {percent}"),
            Self::Safety(_) => "safety".to_owned(),
        }
    }

    /// The rule as staff read it beside the number that it was applied to.
    pub fn in_words(self, free: i32) -> String {
        match self {
            Self::KeepBack(rooms) => format!("{rooms} of {free} are kept back"),
            Self::CloseAt(rooms) => {
                format!("nothing is told when {rooms} or fewer of {free} are left")
            }
            Self::Cap(rooms) => format!("of {free} no more than {rooms} are told"),
            Self::SharePercent(percent) => format!("{percent} % of {free} are told"),
            Self::Safety(_) => format!("{COLD_ROOMS} of {free} are kept back: {COLD_WHY}"),
        }
    }
}

impl BufferRule {
    /// Whether it binds this cell.
    pub fn applies(&self, cell: &Cell<'_>) -> bool {
        self.account.is_none_or(|account| account == cell.account)
            && self
                .room_type
                .is_none_or(|room_type| room_type == cell.room_type)
            && self.binds(cell.night, cell.business_day)
    }

    /// Rooms that it leaves of those that are free in a cell, and why.
    pub fn leaves(&self, cell: &Cell<'_>, free: i32) -> (i32, impl Fn() -> String) {
        let measured = match self.kind {
            BufferKind::Safety(one_in) => cell.safety.get(&SafetyKey {
                account: cell.account,
                room_type: cell.room_type,
                kind: NightKind::of(cell.night, cell.business_day),
                one_in,
            }),
            _ => None,
        };
        let kind = self.kind;
        let left = match measured {
            Some(kept) => BufferKind::KeepBack(kept.rooms).leaves(free),
            None => kind.leaves(free),
        };
        let why = move || {
            let words = match measured {
                Some(kept) => {
                    let rooms = kept.rooms;
                    format!("{rooms} of {free} are kept back for safety: {}", kept.why)
                }
                None => kind.in_words(free),
            };
            format!("{words} (rule {})", kind.name())
        };
        (left, why)
    }

    /// Whether it binds a night on a business day, of the account and the type that it names.
    pub(super) fn binds(&self, night: StayDate, business_day: StayDate) -> bool {
        let lead = days_between(business_day, night);
        self.nights.is_none_or(|nights| nights.contains(night))
            && self.weekdays.contains(night)
            && self.lead_days_min.is_none_or(|least| lead >= least)
            && self.lead_days_max.is_none_or(|most| lead <= most)
    }

    /// The nights that it binds on a business day, in runs.
    fn runs(&self, open: StayRange, business_day: StayDate) -> Vec<StayRange> {
        runs(open, |night| self.binds(night, business_day))
    }
}

/// What a change of rules may tell otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// Only this account.
    pub account: Option<AccountId>,
    /// Only this type.
    pub room_type: Option<RoomTypeId>,
    /// Which nights.
    pub nights: StayRange,
}

/// The cells that are bound by rules of one list and not of the other, of the nights that are open
/// on a business day. What both lists have binds as before, in whatever order. `None` where they
/// lie in more than `most` runs.
pub fn touched(
    before: &[BufferRule],
    after: &[BufferRule],
    (open, business_day): (StayRange, StayDate),
    most: usize,
) -> Option<BTreeSet<Scope>> {
    let gone = before.iter().filter(|rule| !after.contains(rule));
    let come = after.iter().filter(|rule| !before.contains(rule));
    let mut scopes = BTreeSet::new();
    for rule in gone.chain(come) {
        for nights in rule.runs(open, business_day) {
            scopes.insert(Scope {
                account: rule.account,
                room_type: rule.room_type,
                nights,
            });
        }
        if scopes.len() > most {
            return None;
        }
    }
    Some(scopes)
}

#[cfg(test)]
mod tests {
    use keyrack_model::stay::Stay;

    use super::*;
    use crate::decide::cell_samples::night;

    fn rule(kind: BufferKind) -> BufferRule {
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

    #[test]
    fn each_kind_leaves_what_it_says_and_never_less_than_nothing() {
        use BufferKind::{Cap, CloseAt, KeepBack, Safety, SharePercent};
        for (kind, free, left) in [
            (KeepBack(2), 5, 3),
            (KeepBack(9), 5, 0),
            (CloseAt(2), 3, 3),
            (CloseAt(2), 2, 0),
            (Cap(3), 5, 3),
            (Cap(3), 2, 2),
            (Cap(0), 5, 0),
            (SharePercent(50), 5, 2),
            (SharePercent(100), 5, 5),
            (SharePercent(0), 5, 0),
            (SharePercent(99), 1, 0),
            (SharePercent(33), i32::MAX, 708_669_603),
            (Cap(3), -2, 0),
            (SharePercent(50), -3, 0),
            (Safety(1_000), 3, 2),
            (Safety(0), 0, 0),
        ] {
            assert_eq!(kind.leaves(free), left, "{kind:?} of {free}");
        }
    }

    /// Runs of nights as days of the samples' month.
    fn runs(before: &[BufferRule], after: &[BufferRule]) -> Vec<(i32, i32)> {
        let open = Stay::new(night(0), night(14)).expect("a range");
        let day = |date| days_between(night(0), date);
        touched(before, after, (open, night(0)), 10)
            .expect("few runs")
            .iter()
            .map(|scope| (day(scope.nights.arrival()), day(scope.nights.departure())))
            .collect()
    }

    #[test]
    fn a_change_touches_the_nights_that_one_list_binds_and_the_other_does_not() {
        let everywhere = rule(BufferKind::KeepBack(1));
        let ranged = BufferRule {
            nights: Stay::new(night(3), night(20)),
            ..everywhere.clone()
        };
        let near = BufferRule {
            lead_days_max: Some(1),
            ..everywhere.clone()
        };
        // 2030-07-01 is a Monday.
        let weekend = BufferRule {
            weekdays: Weekdays::from_bits(0b110_0000),
            ..everywhere.clone()
        };
        assert_eq!(runs(&[], std::slice::from_ref(&everywhere)), [(0, 14)]);
        assert_eq!(runs(std::slice::from_ref(&ranged), &[]), [(3, 14)]);
        assert_eq!(runs(&[], std::slice::from_ref(&near)), [(0, 2)]);
        assert_eq!(
            runs(&[], std::slice::from_ref(&weekend)),
            [(5, 7), (12, 14)]
        );
        let (one, two) = (everywhere.clone(), ranged.clone());
        assert_eq!(
            runs(&[one.clone(), two.clone()], &[two, one]),
            [],
            "the order of rules says nothing"
        );
        let stricter = BufferRule {
            kind: BufferKind::KeepBack(2),
            ..ranged.clone()
        };
        assert_eq!(runs(&[ranged], &[stricter]), [(3, 14)], "once");
    }

    #[test]
    fn a_change_touches_only_whom_the_rule_names() {
        let open = Stay::new(night(0), night(14)).expect("a range");
        let named = BufferRule {
            account: Some(AccountId(7)),
            room_type: Some(RoomTypeId(8)),
            ..rule(BufferKind::Cap(2))
        };
        let after = std::slice::from_ref(&named);
        let scopes = touched(&[], after, (open, night(0)), 1).expect("one run");
        let expected = Scope {
            account: named.account,
            room_type: named.room_type,
            nights: open,
        };
        assert_eq!(scopes, BTreeSet::from([expected]));
        assert_eq!(touched(&[], after, (open, night(0)), 0), None);
    }
}
