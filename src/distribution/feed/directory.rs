//! Which accounts are told of which cells, per property: read once, forgotten when it changes.
//!
//! # Why it may be kept
//!
//! Every change of accounts, mappings, types and horizons writes a rate change over the nights that
//! it concerns. An entry that meets an older directory is followed by that change, which marks all
//! of it. So the directory is forgotten when such a change is read, and when another daemon has
//! read in between.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_ledger::command::By;
use keyrack_ledger::tail::{self, RateTailEntry, TailEntry};
use keyrack_model::channel::AccountState;
use keyrack_model::id::PropertyId;
use keyrack_model::stay::{StayDate, StayRange, plus_days};

use crate::error::DistributionError;
use crate::feed::derive::{House, Listed};
use crate::handle::Distribution;
use crate::store::push_state::Bell;

/// What is known of the properties that were met.
#[derive(Default)]
pub(crate) struct Directory {
    houses: HashMap<PropertyId, (Timestamp, Arc<House>)>,
}

impl Directory {
    /// Forgets everything: another daemon may have read what would have told us.
    pub(crate) fn forget(&mut self) {
        self.houses.clear();
    }

    /// The houses of some entries, read where they are unknown, old or changed.
    pub(crate) async fn houses(
        &mut self,
        distribution: &Distribution,
        now: Timestamp,
        entries: &[TailEntry],
        rates: &[RateTailEntry],
    ) -> Result<HashMap<PropertyId, Arc<House>>, DistributionError> {
        for change in rates {
            self.houses.remove(&change.property);
        }
        let mut met: HashSet<PropertyId> = entries.iter().map(|entry| entry.property).collect();
        met.extend(rates.iter().map(|change| change.property));
        for property in &met {
            let known = self.houses.get(property);
            let is_old =
                known.is_none_or(|(at, _)| now.duration_since(*at).as_secs() > KEPT_SECONDS);
            if is_old {
                let house = read(distribution, *property).await?;
                self.houses.insert(*property, (now, Arc::new(house)));
            }
        }
        self.read_touched(distribution, entries, rates).await?;
        Ok(met
            .into_iter()
            .filter_map(|property| Some((property, Arc::clone(&self.houses.get(&property)?.1))))
            .collect())
    }

    /// The types that each moved type is part of.
    async fn read_touched(
        &mut self,
        distribution: &Distribution,
        entries: &[TailEntry],
        rates: &[RateTailEntry],
    ) -> Result<(), DistributionError> {
        let moved = entries
            .iter()
            .map(|entry| (entry.property, entry.room_type));
        let changed = rates
            .iter()
            .map(|change| (change.property, change.room_type));
        for (property, room_type) in moved.chain(changed) {
            let (Some(room_type), Some((_, house))) = (room_type, self.houses.get_mut(&property))
            else {
                continue;
            };
            if house.touched.contains_key(&room_type) {
                continue;
            }
            let ledger = &distribution.inner.ledger;
            let touched = tail::types_touched(ledger, property, room_type).await?;
            Arc::make_mut(house).touched.insert(room_type, touched);
        }
        Ok(())
    }
}

async fn read(
    distribution: &Distribution,
    property: PropertyId,
) -> Result<House, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let calendar = tail::business_day(ledger, property).await?;
    let mut accounts = Vec::new();
    for row in catalog::accounts(ledger, property).await? {
        accounts.push(listed(distribution, &row, calendar).await?);
    }
    Ok(House {
        code: property_code(distribution, property).await?,
        accounts,
        touched: HashMap::new(),
    })
}

/// The code of a property.
pub(crate) async fn property_code(
    distribution: &Distribution,
    property: PropertyId,
) -> Result<String, DistributionError> {
    let before = PropertyId(property.0.saturating_sub(1));
    let found = catalog::properties(&distribution.inner.ledger, Some(before), 1).await?;
    let code = found.into_iter().find(|found| found.id == property);
    Ok(code.map(|found| found.code).unwrap_or_default())
}

async fn listed(
    distribution: &Distribution,
    row: &AccountRow,
    (day, end): (StayDate, StayDate),
) -> Result<Listed, DistributionError> {
    let account = &row.account;
    let (mappings, _) = catalog::mappings(&distribution.inner.ledger, account.id).await?;
    let adapter = distribution.inner.channels.find(&account.channel);
    let knows_rate_plans = adapter.is_some_and(|one| one.capabilities().knows_rate_plans);
    let mut cells: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for mapping in &mappings {
        let plans = cells.entry(mapping.room_type).or_default();
        plans.insert(None);
        if knows_rate_plans && mapping.rate_plan.is_some() {
            plans.insert(mapping.rate_plan);
        }
    }
    let is_told = account.state != AccountState::Setup;
    Ok(Listed {
        bell: Bell::from(account),
        actor: By::actor_of_account(&account.code),
        nights: adapter.filter(|_| is_told).and_then(|adapter| {
            let farthest = plus_days(day, adapter.capabilities().horizon_nights_max);
            StayRange::new(day, end.min(farthest))
        }),
        cells,
    })
}

/// The date moves on, and with it the told nights.
const KEPT_SECONDS: i64 = 600;
