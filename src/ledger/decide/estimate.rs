//! The numbers of `safety` rules from what was measured: how closely sales follow one another, how
//! late we hear of them, how late an account is told.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange};

use super::buffer_rule::{BufferKind, BufferRule};
use super::lags::Lags;
use super::risk::{Windows, keep, once_in, windows};
use super::safety::{COLD_ROOMS, Kept, NightKind, SafetyKey, SafetyNumbers};
use super::selling::{Paces, SALES_MIN};

/// Rooms that somebody sold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sale {
    /// By which account; `None` is the hotel itself.
    pub seller: Option<AccountId>,
    /// When the guest booked, in milliseconds.
    pub booked_ms: i64,
    /// The same as a date at the property.
    pub booked_on: StayDate,
    /// When we heard of it, in milliseconds.
    pub heard_ms: i64,
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Which nights.
    pub nights: StayRange,
    /// How many.
    pub rooms: u32,
}

/// How an account listens and speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ear {
    /// Which.
    pub account: AccountId,
    /// From a change of the ledger to its acknowledgement.
    pub told: Lags,
    /// What its channel declares: the lag that is assumed while too little is measured.
    pub declared_ms: i64,
    /// Since so long it has not taken what it should have; 0 while it does.
    pub deaf_ms: i64,
    /// Since so long nothing could be heard of it; 0 while it can.
    pub mute_ms: i64,
}

/// Plain types by the type that is made of them.
pub type Parts = BTreeMap<RoomTypeId, BTreeSet<RoomTypeId>>;

/// Everything that the numbers rest on.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The sales of the last weeks.
    pub sales: Vec<Sale>,
    /// The accounts.
    pub ears: Vec<Ear>,
    /// Each told type of each account.
    pub cells: BTreeSet<(AccountId, RoomTypeId)>,
    /// The plain types that each type is made of; one that is not here is its own.
    pub parts: Parts,
    /// The property's target: one of so many scarce room nights.
    pub one_in: i32,
}

/// The numbers of all cells that a `safety` rule may bind, given those of before.
pub fn numbers(measured: &Measured, rules: &[BufferRule], before: &SafetyNumbers) -> SafetyNumbers {
    let rules: Vec<(&BufferRule, i32)> = rules
        .iter()
        .filter_map(|rule| match rule.kind {
            BufferKind::Safety(one_in) => Some((rule, one_in)),
            _ => None,
        })
        .collect();
    let heard = heard(measured);
    let mut paces = BTreeMap::new();
    let mut found = SafetyNumbers::new();
    for ear in &measured.ears {
        let exposed = Exposed::of(ear, &heard);
        let types = measured
            .cells
            .iter()
            .filter(|(account, _)| *account == ear.account);
        for (account, room_type) in types {
            for (rule, one_in) in &rules {
                if rule.account.is_some_and(|id| id != *account)
                    || rule.room_type.is_some_and(|id| id != *room_type)
                {
                    continue;
                }
                let paces = paces
                    .entry(*room_type)
                    .or_insert_with(|| Paces::of(&measured.sales, &measured.parts, *room_type));
                for kind in NightKind::all() {
                    let key = SafetyKey {
                        account: *account,
                        room_type: *room_type,
                        kind,
                        one_in: *one_in,
                    };
                    let number = number(&exposed, paces, key, measured.one_in, before.get(&key));
                    found.insert(key, number);
                }
            }
        }
    }
    found
}

fn number(
    exposed: &Exposed,
    paces: &Paces,
    key: SafetyKey,
    of_property: i32,
    before: Option<&Kept>,
) -> Kept {
    let (pace, nights) = paces.on(key.kind);
    let is_cold = exposed.is_cold || pace.sales < SALES_MIN;
    let one_in = if key.one_in > 0 {
        key.one_in
    } else {
        of_property
    };
    let count = |rooms: i32| u32::try_from(rooms).unwrap_or(0);
    let least = if is_cold { count(COLD_ROOMS) } else { 0 };
    let before = before.map(|kept| count(kept.rooms));
    let keep = keep(&exposed.windows, pace, count(one_in), least, before);
    let assumed = match (is_cold, exposed.trouble) {
        (_, Some(trouble)) => format!("; {trouble}"),
        (true, None) => "; too little is measured, so that the channel's declared lag is assumed \
                         and one room is kept back at least"
            .to_owned(),
        (false, None) => String::new(),
    };
    Kept {
        rooms: i32::try_from(keep.rooms).unwrap_or(i32::MAX),
        why: format!(
            "{} of {nights} in {DAYS} days, {} sold within ten minutes before another; from a \
             booking elsewhere until this channel shows it, half within {}, 99 of 100 within {}; a \
             scarce room is then sold twice {}, allowed is once in {one_in}{assumed}",
            spoken(pace.sales, "sale"),
            spoken(pace.short.rooms, "room"),
            exposed.windows.quantile(0.5),
            exposed.windows.quantile(0.99),
            once_in(keep.chance),
        ),
    }
}

/// Sellers with their share of the sales and the lag of their bookings.
fn heard(measured: &Measured) -> BTreeMap<Option<AccountId>, Lags> {
    let mut sellers: BTreeMap<Option<AccountId>, Lags> = BTreeMap::new();
    // Every desk sells something.
    sellers.insert(None, Lags::of([0]));
    for sale in &measured.sales {
        let lag = match sale.seller {
            Some(_) => sale.heard_ms.saturating_sub(sale.booked_ms),
            None => 0,
        };
        if lag <= TYPED_MS {
            sellers.entry(sale.seller).or_default().add(lag, 1);
        }
    }
    for ear in &measured.ears {
        let lags = sellers.entry(Some(ear.account)).or_default();
        let sold = lags.count();
        if ear.mute_ms > 0 {
            *lags = Lags::default();
            lags.add(doubled(ear.mute_ms), sold.max(1));
        } else if sold < HEARD_MIN {
            lags.add(ear.declared_ms, HEARD_MIN - sold);
        }
    }
    sellers
}

/// What an account is exposed to.
struct Exposed {
    windows: Windows,
    is_cold: bool,
    /// It fails, or lags far behind.
    trouble: Option<&'static str>,
}

impl Exposed {
    fn of(ear: &Ear, heard: &BTreeMap<Option<AccountId>, Lags>) -> Self {
        let mut told = ear.told.clone();
        let measured = told.count();
        if ear.deaf_ms > 0 {
            told = Lags::default();
            told.add(doubled(ear.deaf_ms), 1);
        } else if measured < TOLD_MIN {
            told.add(ear.declared_ms, TOLD_MIN - measured);
        }
        let trouble = match (ear.deaf_ms > 0, ear.mute_ms > 0) {
            (true, _) => Some("the channel does not take what it is told"),
            (_, true) => Some("the channel cannot be asked what it has sold"),
            _ => None,
        };
        // The desk's sales are in the ledger at once. But the desk itself sells on, by the ledger,
        // until that hears of the account's sale: it is as if its own sales were heard of so late.
        let own = heard.get(&Some(ear.account));
        let sellers = heard.iter().map(|(seller, lags)| {
            let late = if seller.is_none() { own } else { None };
            (lags.count(), late.unwrap_or(lags).clone())
        });
        let sellers: Vec<(u64, Lags)> = sellers.collect();
        Self {
            windows: windows(&sellers, &told),
            is_cold: measured < TOLD_MIN,
            trouble,
        }
    }
}

/// What lasts already so long will last as long again, in steps of two: the number of an account
/// that fails changes a few times and not every minute.
fn doubled(millis: i64) -> i64 {
    let minutes = millis.max(0) / 60_000 + 1;
    let steps = u64::try_from(minutes).unwrap_or(1).next_power_of_two();
    i64::try_from(steps)
        .unwrap_or(i64::MAX / 240_000)
        .saturating_mul(120_000)
}

/// The days whose sales are looked at.
pub const DAYS: i64 = 28;
/// Below so many tellings the lag of an account is not believed.
const TOLD_MIN: u64 = 30;
/// What we heard of two days late or more was imported or typed in: no channel lags so.
const TYPED_MS: i64 = 2 * 86_400_000;
/// Below so many bookings the lag of hearing of them is not believed.
const HEARD_MIN: u64 = 30;

fn spoken(count: impl std::fmt::Display, noun: &str) -> String {
    let text = count.to_string();
    let plural = if text == "1" { "" } else { "s" };
    format!("{text} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use keyrack_model::stay::Weekdays;

    use super::*;
    use crate::decide::cell_samples::night;

    const DBL: RoomTypeId = RoomTypeId(1);
    const HOUR_MS: i64 = 3_600_000;

    fn rule() -> BufferRule {
        BufferRule {
            account: None,
            room_type: None,
            nights: None,
            weekdays: Weekdays::ALL,
            lead_days_min: None,
            lead_days_max: None,
            kind: BufferKind::Safety(0),
        }
    }

    fn ear(account: i64, told: impl IntoIterator<Item = i64>) -> Ear {
        Ear {
            account: AccountId(account),
            told: Lags::of(told),
            declared_ms: 20_000,
            deaf_ms: 0,
            mute_ms: 0,
        }
    }

    /// Sales of account 1 an hour apart, each of a night a month ahead, heard of a second later.
    fn sales(count: i64) -> Vec<Sale> {
        let sale = |at: i64| Sale {
            seller: Some(AccountId(1)),
            booked_ms: at * HOUR_MS,
            booked_on: night(0),
            heard_ms: at * HOUR_MS + 1_000,
            room_type: DBL,
            nights: StayRange::new(night(30), night(31)).expect("a range"),
            rooms: 1,
        };
        (0..count).map(sale).collect()
    }

    fn measured(ears: Vec<Ear>, sales: Vec<Sale>) -> Measured {
        Measured {
            cells: ears.iter().map(|ear| (ear.account, DBL)).collect(),
            ears,
            sales,
            one_in: 1_000,
            ..Measured::default()
        }
    }

    fn kept(measured: &Measured, before: &SafetyNumbers) -> Vec<i32> {
        let found = numbers(measured, &[rule()], before);
        let far = found.iter().filter(|(key, _)| key.kind.index() == 4);
        far.map(|(_, kept)| kept.rooms).collect()
    }

    #[test]
    fn a_quick_account_of_a_quiet_house_keeps_nothing_back_and_a_slow_one_does() {
        let ears = vec![ear(1, [1_000; 100]), ear(2, [3_000_000; 100])];
        assert_eq!(
            kept(&measured(ears, sales(400)), &SafetyNumbers::new()),
            [0, 5]
        );
    }

    #[test]
    fn a_cold_start_takes_the_declared_lag_and_keeps_one_room_at_least() {
        let none = SafetyNumbers::new();
        let cold = measured(vec![ear(1, [])], Vec::new());
        let found = numbers(&cold, &[rule()], &none);
        assert_eq!(found.len(), 6);
        for kept in found.values() {
            assert!(
                kept.rooms >= 1 && kept.why.contains("too little is measured"),
                "{kept:?}"
            );
        }
        let few_tellings = measured(vec![ear(1, [1_000; 5])], sales(400));
        assert_eq!(kept(&few_tellings, &none), [1]);
        let few_sales = measured(vec![ear(1, [1_000; 100])], sales(5));
        assert_eq!(kept(&few_sales, &none), [1]);
        let slow = Ear {
            declared_ms: HOUR_MS,
            ..ear(1, [])
        };
        assert!(kept(&measured(vec![slow], sales(400)), &none)[0] >= 2);
    }

    #[test]
    fn an_account_that_fails_is_kept_from_more_and_so_are_the_others_while_it_cannot_be_asked() {
        let none = SafetyNumbers::new();
        let well = || vec![ear(1, [1_000; 100]), ear(2, [1_000; 100])];
        assert_eq!(kept(&measured(well(), sales(400)), &none), [0, 0]);
        let mut deaf = well();
        deaf[1].deaf_ms = HOUR_MS;
        let found = numbers(&measured(deaf, sales(400)), &[rule()], &none);
        let says = |account, words| {
            let mut of = found
                .iter()
                .filter(|(key, _)| key.account == AccountId(account));
            of.all(|(_, kept)| kept.why.contains(words))
        };
        assert!(says(2, "does not take what it is told") && !says(1, "does not take"));
        let mut deaf = well();
        deaf[1].deaf_ms = HOUR_MS;
        let [one, two] = kept(&measured(deaf, sales(400)), &none)[..] else {
            panic!("two accounts");
        };
        assert!(one == 0 && two >= 2, "{one} {two}");
        let mut mute = well();
        mute[0].mute_ms = HOUR_MS;
        let [one, two] = kept(&measured(mute, sales(400)), &none)[..] else {
            panic!("two accounts");
        };
        assert!(one >= 2 && two >= 2, "{one} {two}");
    }

    #[test]
    fn an_outage_moves_the_number_in_steps_of_two() {
        for (minutes, doubled_minutes) in [(0, 2), (1, 4), (2, 8), (3, 8), (4, 16), (7, 16)] {
            assert_eq!(
                doubled(minutes * 60_000),
                doubled_minutes * 60_000,
                "{minutes}"
            );
        }
        assert!(doubled(i64::MAX) > 0);
    }

    #[test]
    fn what_was_typed_in_days_later_is_a_sale_and_no_lag() {
        let mut late = sales(400);
        for sale in late.iter_mut().take(200) {
            sale.heard_ms += 30 * 24 * HOUR_MS;
        }
        let ears = vec![ear(1, [1_000; 100])];
        assert_eq!(kept(&measured(ears, late), &SafetyNumbers::new()), [0]);
    }

    #[test]
    fn rules_of_other_kinds_and_other_accounts_ask_for_no_number() {
        let ears = vec![ear(1, []), ear(2, [])];
        let all = measured(ears, Vec::new());
        let other = BufferRule {
            kind: BufferKind::KeepBack(1),
            ..rule()
        };
        let named = BufferRule {
            account: Some(AccountId(2)),
            ..rule()
        };
        let none = SafetyNumbers::new();
        assert!(numbers(&all, &[other], &none).is_empty());
        let found = numbers(&all, &[named], &none);
        assert!(found.keys().all(|key| key.account == AccountId(2)) && found.len() == 6);
    }
}
