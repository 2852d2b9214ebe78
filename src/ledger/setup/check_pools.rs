//! What is wrong with a setup of pools: buffer rules, allotments, pool rules, groups.

use keyrack_model::id::Code;

use super::check::{Faults, ONE_IN_MAX, ROOMS_MAX};
use crate::allotments::Put;
use crate::decide::buffer_rule::{BufferKind, BufferRule};
use crate::decide::pool_rule::PoolRule;
use crate::decide::refusal::Refusal;
use crate::groups::GroupSetup;

/// Buffer rules, but for the ids that they name.
pub(crate) fn buffer_rules(rules: &[BufferRule]) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    for (i, rule) in rules.iter().enumerate() {
        let at = |field: &str| format!("/{i}/{field}");
        let (most, sentence) = match rule.kind {
            BufferKind::SharePercent(_) => (100, "0 to 100"),
            BufferKind::Safety(_) => (ONE_IN_MAX, "0 to 1000000"),
            _ => (ROOMS_MAX, "0 to 100000"),
        };
        let fits = (0..=most).contains(&rule.kind.number());
        faults.unless(fits, &at("rooms"), sentence);
        faults.unless(rule.weekdays.bits() != 0, &at("weekdays"), "at least one");
        let (min, max) = (rule.lead_days_min, rule.lead_days_max);
        let ordered = min.zip(max).is_none_or(|(min, max)| min <= max);
        faults.unless(ordered, &at("lead_days_max"), "not below lead_days_min");
    }
    faults.done()
}

/// An allotment, but for the ids that it names.
pub(crate) fn allotment(put: &Put) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    let sentence = "1 to 40 of the characters A-Z a-z 0-9 . _ -";
    faults.unless(Code::new(&put.code).is_some(), "/allotment", sentence);
    let days = (0..=2_000).contains(&put.release.period_days);
    faults.unless(days, "/release_period_days", "0 to 2000 days");
    for (i, value) in put.values.iter().enumerate() {
        let at = |field: &str| format!("/values/{i}/{field}");
        let fits = (0..=ROOMS_MAX).contains(&value.rooms);
        faults.unless(fits, &at("rooms"), "0 to 100000");
        faults.unless(value.weekdays.bits() != 0, &at("weekdays"), "at least one");
    }
    let reason = put.force.as_ref().map(|force| force.reason.trim());
    faults.unless(
        reason != Some(""),
        "/force/reason",
        "a force needs a reason",
    );
    faults.done()
}

/// Pool rules, but for the ids that they name.
pub(crate) fn pool_rules(rules: &[PoolRule]) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    for (i, rule) in rules.iter().enumerate() {
        let at = |field: &str| format!("/{i}/{field}");
        faults.unless(rule.weekdays.bits() != 0, &at("weekdays"), "at least one");
        let Some(scarcity) = rule.scarcity else {
            continue;
        };
        let fits = (0..=ROOMS_MAX).contains(&scarcity.at_most);
        faults.unless(fits, &at("when_free"), "0 to 100000");
        let is_above = scarcity.again_at > scarcity.at_most && scarcity.again_at <= ROOMS_MAX;
        faults.unless(is_above, &at("until_free"), "more rooms than when_free");
    }
    faults.done()
}

/// A group.
pub(crate) fn group(code: &str, setup: &GroupSetup) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    let sentence = "1 to 40 of the characters A-Z a-z 0-9 . _ -";
    faults.unless(Code::new(code).is_some(), "/group", sentence);
    let is_named = !setup.name.trim().is_empty();
    faults.unless(is_named, "/name", "must not be empty");
    faults.done()
}
