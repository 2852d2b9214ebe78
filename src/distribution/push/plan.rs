//! What becomes of marks, given the present cells, what was told, and what has been heard.
//!
//! Pure: values in, a plan out.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::tail::ExplainLine;
use keyrack_model::ari::{AriCell, AriKey, AriValues};
use keyrack_model::channel::Capabilities;

use crate::push::urgency::{Hearing, Urgency, held_at, may_rise, openness, urgency};
use crate::store::mark::{Mark, Rest};
use crate::store::told::Told;

/// A cell that is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// Its mark; `None` in a complete set where nothing changed.
    pub(crate) mark: Option<Mark>,
    /// What is told.
    pub(crate) cell: AriCell,
    /// What was told before.
    pub(crate) before: Option<Told>,
    /// More is true than is told: the mark stays and waits for a poll.
    pub(crate) is_held: bool,
    /// How it was worked out, as JSON, where it is another than was told before.
    pub(crate) basis: Option<String>,
}

impl Pick {
    /// More can be bought after it than was certainly shown before.
    pub(crate) fn is_raise(&self) -> bool {
        let before = self
            .before
            .as_ref()
            .map_or(0, |told| told.shown.openness_min);
        openness(&self.cell.values) > before
    }

    /// Notes how it was worked out, unless the channel shows it already: `lines` are those of the
    /// same moment.
    pub(crate) fn rest_on(&mut self, lines: impl FnOnce(&AriKey) -> Vec<ExplainLine>) {
        let is_shown = self.before.as_ref().is_some_and(|before| {
            before.shown.is_acknowledged && before.shown.values == self.cell.values
        });
        if is_shown {
            return;
        }
        let mut lines = lines(&self.cell.key);
        if self.is_held {
            lines.push(ExplainLine {
                step: "held".to_owned(),
                why: "more is true than is told: the rest waits until the channel has been asked \
                      what it has sold"
                    .to_owned(),
                rooms: self.cell.values.rooms,
                closed: self.cell.values.closed,
            });
        }
        self.basis = serde_json::to_string(&lines).ok();
    }

    /// How often the channel refused it.
    pub(crate) fn attempt(&self) -> u32 {
        self.mark.as_ref().map_or(0, |mark| mark.attempt)
    }
}

/// What becomes of marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Shown already, or told to nobody: removed without a message.
    pub(crate) settled: Vec<(AriKey, i64)>,
    /// Told first, at once.
    pub(crate) lowering: Vec<Pick>,
    /// Told after these.
    pub(crate) raising: Vec<Pick>,
    /// Left for later.
    pub(crate) rests: Vec<Rest>,
    /// Plans that were told otherwise than their rooms are now, with the rooms' marks.
    pub(crate) turned: Vec<(AriKey, Mark)>,
}

/// How an account listens and wants to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ear {
    /// Its channel's abilities.
    pub(crate) capabilities: &'static Capabilities,
    /// What has been heard of it.
    pub(crate) hearing: Hearing,
    /// Repeating a number of so many rooms or fewer waits for a poll.
    pub(crate) scarcity_rooms: i32,
    /// Changes are gathered for so long before a raise is told.
    pub(crate) gather_seconds: u32,
    /// It fails or lags, and a rule of safety binds it: nothing rises until it has recovered.
    pub(crate) is_throttled: bool,
}

impl Ear {
    /// When a mark may be raised that is looked at now: `None` is now.
    fn rest(&self, mark: &Mark, is_raise: bool) -> Option<Rest> {
        let gather = SignedDuration::from_secs(self.gather_seconds.into());
        let gathered_at = mark
            .first_marked_at
            .saturating_add(gather)
            .unwrap_or(Timestamp::MAX);
        let rest = |waits_for_poll, due_at| Rest {
            key: mark.key,
            seq: mark.seq,
            waits_for_poll,
            due_at,
            attempt: mark.attempt,
            is_full: mark.repeat.is_full,
            changed_at: mark.changed_at,
            error: None,
        };
        if is_raise && self.hearing.now < gathered_at {
            return Some(rest(false, gathered_at));
        }
        let is_held = is_raise && self.is_throttled;
        let may_rise = !is_held && may_rise(self.capabilities, self.hearing, mark.marked_at);
        (!may_rise).then(|| rest(true, self.hearing.now))
    }
}

/// What becomes of `marks` where single nights are told.
pub(crate) fn plan(
    marks: Vec<Mark>,
    cells: Vec<AriCell>,
    told: &HashMap<AriKey, Told>,
    ear: &Ear,
) -> Plan {
    let mut present: HashMap<AriKey, AriCell> =
        cells.into_iter().map(|cell| (cell.key, cell)).collect();
    let mut plan = Plan::default();
    for mark in marks {
        let Some(cell) = present.remove(&mark.key) else {
            plan.settled.push((mark.key, mark.seq));
            continue;
        };
        let before = told.get(&mark.key).cloned();
        let shown = before.as_ref().map(|told| &told.shown);
        match urgency(&cell.values, shown, mark.repeat, ear.scarcity_rooms) {
            Urgency::Settled => plan.settled.push((mark.key, mark.seq)),
            Urgency::Now => plan.lowering.push(pick(mark, cell, before)),
            Urgency::HeldAt(openness) => plan.lowering.push(held(mark, cell, before, openness)),
            Urgency::AfterPoll { is_raise } => match ear.rest(&mark, is_raise) {
                Some(rest) => plan.rests.push(rest),
                None => plan.raising.push(pick(mark, cell, before)),
            },
        }
    }
    plan
}

/// Every cell of an account as a complete set tells it, and whether any of it must be told now.
///
/// A set replaces all that the channel knows, so what may not rise yet is told as it was.
pub(crate) fn complete(
    marks: Vec<Mark>,
    cells: Vec<AriCell>,
    told: &HashMap<AriKey, Told>,
    ear: &Ear,
) -> (Vec<Pick>, Vec<Rest>, bool) {
    let mut marks: HashMap<AriKey, Mark> = marks.into_iter().map(|mark| (mark.key, mark)).collect();
    let (mut picks, mut rests, mut is_due) = (Vec::new(), Vec::new(), false);
    for cell in cells {
        let mark = marks.remove(&cell.key);
        let before = told.get(&cell.key).cloned();
        let shown = before.as_ref().map(|told| &told.shown);
        let repeat = mark.as_ref().map(|mark| mark.repeat).unwrap_or_default();
        let least = shown.map_or(0, |shown| shown.openness_min);
        let now = ear.hearing.now;
        let fresh = || unmarked(cell.key, now);
        match urgency(&cell.values, shown, repeat, ear.scarcity_rooms) {
            Urgency::HeldAt(openness) => {
                is_due = true;
                picks.push(held(mark.unwrap_or_else(fresh), cell, before, openness));
            }
            Urgency::AfterPoll { is_raise: true } => {
                let mark = mark.unwrap_or_else(fresh);
                match ear.rest(&mark, true) {
                    None => {
                        is_due = true;
                        picks.push(pick(mark, cell, before));
                    }
                    Some(rest) => {
                        rests.push(rest);
                        picks.push(held(mark, cell, before, least));
                    }
                }
            }
            Urgency::Settled => picks.push(Pick {
                mark,
                cell,
                before,
                is_held: false,
                basis: None,
            }),
            Urgency::Now | Urgency::AfterPoll { is_raise: false } => {
                is_due = true;
                picks.push(Pick {
                    mark,
                    cell,
                    before,
                    is_held: false,
                    basis: None,
                });
            }
        }
    }
    (picks, rests, is_due)
}

fn pick(mark: Mark, cell: AriCell, before: Option<Told>) -> Pick {
    Pick {
        mark: Some(mark),
        cell,
        before,
        is_held: false,
        basis: None,
    }
}

fn held(mark: Mark, cell: AriCell, before: Option<Told>, openness: i32) -> Pick {
    let values: AriValues = held_at(&cell.values, openness);
    Pick {
        mark: Some(mark),
        cell: AriCell {
            key: cell.key,
            values,
        },
        before,
        is_held: true,
        basis: None,
    }
}

/// A cell that differs from what was told though nobody marked it: counted from now, and never
/// settled by its sequence.
fn unmarked(key: AriKey, now: Timestamp) -> Mark {
    Mark {
        key,
        seq: 0,
        first_marked_at: now,
        changed_at: None,
        marked_at: now,
        repeat: crate::push::urgency::Repeat::default(),
        attempt: 0,
    }
}
