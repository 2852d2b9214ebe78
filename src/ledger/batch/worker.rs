//! A worker takes batches and sees them through: tries, conflicts, broken connections, halving.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use keyrack_model::id::{PropertyId, RoomTypeId};
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use tokio::time::Instant;

use super::contention::Contention;
use super::count::Counts;
use super::lane::Mood;
use super::lanes::{Hold, Lanes, Pending};
use super::memory::Memory;
use super::numbers::Numbers;
use super::retry::Pauses;
pub(crate) use super::retry::{RESTED, connect};
use super::round::Attempt;
pub(crate) use super::rules::KnownRules;
use super::run::Tried;
use crate::command::{Answer, Asked, Command};
use crate::error::LedgerError;
use crate::moves::Moves;
use crate::store::{ahead, read};
use crate::turn_aways::TurnAways;

/// What workers share.
pub(crate) struct Workshop {
    pub lanes: Lanes,
    pub pool: PgPool,
    pub rules: KnownRules,
    pub moves: Moves,
    pub counts: Counts,
    pub turn_aways: TurnAways,
    pub contention: Contention,
    pub numbers: Numbers,
    pub memory: Arc<Memory>,
    pub batch_max: usize,
}

/// Takes batches until the lanes are closed and empty.
pub(crate) async fn work(shop: Arc<Workshop>) {
    let mut line = Line::default();
    while let Some((batch, hold)) = shop.lanes.take(shop.batch_max).await {
        let mut freed = Freed {
            lanes: &shop.lanes,
            hold,
            mood: Mood::Exclusive,
        };
        shop.answer(batch, &mut line, &mut freed).await;
        drop(freed);
        // As in `take`: who was answered and asks again comes along.
        tokio::task::yield_now().await;
    }
}

/// A worker's connection, kept from batch to batch while it is good: a pool asks the server for a
/// sign of life whenever one comes back.
#[derive(Default)]
struct Line(Option<Kept>);

struct Kept {
    conn: PoolConnection<Postgres>,
    since: Instant,
    used_at: Instant,
}

impl Line {
    /// The one that is kept, or one of the pool: also after a rest, in which it may have been cut
    /// off unheard, and after a while, so that none grows old.
    async fn take(&mut self, pool: &PgPool) -> Result<Kept, sqlx::Error> {
        let is_good =
            |kept: &Kept| kept.used_at.elapsed() < RESTED && kept.since.elapsed() < AGE_MAX;
        if let Some(kept) = self.0.take().filter(is_good) {
            return Ok(kept);
        }
        let now = Instant::now();
        Ok(Kept {
            conn: pool.acquire().await?,
            since: now,
            used_at: now,
        })
    }

    fn keep(&mut self, mut kept: Kept) {
        kept.used_at = Instant::now();
        self.0 = Some(kept);
    }
}

/// A connection is kept so long; then its pool sees to it.
const AGE_MAX: Duration = Duration::from_secs(300);

/// Frees the lanes of a batch, also when it panicked.
struct Freed<'a> {
    lanes: &'a Lanes,
    hold: Hold,
    mood: Mood,
}

impl Drop for Freed<'_> {
    fn drop(&mut self) {
        self.lanes.release(&self.hold, self.mood);
    }
}

impl Workshop {
    /// Carries a batch out and answers each caller after the commit. A batch that fails as a whole
    /// is halved, so that one bad command harms nobody else.
    async fn answer(&self, batch: Vec<Pending>, line: &mut Line, freed: &mut Freed<'_>) {
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            let commands: Vec<&Asked> = part.iter().map(|pending| &pending.asked).collect();
            metrics::histogram!("ledger_batch_commands").record(count(commands.len()));
            match self.carry_out(&commands, line).await {
                Ok((answers, ahead)) => {
                    freed.mood = Mood::after(&answers);
                    let done = part
                        .iter()
                        .zip(&answers)
                        .filter(|(_, answer)| answer.is_ok());
                    let moved: BTreeSet<_> = done.map(|(one, _)| one.asked.property).collect();
                    self.moves.touch(moved.into_iter());
                    for (pending, answer) in part.into_iter().zip(answers) {
                        self.counts.answered(&pending.asked, &answer);
                        self.turn_aways.answered(&pending.asked, &answer);
                        // A caller who went away learns the outcome by its idempotency key.
                        let _ = pending.reply.send(Ok(answer));
                    }
                    self.read_ahead(&ahead, line).await;
                }
                Err(error) if part.len() > 1 && may_be_one_commands_fault(&error) => {
                    tracing::warn!(%error, commands = part.len(), "a batch failed: halving it");
                    let second = part.split_off(part.len() / 2);
                    parts.push(second);
                    parts.push(part);
                }
                Err(error) => {
                    part.iter().for_each(|one| self.counts.failed(&one.asked));
                    refuse_all(part, error);
                }
            }
        }
    }

    /// Nights that are asked for often, while their lanes are held: nobody here writes them now.
    /// Not reading them costs nothing but a read later.
    async fn read_ahead(&self, types: &[(PropertyId, RoomTypeId)], line: &mut Line) {
        for of in types {
            let Ok(mut kept) = line.take(&self.pool).await else {
                return;
            };
            match ahead::nights(&mut kept.conn, *of, READ_AHEAD_MAX).await {
                Ok(nights) => self.memory.put_ahead(*of, nights),
                Err(error) => {
                    tracing::debug!(%error, "nights not read ahead");
                    kept.conn.close_on_drop();
                    return;
                }
            }
            line.keep(kept);
        }
    }

    async fn carry_out(&self, commands: &[&Asked], line: &mut Line) -> Result<Done, LedgerError> {
        let mut pauses = Pauses::new();
        let mut last = LedgerError::Conflict;
        let mut relook = false;
        let properties = || commands.iter().map(|one| one.property);
        // A property whose rules are changed is locked before all else, and what applies a batch
        // alone would write it late.
        let mut is_locked = self.contention.is_likely(properties())
            || commands.iter().any(|one| one.command.raises_rules());
        let makes_one = |one: &&Asked| matches!(one.command, Command::Request(_));
        if commands.iter().any(makes_one) {
            self.numbers.begin();
        }
        for _ in 0..ATTEMPTS_MAX {
            let doing = LedgerError::while_doing("connecting");
            let mut kept = line.take(&self.pool).await.map_err(doing)?;
            let conn = &mut kept.conn;
            let try_of = Attempt {
                rules: &self.rules,
                numbers: &self.numbers,
                memory: &self.memory,
                commands,
                relook,
            };
            let tried = if is_locked {
                try_of.locked(conn).await
            } else {
                try_of.unlocked(conn).await
            };
            is_locked = true;
            match tried {
                Ok(Tried::Done(answers, ahead)) => {
                    line.keep(kept);
                    return Ok((answers, ahead));
                }
                Ok(Tried::Short(somebody_was_first)) => {
                    metrics::counter!("ledger_batch_conflicts_total").increment(1);
                    self.contention.met(somebody_was_first);
                    line.keep(kept);
                }
                Ok(Tried::Unsure(answers, error)) => {
                    // A transaction that failed half-way must not come back with this connection.
                    conn.close_on_drop();
                    self.forget_server();
                    drop(kept);
                    relook = true;
                    if !may_pass(&error) {
                        return Err(LedgerError::while_doing("applying a batch")(error));
                    }
                    if may_have_been_applied(&error) && self.was_applied(commands).await? {
                        return Ok((answers, Vec::new()));
                    }
                    last = LedgerError::while_doing("applying a batch")(error);
                    pauses.wait().await;
                }
                Err(error @ (LedgerError::Conflict | LedgerError::Unavailable(_))) => {
                    conn.close_on_drop();
                    self.forget_server();
                    last = error;
                    pauses.wait().await;
                }
                Err(error) => {
                    conn.close_on_drop();
                    return Err(error);
                }
            }
        }
        Err(last)
    }

    /// It may be another now.
    fn forget_server(&self) {
        self.numbers.clear();
        self.memory.clear();
    }

    /// Looks up whether the commands of a broken call have been carried out: all or none.
    async fn was_applied(&self, commands: &[&Asked]) -> Result<bool, LedgerError> {
        let ids: Vec<_> = commands
            .iter()
            .map(|c| (c.property, c.command_id))
            .collect();
        let mut pauses = Pauses::new();
        let mut broken = None;
        for _ in 0..LOOKUPS_MAX {
            let looked_up = async {
                let mut conn = self.pool.acquire().await?;
                Ok::<_, sqlx::Error>(read::applied(&mut conn, &ids).await)
            };
            match looked_up.await {
                Ok(Ok(applied)) => return Ok(!applied.is_empty()),
                Ok(Err(
                    LedgerError::Unavailable(error) | LedgerError::Broken { source: error, .. },
                ))
                | Err(error) => broken = Some(error),
                Ok(Err(other)) => return Err(other),
            }
            pauses.wait().await;
        }
        Err(LedgerError::OutcomeUnknown(
            broken.unwrap_or(sqlx::Error::PoolTimedOut),
        ))
    }
}

/// The answers to a batch, and types whose nights are worth reading ahead.
type Done = (Vec<Answer>, Vec<(PropertyId, RoomTypeId)>);

/// Nights of a type that are read ahead at most: two years, and not the longest horizon.
const READ_AHEAD_MAX: i64 = 740;

/// Tries of one batch: the first without locks, unless it is likely to be in vain.
const ATTEMPTS_MAX: u32 = 6;
/// Looks for the outcome of a broken call, over a few seconds: a restart of the database fits in.
const LOOKUPS_MAX: u32 = 40;

/// Failures that may pass: broken connections, deadlocks, serialisation, and keys that another
/// daemon wrote first (the next read finds what it wrote).
fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => matches!(
            error.code().as_deref(),
            Some("40001" | "40P01" | "55P03" | "23505" | "23P01" | "57P01" | "57P02" | "57P03")
        ),
        sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => false,
        _ => true,
    }
}

/// The server may have carried the call out: the connection broke, or its line is already there.
fn may_have_been_applied(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => matches!(
            error.code().as_deref(),
            Some("23505" | "57P01" | "57P02" | "57P03")
        ),
        _ => true,
    }
}

/// Not where the batch may have been carried out: its halves would be carried out again.
fn may_be_one_commands_fault(error: &LedgerError) -> bool {
    use LedgerError::{Closing, OutcomeUnknown, Unavailable};
    !matches!(error, Unavailable(_) | Closing | OutcomeUnknown(_))
}

fn refuse_all(part: Vec<Pending>, error: LedgerError) {
    tracing::error!(%error, source = ?std::error::Error::source(&error), "a batch failed");
    let mut error = Some(error);
    for pending in part {
        let each = error.take().unwrap_or(LedgerError::Conflict);
        let next = each.alike();
        let _ = pending.reply.send(Err(each));
        error = Some(next);
    }
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
