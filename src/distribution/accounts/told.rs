//! What was told to an account of each night, past nights too; and what a shop that fetches is
//! served, recorded as told.

use std::collections::HashMap;

use jiff::Timestamp;
use keyrack_ledger::catalog::AccountRow;
use keyrack_ledger::tail::{self, ExplainLine, Reckoning};
use keyrack_model::ari::{AriCell, AriKey, AriValues};
use keyrack_model::channel::AccountState;
use keyrack_model::stay::{StayDate, StayRange};

use crate::accounts::asked::Asked;
use crate::accounts::names::Names;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::urgency::{Shown, openness};
use crate::store::mark::Mark;
use crate::store::told::Told;
use crate::store::told_history::Telling;
use crate::store::{mark, push_attempt, push_state, told, told_history, transaction};

/// What was told of a night.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldNight {
    /// Code of the room type.
    pub room_type: String,
    /// Code of the rate plan; `None` is the room itself.
    pub rate_plan: Option<String>,
    /// The night.
    pub night: StayDate,
    /// What was told.
    pub values: AriValues,
    /// When the change was made that it tells.
    pub due_at: Timestamp,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// When the channel said that it took it; `None` while that is unknown.
    pub acknowledged_at: Option<Timestamp>,
    /// Why it was not acknowledged, in the history.
    pub why: Option<String>,
}

/// What an account was told last of each night, in order of type, plan and night.
///
/// # Errors
///
/// Failures of the database.
pub async fn told(
    distribution: &Distribution,
    row: &AccountRow,
    nights: StayRange,
) -> Result<Vec<ToldNight>, DistributionError> {
    let names = Names::of(distribution, row.account.property).await?;
    let pool = &distribution.inner.pool;
    let (from, to) = (nights.arrival(), nights.departure());
    let rows = told::between(pool, row.account.id, from, to, ROWS_MAX).await?;
    let nights = rows.into_iter().map(|told| ToldNight {
        room_type: names.room_type(told.key.room_type),
        rate_plan: names.rate_plan(told.key.rate_plan),
        night: told.key.night,
        values: told.shown.values,
        due_at: told.due_at,
        sent_at: told.sent_at,
        acknowledged_at: told.acknowledged_at,
        why: None,
    });
    Ok(nights.collect())
}

/// Every change that an account was told of some nights, in the order of telling per night.
///
/// # Errors
///
/// Failures of the database.
pub async fn history(
    distribution: &Distribution,
    row: &AccountRow,
    nights: StayRange,
) -> Result<Vec<ToldNight>, DistributionError> {
    let names = Names::of(distribution, row.account.property).await?;
    let pool = &distribution.inner.pool;
    let (from, to) = (nights.arrival(), nights.departure());
    let rows = told_history::between(pool, row.account.id, from, to, ROWS_MAX).await?;
    let nights = rows.into_iter().map(|telling| ToldNight {
        room_type: names.room_type(telling.key.room_type),
        rate_plan: names.rate_plan(telling.key.rate_plan),
        night: telling.key.night,
        values: telling.values,
        due_at: telling.due_at,
        sent_at: telling.sent_at,
        acknowledged_at: telling.acknowledged_at,
        why: telling.why,
    });
    Ok(nights.collect())
}

/// What an account had been told of a cell by an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Then {
    /// What it had been sent last; `None` where nothing was, or where that is not kept any more.
    pub sent: Option<ToldThen>,
    /// What it had taken last: that it showed.
    pub taken: Option<ToldThen>,
}

/// Something that an account was told of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldThen {
    /// What.
    pub values: AriValues,
    /// When the change was made that it tells.
    pub due_at: Timestamp,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// When the channel said that it took it; `None` where it never did.
    pub acknowledged_at: Option<Timestamp>,
    /// Why it was not acknowledged.
    pub why: Option<String>,
    /// The calculation as it was made when it was told; `None` where it was told before
    /// calculations were kept.
    pub lines: Option<Vec<ExplainLine>>,
}

/// What an account had been told of a cell by an instant, as it was worked out then. Nothing is
/// worked out anew: rules and rates of then are not kept, so what was not written down is not
/// known, and is not made up.
///
/// # Errors
///
/// Failures of the database.
pub async fn by(
    distribution: &Distribution,
    row: &AccountRow,
    key: AriKey,
    at: Timestamp,
) -> Result<Then, DistributionError> {
    let (pool, account) = (&distribution.inner.pool, row.account.id);
    let sent = told_history::by(pool, account, key, told_history::By::Sent, at).await?;
    let taken = told_history::by(pool, account, key, told_history::By::Acknowledged, at).await?;
    Ok(Then {
        sent: sent.map(ToldThen::from),
        taken: taken.map(ToldThen::from),
    })
}

impl From<Telling> for ToldThen {
    fn from(telling: Telling) -> Self {
        let lines = telling.basis.as_deref();
        Self {
            values: telling.values,
            due_at: telling.due_at,
            sent_at: telling.sent_at,
            acknowledged_at: telling.acknowledged_at,
            why: telling.why,
            lines: lines.and_then(|lines| serde_json::from_str(lines).ok()),
        }
    }
}

/// What an account may sell now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedNight {
    /// Code of the room type.
    pub room_type: String,
    /// Code of the rate plan; `None` is the room itself.
    pub rate_plan: Option<String>,
    /// The night.
    pub night: StayDate,
    /// What it may sell.
    pub values: AriValues,
}

/// What an account may sell of some nights, for shops that fetch; `None` while it is told nothing
/// (in setup or paused). Recorded as told: for an account that is also pushed to, in the history
/// only, since its channel shows what was pushed.
///
/// # Errors
///
/// Failures of the database.
pub async fn serve(
    distribution: &Distribution,
    row: &AccountRow,
    nights: StayRange,
) -> Result<Option<Vec<ServedNight>>, DistributionError> {
    if matches!(
        row.account.state,
        AccountState::Setup | AccountState::Paused
    ) {
        return Ok(None);
    }
    let inner = &distribution.inner;
    let asked = Asked::of(distribution, row).await?;
    let keys: Vec<_> = tail::keys(&inner.ledger, &asked.listing())
        .await?
        .into_iter()
        .filter(|key| nights.contains(key.night))
        .collect();
    let marks: Vec<_> = mark::all(&inner.pool, row.account.id)
        .await?
        .into_iter()
        .filter(|mark| nights.contains(mark.key.night))
        .collect();
    let listing = asked.listing();
    let reckoning = tail::reckon(&inner.ledger, &listing, &keys).await?;
    let cells = reckoning.cells(&keys);
    record(distribution, &asked, &cells, &marks, &reckoning).await?;
    let names = Names::of(distribution, row.account.property).await?;
    let served = cells.into_iter().map(|cell| ServedNight {
        room_type: names.room_type(cell.key.room_type),
        rate_plan: names.rate_plan(cell.key.rate_plan),
        night: cell.key.night,
        values: cell.values,
    });
    Ok(Some(served.collect()))
}

async fn record(
    distribution: &Distribution,
    asked: &Asked,
    cells: &[AriCell],
    marks: &[Mark],
    reckoning: &Reckoning<'_>,
) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let account = asked.row.account.id;
    let is_pushed = asked.capabilities.takes_deltas || asked.capabilities.takes_complete_sets;
    let keys: Vec<_> = cells.iter().map(|cell| cell.key).collect();
    let before = told::load(&inner.pool, account, &keys).await?;
    let changes: HashMap<AriKey, Option<Timestamp>> = marks
        .iter()
        .map(|mark| (mark.key, mark.changed_at))
        .collect();
    let mut tx = transaction::begin(&inner.pool).await?;
    push_state::lock(&mut tx, account).await?;
    let (attempt, now) =
        push_attempt::begin(&mut tx, account, cells.len(), cells.len(), false).await?;
    push_attempt::end(&mut tx, attempt, "served", None, None, 0).await?;
    let changed: Vec<Telling> = cells
        .iter()
        .filter(|cell| {
            let known = before.get(&cell.key);
            known.is_none_or(|told| told.shown.values != cell.values)
        })
        .map(|cell| Telling {
            account,
            key: cell.key,
            values: cell.values.clone(),
            due_at: now,
            // Where it is pushed too, the push is what answers the change.
            changed_at: (changes.get(&cell.key).copied().flatten()).filter(|_| !is_pushed),
            sent_at: now,
            acknowledged_at: Some(now),
            why: Some("served".into()),
            attempt,
            is_raise: true,
            basis: serde_json::to_string(&reckoning.lines(&cell.key)).ok(),
        })
        .collect();
    if !changed.is_empty() {
        told_history::append(&mut tx, account, &changed).await?;
    }
    if !is_pushed && !cells.is_empty() {
        let rows: Vec<Told> = cells
            .iter()
            .map(|cell| served(cell, now, attempt))
            .collect();
        told::save(&mut tx, account, &rows).await?;
        let marks: Vec<_> = marks.iter().map(|mark| (mark.key, mark.seq)).collect();
        mark::settle(&mut tx, account, &marks, now).await?;
    }
    transaction::commit(tx).await
}

fn served(cell: &AriCell, now: Timestamp, attempt: i64) -> Told {
    let open = openness(&cell.values);
    Told {
        key: cell.key,
        shown: Shown {
            values: cell.values.clone(),
            is_acknowledged: true,
            openness_min: open,
            openness_max: open,
        },
        due_at: now,
        sent_at: now,
        acknowledged_at: Some(now),
        attempt,
    }
}

/// Rows of one answer at most.
const ROWS_MAX: i64 = 50_000;
