//! One account's turn: look at what is due, compute the numbers of this moment, send the fewest
//! messages, write what came of it.
//!
//! Never more than one request is in flight for an account, on any number of daemons: the turn is a
//! row that one of them holds. So no older number can land on a newer one.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use keyrack_model::adapter::Demand;
use keyrack_model::channel::{AccountState, Capabilities};
use tokio::time::Instant;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::pace;
use crate::push::backoff::due_after_ms;
use crate::push::batch::{Batch, batches};
use crate::push::exchange::{Sent, exchange};
use crate::push::look::{self, Listener};
use crate::push::plan::{Pick, Plan};
use crate::push::{alert, complete, plans, retire, settle};
use crate::sign_in::{self, Login};
use crate::store::push_health::Failure;
use crate::store::push_state::{Release, Turn};
use crate::store::{mark, push_health, push_state, retired_code, transaction};

/// What a look at an account brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Something was told or settled; there may be more.
    More,
    /// Nothing is due.
    Nothing,
    /// The channel did not take it: no more in this turn.
    Stopped,
}

/// Takes an account's turn to its end and gives it back.
pub(crate) async fn turn(
    distribution: &Distribution,
    started_at: Timestamp,
    mut turn: Turn,
) -> Result<(), DistributionError> {
    let release = match work(distribution, started_at, &mut turn).await {
        Ok(release) => release,
        Err(error) if error.is_passing() => {
            tracing::warn!(account.id = %turn.bell.account, error = %error.chain(),
                           "an account's turn broke off");
            Release::default()
        }
        Err(error) => {
            tracing::warn!(account.id = %turn.bell.account, error = %error.chain(),
                           "an account's turn failed");
            fail(distribution, &turn, "not_sent", error.chain()).await?;
            Release::default()
        }
    };
    push_state::release(&distribution.inner.pool, &turn, release).await
}

async fn work(
    distribution: &Distribution,
    started_at: Timestamp,
    turn: &mut Turn,
) -> Result<Release, DistributionError> {
    let resting = Release {
        rests: true,
        ..Release::default()
    };
    let mut login: Option<Login> = None;
    let mut course = Course::default();
    for _ in 0..ROUNDS_MAX {
        let found = look::account(distribution, turn, started_at).await?;
        let Some(listener) = found else {
            tracing::info!(account.id = %turn.bell.account, "marks of an account that is gone");
            forget(distribution, turn).await?;
            return Ok(resting);
        };
        if matches!(
            listener.account.state,
            AccountState::Setup | AccountState::Paused
        ) {
            return Ok(resting);
        }
        let login = match &mut login {
            Some(login) => login,
            empty => match sign_in::login(distribution, listener.account.connection).await {
                Ok(login) => empty.insert(login),
                Err(error) => {
                    use DistributionError::{Transport, Unreachable};
                    let outcome = match error {
                        Transport(_) | Unreachable(_) => "later",
                        _ => "unauthenticated",
                    };
                    fail(distribution, turn, outcome, error.chain()).await?;
                    return Ok(Release::default());
                }
            },
        };
        let round = round(distribution, turn, &listener, login, &mut course).await?;
        let release = |at_once| Release {
            at_once,
            settle_seconds: (!listener.capabilities.is_polled && !listener.ear.is_throttled)
                .then(|| look::settle_seconds(listener.capabilities)),
            quiet_since: Some(listener.ear.hearing.quiet_since),
            rests: false,
        };
        match round {
            Round::More if distribution.inner.cancel.is_cancelled() => return Ok(release(true)),
            Round::More => {}
            Round::Nothing | Round::Stopped => return Ok(release(false)),
        }
    }
    Ok(Release {
        at_once: true,
        ..Release::default()
    })
}

/// What the rounds of a turn have done for the next message.
#[derive(Default)]
struct Course {
    /// The quota has been waited for.
    has_permit: bool,
    /// Plans have been marked: once a message, so that no close waits behind ever more of them.
    has_turned: bool,
}

async fn round(
    distribution: &Distribution,
    turn: &mut Turn,
    listener: &Listener,
    login: &mut Login,
    course: &mut Course,
) -> Result<Round, DistributionError> {
    let inner = &distribution.inner;
    let now = Some(listener.ear.hearing.now);
    let retired = retired_code::pending(&inner.pool, listener.account.id, now).await?;
    if !retired.is_empty() {
        return retire::close(distribution, turn, listener, login, &retired).await;
    }
    if complete::is_wanted(turn, listener) {
        return complete::round(distribution, turn, listener, login).await;
    }
    let marks = look::due(distribution, listener).await?;
    if marks.is_empty() {
        return Ok(Round::Nothing);
    }
    let is_everything = marks.len() < inner.settings.push_marks_max as usize;
    let listing = listener.listing();
    let (plan, reckoning) = look::plan(distribution, listener, &listing, marks).await?;
    let Some(turned) = plans::mark_turned(distribution, turn, &plan.turned).await? else {
        return Ok(Round::Stopped);
    };
    if turned > 0 && !course.has_turned {
        course.has_turned = true;
        return Ok(Round::More);
    }
    set_aside(distribution, listener, &plan).await?;
    let is_all_looked_at =
        is_everything && turned == 0 && (plan.lowering.is_empty() || plan.raising.is_empty());
    let picks = if plan.lowering.is_empty() {
        plan.raising
    } else {
        plan.lowering
    };
    let count = picks.len();
    let Some((batch, mut picks)) = first(distribution, listener, picks).await? else {
        return Ok(Round::More);
    };
    // What is held may rise at once.
    let is_last =
        is_all_looked_at && picks.len() == count && !picks.iter().any(|pick| pick.is_held);
    if !course.has_permit {
        course.has_permit = true;
        if waited(distribution, login).await? {
            // The numbers are of a moment ago: compute them anew, with the permit in hand.
            return Ok(Round::More);
        }
    }
    *course = Course::default();
    for pick in &mut picks {
        pick.rest_on(|key| reckoning.lines(key));
    }
    let round = send(distribution, turn, listener, login, picks, batch).await?;
    // What was marked meanwhile has rung: it is heard when the turn is given back.
    Ok(match round {
        Round::More if is_last => Round::Nothing,
        round => round,
    })
}

/// Forgets the marks of an account that is gone.
async fn forget(distribution: &Distribution, turn: &Turn) -> Result<(), DistributionError> {
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    push_state::lock(&mut tx, turn.bell.account).await?;
    mark::forget(&mut tx, turn.bell.account).await?;
    transaction::commit(tx).await
}

/// Waits for the quota; says whether that took long enough for numbers to change.
async fn waited(distribution: &Distribution, login: &Login) -> Result<bool, DistributionError> {
    let asked = Instant::now();
    pace::until_free(distribution, login).await?;
    Ok(asked.elapsed() > STALE_AFTER)
}

/// Removes what is settled without a message and puts to rest what waits.
async fn set_aside(
    distribution: &Distribution,
    listener: &Listener,
    plan: &Plan,
) -> Result<(), DistributionError> {
    if plan.settled.is_empty() && plan.rests.is_empty() {
        return Ok(());
    }
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    push_state::lock(&mut tx, listener.account.id).await?;
    let now = listener.ear.hearing.now;
    mark::settle(&mut tx, listener.account.id, &plan.settled, now).await?;
    mark::rest(&mut tx, listener.account.id, &plan.rests).await?;
    transaction::commit(tx).await
}

/// The first message of some cells, with the cells that it tells. Cells under no remote code are
/// settled.
///
/// A message that was refused whole is cut in half each time, until the cell that spoils it stands
/// alone.
async fn first(
    distribution: &Distribution,
    listener: &Listener,
    mut picks: Vec<Pick>,
) -> Result<Option<(Batch, Vec<Pick>)>, DistributionError> {
    let attempt = picks.iter().map(Pick::attempt).min().unwrap_or(0);
    picks.retain(|pick| pick.attempt() == attempt);
    let spans_max = listener.capabilities.spans_per_message_max >> attempt.min(HALVINGS_MAX);
    let capabilities = Capabilities {
        spans_per_message_max: spans_max.max(1),
        ..listener.capabilities.clone()
    };
    let cells: Vec<_> = picks.iter().map(|pick| pick.cell.clone()).collect();
    let hotel = &listener.account.hotel_code;
    let batches = batches(hotel, false, &cells, &listener.mappings, &capabilities);
    let told_of: BTreeSet<usize> = batches.iter().flat_map(Batch::cells).collect();
    let nameless: Vec<_> = (0..picks.len())
        .filter(|index| !told_of.contains(index))
        .filter_map(|index| picks[index].mark.as_ref().map(|mark| (mark.key, mark.seq)))
        .collect();
    if !nameless.is_empty() {
        let mut tx = transaction::begin(&distribution.inner.pool).await?;
        push_state::lock(&mut tx, listener.account.id).await?;
        let now = listener.ear.hearing.now;
        mark::settle(&mut tx, listener.account.id, &nameless, now).await?;
        transaction::commit(tx).await?;
    }
    Ok(batches
        .into_iter()
        .next()
        .map(|batch| narrowed(batch, &picks)))
}

/// A batch with only the cells that it tells, its sources counted anew.
pub(crate) fn narrowed(mut batch: Batch, picks: &[Pick]) -> (Batch, Vec<Pick>) {
    let kept: Vec<usize> = batch.cells().into_iter().collect();
    for source in batch.sources.iter_mut().flatten() {
        *source = kept.partition_point(|index| index < source);
    }
    let picks = kept.into_iter().map(|index| picks[index].clone()).collect();
    (batch, picks)
}

/// Sends a message and writes what came of it.
pub(crate) async fn send(
    distribution: &Distribution,
    turn: &Turn,
    listener: &Listener,
    login: &mut Login,
    picks: Vec<Pick>,
    batch: Batch,
) -> Result<Round, DistributionError> {
    let begun = settle::begin(distribution, turn, &listener.account, picks, batch).await?;
    let Some(sending) = begun else {
        return Ok(Round::Stopped);
    };
    let sent = exchange(distribution, login, &sending.batch.push).await?;
    let is_good = settle::settle(distribution, &sending, &sent).await?;
    if demands_sign_in(&sent) {
        match sign_in::renew(distribution, login).await {
            Ok(fresh) => *login = fresh,
            Err(error) => tracing::warn!(error = %error.chain(), "signing in anew failed"),
        }
    }
    Ok(if is_good { Round::More } else { Round::Stopped })
}

fn demands_sign_in(sent: &Sent) -> bool {
    match sent {
        Sent::Judged { verdict, .. } => verdict.demands.contains(&Demand::SignIn),
        _ => false,
    }
}

/// Notes a failure that lies before any message.
pub(crate) async fn fail(
    distribution: &Distribution,
    turn: &Turn,
    outcome: &'static str,
    why: String,
) -> Result<(), DistributionError> {
    let seed = u64::try_from(turn.bell.account.0).unwrap_or(0);
    let failure = Failure {
        outcome,
        why,
        wait_ms: due_after_ms(turn.failures.saturating_add(1), None, seed),
        needs_person: false,
    };
    let most = distribution.inner.settings.push_failures_max;
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    let is_new = push_health::failed(&mut tx, turn.bell.account, &failure, most).await?;
    transaction::commit(tx).await?;
    if is_new {
        alert::failing(distribution, turn.bell, failure.why).await?;
    }
    Ok(())
}

/// Messages of one turn at most: then others have theirs.
const ROUNDS_MAX: u32 = 50;
/// Numbers older than this are computed anew.
const STALE_AFTER: Duration = Duration::from_millis(100);
/// A refused message is halved so often at most.
const HALVINGS_MAX: u32 = 16;
