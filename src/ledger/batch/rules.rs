//! Rules of properties, kept as long as their version stands.

use std::sync::{Arc, Mutex, PoisonError};

use keyrack_model::id::PropertyId;
use sqlx::PgConnection;

use super::keys::RulesOf;
use super::lane::Lane;
use super::memory::Memory;
use crate::command::Asked;
use crate::decide::rules::Rules;
use crate::error::LedgerError;
use crate::store;
use keyrack_model::id_map::IdMap;

/// Rules by property. A guess: every batch reads the present version, and a decision is applied
/// only while it stands.
#[derive(Default)]
pub(crate) struct KnownRules(Mutex<IdMap<PropertyId, Arc<Rules>>>);

impl KnownRules {
    /// The rules of properties, loaded where they are not known. An unknown property has none.
    pub(super) async fn of(
        &self,
        conn: &mut PgConnection,
        properties: impl Iterator<Item = PropertyId>,
    ) -> Result<RulesOf, LedgerError> {
        let mut found = RulesOf::default();
        let mut missing = Vec::new();
        {
            let known = self.lock();
            for property in properties {
                match known.get(&property) {
                    Some(rules) => {
                        found.insert(property, Arc::clone(rules));
                    }
                    None => missing.push(property),
                }
            }
        }
        if !missing.is_empty() {
            found.extend(self.load(conn, &missing).await?);
        }
        Ok(found)
    }

    /// The lane of a command, by the rules that are known.
    pub(crate) fn lane(&self, asked: &Asked, memory: &Memory) -> Lane {
        let rules = self.lock().get(&asked.property).map(Arc::clone);
        Lane::of(asked, rules.as_deref(), memory)
    }

    /// Loads rules anew.
    pub(super) async fn load(
        &self,
        conn: &mut PgConnection,
        properties: &[PropertyId],
    ) -> Result<RulesOf, LedgerError> {
        let loaded = store::rules::load(conn, properties).await?;
        let loaded: RulesOf = loaded
            .into_iter()
            .map(|r| (r.property, Arc::new(r)))
            .collect();
        let mut known = self.lock();
        if known.len() > KNOWN_MAX {
            known.clear();
        }
        known.extend(loaded.iter().map(|(id, rules)| (*id, Arc::clone(rules))));
        Ok(loaded)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IdMap<PropertyId, Arc<Rules>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Properties whose rules are kept at most: a few kilobytes each.
const KNOWN_MAX: usize = 20_000;
