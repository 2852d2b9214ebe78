//! Pools on paper: the nights of allotments, and switches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use keyrack_ledger::decide::allotting::{AllotmentChanges, AllotmentKey, SeenAllotment};
use keyrack_ledger::decide::draft::Seen;
use keyrack_ledger::decide::pool_rule::{PoolRule, Switches};
use keyrack_ledger::decide::rules::Rules;
use keyrack_model::allotment::AllotmentNight;
use keyrack_model::id::{AllotmentId, PoolRuleId, PropertyId, RoomTypeId};
use keyrack_model::stay::StayDate;

/// What is kept of pools.
#[derive(Default)]
pub struct PaperPools {
    counts: BTreeMap<AllotmentKey, SeenAllotment>,
    switches: HashMap<PropertyId, Switches>,
    made: i64,
}

impl PaperPools {
    /// What a batch reads of them.
    pub fn see(&self, property: PropertyId, seen: &mut Seen) {
        let own = self.counts.iter().filter(|(key, _)| key.0 == property);
        seen.allotments.extend(own.map(|(key, one)| (*key, *one)));
        if let Some(switches) = self.switches.get(&property) {
            seen.switches.insert(property, switches.clone());
        }
    }

    /// What a batch writes of them.
    pub fn apply(
        &mut self,
        changes: &AllotmentChanges,
        rules: &mut HashMap<PropertyId, Arc<Rules>>,
    ) -> Result<(), String> {
        for (key, seen) in &changes.counts {
            let read = self.counts.get(key).map_or(0, |known| known.version);
            if read != seen.version {
                return Err(format!("{key:?}: {read} was read as {}", seen.version));
            }
            let version = read + 1;
            self.counts.insert(*key, SeenAllotment { version, ..*seen });
        }
        for terms in &changes.terms {
            let rules = rules.get_mut(&terms.property).ok_or("no such property")?;
            let pools = &mut Arc::make_mut(rules).pools;
            let known = pools.allotments.get_mut(&terms.allotment);
            let known = known.ok_or("no such allotment")?;
            if known.version != terms.version {
                return Err(format!("{known:?} was read as {}", terms.version));
            }
            known.version += 1;
            known.release = terms.release;
        }
        for (property, rule, night, is_on) in &changes.switches {
            let switches = self.switches.entry(*property).or_default();
            if *is_on {
                switches.insert((*rule, *night));
            } else {
                switches.remove(&(*rule, *night));
            }
        }
        Ok(())
    }

    /// Replaces rules; those that stay keep their ids, and so their switches.
    pub fn put(
        &mut self,
        property: PropertyId,
        known: &mut Vec<(PoolRuleId, PoolRule)>,
        rules: &[PoolRule],
    ) {
        let mut left = std::mem::take(known);
        for rule in rules {
            let at = left.iter().position(|(_, known)| known == rule);
            let id = at.map(|at| left.remove(at).0).unwrap_or_else(|| {
                self.made += 1;
                PoolRuleId(self.made)
            });
            known.push((id, rule.clone()));
        }
        let switches = self.switches.entry(property).or_default();
        switches.retain(|(id, _)| known.iter().any(|(known, _)| known == id));
    }

    /// Switches that are on, by the places of their rules.
    pub fn places(
        &self,
        property: PropertyId,
        rules: &[(PoolRuleId, PoolRule)],
    ) -> BTreeSet<(i32, (RoomTypeId, StayDate))> {
        let on = self.switches.get(&property).into_iter().flatten();
        let placed = on.filter_map(|(id, night)| {
            let place = rules.iter().position(|(known, _)| known == id)?;
            Some((i32::try_from(place).ok()?, *night))
        });
        placed.collect()
    }

    /// The nights of a property's allotments.
    pub fn nights(
        &self,
        property: PropertyId,
    ) -> BTreeMap<(AllotmentId, StayDate), AllotmentNight> {
        let own = self.counts.iter().filter(|(key, _)| key.0 == property);
        own.map(|(key, one)| ((key.1, key.2), one.night)).collect()
    }
}
