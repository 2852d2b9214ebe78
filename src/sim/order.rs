//! Within a round nobody knows the order of what was done. Here one is looked for in which the
//! auditor's books explain every answer exactly and agree with what the ledger holds.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};

use jiff::Timestamp;
use keyrack_ledger::command::{Answer, Command};
use keyrack_model::id::PropertyId;
use keyrack_model::inventory::NightBalance;

use crate::auditor::books::Books;
use crate::auditor::compare::State;
use crate::auditor::entry::Cell;
use crate::auditor::expected::Expected;

/// Something of a round that may have changed the ledger.
#[derive(Clone, Debug)]
pub struct Deed {
    /// Number of its step.
    pub number: usize,
    /// What was asked.
    pub command: Command,
    /// What its caller was told in the end. `None` for an attempt that nobody was told of: it was
    /// carried out or not.
    pub answer: Option<Answer>,
    /// Success is remembered for its key: an attempt that nobody was told of and that succeeded
    /// gives its receipt to the next. So here only a refusal with its traces is left.
    pub has_key: bool,
    /// Of an attempt that nobody was told of: it may have been carried out after the next one was
    /// refused.
    pub may_be_late: bool,
    /// Of an attempt that nobody was told of: which deed was told of instead.
    pub of: Option<usize>,
}

/// What is known of a property's part of a round.
pub struct Puzzle<'a> {
    /// Whose.
    pub property: PropertyId,
    /// The script's time.
    pub now: Timestamp,
    /// What was done, in the order of the script.
    pub deeds: &'a [Deed],
    /// What the ledger holds after it.
    pub state: &'a State,
}

/// Deeds in an order that explains all, and the books after them.
pub struct Solution {
    /// Indexes into the deeds, as they must have been done.
    pub order: Vec<usize>,
    /// The books.
    pub books: Books,
}

struct Search<'a> {
    puzzle: &'a Puzzle<'a>,
    /// Nights that were changed in the round.
    moving: BTreeSet<Cell>,
    order: Vec<usize>,
    steps_left: u32,
    /// Deeds that were done and books after them from which nothing was found: deeds that have
    /// nothing to do with each other come to the same in any order.
    failed: HashSet<(u64, u64)>,
    /// The nearest miss: how many deeds were explained, and what did not fit then.
    nearest: (usize, Vec<String>),
}

impl Puzzle<'_> {
    /// An order that explains all; else in words what does not fit in the order that comes
    /// nearest.
    pub fn solve(&self, books: &Books) -> Result<Solution, String> {
        let mut search = Search {
            puzzle: self,
            moving: self.moving(books),
            order: Vec::new(),
            steps_left: STEPS_MAX,
            failed: HashSet::new(),
            nearest: (0, Vec::new()),
        };
        if let Some(books) = search.go_on(books) {
            let order = search.order;
            return Ok(Solution { order, books });
        }
        let words = search.nearest.1.join("\n  ");
        let exhausted = if search.steps_left == 0 {
            " (not all were tried)"
        } else {
            ""
        };
        Err(format!(
            "no order of the round explains it{exhausted}; the nearest:\n  {words}"
        ))
    }

    /// Nights that answers name as changed, and those that differ after the round.
    fn moving(&self, books: &Books) -> BTreeSet<Cell> {
        let receipts = self
            .deeds
            .iter()
            .filter_map(|deed| deed.answer.as_ref()?.as_ref().ok());
        let named = receipts.flat_map(|receipt| &receipt.nights);
        let mut moving: BTreeSet<Cell> = named
            .flat_map(|(room_type, stay)| stay.nights().map(|night| (*room_type, night)))
            .collect();
        let house = books.house(self.property);
        let differs = |(cell, is): (&Cell, &NightBalance)| {
            let was = house?.night(*cell);
            let was = (
                was.physical,
                was.out_of_order,
                was.limit,
                was.held,
                was.sold,
                was.allotted,
            );
            let is = (
                is.physical,
                is.out_of_order,
                is.overbooking_limit,
                is.held,
                is.sold,
                is.allotted,
            );
            (was != is).then_some(*cell)
        };
        moving.extend(self.state.nights.iter().filter_map(differs));
        moving
    }
}

impl Search<'_> {
    fn go_on(&mut self, books: &Books) -> Option<Books> {
        let done = self.order.iter().fold(0, |done, at| done | 1_u64 << at);
        let here = (done, fingerprint(books, self.puzzle.property));
        if self.failed.contains(&here) {
            return None;
        }
        let found = self.try_from(books);
        if found.is_none() {
            self.failed.insert(here);
        }
        found
    }

    fn try_from(&mut self, books: &Books) -> Option<Books> {
        let deeds = self.puzzle.deeds;
        let is_open = |at: &usize| deeds[*at].answer.is_some() && !self.order.contains(at);
        let open: Vec<usize> = (0..deeds.len()).filter(is_open).collect();
        if open.is_empty() {
            let now = self.puzzle.now;
            let different = books.compare(self.puzzle.property, self.puzzle.state, now);
            if different.is_empty() {
                return Some(books.clone());
            }
            self.missed(different);
        }
        for at in open {
            if let Some(books) = self.answered(books, at) {
                return Some(books);
            }
        }
        // What nobody was told of, last: mostly it was not done.
        let untold = |at: &usize| {
            let deed = &deeds[*at];
            let may_come = deed.may_be_late || !self.is_told(deed);
            deed.answer.is_none() && !self.order.contains(at) && may_come
        };
        let untold: Vec<usize> = (0..deeds.len()).filter(untold).collect();
        untold.into_iter().find_map(|at| self.unanswered(books, at))
    }

    fn answered(&mut self, books: &Books, at: usize) -> Option<Books> {
        let deed = &self.puzzle.deeds[at];
        let answer = deed.answer.as_ref()?;
        self.steps_left = self.steps_left.checked_sub(1)?;
        let mut after = books.clone();
        let (property, now) = (self.puzzle.property, self.puzzle.now);
        let different = after.explain(property, &deed.command, now, answer, &self.moving);
        if !different.is_empty() {
            let words = different.join("\n    ");
            self.missed(vec![format!("step {}: {words}", deed.number)]);
            return None;
        }
        self.with(&after, at)
    }

    fn unanswered(&mut self, books: &Books, at: usize) -> Option<Books> {
        let deed = &self.puzzle.deeds[at];
        self.steps_left = self.steps_left.checked_sub(1)?;
        let mut after = books.clone();
        let expected = after.carry_out(self.puzzle.property, &deed.command, self.puzzle.now);
        let is_done = matches!(expected, Expected::Yes(_));
        if deed.has_key && is_done && !self.is_late(deed) {
            return None;
        }
        self.with(&after, at)
    }

    /// Whether the attempt that was told of is already in the order.
    fn is_told(&self, deed: &Deed) -> bool {
        deed.of.is_some_and(|of| self.order.contains(&of))
    }

    /// Carried out after the next attempt was refused.
    fn is_late(&self, deed: &Deed) -> bool {
        let told = deed.of.and_then(|of| self.puzzle.deeds[of].answer.as_ref());
        deed.may_be_late && self.is_told(deed) && told.is_some_and(Result::is_err)
    }

    fn with(&mut self, books: &Books, at: usize) -> Option<Books> {
        self.order.push(at);
        let found = self.go_on(books);
        if found.is_none() {
            self.order.pop();
        }
        found
    }

    fn missed(&mut self, words: Vec<String>) {
        let explained = self.order.len() + 1;
        let is_nearer = explained > self.nearest.0
            || explained == self.nearest.0 && words.len() < self.nearest.1.len();
        if is_nearer {
            let order: Vec<String> = self
                .order
                .iter()
                .map(|at| self.puzzle.deeds[*at].number.to_string())
                .collect();
            let mut all = vec![format!("after the steps [{}]:", order.join(", "))];
            all.extend(words);
            self.nearest = (explained, all);
        }
    }
}

/// Of all that the books say of a property.
fn fingerprint(books: &Books, property: PropertyId) -> u64 {
    let mut words = Words(DefaultHasher::new());
    if let Some(house) = books.house(property) {
        let all = (
            &house.nights,
            &house.entries,
            &house.references,
            &house.rooms,
            &house.allotments,
            &house.switching,
        );
        // A hash takes whatever is written.
        let _ = write!(words, "{all:?}");
    }
    words.0.finish()
}

/// Hashes what is written.
struct Words(DefaultHasher);

impl std::fmt::Write for Words {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Far more than the orders of six deeds.
const STEPS_MAX: u32 = 60_000;
