//! What is written after an answer: what was told, the history of it, marks, health.
//!
//! All in one transaction, and only while the turn is still ours. Where it is not, somebody else
//! may have sent in between and nobody knows whose number landed last: the cells are marked anew.

use std::collections::BTreeSet;

use jiff::Timestamp;
use keyrack_model::adapter::{Demand, Verdict};
use keyrack_model::channel::Account;
use sqlx::PgConnection;
use tokio::time::Instant;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::alert::{self, Change};
use crate::push::backoff::due_after_ms;
use crate::push::batch::Batch;
use crate::push::exchange::Sent;
use crate::push::fate::{Fate, Standing, fates};
use crate::push::outcome::{Outcome, due_at, outcome};
use crate::push::plan::Pick;
use crate::push::urgency::{Repeat, Shown, openness};
use crate::store::mark::NewMark;
use crate::store::push_health::Failure;
use crate::store::push_state::Turn;
use crate::store::told::Told;
use crate::store::{self, mark, push_attempt, push_health, push_state, told, told_history};

/// A push that is under way.
pub(crate) struct Sending {
    /// To whom.
    pub(crate) account: Account,
    /// The turn that allows it.
    pub(crate) turn: Turn,
    /// The cells; the sources of the batch are indices into them.
    pub(crate) picks: Vec<Pick>,
    /// What is rendered.
    pub(crate) batch: Batch,
    /// Its row.
    pub(crate) attempt: i64,
    /// When it left, by the database's clock.
    pub(crate) sent_at: Timestamp,
    /// When it left, for its duration.
    pub(crate) started: Instant,
}

/// Writes what is about to be told, before it is: a crash then leaves doubt and never a lie.
pub(crate) async fn begin(
    distribution: &Distribution,
    turn: &Turn,
    account: &Account,
    picks: Vec<Pick>,
    batch: Batch,
) -> Result<Option<Sending>, DistributionError> {
    let mut tx = store::transaction::begin(&distribution.inner.pool).await?;
    if !push_state::is_ours(&mut tx, turn).await? {
        return Ok(None);
    }
    let (cells, spans) = (picks.len(), batch.push.spans.len());
    let is_complete = batch.push.complete;
    let (attempt, sent_at) =
        push_attempt::begin(&mut tx, account.id, cells, spans, is_complete).await?;
    let rows: Vec<Told> = picks
        .iter()
        .map(|pick| sent(pick, attempt, sent_at))
        .collect();
    told::save(&mut tx, account.id, &rows).await?;
    store::transaction::commit(tx).await?;
    Ok(Some(Sending {
        account: account.clone(),
        turn: turn.clone(),
        picks,
        batch,
        attempt,
        sent_at,
        started: Instant::now(),
    }))
}

/// What the channel may show once the message has left and was not answered.
fn sent(pick: &Pick, attempt: i64, sent_at: Timestamp) -> Told {
    let open = openness(&pick.cell.values);
    let before = pick.before.as_ref().map(|told| &told.shown);
    Told {
        key: pick.cell.key,
        shown: Shown {
            values: pick.cell.values.clone(),
            is_acknowledged: false,
            openness_min: before.map_or(0, |shown| shown.openness_min.min(open)),
            openness_max: before.map_or(open, |shown| shown.openness_max.max(open)),
        },
        due_at: due_at(pick, sent_at),
        sent_at,
        acknowledged_at: None,
        attempt,
    }
}

/// Writes how a push went; says whether the account may be told more in this turn.
pub(crate) async fn settle(
    distribution: &Distribution,
    sending: &Sending,
    answer: &Sent,
) -> Result<bool, DistributionError> {
    let (fates, standing) = fates(answer, &sending.batch, sending.picks.len());
    let mut tx = store::transaction::begin(&distribution.inner.pool).await?;
    let duration_ms = i64::try_from(sending.started.elapsed().as_millis()).unwrap_or(i64::MAX);
    let (word, why) = in_words(&standing);
    let trace = verdict(answer).and_then(|verdict| verdict.trace.as_deref());
    let now = push_attempt::end(&mut tx, sending.attempt, word, why, trace, duration_ms).await?;
    let account = sending.account.id;
    if !push_state::is_ours(&mut tx, &sending.turn).await? {
        mark_anew(&mut tx, sending).await?;
        store::transaction::commit(tx).await?;
        tracing::warn!(account.id = %account, "the turn was lost while a message was under way");
        return Ok(false);
    }
    let adrift = adrift(&mut tx, sending).await?;
    let written = outcome(distribution, sending, &fates, &adrift, now);
    write(&mut tx, sending, &written).await?;
    let change = stand(distribution, &mut tx, sending, &standing).await?;
    if let Some(change) = &change {
        alert::tell_webhooks(distribution, &mut tx, &sending.account, change, now).await?;
    }
    store::transaction::commit(tx).await?;
    if let Some(change) = &change {
        alert::tell_staff(distribution, &sending.account, change).await?;
    }
    tell_of_refusals(distribution, sending, &fates).await?;
    obey(distribution, sending, answer).await?;
    count(distribution, sending, &written, word);
    Ok(matches!(standing, Standing::Good(..)))
}

fn in_words(standing: &Standing) -> (&'static str, Option<&str>) {
    match standing {
        Standing::Good(word, why) => (word, why.as_deref()),
        Standing::Bad { outcome, why, .. } => (outcome, Some(why)),
    }
}

fn verdict(answer: &Sent) -> Option<&Verdict> {
    match answer {
        Sent::Judged { verdict, .. } => Some(verdict),
        _ => None,
    }
}

/// The turn was lost: whatever the channel shows now, it is told again. A change that is still to
/// be told has its mark; where it has none, whoever took the turn has told it.
async fn mark_anew(conn: &mut PgConnection, sending: &Sending) -> Result<(), DistributionError> {
    let marks: Vec<NewMark> = sending
        .picks
        .iter()
        .map(|pick| NewMark {
            account: sending.account.id,
            key: pick.cell.key,
            repeat: Repeat {
                is_cancellation: false,
                is_full: true,
            },
            changed_at: None,
        })
        .collect();
    push_state::ring(conn, &[sending.turn.bell]).await?;
    mark::upsert(conn, &marks).await
}

/// The earlier messages of these cells that were never answered: they may still land.
async fn adrift(
    conn: &mut PgConnection,
    sending: &Sending,
) -> Result<BTreeSet<i64>, DistributionError> {
    let unsure: BTreeSet<i64> = sending
        .picks
        .iter()
        .filter_map(|pick| pick.before.as_ref())
        .filter(|before| !before.shown.is_acknowledged)
        .map(|before| before.attempt)
        .collect();
    if unsure.is_empty() {
        return Ok(unsure);
    }
    let unsure: Vec<i64> = unsure.into_iter().collect();
    push_attempt::unanswered(conn, &unsure).await
}

async fn write(
    conn: &mut PgConnection,
    sending: &Sending,
    outcome: &Outcome,
) -> Result<(), DistributionError> {
    let account = sending.account.id;
    if !outcome.told.is_empty() {
        told::save(conn, account, &outcome.told).await?;
    }
    if !outcome.forgotten.is_empty() {
        told::forget(conn, account, &outcome.forgotten).await?;
    }
    if !outcome.history.is_empty() {
        told_history::append(conn, account, &outcome.history).await?;
    }
    if !outcome.rests.is_empty() {
        mark::rest(conn, account, &outcome.rests).await?;
    }
    if !outcome.settled.is_empty() {
        mark::settle(conn, account, &outcome.settled, sending.sent_at).await?;
    }
    Ok(())
}

/// Writes how the account stands; says whether that is news.
async fn stand(
    distribution: &Distribution,
    conn: &mut PgConnection,
    sending: &Sending,
    standing: &Standing,
) -> Result<Option<Change>, DistributionError> {
    let account = sending.account.id;
    match standing {
        Standing::Good(word, why) => {
            let was_failing = push_health::succeeded(conn, account, word, why.as_deref()).await?;
            Ok(was_failing.then_some(Change::Recovered))
        }
        Standing::Bad {
            outcome,
            why,
            asked_seconds,
            needs_person,
        } => {
            let seed = u64::try_from(account.0).unwrap_or(0);
            let attempt = sending.turn.failures.saturating_add(1);
            let failure = Failure {
                outcome,
                why: why.clone(),
                wait_ms: due_after_ms(attempt, *asked_seconds, seed),
                needs_person: *needs_person,
            };
            let most = distribution.inner.settings.push_failures_max;
            let is_new = push_health::failed(conn, account, &failure, most).await?;
            Ok(is_new.then(|| Change::Failing(why.clone())))
        }
    }
}

/// Cells that the channel refuses while it takes others need a person; once none is left, nobody.
async fn tell_of_refusals(
    distribution: &Distribution,
    sending: &Sending,
    fates: &[Fate],
) -> Result<(), DistributionError> {
    let account = &sending.account;
    let is_taken = fates.contains(&Fate::Taken);
    let refused = fates.iter().find_map(|fate| match fate {
        Fate::Refused(why) | Fate::Doubtful(why) => Some(why),
        _ => None,
    });
    if let Some(why) = refused.filter(|_| is_taken) {
        return alert::refused(distribution, account, why).await;
    }
    let was_refused = sending.picks.iter().any(|pick| pick.attempt() > 0);
    if is_taken && was_refused {
        alert::taken(distribution, account).await?;
    }
    Ok(())
}

/// Does what the channel demands: what it lacks is told soon.
async fn obey(
    distribution: &Distribution,
    sending: &Sending,
    answer: &Sent,
) -> Result<(), DistributionError> {
    let demands: &[Demand] = match answer {
        Sent::Judged { verdict, .. } => &verdict.demands,
        Sent::Unrendered(error) => error.demand.as_slice(),
        Sent::Unknown(_) | Sent::Unsent(_) => &[],
    };
    let lacks = |demand: &Demand| matches!(demand, Demand::Availability | Demand::Rates);
    if demands.iter().any(lacks) {
        let inner = &distribution.inner;
        push_health::resync_soon(&inner.pool, sending.account.id).await?;
        inner.wakes.resync.notify_one();
    }
    Ok(())
}

fn count(distribution: &Distribution, sending: &Sending, outcome: &Outcome, word: &'static str) {
    let channel = sending.account.channel.as_str().to_owned();
    metrics::counter!("push_messages_total", "channel" => channel.clone(), "outcome" => word)
        .increment(1);
    metrics::counter!("push_cells_total", "channel" => channel.clone(), "outcome" => word)
        .increment(sending.picks.len() as u64);
    metrics::histogram!("push_duration_seconds", "channel" => channel.clone())
        .record(sending.started.elapsed().as_secs_f64());
    for telling in &outcome.history {
        let told = telling.acknowledged_at.zip(telling.changed_at);
        if let Some((acknowledged_at, changed_at)) = told {
            let lag = acknowledged_at.duration_since(changed_at);
            let kind = if telling.is_raise { "raise" } else { "lower" };
            metrics::histogram!("push_lag_seconds", "channel" => channel.clone(), "kind" => kind)
                .record(lag.as_secs_f64());
            distribution.inner.lagging.note(&sending.account);
        }
    }
    tracing::info!(
        account.id = %sending.account.id,
        channel.code = %sending.account.channel,
        push.id = sending.attempt,
        push.cells = sending.picks.len(),
        push.spans = sending.batch.push.spans.len(),
        outcome = word,
        "pushed"
    );
}
