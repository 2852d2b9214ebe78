//! One batch: two round trips when nobody interferes, a locked second try when somebody does.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyrack_model::id::PropertyId;
use sqlx::{Connection as _, PgConnection};

use super::clock;
use super::keys::{self, RulesOf};
use super::numbers::{self, Numbers};
use super::rules::KnownRules;
use crate::command::{Answer, Asked, By, Command};
use crate::decide;
use crate::decide::changes::Changes;
use crate::decide::draft::{Draft, NightKey};
use crate::error::LedgerError;
use crate::store::apply::Applied;
use crate::store::read::{Keys, Places, Sight};
use crate::store::{apply, expiry, guest_place, rate, read, room};

/// How a try of a batch ended.
pub(super) enum Tried {
    /// Its answers, in the order of the commands.
    Done(Vec<Answer>),
    /// Somebody was first on a row that a decision rested on; nothing was done.
    Short,
    /// The call that applies it failed; whether it was carried out must be looked up.
    Unsure(Vec<Answer>, sqlx::Error),
}

/// What a try is made with.
pub(super) struct Attempt<'a> {
    pub rules: &'a KnownRules,
    pub numbers: &'a Numbers,
    pub commands: &'a [&'a Asked],
    /// Ask whether the commands have been carried out before.
    pub relook: bool,
}

/// What the rounds of a try have learned.
struct Known {
    rules: RulesOf,
    /// Dead holds that are let go first.
    expiries: Option<Vec<Asked>>,
    born: BTreeSet<NightKey>,
}

/// How a round of a try ended.
enum Round {
    Rests(Vec<Answer>, Box<Changes>, Places),
    /// It must be read again with more.
    Needs(Need),
}

/// What a round needs.
enum Need {
    /// Rules of properties that have changed.
    Rules(Vec<PropertyId>),
    /// Nights that are not there.
    Nights(BTreeSet<NightKey>),
    /// Rooms that dead holds of properties may still take.
    Rooms(BTreeSet<PropertyId>),
    /// Locks of what came into sight while the others were waited for.
    Locks,
}

/// Rounds of reading that one try may need: stale rules, nights to be born, dead holds.
const ROUNDS_MAX: u32 = 6;

impl Attempt<'_> {
    /// Without locks: a read, a decision, a call.
    pub(super) async fn unlocked(&self, conn: &mut PgConnection) -> Result<Tried, LedgerError> {
        let mut known = self.begin(conn).await?;
        for _ in 0..ROUNDS_MAX {
            match self.decide(conn, &known, false).await? {
                Round::Rests(answers, changes, _) if changes.is_empty() => {
                    return Ok(Tried::Done(answers));
                }
                Round::Rests(answers, changes, places) => {
                    return Ok(match Self::apply_alone(conn, &changes, &places).await {
                        Ok(Applied::Whole { numbers }) => {
                            self.numbers.keep(numbers);
                            Tried::Done(answers)
                        }
                        Ok(Applied::Short) => Tried::Short,
                        Err(error) => Tried::Unsure(answers, error),
                    });
                }
                Round::Needs(more) => self.learn(conn, &mut known, more).await?,
            }
        }
        Ok(Tried::Short)
    }

    /// Under locks, each round in a transaction of its own: what a round finds that it needs is
    /// locked by the next in its place of the order, or born without a lock held.
    pub(super) async fn locked(&self, conn: &mut PgConnection) -> Result<Tried, LedgerError> {
        let doing = LedgerError::while_doing("a locked batch");
        let mut known = self.begin(conn).await?;
        for _ in 0..ROUNDS_MAX {
            let mut transaction = conn.begin().await.map_err(&doing)?;
            let (answers, changes, places) =
                match self.decide(&mut transaction, &known, true).await? {
                    Round::Rests(answers, changes, places) => (answers, changes, places),
                    Round::Needs(more) => {
                        transaction.rollback().await.map_err(&doing)?;
                        self.learn(conn, &mut known, more).await?;
                        continue;
                    }
                };
            if changes.is_empty() {
                transaction.rollback().await.map_err(&doing)?;
                return Ok(Tried::Done(answers));
            }
            let numbers = match Self::apply(&mut transaction, &changes, &places).await {
                Ok(Applied::Whole { numbers }) => numbers,
                Ok(Applied::Short) => {
                    transaction.rollback().await.map_err(&doing)?;
                    return Ok(Tried::Short);
                }
                Err(error) => return Ok(Tried::Unsure(answers, error)),
            };
            return Ok(match transaction.commit().await {
                Ok(()) => {
                    self.numbers.keep(numbers);
                    Tried::Done(answers)
                }
                Err(error) => Tried::Unsure(answers, error),
            });
        }
        Ok(Tried::Short)
    }

    async fn begin(&self, conn: &mut PgConnection) -> Result<Known, LedgerError> {
        let properties: BTreeSet<PropertyId> = self.commands.iter().map(|c| c.property).collect();
        Ok(Known {
            rules: self.rules.of(conn, properties.into_iter()).await?,
            expiries: None,
            born: BTreeSet::new(),
        })
    }

    /// Reads and decides once.
    async fn decide(
        &self,
        conn: &mut PgConnection,
        known: &Known,
        locked: bool,
    ) -> Result<Round, LedgerError> {
        let expiries = known.expiries.iter().flatten();
        let all = || expiries.clone().chain(self.commands.iter().copied());
        // Before the nights that they name: a change in between is noticed by their version.
        let rooms = room::seen(conn, &keys::rooms(all())).await?;
        let mut keys = keys::of(all(), &known.rules, &rooms, self.relook);
        keys.nights.extend(known.born.iter().copied());
        let mut drawn = self.numbers.draw(keys.numbers);
        keys.numbers -= drawn.0.len();
        let Some(sight) = self.look(conn, &keys, locked).await? else {
            return Ok(Round::Needs(Need::Locks));
        };
        let stale = stale(&sight, &known.rules);
        if !stale.is_empty() {
            return Ok(Round::Needs(Need::Rules(stale)));
        }
        clock::check(sight.wall, all().any(makes_hold))?;
        let dead = sight.with_dead_holds;
        let mut seen = sight.seen;
        self.read_rates(conn, &known.rules, &mut seen).await?;
        seen.rooms = rooms;
        self.read_guests(conn, &known.rules, &mut seen).await?;
        seen.rules.clone_from(&known.rules);
        let fresh = std::mem::take(&mut seen.numbers);
        seen.numbers = drawn.0.iter().chain(&fresh).copied().collect();
        let in_hand = seen.numbers.len();
        if !locked {
            drawn.0.extend(fresh);
        }
        let mut draft = Draft::new(seen);
        let mut answers = decide::all(&mut draft, all());
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
        drawn.use_up(in_hand - draft.numbers_left());
        Ok(Round::Rests(
            answers,
            Box::new(draft.changes()),
            sight.places,
        ))
    }

    /// Applies what was decided, and draws numbers ahead where a commit comes anyway. Places of
    /// guests come last in the order of the locks.
    async fn apply(
        conn: &mut PgConnection,
        changes: &Changes,
        places: &Places,
    ) -> Result<Applied, sqlx::Error> {
        let draw = numbers::ahead_of(changes.new.len());
        let applied = apply::apply(&mut *conn, changes, places, draw).await?;
        if !changes.places.is_empty() && !guest_place::take(conn, &changes.places).await? {
            return Ok(Applied::Short);
        }
        Ok(applied)
    }

    /// The same in a transaction of its own, where one call is not all of it.
    async fn apply_alone(
        conn: &mut PgConnection,
        changes: &Changes,
        places: &Places,
    ) -> Result<Applied, sqlx::Error> {
        if changes.places.is_empty() {
            return Self::apply(conn, changes, places).await;
        }
        let mut transaction = conn.begin().await?;
        let applied = Self::apply(&mut transaction, changes, places).await?;
        match applied {
            Applied::Whole { .. } => transaction.commit().await?,
            Applied::Short => transaction.rollback().await?,
        }
        Ok(applied)
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

    /// Gets what a round needed.
    async fn learn(
        &self,
        conn: &mut PgConnection,
        known: &mut Known,
        need: Need,
    ) -> Result<(), LedgerError> {
        match need {
            Need::Rules(stale) => known.rules.extend(self.rules.load(conn, &stale).await?),
            Need::Nights(unborn) => {
                read::give_birth(conn, &unborn).await?;
                known.born.extend(unborn);
            }
            Need::Rooms(starved) => known.expiries = Some(expire_dead(conn, &starved).await?),
            // The first read of the next round sees them.
            Need::Locks => {}
        }
        Ok(())
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
            return Ok(Some(read::read(conn, keys).await?));
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

async fn expire_dead(
    conn: &mut PgConnection,
    properties: &BTreeSet<PropertyId>,
) -> Result<Vec<Asked>, LedgerError> {
    let dead = expiry::dead_holds(conn, properties, (EXPIRE_AT_ONCE, EXPIRE_AT_ONCE)).await?;
    let by = Arc::new(By {
        actor: "worker:expiry".to_owned(),
        request_id: None,
    });
    let expire = |((property, reservation), _)| {
        Asked::new(property, Arc::clone(&by), Command::Expire { reservation })
    };
    Ok(dead.into_iter().map(expire).collect())
}

/// Dead holds that one batch lets go for a wish.
const EXPIRE_AT_ONCE: i64 = 500;
