//! Rules that switch how an account sells: by season, and while rooms are scarce. Such a rule
//! begins to hold at one number of free rooms and ends at a larger one.
//!
//! Whoever changes a night turns its switches, but what several changed in one batch is looked at
//! once, and dead holds are let go unseen: so a switch may be known to be on, or off, or either.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use keyrack_ledger::decide::pool_rule::PoolRule;
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, AllotmentId};
use keyrack_model::stay::{StayDate, plus_days};

use super::draw::of_account;
use super::entry::Cell;
use super::expected::{Expected, Yes};
use super::house::House;

/// The pool rules of a property and their switches.
#[derive(Clone, Debug, Default)]
pub struct Switching {
    /// The rules in order, each with a number of its own that it keeps as long as it stays.
    rules: Vec<(u32, PoolRule)>,
    made: u32,
    /// What a switch may be; off where it is not there.
    states: BTreeMap<(u32, Cell), Maybe>,
    /// Nights whose switches were turned since they were last looked at.
    pub turned: BTreeSet<Cell>,
    /// What may be either is taken for on.
    pub guess: bool,
}

/// What a switch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maybe {
    on: bool,
    off: bool,
}

const OFF: Maybe = Maybe {
    on: false,
    off: true,
};

const ON: Maybe = Maybe {
    on: true,
    off: false,
};

impl Maybe {
    fn states(self) -> impl Iterator<Item = bool> {
        let both = [(self.on, true), (self.off, false)];
        both.into_iter().filter(|(may, _)| *may).map(|(_, is)| is)
    }

    fn may(self, is: bool) -> bool {
        if is { self.on } else { self.off }
    }

    fn add(&mut self, is: bool) {
        self.on |= is;
        self.off |= !is;
    }
}

/// Whether rooms are scarce with so many free, after they were or were not.
fn holds(was: bool, free: i32, rule: &PoolRule) -> bool {
    let Some(scarce) = rule.scarcity else {
        return true;
    };
    match was {
        true => free < scarce.again_at,
        false => free <= scarce.at_most,
    }
}

/// Whether a rule speaks of a night.
fn speaks_of(rule: &PoolRule, (room_type, night): Cell) -> bool {
    let in_range =
        |nights: keyrack_model::stay::Stay| nights.arrival() <= night && night < nights.departure();
    rule.room_type.is_none_or(|of| of == room_type)
        && rule.nights.is_none_or(in_range)
        && rule.weekdays.contains(night)
}

impl Switching {
    /// Whether any rule turns with the number of free rooms.
    fn turns(&self) -> bool {
        self.rules.iter().any(|(_, rule)| rule.scarcity.is_some())
    }

    /// Whether there are any.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    fn state(&self, number: u32, cell: Cell) -> Maybe {
        self.states.get(&(number, cell)).copied().unwrap_or(OFF)
    }

    /// Whether any switch may be either.
    pub fn is_in_doubt(&self) -> bool {
        self.states.values().any(|state| state.on && state.off)
    }

    /// Whether a rule holds on a night.
    fn binds(&self, number: u32, rule: &PoolRule, cell: Cell) -> bool {
        let state = self.state(number, cell);
        let is_on = state.on && (!state.off || self.guess);
        speaks_of(rule, cell) && (rule.scarcity.is_none() || is_on)
    }
}

impl House {
    /// How an account sells a night of a type, and from which allotment, where it does not sell the
    /// shared pool alone: as it is mapped, unless a rule says otherwise; the last that binds.
    pub fn sells(&self, account: AccountId, cell: Cell) -> Option<(PoolMode, AllotmentId)> {
        let mapped = self.rules.mapped.get(&(account, cell.0)).copied();
        let switching = &self.switching;
        if switching.rules.is_empty() {
            return mapped;
        }
        let first = of_account(self, account, cell.0).first().copied();
        let (mapped, of) = mapped.or(first.map(|of| (PoolMode::Shared, of)))?;
        let rules = switching.rules.iter().rev();
        let mut of_account = rules.filter(|(_, rule)| rule.account == account);
        let said = of_account.find(|(number, rule)| switching.binds(*number, rule, cell));
        Some((said.map_or(mapped, |(_, rule)| rule.mode), of))
    }

    /// Free rooms of a night while dead holds are there, and once they are let go.
    fn free_ends(&self, cell: Cell, now: Timestamp) -> [i32; 2] {
        let night = self.night(cell);
        let taken = night.held + night.sold + night.allotted + night.out_of_order;
        let bound = night.physical + night.limit;
        [(bound - taken).max(0), self.free(cell, &self.dead(now))]
    }

    /// The switches of a night are turned by what is free on it, or not yet.
    pub fn turn(&mut self, cell: Cell, now: Timestamp) {
        if !self.switching.turns() {
            return;
        }
        let ends = self.free_ends(cell, now);
        let switching = &mut self.switching;
        for (number, rule) in &switching.rules {
            if rule.scarcity.is_none() || !speaks_of(rule, cell) {
                continue;
            }
            let was = switching
                .states
                .get(&(*number, cell))
                .copied()
                .unwrap_or(OFF);
            let mut is = was;
            for (was, free) in was.states().flat_map(|was| ends.map(|free| (was, free))) {
                is.add(holds(was, free, rule));
            }
            switching.states.insert((*number, cell), is);
        }
        switching.turned.insert(cell);
    }

    /// What a switch may be by now: turned once more where its night was changed, and perhaps where
    /// a dead hold may have been let go.
    fn settled(&self, number: u32, rule: &PoolRule, cell: Cell, now: Timestamp) -> Maybe {
        let was = self.switching.state(number, cell);
        let [with_dead, without] = self.free_ends(cell, now);
        let mut is = Maybe {
            on: false,
            off: false,
        };
        for was in was.states() {
            if self.switching.turned.contains(&cell) {
                is.add(holds(was, with_dead, rule));
            } else {
                is.add(was);
            }
            // Also where so many are too many that their rooms make none free.
            if self.dead(now).on(cell) > 0 {
                is.add(holds(was, without, rule));
            }
        }
        is
    }

    /// Rules and nights on which their switches matter: of types of which the account has an
    /// allotment.
    fn switches(&self) -> impl Iterator<Item = (i32, u32, &PoolRule, Cell)> {
        let of_scarcity = (0..).zip(&self.switching.rules);
        let of_scarcity = of_scarcity.filter(|(_, (_, rule))| rule.scarcity.is_some());
        of_scarcity.flat_map(move |(place, (number, rule))| {
            let matters = |cell: &&Cell| {
                speaks_of(rule, **cell) && !of_account(self, rule.account, cell.0).is_empty()
            };
            let cells = self.nights.keys().filter(matters);
            cells.map(move |cell| (place, *number, rule, *cell))
        })
    }

    /// Switches that are not as they must be.
    pub fn compare_switches(
        &self,
        on: &BTreeSet<(i32, Cell)>,
        now: Timestamp,
        found: &mut Vec<String>,
    ) {
        for (place, number, rule, cell) in self.switches() {
            let is = on.contains(&(place, cell));
            if !self.settled(number, rule, cell, now).may(is) {
                let word = if is { "on" } else { "off" };
                let [with_dead, free] = self.free_ends(cell, now);
                found.push(format!(
                    "{} {}: the switch of pool rule {place} is {word} with {free} free \
                     ({with_dead} with dead holds), after {:?}: {rule:?}",
                    cell.0,
                    cell.1,
                    self.switching.state(number, cell),
                ));
            }
        }
    }

    /// What was either is from now on what it was seen to be.
    pub fn adopt_switches(&mut self, on: &BTreeSet<(i32, Cell)>) {
        let switching = &mut self.switching;
        switching.turned.clear();
        let seen = on.iter().filter_map(|(place, cell)| {
            let (number, _) = switching.rules.get(usize::try_from(*place).ok()?)?;
            Some(((*number, *cell), ON))
        });
        switching.states = seen.collect();
    }
}

/// Other rules in place of those that are: one that stays keeps its switches, those of a new one
/// are turned by what is free.
pub fn put(house: &mut House, rules: &[PoolRule], now: Timestamp) -> Expected {
    let has_none = |rule: &PoolRule| {
        let mut own = house.allotments.values();
        let fits = |of| rule.room_type.is_none_or(|named| named == of);
        rule.mode != PoolMode::Shared
            && !own.any(|one| one.account == Some(rule.account) && fits(one.room_type))
    };
    if rules.iter().any(has_none) {
        return Expected::no("invalid");
    }
    let mut left = std::mem::take(&mut house.switching.rules);
    for rule in rules {
        let known = left.iter().position(|(_, known)| known == rule);
        let kept = known.map(|at| left.remove(at).0);
        let number = kept.unwrap_or_else(|| {
            house.switching.made += 1;
            house.switching.made
        });
        house.switching.rules.push((number, rule.clone()));
    }
    let gone: BTreeSet<u32> = left.iter().map(|(number, _)| *number).collect();
    let states = &mut house.switching.states;
    states.retain(|(number, _), _| !gone.contains(number));
    look_at_all(house, now);
    Expected::Yes(Yes::default())
}

/// Every open night of a type with an allotment is looked at, where any rule turns.
fn look_at_all(house: &mut House, now: Timestamp) {
    if !house.switching.turns() {
        return;
    }
    let today = house.rules.today(now);
    let end: StayDate = plus_days(today, house.rules.horizon_days);
    let of_allotments: BTreeSet<_> = house.allotments.values().map(|one| one.room_type).collect();
    let is_open = |cell: &&Cell| of_allotments.contains(&cell.0) && today <= cell.1 && cell.1 < end;
    let cells: Vec<Cell> = house.nights.keys().filter(is_open).copied().collect();
    for cell in cells {
        house.change_night(cell, now, |_| {});
    }
}
