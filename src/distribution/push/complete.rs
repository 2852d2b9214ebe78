//! Complete sets: daily for channels that want them, always for those that take nothing else.
//!
//! A set replaces all that the channel knows of the listing. What may not rise yet is told as it
//! was, so a closure is never held up by a raise.

use keyrack_ledger::tail;
use keyrack_model::ari::AriCell;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::pace;
use crate::push::batch::{Batch, batches};
use crate::push::deliver::{Round, narrowed, send};
use crate::push::look::Listener;
use crate::push::plan::{self, Pick};
use crate::push::plans;
use crate::sign_in::Login;
use crate::store::mark::Rest;
use crate::store::push_state::Turn;
use crate::store::{mark, push_health, push_state, told, transaction};

/// Whether an account is told by a complete set now.
pub(crate) fn is_wanted(turn: &Turn, listener: &Listener) -> bool {
    let wants = turn.complete_wanted_at.is_some() && listener.capabilities.takes_complete_sets;
    wants || !listener.capabilities.takes_deltas
}

/// Tells a complete set where one is wanted or where something changed.
pub(crate) async fn round(
    distribution: &Distribution,
    turn: &mut Turn,
    listener: &Listener,
    login: &mut Login,
) -> Result<Round, DistributionError> {
    let inner = &distribution.inner;
    let account = listener.account.id;
    let wanted_at = turn.complete_wanted_at;
    if wanted_at.is_none() && mark::all(&inner.pool, account).await?.is_empty() {
        return Ok(Round::Nothing);
    }
    pace::until_free(distribution, login).await?;
    let mut marks = mark::all(&inner.pool, account).await?;
    let keys = tail::keys(&inner.ledger, &listener.listing()).await?;
    let listing = listener.listing();
    let reckoning = tail::reckon(&inner.ledger, &listing, &keys).await?;
    let cells = reckoning.cells(&keys);
    let shown = told::load(&inner.pool, account, &keys).await?;
    let turned = plans::turned(distribution, listener, &marks, &cells).await?;
    match plans::mark_turned(distribution, turn, &turned).await? {
        None => return Ok(Round::Stopped),
        Some(0) => {}
        Some(_) => marks = mark::all(&inner.pool, account).await?,
    }
    let strangers: Vec<_> = {
        let known: std::collections::HashSet<_> = cells.iter().map(|cell| cell.key).collect();
        let stray = marks.iter().filter(|mark| !known.contains(&mark.key));
        stray.map(|mark| (mark.key, mark.seq)).collect()
    };
    let (picks, rests, is_due) = plan::complete(marks, cells, &shown, &listener.ear);
    let is_told = wanted_at.is_some() || is_due;
    let batch = whole(listener, &picks).filter(|_| is_told);
    set_aside(
        distribution,
        listener,
        &picks,
        &rests,
        strangers,
        batch.is_some(),
    )
    .await?;
    let Some(batch) = batch else {
        forget_wish(distribution, turn).await?;
        return Ok(Round::Nothing);
    };
    let (batch, mut picks) = narrowed(batch, &picks);
    for pick in &mut picks {
        pick.rest_on(|key| reckoning.lines(key));
    }
    let round = send(distribution, turn, listener, login, picks, batch).await?;
    if round == Round::More {
        forget_wish(distribution, turn).await?;
    }
    Ok(round)
}

fn whole(listener: &Listener, picks: &[Pick]) -> Option<Batch> {
    let cells: Vec<AriCell> = picks.iter().map(|pick| pick.cell.clone()).collect();
    let (account, capabilities) = (&listener.account, listener.capabilities);
    batches(
        &account.hotel_code,
        true,
        &cells,
        &listener.mappings,
        capabilities,
    )
    .into_iter()
    .next()
}

/// Marks of cells that are told no more go; where no set is sent, marks that changed nothing go as
/// well, and raises wait.
async fn set_aside(
    distribution: &Distribution,
    listener: &Listener,
    picks: &[Pick],
    rests: &[Rest],
    mut settled: Vec<(keyrack_model::ari::AriKey, i64)>,
    is_sent: bool,
) -> Result<(), DistributionError> {
    let account = listener.account.id;
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    push_state::lock(&mut tx, account).await?;
    if !is_sent {
        let unchanged = picks.iter().filter(|pick| !pick.is_held);
        settled.extend(
            unchanged.filter_map(|pick| pick.mark.as_ref().map(|mark| (mark.key, mark.seq))),
        );
        mark::rest(&mut tx, account, rests).await?;
    }
    mark::settle(&mut tx, account, &settled, listener.ear.hearing.now).await?;
    transaction::commit(tx).await
}

async fn forget_wish(
    distribution: &Distribution,
    turn: &mut Turn,
) -> Result<(), DistributionError> {
    if let Some(wanted_at) = turn.complete_wanted_at.take() {
        let pool = &distribution.inner.pool;
        push_health::complete_told(pool, turn.bell.account, wanted_at).await?;
    }
    Ok(())
}
