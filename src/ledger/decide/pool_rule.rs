//! Rules that switch the pool from which an account sells: by season, or when rooms grow scarce.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, PoolRuleId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange, Weekdays, ranges};

use super::allotment::Pools;
use super::revise::TypeNight;

/// A rule that switches the pool of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRule {
    /// Whose.
    pub account: AccountId,
    /// Only this type; else every type of which the account has an allotment.
    pub room_type: Option<RoomTypeId>,
    /// Only these nights.
    pub nights: Option<StayRange>,
    /// Only these weekdays.
    pub weekdays: Weekdays,
    /// How it sells then.
    pub mode: PoolMode,
    /// Only while rooms are scarce.
    pub scarcity: Option<Scarcity>,
}

/// When rooms are scarce. It begins at one number of free rooms and ends at a larger one, so that
/// a single cancellation turns nothing about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scarcity {
    /// Begins at so many free rooms or fewer.
    pub at_most: i32,
    /// Ends at so many or more.
    pub again_at: i32,
}

impl Scarcity {
    /// Whether it holds with so many free rooms, after it did or did not.
    pub fn holds(self, held: bool, free: i32) -> bool {
        if held {
            free < self.again_at
        } else {
            free <= self.at_most
        }
    }
}

impl PoolRule {
    /// Whether it speaks of a night of a type.
    pub fn binds(&self, (room_type, night): TypeNight) -> bool {
        self.room_type.is_none_or(|named| named == room_type)
            && self.nights.is_none_or(|nights| nights.contains(night))
            && self.weekdays.contains(night)
    }

    /// The rule as staff read it.
    pub fn in_words(&self) -> String {
        let mode = match self.mode {
            PoolMode::Shared => "it sells what is shared",
            PoolMode::Allotment => "it lives on its allotment only",
            PoolMode::AllotmentThenShared => "it sells its allotment, then what is shared",
        };
        match self.scarcity {
            None => format!("a pool rule: {mode}"),
            Some(Scarcity { at_most, again_at }) => format!(
                "a pool rule holds since {at_most} or fewer rooms were free, until {again_at} \
                 are: {mode}"
            ),
        }
    }
}

/// Switches that are on: rules of scarcity that hold on a night.
pub type Switches = BTreeSet<(PoolRuleId, TypeNight)>;

/// How an account sells a night of a type, with the rule that says so, where one does: the last of
/// those that bind. An account without an allotment of the type sells what is shared.
pub fn sells<'a>(
    pools: &'a Pools,
    switches: &Switches,
    account: AccountId,
    night: TypeNight,
) -> Option<(
    PoolMode,
    keyrack_model::id::AllotmentId,
    Option<&'a PoolRule>,
)> {
    let (mapped, allotment) = match pools.mapped.get(&(account, night.0)) {
        Some((mode, allotment)) => (*mode, *allotment),
        None if pools.rules.is_empty() => return None,
        None => {
            let first = pools.of_account(account, night.0).into_iter().next()?;
            (PoolMode::Shared, first)
        }
    };
    let holds = |id: &PoolRuleId, rule: &PoolRule| {
        rule.account == account
            && rule.binds(night)
            && (rule.scarcity.is_none() || switches.contains(&(*id, night)))
    };
    let last = pools.rules.iter().rev().find(|(id, rule)| holds(id, rule));
    let rule = last.map(|(_, rule)| rule);
    Some((rule.map_or(mapped, |rule| rule.mode), allotment, rule))
}

/// What a night's new number of free rooms turns: rules with whether they hold from now on.
pub fn turned(
    pools: &Pools,
    switches: &Switches,
    night: TypeNight,
    free: i32,
) -> Vec<(PoolRuleId, bool)> {
    let mut turned = Vec::new();
    for (id, rule) in pools.rules.iter().filter(|(_, rule)| rule.binds(night)) {
        let Some(scarcity) = rule.scarcity else {
            continue;
        };
        let held = switches.contains(&(*id, night));
        let holds = scarcity.holds(held, free);
        if holds != held {
            turned.push((*id, holds));
        }
    }
    turned
}

/// Whose nights a change of rules may tell otherwise: of which account, of which type, which of the
/// open nights. What both lists have in the same order binds as before.
pub fn touched(
    before: &[PoolRule],
    after: &[PoolRule],
    open: StayRange,
) -> BTreeMap<(AccountId, Option<RoomTypeId>), Vec<StayRange>> {
    let gone = before.iter().filter(|rule| !after.contains(rule));
    let come = after.iter().filter(|rule| !before.contains(rule));
    let is_kept = |list: &'_ [PoolRule], other: &[PoolRule]| -> Vec<PoolRule> {
        let kept = list.iter().filter(|rule| other.contains(rule));
        kept.cloned().collect()
    };
    let kept = (is_kept(before, after), is_kept(after, before));
    // In another order the rules of both may say something else of any of their nights.
    let moved: &[PoolRule] = if kept.0 == kept.1 { &[] } else { &kept.1 };
    let mut nights: BTreeMap<(AccountId, Option<RoomTypeId>), BTreeSet<StayDate>> = BTreeMap::new();
    for rule in gone.chain(come).chain(moved) {
        let bound = open.nights().filter(|night| {
            rule.nights.is_none_or(|nights| nights.contains(*night))
                && rule.weekdays.contains(*night)
        });
        let of = nights.entry((rule.account, rule.room_type)).or_default();
        of.extend(bound);
    }
    let each = nights.into_iter().map(|(of, nights)| (of, ranges(nights)));
    each.collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use keyrack_model::allotment::Release;
    use keyrack_model::id::AllotmentId;
    use keyrack_model::stay::{Stay, plus_days};

    use super::*;
    use crate::decide::allotment::{Allotment, Owner};

    const PORTAL: AccountId = AccountId(1);
    const DOUBLE: RoomTypeId = RoomTypeId(1);
    const TOUR: AllotmentId = AllotmentId(1);

    fn night(offset: i32) -> TypeNight {
        // A Monday.
        (DOUBLE, plus_days(date(2030, 7, 1), offset))
    }

    fn rule(mode: PoolMode) -> PoolRule {
        PoolRule {
            account: PORTAL,
            room_type: None,
            nights: None,
            weekdays: Weekdays::ALL,
            mode,
            scarcity: None,
        }
    }

    fn pools(rules: Vec<PoolRule>) -> Pools {
        let tour = Allotment {
            code: "tour".to_owned(),
            owner: Owner::Account(PORTAL),
            room_type: DOUBLE,
            release: Release::default(),
            group_cut_off: None,
            is_orphan: false,
            version: 1,
        };
        Pools {
            allotments: [(TOUR, tour)].into(),
            rules: (1..).map(PoolRuleId).zip(rules).collect(),
            ..Pools::default()
        }
    }

    #[test]
    fn one_cancellation_at_the_threshold_turns_nothing_about() {
        let scarce = Scarcity {
            at_most: 3,
            again_at: 6,
        };
        let mut holds = false;
        let mut seen = Vec::new();
        for free in [5, 4, 3, 4, 3, 4, 5, 2, 5, 6, 5, 4, 3] {
            holds = scarce.holds(holds, free);
            seen.push(holds);
        }
        let (on, off) = (true, false);
        let expected = [off, off, on, on, on, on, on, on, on, off, off, off, on];
        assert_eq!(seen, expected);
    }

    #[test]
    fn the_last_rule_that_binds_says_how_an_account_sells() {
        use PoolMode::{Allotment as Only, AllotmentThenShared as Then, Shared};
        let weekend = PoolRule {
            weekdays: Weekdays::from_bits(0b110_0000),
            ..rule(Only)
        };
        let season = PoolRule {
            nights: Stay::new(night(0).1, night(14).1),
            ..rule(Then)
        };
        let scarce = PoolRule {
            scarcity: Some(Scarcity {
                at_most: 3,
                again_at: 5,
            }),
            ..rule(Only)
        };
        let elsewhere = PoolRule {
            account: AccountId(2),
            ..rule(Only)
        };
        let rules = pools(vec![season, weekend, scarce, elsewhere]);
        let mode = |offset, switches: &Switches| {
            let sells = sells(&rules, switches, PORTAL, night(offset));
            sells.map(|(mode, allotment, _)| {
                assert_eq!(allotment, TOUR);
                mode
            })
        };
        let none = Switches::new();
        assert_eq!(mode(1, &none), Some(Then));
        assert_eq!(mode(5, &none), Some(Only), "a Saturday");
        assert_eq!(mode(15, &none), Some(Shared));
        let on = Switches::from([(PoolRuleId(3), night(15))]);
        assert_eq!(mode(15, &on), Some(Only));
        assert_eq!(mode(16, &on), Some(Shared), "another night");
        let (suite, stay_date) = (RoomTypeId(2), night(1).1);
        let other = sells(&rules, &none, PORTAL, (suite, stay_date));
        assert!(other.is_none(), "no allotment of that type");
    }

    #[test]
    fn a_change_of_rules_touches_the_nights_that_it_changes() {
        let open = Stay::new(night(0).1, night(14).1).expect("nights");
        let ranged = PoolRule {
            nights: Stay::new(night(3).1, night(20).1),
            ..rule(PoolMode::Allotment)
        };
        let weekend = PoolRule {
            weekdays: Weekdays::from_bits(0b110_0000),
            ..rule(PoolMode::Allotment)
        };
        let runs = |before: &[PoolRule], after: &[PoolRule]| -> Vec<(i32, i32)> {
            let day = |date| keyrack_model::stay::days_between(night(0).1, date);
            let touched = touched(before, after, open).into_values().flatten();
            touched
                .map(|nights| (day(nights.arrival()), day(nights.departure())))
                .collect()
        };
        let (one, two) = (ranged.clone(), weekend.clone());
        assert_eq!(runs(&[], std::slice::from_ref(&one)), [(3, 14)]);
        assert_eq!(runs(std::slice::from_ref(&two), &[]), [(5, 7), (12, 14)]);
        let both = [one.clone(), two.clone()];
        assert_eq!(runs(&both, &both), []);
        assert_eq!(
            runs(&both, &[two, one]),
            [(3, 14)],
            "the order says who wins"
        );
    }
}
