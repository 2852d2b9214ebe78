//! What must be applied of a draft, in the order of the locks.

use keyrack_model::id::{AccountId, PropertyId};

use super::changes::{Changed, Changes};
use super::draft::{Draft, Reference};

impl Draft {
    /// What must be applied.
    pub fn changes(mut self) -> Changes {
        let mut changes = Changes {
            now: self.seen.now,
            allotments: self.allotment_changes(),
            last: self.asking(),
            ..Changes::default()
        };
        changes.rules = self
            .seen
            .rules
            .values()
            .map(|r| (r.property, r.version))
            .collect();
        changes.rules.sort_unstable();
        self.put_nights(&mut changes);
        self.cases.put_on(&mut changes);
        changes.overbooked.sort_unstable();
        changes.cured.sort_unstable();
        let mut changed: Vec<_> = self.reservations_before.into_iter().collect();
        changed.sort_unstable_by_key(|(key, _)| *key);
        for (key, before) in changed {
            let after = self.seen.reservations[&key].clone();
            match before {
                None => changes.new.push(after),
                Some(before) => changes.changed.push(Changed::of(&before, after)),
            }
        }
        for ((account, reference), (property, version)) in self.references_before {
            let after = self.seen.references[&(account, reference.clone())].clone();
            changes
                .references
                .push((property, account, reference, version, after));
        }
        // They are written in the order in which they are claimed.
        let key = |one: &(PropertyId, AccountId, String, i64, Reference)| (one.1, one.2.clone());
        changes.references.sort_by_cached_key(key);
        changes.entries = self.entries;
        changes.guests = self.guests.into_iter().collect();
        let blocks = self.blocks.into_iter();
        changes.blocks = blocks.map(|((id, _), change)| (id, change)).collect();
        changes.places = self.limits.taken;
        changes.receipts = self.kept;
        changes
            .receipts
            .sort_by(|a, b| (&a.0.scope, &a.0.key).cmp(&(&b.0.scope, &b.0.key)));
        changes
    }

    /// The nights that change, and those that are looked at again.
    fn put_nights(&self, changes: &mut Changes) {
        for (key, before) in &self.nights_before {
            let after = self.seen.nights[key];
            let rules = &self.seen.rules[&key.0];
            let has_case = changes.judge(*key, &before.balance, &after.balance, rules);
            let turns = self.turn(*key, after.balance.free(), &mut changes.allotments);
            if has_case || turns || after.balance != before.balance {
                changes.nights.push((*key, before.version, after.balance));
            } else {
                changes.has_nights_as_before = true;
            }
        }
        for (key, by) in self
            .reviewed
            .iter()
            .filter(|(key, _)| !self.nights_before.contains_key(key))
        {
            if let Some(night) = self.seen.nights.get(key) {
                let rules = &self.seen.rules[&key.0];
                let judged = changes.judge(*key, &night.balance, &night.balance, rules);
                if judged {
                    changes.reviewed.insert(*key, by.clone());
                }
                let turns = self.turn(*key, night.balance.free(), &mut changes.allotments);
                if judged || turns {
                    changes.nights.push((*key, night.version, night.balance));
                }
            }
        }
        changes.nights.sort_unstable_by_key(|(key, ..)| *key);
    }
}
