//! One round of a batch: what is read, and what is decided on it.

use std::collections::BTreeSet;

use keyrack_model::id::{PropertyId, RoomTypeId};
use sqlx::PgConnection;
use tokio::time::Instant;

use super::clock;
use super::keys::{self, RulesOf};
use super::memory::Memory;
use super::numbers::{Drawn, Numbers};
use super::rules::KnownRules;
use crate::command::{Answer, Asked, Command};
use crate::decide;
use crate::decide::changes::Changes;
use crate::decide::draft::{Draft, NightKey, SeenRooms};
use crate::error::LedgerError;
use crate::store::read::{Keys, Places, Sight};
use crate::store::{allotment, guest_place, overbooking, pool_rule, rate, read, room};

/// What a try is made with.
pub(super) struct Attempt<'a> {
    pub rules: &'a KnownRules,
    pub numbers: &'a Numbers,
    pub memory: &'a Memory,
    pub commands: &'a [&'a Asked],
    /// Ask whether the commands have been carried out before.
    pub relook: bool,
}

/// What the rounds of a try have learned.
pub(super) struct Known {
    pub rules: RulesOf,
    /// Dead holds that are let go first.
    pub expiries: Option<Vec<Asked>>,
    pub born: BTreeSet<NightKey>,
}

/// How a round of a try ended.
pub(super) enum Round<'a> {
    Rests(Box<Rest<'a>>),
    /// It must be read again with more.
    Needs(Need),
}

/// What was decided on rows that were seen.
pub(super) struct Rest<'a> {
    pub answers: Vec<Answer>,
    pub changes: Changes,
    pub places: Places,
    /// Numbers in hand, and how many of them were used.
    pub drawn: Drawn<'a>,
    pub used: usize,
    pub ahead: Vec<(PropertyId, RoomTypeId)>,
}

/// What a round needs.
pub(super) enum Need {
    /// Rules of properties that have changed.
    Rules(Vec<PropertyId>),
    /// Nights that are not there.
    Nights(BTreeSet<NightKey>),
    /// Rooms that dead holds of properties may still take.
    Rooms(BTreeSet<PropertyId>),
    /// Locks of what came into sight while the others were waited for.
    Locks,
}

impl<'a> Attempt<'a> {
    /// Reads and decides once.
    pub(super) async fn decide(
        &self,
        conn: &mut PgConnection,
        known: &Known,
        keys: Option<Keys>,
        locked: bool,
    ) -> Result<Round<'a>, LedgerError> {
        let cases = overbooking::seen(conn, &keys::cases(self.all(known))).await?;
        let (rooms, mut keys) = match keys {
            Some(keys) => (SeenRooms::new(), keys),
            None => {
                // Before the nights that they name: a change in between is noticed by their
                // version.
                let rooms = room::seen(conn, &keys::rooms(self.all(known))).await?;
                let keys = keys::of(self.all(known), &known.rules, &rooms, self.relook);
                (rooms, keys)
            }
        };
        keys.nights.extend(known.born.iter().copied());
        let mut drawn = self.numbers.draw(keys.numbers);
        keys.numbers -= drawn.0.len();
        let Some(mut sight) = self.look(conn, &keys, locked).await? else {
            return Ok(Round::Needs(Need::Locks));
        };
        let stale = stale(&sight, &known.rules);
        if !stale.is_empty() {
            return Ok(Round::Needs(Need::Rules(stale)));
        }
        if !locked {
            // Those that were drawn under locks may be rolled back.
            drawn.0.extend(sight.seen.numbers.drain(..));
        }
        (sight.seen.rooms, sight.seen.cases) = (rooms, cases);
        let mut round = self.judge(conn, known, sight, drawn, locked).await?;
        if let Round::Rests(rest) = &mut round {
            rest.ahead = self.memory.wanting(&keys);
        }
        Ok(round)
    }

    /// Decides on what was seen.
    pub(super) async fn judge(
        &self,
        conn: &mut PgConnection,
        known: &Known,
        sight: Sight,
        drawn: Drawn<'a>,
        locked: bool,
    ) -> Result<Round<'a>, LedgerError> {
        clock::check(sight.wall, self.all(known).any(makes_hold))?;
        let dead = sight.with_dead_holds;
        let mut seen = sight.seen;
        self.read_rates(conn, &known.rules, &mut seen).await?;
        self.read_guests(conn, &known.rules, &mut seen).await?;
        let allotments = keys::allotments(&seen.nights, &known.rules);
        if !allotments.is_empty() {
            seen.allotments = allotment::seen(conn, &allotments, locked).await?;
        }
        let switched = keys::switched(&seen.nights, &known.rules);
        if !switched.is_empty() {
            seen.switches = pool_rule::seen(conn, &switched).await?;
        }
        seen.rules.clone_from(&known.rules);
        seen.numbers = drawn.0.iter().copied().chain(seen.numbers).collect();
        let in_hand = seen.numbers.len();
        let mut draft = Draft::new(seen);
        let mut answers = decide::all(&mut draft, self.all(known));
        let missing = draft.missing();
        let unborn: BTreeSet<NightKey> = missing.difference(&known.born).copied().collect();
        if !unborn.is_empty() {
            return Ok(Round::Needs(Need::Nights(unborn)));
        }
        if !draft.missing().is_empty() {
            return Err(LedgerError::Unreadable(
                "a night that cannot be born".to_owned(),
            ));
        }
        let starved: BTreeSet<_> = draft.starved().intersection(&dead).copied().collect();
        if known.expiries.is_none() && !starved.is_empty() {
            return Ok(Round::Needs(Need::Rooms(starved)));
        }
        answers.drain(..known.expiries.as_ref().map_or(0, Vec::len));
        Ok(Round::Rests(Box::new(Rest {
            answers,
            used: in_hand - draft.numbers_left(),
            changes: draft.changes(),
            places: sight.places,
            drawn,
            ahead: Vec::new(),
        })))
    }

    /// The commands, behind those that let dead holds go first.
    pub(super) fn all<'b>(&'b self, known: &'b Known) -> impl Iterator<Item = &'b Asked> {
        let expiries = known.expiries.iter().flatten();
        expiries.chain(self.commands.iter().copied())
    }

    /// One read; under locks a first read tells what to lock. `None` where the second sees more
    /// than that: a reference that led nowhere may have a reservation by then, with nights, and
    /// these would be written out of the order of the locks.
    async fn look(
        &self,
        conn: &mut PgConnection,
        keys: &Keys,
        locked: bool,
    ) -> Result<Option<Sight>, LedgerError> {
        if !locked {
            let asked = Instant::now();
            let sight = read::read(conn, keys).await?;
            self.memory.read(&sight, asked.elapsed());
            return Ok(Some(sight));
        }
        // Wishes name all their nights: nothing is found by looking.
        let held = if keys.reservations.is_empty() && keys.references.is_empty() {
            keys.clone()
        } else {
            keys::of_sight(&read::read(conn, keys).await?.seen, keys)
        };
        read::lock(conn, &held).await?;
        let sight = read::read(conn, keys).await?;
        let seen = keys::of_sight(&sight.seen, keys);
        let is_held =
            seen.nights.is_subset(&held.nights) && seen.reservations.is_subset(&held.reservations);
        Ok(is_held.then_some(sight))
    }

    /// Places of guests, where their property limits them.
    async fn read_guests(
        &self,
        conn: &mut PgConnection,
        rules: &RulesOf,
        seen: &mut decide::draft::Seen,
    ) -> Result<(), LedgerError> {
        let changed = keys::limited_changes(self.commands.iter().copied(), rules);
        if !changed.is_empty() {
            seen.limited.guests = guest_place::guests(conn, &changed).await?;
        }
        let keys = keys::guest_arrivals(self.commands.iter().copied(), rules, seen);
        if !keys.is_empty() {
            seen.limited.places = guest_place::seen(conn, keys).await?;
        }
        Ok(())
    }

    async fn read_rates(
        &self,
        conn: &mut PgConnection,
        rules: &RulesOf,
        seen: &mut decide::draft::Seen,
    ) -> Result<(), LedgerError> {
        let ranges = keys::rate_ranges(self.commands.iter().copied(), rules);
        if ranges.is_empty() {
            return Ok(());
        }
        for range in &ranges {
            seen.rates.entry(range.property).or_default();
        }
        for (property, row) in rate::load_ranges(conn, &ranges).await? {
            seen.rates.entry(property).or_default().push(row);
        }
        Ok(())
    }
}

/// Properties whose rules are not those of the read. One that is gone has no version: its commands
/// find nothing.
fn stale(sight: &Sight, rules: &RulesOf) -> Vec<PropertyId> {
    let known = |id: &PropertyId| rules.get(id).map(|rules| rules.version);
    let changed = sight
        .versions
        .iter()
        .filter(|(id, version)| known(id) != Some(*version));
    changed.map(|(id, _)| *id).collect()
}

fn makes_hold(asked: &Asked) -> bool {
    matches!(&asked.command, Command::Request(wish) if wish.hold.is_some())
}
