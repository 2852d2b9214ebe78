//! Whether what was read of a property still stands, found out by one cheap look.
//!
//! Whoever keeps something that was made of a property's nights takes a [`Stamp`] before reading
//! and asks later whether it still [`stands`]. Every change of a night is an entry and
//! every change of rules raises the property's version, so a look that finds neither proves that
//! the nights are as they were; dead holds alone pass with time, which the keeper minds himself.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use keyrack_model::id::PropertyId;
use tokio::time::Instant;

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::connection;
use crate::store::moves::{self, ENTRIES_MAX, MovedRow};

/// When a look was made, and what was true of the property then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The database's clock at the look.
    pub at: Timestamp,
    tick: u64,
    version: i64,
}

/// What is known of all that moves; one for a ledger.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    known: Mutex<Known>,
    /// One look at a time: whoever waits for it meanwhile is served by the next.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    picture: Option<String>,
    /// Counts looks and moves.
    tick: u64,
    /// Whatever was read before this tick may have moved.
    floor: u64,
    houses: HashMap<PropertyId, House>,
    wanted: BTreeSet<PropertyId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct House {
    moved: u64,
    looked: Option<Looked>,
}

#[derive(Clone, Copy, Debug)]
struct Looked {
    began: Instant,
    at: Timestamp,
    version: i64,
}

/// A look at a property that is not older than `age`; at 0 it begins now. `None` where there is no
/// such property.
pub async fn look(
    ledger: &Ledger,
    property: PropertyId,
    age: Duration,
) -> Result<Option<Stamp>, LedgerError> {
    let moves = ledger.moves();
    let asked = Instant::now();
    let young = |looked: &Looked| looked.began + age >= asked;
    if let Some(stamp) = moves.known().stamp(property, young) {
        return Ok(Some(stamp));
    }
    moves.known().wanted.insert(property);
    let _turn = moves.turn.lock().await;
    if let Some(stamp) = moves.known().stamp(property, young) {
        return Ok(Some(stamp));
    }
    let (picture, wanted) = {
        let mut known = moves.known();
        known.wanted.insert(property);
        (known.picture.clone(), std::mem::take(&mut known.wanted))
    };
    let wanted: Vec<PropertyId> = wanted.into_iter().collect();
    let began = Instant::now();
    let mut conn = connection::reader(ledger).await?;
    let row = moves::since(&mut conn, picture.as_deref(), &wanted).await?;
    let mut known = moves.known();
    known.learn(row, began);
    Ok(known.stamp(property, |looked| looked.began >= began))
}

/// Whether what was read after `then` is still so at `now`, a later look at the same property.
pub fn stands(ledger: &Ledger, property: PropertyId, then: Stamp, now: Stamp) -> bool {
    let known = ledger.moves().known();
    let moved = known.houses.get(&property).map_or(0, |house| house.moved);
    then.version == now.version && then.tick >= known.floor && then.tick >= moved
}

impl Moves {
    /// Commands of these properties have been carried out here: seen at once, without a look.
    pub(crate) fn touch(&self, properties: impl Iterator<Item = PropertyId>) {
        let mut known = self.known();
        for property in properties {
            known.moved(property);
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn stamp(&self, property: PropertyId, is_good: impl Fn(&Looked) -> bool) -> Option<Stamp> {
        let looked = self.houses.get(&property)?.looked.as_ref();
        let looked = looked.filter(|looked| is_good(looked))?;
        Some(Stamp {
            at: looked.at,
            tick: self.tick,
            version: looked.version,
        })
    }

    fn moved(&mut self, property: PropertyId) {
        self.tick += 1;
        if self.houses.len() >= HOUSES_MAX && !self.houses.contains_key(&property) {
            self.forget();
        }
        self.houses.entry(property).or_default().moved = self.tick;
    }

    fn forget(&mut self) {
        self.houses.clear();
        self.tick += 1;
        self.floor = self.tick;
    }

    fn learn(&mut self, row: MovedRow, began: Instant) {
        if self.picture.is_none() || row.entries >= ENTRIES_MAX {
            self.forget();
        }
        for id in row.moved {
            self.moved(PropertyId(id));
        }
        self.picture = Some(row.picture);
        for (id, version) in row.properties.into_iter().zip(row.versions) {
            let house = self.houses.entry(PropertyId(id)).or_default();
            house.looked = Some(Looked {
                began,
                at: row.now.to_jiff(),
                version,
            });
        }
    }
}

/// Properties that are remembered at most; beyond, all are forgotten and looked at anew.
const HOUSES_MAX: usize = 20_000;
