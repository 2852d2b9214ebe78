//! How an account does: state, queue, lag, last push and poll, nights at risk, unmapped codes.

use std::collections::HashMap;

use jiff::Timestamp;
use keyrack_ledger::catalog::AccountRow;
use keyrack_ledger::tail;
use keyrack_model::adapter::Goal;
use keyrack_model::ari::AriKey;
use keyrack_model::id::AccountId;
use keyrack_model::stay::StayDate;

use crate::accounts::asked::Asked;
use crate::accounts::names::Names;
use crate::accounts::standing::{Signs, State, standing};
use crate::error::DistributionError;
use crate::feed::reach;
use crate::handle::Distribution;
use crate::lag::LAG_OF_LAST;
use crate::push::urgency::openness;
use crate::store::poll::PollState;
use crate::store::push_health::Health;
use crate::store::unmapped::UnmappedCode;
use crate::store::{
    clock, mark_view, poll, push_attempt, push_health, told, told_history, unmapped,
};

/// How an account does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// In one word.
    pub state: State,
    /// Why.
    pub reason: Option<String>,
    /// Since when.
    pub since: Timestamp,
    /// Being removed, since then.
    pub removing_since: Option<Timestamp>,
    /// Not told more than it was, since then: a rule of safety binds it, and it fails or lags.
    pub throttled_since: Option<Timestamp>,
    /// Cells still to be told, and changes of the property that nobody has looked at yet: at 0 the
    /// channel has been told all that is true.
    pub queue_depth: i64,
    /// Of these, changes; the others are repeats.
    pub queue_changes: i64,
    /// Since when the oldest change is untold.
    pub untold_since: Option<Timestamp>,
    /// From a change of the ledger to its acknowledgement, over the last changes told; first and
    /// full tellings answer no change and are left out.
    pub lag: Lag,
    /// The same of what lowers or closes, which never waits for a poll.
    pub lag_lowering: Lag,
    /// The last push that was taken.
    pub last_push_at: Option<Timestamp>,
    /// The last push that was not.
    pub last_failed_push_at: Option<Timestamp>,
    /// The last complete poll.
    pub last_poll_at: Option<Timestamp>,
    /// Nights on which the channel may show more than there is; nearest first.
    pub nights_at_risk: Vec<NightAtRisk>,
    /// Cells that the channel refused; nearest first.
    pub refused: Vec<RefusedCell>,
    /// Codes that no mapping knows.
    pub unmapped: Vec<UnmappedCode>,
    /// The newest messages.
    pub messages: Vec<Message>,
}

/// Milliseconds from a change of the ledger to its acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Changes looked at, cell by cell.
    pub count: i64,
    /// Half took no longer.
    pub p50_ms: i64,
    /// 95 of a hundred took no longer.
    pub p95_ms: i64,
    /// 99 of a hundred took no longer.
    pub p99_ms: i64,
}

/// A night on which the channel may show more than there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NightAtRisk {
    /// Code of the room type.
    pub room_type: String,
    /// The night.
    pub night: StayDate,
    /// Rooms that the channel may show.
    pub shown: i32,
    /// Rooms that it should show.
    pub truth: i32,
    /// When it was told that last.
    pub sent_at: Timestamp,
}

/// A cell that the channel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCell {
    /// Code of the room type.
    pub room_type: String,
    /// Code of the rate plan.
    pub rate_plan: Option<String>,
    /// The night.
    pub night: StayDate,
    /// How often.
    pub attempts: i32,
    /// The channel's words.
    pub why: String,
    /// When it is tried again.
    pub due_at: Timestamp,
}

/// A message to the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: i64,
    /// When it left.
    pub at: Timestamp,
    /// Cells in it.
    pub cells: i32,
    /// `sent`, `accepted`, `partly`, `later`, `refused`, `unknown` …
    pub outcome: String,
    /// In the channel's words.
    pub why: Option<String>,
    /// The channel's own id of the exchange.
    pub trace: Option<String>,
    /// How long the answer took.
    pub duration_ms: Option<i64>,
}

/// How an account does now.
///
/// # Errors
///
/// Failures of the database.
pub async fn load(
    distribution: &Distribution,
    row: &AccountRow,
) -> Result<Status, DistributionError> {
    let inner = &distribution.inner;
    let (pool, id) = (&inner.pool, row.account.id);
    let now = clock::now(pool).await?;
    let health = push_health::health(pool, id).await?;
    let polls = poll::states(pool, row.account.connection).await?;
    let polled = polls.into_iter().find(|state| state.goal == Goal::Poll);
    // Before the marks: what is read meanwhile is in one of the two.
    let unread = reach::unread(distribution, row.account.property).await?;
    let queue = mark_view::queue(pool, id).await?;
    let unmapped = unmapped::list(pool, id).await?;
    let signs = signs(health.as_ref(), polled.as_ref(), &queue, unmapped.len());
    let (state, reason, since) = standing(
        row.account.state,
        row.state_since,
        row.state_reason.as_deref(),
        &signs,
        now,
        inner.settings.poll_failing_seconds,
    );
    let names = Names::of(distribution, row.account.property).await?;
    Ok(Status {
        state,
        reason,
        since,
        removing_since: health.as_ref().and_then(|health| health.removing_since),
        throttled_since: health.as_ref().and_then(|health| health.throttled_since),
        queue_depth: queue.depth + unread,
        queue_changes: queue.changes + unread,
        untold_since: queue.oldest_at,
        lag: lag(distribution, row, false).await?,
        lag_lowering: lag(distribution, row, true).await?,
        last_push_at: health.as_ref().and_then(|health| health.last_pushed_at),
        last_failed_push_at: health.as_ref().and_then(|health| health.last_failed_at),
        last_poll_at: polled.and_then(|state| state.last_complete_at),
        nights_at_risk: nights_at_risk(distribution, row, &names).await?,
        refused: refused(distribution, row, &names).await?,
        unmapped,
        messages: messages(distribution, row).await?,
    })
}

/// Since when an account is not told more than it was; `None` while it is.
///
/// # Errors
///
/// Failures of the database.
pub async fn throttled_since(
    distribution: &Distribution,
    account: AccountId,
) -> Result<Option<Timestamp>, DistributionError> {
    let health = push_health::health(&distribution.inner.pool, account).await?;
    Ok(health.and_then(|health| health.throttled_since))
}

fn signs(
    health: Option<&Health>,
    polled: Option<&PollState>,
    queue: &mark_view::Queue,
    unmapped: usize,
) -> Signs {
    let why = |why: &Option<String>| why.clone().unwrap_or_else(|| "no reason is known".into());
    Signs {
        push_failing: health
            .and_then(|health| Some((health.failing_since?, why(&health.last_why)))),
        push_failures: health.map_or(0, |health| health.failures),
        push_why: health.and_then(|health| health.last_why.clone()),
        poll_failing: polled.and_then(|state| Some((state.failing_since?, why(&state.last_error)))),
        refused: queue.refused,
        unmapped,
        untold_since: queue.oldest_at,
    }
}

async fn lag(
    distribution: &Distribution,
    row: &AccountRow,
    only_lowering: bool,
) -> Result<Lag, DistributionError> {
    let pool = &distribution.inner.pool;
    let found = told_history::lag(pool, row.account.id, only_lowering, LAG_OF_LAST).await?;
    Ok(Lag {
        count: found.count,
        p50_ms: found.p50_ms,
        p95_ms: found.p95_ms,
        p99_ms: found.p99_ms,
    })
}

/// Nights whose rooms may stand open above the truth: what was told is unacknowledged or out of
/// date, and more than what would be told now.
pub(crate) async fn nights_at_risk(
    distribution: &Distribution,
    row: &AccountRow,
    names: &Names,
) -> Result<Vec<NightAtRisk>, DistributionError> {
    let inner = &distribution.inner;
    let account = &row.account;
    let (day, _) = tail::business_day(&inner.ledger, account.property).await?;
    let open = told::untold_open(&inner.pool, account.id, day, NIGHTS_MAX).await?;
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let asked = Asked::of(distribution, row).await?;
    let keys: Vec<AriKey> = open.iter().map(|told| told.key).collect();
    let cells = tail::cells(&inner.ledger, &asked.listing(), &keys).await?;
    let truth: HashMap<AriKey, i32> = cells
        .into_iter()
        .map(|cell| (cell.key, openness(&cell.values)))
        .collect();
    let above = open.into_iter().filter_map(|told| {
        let truth = truth.get(&told.key).copied().unwrap_or(0);
        let shown = told.shown.openness_max;
        (shown > truth).then(|| NightAtRisk {
            room_type: names.room_type(told.key.room_type),
            night: told.key.night,
            shown,
            truth,
            sent_at: told.sent_at,
        })
    });
    Ok(above.collect())
}

async fn refused(
    distribution: &Distribution,
    row: &AccountRow,
    names: &Names,
) -> Result<Vec<RefusedCell>, DistributionError> {
    let pool = &distribution.inner.pool;
    let rows = mark_view::refused(pool, row.account.id, REFUSED_MAX).await?;
    let cells = rows.into_iter().map(|mark| RefusedCell {
        room_type: names.room_type(mark.key.room_type),
        rate_plan: names.rate_plan(mark.key.rate_plan),
        night: mark.key.night,
        attempts: mark.attempt,
        why: mark.why,
        due_at: mark.due_at,
    });
    Ok(cells.collect())
}

async fn messages(
    distribution: &Distribution,
    row: &AccountRow,
) -> Result<Vec<Message>, DistributionError> {
    let pool = &distribution.inner.pool;
    let rows = push_attempt::newest(pool, row.account.id, MESSAGES_MAX).await?;
    let messages = rows.into_iter().map(|attempt| Message {
        id: attempt.id,
        at: attempt.at,
        cells: attempt.cells,
        outcome: attempt.outcome,
        why: attempt.why,
        trace: attempt.trace,
        duration_ms: attempt.duration_ms,
    });
    Ok(messages.collect())
}

/// Nights at risk that are looked at at most: more than two years of several types.
const NIGHTS_MAX: i64 = 5_000;
/// Refused cells that are shown at most.
const REFUSED_MAX: i64 = 200;
/// Messages that are shown.
const MESSAGES_MAX: i64 = 20;
