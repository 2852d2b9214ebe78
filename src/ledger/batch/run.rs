//! One batch: a call on what is remembered, or a read and a call; a locked second try where
//! somebody interferes.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyrack_model::id::{PropertyId, RoomTypeId};
use sqlx::{Connection as _, PgConnection, Postgres, Transaction};

use super::round::{Attempt, Known, Need, Rest, Round};
use super::{keys, proof};
use crate::command::{Answer, Asked, By, Command};
use crate::decide::draft::SeenRooms;
use crate::error::LedgerError;
use crate::store::apply::Applied;
use crate::store::read::Keys;
use crate::store::{apply, expiry, guest_place, read};

/// How a try of a batch ended.
pub(super) enum Tried {
    /// Its answers, in the order of the commands, and types of rooms whose nights are worth
    /// reading ahead while their lanes are held.
    Done(Vec<Answer>, Vec<(PropertyId, RoomTypeId)>),
    /// Somebody was first on a row that a decision rested on, of these properties where it was a
    /// row of theirs; nothing was done.
    Short(BTreeSet<PropertyId>),
    /// The call that applies it failed; whether it was carried out must be looked up.
    Unsure(Vec<Answer>, sqlx::Error),
}

/// Rounds of reading that one try may need: stale rules, nights to be born, dead holds.
const ROUNDS_MAX: u32 = 6;

impl<'a> Attempt<'a> {
    /// Without locks: on what is remembered, or a read, a decision, a call.
    pub(super) async fn unlocked(&self, conn: &mut PgConnection) -> Result<Tried, LedgerError> {
        let mut known = self.begin(conn).await?;
        let mut keys = self.provable_keys(&known);
        if let Some(keys) = &keys
            && let Some(rest) = self.remembered(conn, &known, keys).await?
        {
            match self.apply_alone(conn, rest, true).await? {
                Tried::Short(properties) => self.memory.doubt(&properties),
                tried => {
                    self.memory.was_relied_on();
                    return Ok(tried);
                }
            }
        }
        for _ in 0..ROUNDS_MAX {
            let keys = keys.take();
            match self.glance(conn, &known, keys).await? {
                Round::Rests(rest) if rest.changes.is_empty() => {
                    return Ok(Tried::Done(rest.answers, rest.ahead));
                }
                Round::Rests(rest) => return self.apply_alone(conn, rest, false).await,
                Round::Needs(more) => self.learn(conn, &mut known, more).await?,
            }
        }
        Ok(Tried::Short(BTreeSet::new()))
    }

    /// Reads and decides once, without locks. Where several statements read what one batch writes,
    /// all of them see one moment: nothing proves a refusal, and it would rest on a key that is not
    /// used yet and on rooms that its first use took.
    async fn glance(
        &self,
        conn: &mut PgConnection,
        known: &Known,
        keys: Option<Keys>,
    ) -> Result<Round<'a>, LedgerError> {
        if !keys::are_read_apart(&known.rules) {
            return self.decide(conn, known, keys, false).await;
        }
        let doing = LedgerError::while_doing("reading for a batch");
        let begin = "begin isolation level repeatable read";
        let mut moment = conn.begin_with(begin).await.map_err(&doing)?;
        let round = self.decide(&mut moment, known, keys, false).await?;
        moment.commit().await.map_err(&doing)?;
        Ok(round)
    }

    /// Under locks, each round in a transaction of its own: what a round finds that it needs is
    /// locked by the next in its place of the order, or born without a lock held.
    pub(super) async fn locked(&self, conn: &mut PgConnection) -> Result<Tried, LedgerError> {
        let doing = LedgerError::while_doing("a locked batch");
        let mut known = self.begin(conn).await?;
        for _ in 0..ROUNDS_MAX {
            let mut transaction = conn.begin().await.map_err(&doing)?;
            let rest = match self.decide(&mut transaction, &known, None, true).await? {
                Round::Rests(rest) => rest,
                Round::Needs(more) => {
                    transaction.rollback().await.map_err(&doing)?;
                    self.learn(conn, &mut known, more).await?;
                    continue;
                }
            };
            if rest.changes.is_empty() {
                transaction.rollback().await.map_err(&doing)?;
                return Ok(Tried::Done(rest.answers, rest.ahead));
            }
            return self.apply_within(transaction, rest, false).await;
        }
        Ok(Tried::Short(BTreeSet::new()))
    }

    /// The keys of a batch that may be decided on what is remembered.
    fn provable_keys(&self, known: &Known) -> Option<Keys> {
        let mut commands = self.commands.iter().copied();
        let may_be = !self.relook && commands.all(proof::may_be_proven);
        may_be.then(|| keys::of(self.all(known), &known.rules, &SeenRooms::new(), false))
    }

    /// A decision on what is remembered, where all that it needs is, and where the call that
    /// applies it proves all that it rests on.
    async fn remembered(
        &self,
        conn: &mut PgConnection,
        known: &Known,
        keys: &Keys,
    ) -> Result<Option<Box<Rest<'a>>>, LedgerError> {
        let drawn = self.numbers.draw(keys.numbers);
        if drawn.0.len() < keys.numbers {
            return Ok(None);
        }
        let Some(sight) = self.memory.sight(keys, &known.rules) else {
            return Ok(None);
        };
        let round = match self.judge(conn, known, sight, drawn, false).await {
            // By an old reading of the clock: a new one says whether it is so.
            Err(LedgerError::ClockDrift(_)) => return Ok(None),
            judged => judged?,
        };
        Ok(match round {
            Round::Rests(rest) if proof::proves(self.commands, &rest.answers, &rest.changes) => {
                Some(rest)
            }
            _ => None,
        })
    }

    async fn begin(&self, conn: &mut PgConnection) -> Result<Known, LedgerError> {
        let properties: BTreeSet<PropertyId> = self.commands.iter().map(|c| c.property).collect();
        Ok(Known {
            rules: self.rules.of(conn, properties.into_iter()).await?,
            expiries: None,
            born: BTreeSet::new(),
        })
    }

    /// Applies what was decided where one call is all of it, or in a transaction of its own.
    async fn apply_alone(
        &self,
        conn: &mut PgConnection,
        rest: Box<Rest<'a>>,
        is_remembered: bool,
    ) -> Result<Tried, LedgerError> {
        if !rest.changes.places.is_empty() {
            let transaction = conn.begin().await;
            let transaction = transaction.map_err(LedgerError::while_doing("a batch"))?;
            return self.apply_within(transaction, rest, is_remembered).await;
        }
        let called = self.call(conn, &rest, is_remembered).await;
        Ok(self.end(*rest, called))
    }

    /// Applies what was decided and commits it.
    async fn apply_within(
        &self,
        mut transaction: Transaction<'_, Postgres>,
        rest: Box<Rest<'a>>,
        is_remembered: bool,
    ) -> Result<Tried, LedgerError> {
        let called = match self.call(&mut transaction, &rest, is_remembered).await {
            Ok(whole @ Applied::Whole { .. }) => transaction.commit().await.map(|()| whole),
            Ok(short @ Applied::Short { .. }) => {
                let doing = LedgerError::while_doing("a batch that fell short");
                transaction.rollback().await.map_err(doing)?;
                Ok(short)
            }
            Err(error) => Err(error),
        };
        Ok(self.end(*rest, called))
    }

    /// Calls what applies a batch, which draws numbers ahead where a commit comes anyway. Places
    /// of guests come last in the order of the locks.
    async fn call(
        &self,
        conn: &mut PgConnection,
        rest: &Rest<'a>,
        is_remembered: bool,
    ) -> Result<Applied, sqlx::Error> {
        let changes = &rest.changes;
        let draw = self.numbers.ahead_of(changes.new.len());
        let on = (&rest.places, is_remembered);
        let applied = apply::apply(&mut *conn, changes, on, draw).await?;
        let is_whole = matches!(applied, Applied::Whole { .. });
        if is_whole
            && !changes.places.is_empty()
            && !guest_place::take(conn, &changes.places).await?
        {
            // They are read for each batch: nothing that is remembered is out of date.
            return Ok(Applied::Short {
                properties: BTreeSet::new(),
            });
        }
        Ok(applied)
    }

    /// What became of a batch, and what is known of it from now on.
    fn end(&self, mut rest: Rest<'a>, called: Result<Applied, sqlx::Error>) -> Tried {
        match called {
            Ok(Applied::Whole { numbers, places }) => {
                rest.drawn.use_up(rest.used);
                self.numbers.keep(numbers);
                self.memory.wrote(rest.changes, &places);
                Tried::Done(rest.answers, rest.ahead)
            }
            Ok(Applied::Short { properties }) => Tried::Short(properties),
            Err(error) => {
                rest.drawn.use_up(rest.used);
                Tried::Unsure(rest.answers, error)
            }
        }
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
